#include <algorithm>
#include <array>

#include "libraries/loops/keys.hpp"
#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

// Searches side by side: each step of one waits for memory.
constexpr size_t kSide = 8;

template <class E, bool kBehind>
void search(const typename E::Stored* sorted, int64_t length, const typename E::Stored* values,
            int64_t* y, int64_t begin, int64_t end) {
  using Key = typename Keyed<E>::Key;
  const auto precedes = [&](int64_t at, Key mine) {
    const Key other = key_of<E>(sorted[at], false);
    return kBehind ? other <= mine : other < mine;
  };
  for (int64_t i = begin; i < end; i += static_cast<int64_t>(kSide)) {
    const auto some = std::min(kSide, static_cast<size_t>(end - i));
    std::array<Key, kSide> mine{};
    std::array<int64_t, kSide> first{};
    for (size_t s = 0; s < some; s++)
      mine[s] = key_of<E>(values[i + static_cast<int64_t>(s)], false);
    // Of as many elements for all of them, and without branches, which nothing could foresee.
    int64_t left = length;
    for (; left > 1; left -= left / 2)
#pragma GCC unroll 8
      for (size_t s = 0; s < kSide; s++)
        first[s] += precedes(first[s] + left / 2 - 1, mine[s]) ? left / 2 : 0;
    for (size_t s = 0; s < some; s++)
      y[i + static_cast<int64_t>(s)] = first[s] + (left > 0 && precedes(first[s], mine[s]) ? 1 : 0);
  }
}

class Searches : public HostPlan {
 public:
  explicit Searches(const hal::SearchDesc& desc) : desc_(desc) {}

  const std::string& name() const override {
    static const std::string name = "hologram searchsorted";
    return name;
  }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    of_type(desc_.dtype, [&]<class E>(E) {
      using T = typename E::Stored;
      const T* const sorted = data_at<const T>(operands[0]);
      const T* const values = data_at<const T>(operands[1]);
      int64_t* const y = data_at<int64_t>(operands[2]);
      constexpr uint64_t kWorth = kWorthAThread / 16;
      threads.run(static_cast<uint64_t>(desc_.count), kWorth, [&](uint64_t begin, uint64_t end) {
        const auto from = static_cast<int64_t>(begin), to = static_cast<int64_t>(end);
        if (desc_.right) search<E, true>(sorted, desc_.length, values, y, from, to);
        else search<E, false>(sorted, desc_.length, values, y, from, to);
      });
    });
  }

 private:
  const hal::SearchDesc desc_;
};

}  // namespace

std::shared_ptr<HostPlan> plan(const hal::SearchDesc& desc) {
  return std::make_shared<Searches>(desc);
}

}  // namespace hologram::libraries::loops
