#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

constexpr int64_t kWord = 8;                           // flags that are looked at together
constexpr uint64_t kWorthAThread = uint64_t{1} << 15;  // flags

// The highest bit of each byte that is not 0.
uint64_t true_bytes(uint64_t word) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  return (((word & kLow) + kLow) | word) & ~kLow;
}

// body(place of the first, true_bytes) for the words of flags [begin, end) in which there are some.
template <class Body>
void each_word(const uint8_t* flags, int64_t begin, int64_t end, const Body& body) {
  for (int64_t i = begin; i < end; i += kWord) {
    uint64_t word = 0;
    std::memcpy(&word, flags + i, static_cast<size_t>(std::min(kWord, end - i)));
    if (const uint64_t some = true_bytes(word); some != 0) body(i, some);
  }
}

class Places : public HostPlan {
 public:
  explicit Places(const hal::NonzeroDesc& desc)
      : desc_(desc), row_(desc.lengths.empty() ? 1 : desc.lengths.back()) {
    for (const int64_t length : desc.lengths) count_ *= length;
  }

  const std::string& name() const override {
    static const std::string name = "hologram nonzero";
    return name;
  }

  // Each part begins where those before it end, which has to be counted.
  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    if (count_ == 0) return;
    const uint8_t* const flags = data_at<const uint8_t>(operands[0]);
    int64_t* const places = data_at<int64_t>(operands[1]);
    const uint64_t most = (static_cast<uint64_t>(count_) + kWorthAThread - 1) / kWorthAThread;
    const auto parts = static_cast<int64_t>(std::min(static_cast<uint64_t>(threads.count()), most));
    const auto begin_of = [&](int64_t part) { return count_ * part / parts; };
    std::vector<int64_t> found(static_cast<size_t>(parts));  // in the parts before
    const auto each_part = [&](int64_t some, const auto& body) {
      threads.run(static_cast<uint64_t>(some), 1, [&](uint64_t begin, uint64_t end) {
        for (uint64_t part = begin; part < end; part++) body(static_cast<int64_t>(part));
      });
    };
    each_part(parts - 1, [&](int64_t part) {
      int64_t& here = found[static_cast<size_t>(part) + 1];
      each_word(flags, begin_of(part), begin_of(part + 1),
                [&](int64_t, uint64_t some) { here += std::popcount(some); });
    });
    for (size_t part = 1; part < found.size(); part++) found[part] += found[part - 1];
    const auto axes = static_cast<int64_t>(desc_.lengths.size());
    each_part(parts, [&](int64_t part) {
      write(flags, begin_of(part), begin_of(part + 1),
            places + found[static_cast<size_t>(part)] * axes);
    });
  }

 private:
  // Row by row of the last axis.
  void write(const uint8_t* flags, int64_t begin, int64_t end, int64_t* to) const {
    const size_t axes = desc_.lengths.size();
    InlineVector<int64_t, 8> at(axes, 0);
    for (int64_t i = begin; i < end;) {
      const int64_t first = i / row_ * row_, last = std::min(first + row_, end);
      int64_t rest = i / row_;
      for (size_t k = axes; k-- > 1;) {
        at[k - 1] = rest % desc_.lengths[k - 1];
        rest /= desc_.lengths[k - 1];
      }
      const auto put = [&](int64_t place) {
        if (axes == 2) {  // without a loop
          to[0] = at[0];
        } else {
          for (size_t k = 0; k + 1 < axes; k++) to[k] = at[k];
        }
        if (axes > 0) to[axes - 1] = place - first;
        to += axes;
      };
      each_word(flags, i, last, [&](int64_t word, uint64_t some) {
        for (; some != 0; some &= some - 1) put(word + std::countr_zero(some) / kWord);
      });
      i = last;
    }
  }

  const hal::NonzeroDesc desc_;
  const int64_t row_;  // elements
  int64_t count_ = 1;
};

}  // namespace

std::shared_ptr<HostPlan> plan(const hal::NonzeroDesc& desc) {
  return std::make_shared<Places>(desc);
}

}  // namespace hologram::libraries::loops
