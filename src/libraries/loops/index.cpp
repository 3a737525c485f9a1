#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>

#include "libraries/half_convert.hpp"
#include "libraries/loops/keys.hpp"
#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

using hal::IndexDesc;

// A processor does not look as many places ahead by itself, which counts where they are not in its
// second cache: 6.8 ms for a million f32 on a Zen 1, and 5.6 so.
constexpr int64_t kAhead = 64;
constexpr uint64_t kSecondCache = 512 * 1024;  // bytes, the smallest of today
// Of so many elements of a row one must change for the row to be worth f32 sums.
constexpr int64_t kMuchOfARow = 16;

// The positions of a row of the outermost axis, and what lies there; kept where nothing that is
// stored can be meant.
template <class Position>
struct Places {
  Places(const IndexDesc& d, const Position* all, int64_t o)
      : at(all + d.start + o * d.strides[0]),
        step(d.strides[1]),
        along(d.strides[2]),
        length(d.length),
        inner(d.lengths[2]) {}

  // Where along the axis, or -1.
  int64_t place(int64_t j, int64_t i) {
    int64_t place = at[j * step + i * along];
    if (place < 0) place += length;
    if (static_cast<uint64_t>(place) < static_cast<uint64_t>(length)) [[likely]]
      return place;
    wrong = true;
    return -1;
  }

  // Has what is to be changed there brought near, unless it is counted from the end.
  void fetch(const void* row, size_t size, int64_t j) const {
    const auto asked = static_cast<uint64_t>(int64_t{at[j * step]});
    const uint64_t place = asked < static_cast<uint64_t>(length) ? asked : 0;
    constexpr int kToWrite = 1;
    __builtin_prefetch(static_cast<const std::byte*>(row) + place * size, kToWrite);
  }

  const Position* const at;
  const int64_t step, along, length, inner;
  bool wrong = false;
};

// body(first of `count` columns, how many of them, o) for columns `begin` to `end` - 1 of all rows.
template <class Body>
void each_row(uint64_t begin, uint64_t end, int64_t count, const Body& body) {
  for (auto c = static_cast<int64_t>(begin); c < static_cast<int64_t>(end);) {
    const int64_t o = c / count, first = c % count;
    const int64_t last = std::min(count, first + static_cast<int64_t>(end) - c);
    body(first, last, o);
    c += last - first;
  }
}

template <class E, class Position>
void gather(const IndexDesc& d, const typename E::Stored* x, const Position* positions,
            typename E::Stored* y, std::atomic_ref<uint32_t> wrong, core::Threads& threads) {
  using T = typename E::Stored;
  const int64_t count = d.lengths[1], inner = d.lengths[2];
  const auto some = [&](int64_t first, int64_t last, int64_t o) {
    Places<Position> p(d, positions, o);
    const T* const from = x + o * p.length * p.inner;
    T* to = y + (o * count + first) * p.inner;
    if (p.inner == 1) {
      for (int64_t j = first; j < last; j++) {
        const int64_t place = p.place(j, 0);
        *to++ = place < 0 ? T() : E::moved(from[place]);
      }
    } else if (p.along == 0) {  // rows that lie together
      for (int64_t j = first; j < last; j++, to += p.inner) {
        const int64_t place = p.place(j, 0);
        if (place < 0) std::fill_n(to, p.inner, T());
        else std::transform(from + place * p.inner, from + (place + 1) * p.inner, to, E::moved);
      }
    } else {
      for (int64_t j = first; j < last; j++)
        for (int64_t i = 0; i < p.inner; i++) {
          const int64_t place = p.place(j, i);
          *to++ = place < 0 ? T() : E::moved(from[place * p.inner + i]);
        }
    }
    if (p.wrong) wrong.store(1, std::memory_order_relaxed);
  };
  threads.run(static_cast<uint64_t>(d.lengths[0] * count),
              static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / inner)),
              [&](uint64_t begin, uint64_t end) { each_row(begin, end, count, some); });
}

// f32 that the element would be loaded as again, once it is stored.
template <class E>
float rounded(float x) {
  constexpr bool kF16 = E::kType == DType::F16;
  constexpr uint32_t kDropped = kF16 ? 13 : 16, kHalf = 1u << (kDropped - 1);
  constexpr uint32_t kLeast = kF16 ? 113u << 23 : 0, kMost = kF16 ? 0x477ff000u : 0x7f800000u;
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) - kLeast >= kMost - kLeast) [[unlikely]]  // not a normal number
    return E::load(E::store(x));
  return std::bit_cast<float>((bits + kHalf - 1 + (bits >> kDropped & 1)) & ~(2 * kHalf - 1));
}

// Values added to a row of 16-bit floats, which is f32 meanwhile. False where there is what is no
// number, whose bits are to stay.
template <class E, class Place>
bool add_to_row(const uint16_t* values, int64_t count, uint16_t* row, int64_t length,
                const Place& place_of) {
  int16_t most = 0;
  for_each(0, length,
           [&](int64_t i) { most = std::max(most, static_cast<int16_t>(row[i] & 0x7fffu)); });
  if (static_cast<uint16_t>(most) > Keyed<E>::kInfinity) return false;
  const auto widen = half_convert().widen(E::kType);
  const auto narrow = half_convert().narrow(E::kType);
  const auto sums = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(length));
  widen(row, length, sums.get());
  constexpr int64_t kAtATime = 256;
  std::array<float, kAtATime> some;
  for (int64_t first = 0; first < count; first += kAtATime) {
    const int64_t here = std::min(kAtATime, count - first);
    widen(values + first, here, some.data());
    for (int64_t j = 0; j < here; j++)
      if (const int64_t place = place_of(first + j); place >= 0) {
        float& sum = sums[static_cast<size_t>(place)];
        sum = rounded<E>(sum + some[static_cast<size_t>(j)]);
      }
  }
  narrow(sums.get(), length, row);
  return true;
}

// Those of one place go in order: what is given to threads is the columns of a row.
template <class E, bool kAdd, class Position>
void scatter(const IndexDesc& d, const typename E::Stored* values, const Position* positions,
             typename E::Stored* y, std::atomic_ref<uint32_t> wrong, core::Threads& threads) {
  using T = typename E::Stored;
  using V = typename E::Value;
  const auto put = [](T& to, T v) {
    if constexpr (!kAdd) {
      to = E::moved(v);
    } else if constexpr (std::is_integral_v<V>) {  // overflows as in programs
      to = static_cast<T>(static_cast<uint64_t>(to) + static_cast<uint64_t>(v));
    } else {
      to = E::store(E::load(to) + E::load(v));
    }
  };
  const int64_t count = d.lengths[1], inner = d.lengths[2];
  const auto some = [&](int64_t first, int64_t last, int64_t o) {
    Places<Position> p(d, positions, o);
    T* const to = y + o * p.length * p.inner;
    const T* from = values + o * count * p.inner;
    if (p.inner == 1) {
      if constexpr (kAdd && sizeof(T) == 2 && std::is_same_v<V, float>) {
        const bool many = count >= p.length / kMuchOfARow;
        if (many &&
            add_to_row<E>(from, count, to, p.length, [&](int64_t j) { return p.place(j, 0); })) {
          if (p.wrong) wrong.store(1, std::memory_order_relaxed);
          return;
        }
      }
      const auto one = [&](int64_t j) {
        if (const int64_t place = p.place(j, 0); place >= 0) put(to[place], from[j]);
      };
      const bool far = static_cast<uint64_t>(p.length) * sizeof(T) > kSecondCache;
      int64_t j = 0;
      for (; far && j < count - kAhead; j++) {
        p.fetch(to, sizeof(T), j + kAhead);
        one(j);
      }
      for (; j < count; j++) one(j);
    } else if (p.along == 0) {
      for (int64_t j = 0; j < count; j++, from += p.inner) {
        const int64_t place = p.place(j, 0);
        if (place < 0) continue;
        T* const row = to + place * p.inner;
        for (int64_t i = first; i < last; i++) put(row[i], from[i]);
      }
    } else {
      for (int64_t j = 0; j < count; j++, from += p.inner)
        for (int64_t i = first; i < last; i++) {
          const int64_t place = p.place(j, i);
          if (place >= 0) put(to[place * p.inner + i], from[i]);
        }
    }
    if (p.wrong) wrong.store(1, std::memory_order_relaxed);
  };
  threads.run(static_cast<uint64_t>(d.lengths[0] * inner),
              static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / count)),
              [&](uint64_t begin, uint64_t end) { each_row(begin, end, inner, some); });
}

class Indexed : public HostPlan {
 public:
  explicit Indexed(const IndexDesc& desc) : desc_(desc) {}

  const std::string& name() const override {
    static const std::string names[] = {"hologram gather", "hologram scatter",
                                        "hologram scatter_add"};
    return names[static_cast<size_t>(desc_.what)];
  }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    if (desc_.lengths[0] * desc_.lengths[1] * desc_.lengths[2] == 0) return;
    of_type(desc_.dtype, [&]<class E>(E) {
      const auto by = [&]<class Position>(Position) {
        using T = typename E::Stored;
        const auto* const at = data_at<const Position>(operands[1]);
        const std::atomic_ref wrong(*data_at<uint32_t>(operands[2]));
        const T* const from = data_at<const T>(operands[0]);
        T* const to = data_at<T>(operands[3]);
        switch (desc_.what) {
          case IndexDesc::What::Gather: return gather<E>(desc_, from, at, to, wrong, threads);
          case IndexDesc::What::Put: return scatter<E, false>(desc_, from, at, to, wrong, threads);
          case IndexDesc::What::Add: return scatter<E, true>(desc_, from, at, to, wrong, threads);
        }
      };
      if (desc_.position == DType::I32) return by(int32_t());
      by(int64_t());
    });
  }

 private:
  const IndexDesc desc_;
};

}  // namespace

std::shared_ptr<HostPlan> plan(const IndexDesc& desc) { return std::make_shared<Indexed>(desc); }

}  // namespace hologram::libraries::loops
