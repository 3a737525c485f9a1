// What comes before the pieces of a row: the order of hal::ScanDesc, with partial results whose
// exponents do not end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "libraries/loops/scan_kernels.hpp"
#include "program/extended_range.hpp"

namespace hologram::libraries::loops {

inline constexpr int64_t kScanPiece = hal::ScanDesc::kPiece;
template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

// value * 2^exponent: a number from a half up to 1, or 0, infinite or NaN. Scaling by a power of
// two commutes with rounding, so that a product is rounded once, to the precision of the type.
template <class T>
struct Scaled {
  T value;
  int64_t exponent;
};

// A partial result: of floats with an exponent of its own.
template <class T, bool kProducts>
using Part = std::conditional_t<kFloat<T>,
                                std::conditional_t<kProducts, Scaled<T>, program::Extended<T>>, T>;

template <class T, bool kProducts>
constexpr T kNothing = kProducts ? 1 : 0;

template <class T>
Scaled<T> scaled(T value, int64_t exponent) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr Bits kAll = 2 * std::numeric_limits<T>::max_exponent - 1;
  constexpr Bits kHalf = std::numeric_limits<T>::max_exponent - 2;
  const auto bits = std::bit_cast<Bits>(value);
  const Bits own = bits >> kMantissa & kAll;
  if (own > 0 && own < kAll)
    return {std::bit_cast<T>((bits & ~(kAll << kMantissa)) | kHalf << kMantissa),
            exponent + static_cast<int64_t>(own) - static_cast<int64_t>(kHalf)};
  if (value == 0 || own == kAll) return {value, 0};
  int shift;
  value = std::frexp(value, &shift);
  return {value, exponent + shift};
}

// Of exponents of normal numbers.
template <class T>
T power_of_two(int64_t exponent) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const int64_t biased = exponent + std::numeric_limits<T>::max_exponent - 1;
  return std::bit_cast<T>(static_cast<Bits>(biased) << (std::numeric_limits<T>::digits - 1));
}

template <bool kProducts, class T>
Part<T, kProducts> part_of(T x) {
  if constexpr (!kFloat<T>) return x;
  else if constexpr (kProducts) return scaled(x, 0);
  else return {x, 0};
}
template <class T, bool kProducts>
Part<T, kProducts> no_part() {
  if constexpr (kFloat<T>) return {kNothing<T, kProducts>, 0};
  else return kNothing<T, kProducts>;
}
template <bool kProducts, class T, size_t kLanes>
Part<T, kProducts> part_of(const Totals<T, kLanes>& totals, size_t lane) {
  if constexpr (kFloat<T> && kProducts) return scaled(totals.values[lane], totals.exponents[lane]);
  else return part_of<kProducts>(totals.values[lane]);
}

// In plain arithmetic; integers overflow as programs let them.
template <bool kProducts, class T>
T step(T a, T b) {
  if constexpr (kFloat<T>) {
    return kProducts ? a * b : a + b;
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(kProducts ? x * y : x + y);
  }
}
// Whether that left the range of the type, so that exponents are needed; without branches.
template <bool kProducts, class T>
bool leaves(T a, T b, T result) {
  if constexpr (kFloat<T>) {
    const T size = std::fabs(result);
    const int is_low = kProducts ? static_cast<int>(size < std::numeric_limits<T>::min()) &
                                       static_cast<int>(a != 0) & static_cast<int>(b != 0)
                                 : 0;
    return (is_low | static_cast<int>(!(size <= std::numeric_limits<T>::max()))) != 0;
  } else {
    return false;
  }
}

template <bool kProducts, class T>
T combined(T a, T b) {
  return step<kProducts>(a, b);
}
template <bool kProducts, class T>
Scaled<T> combined(const Scaled<T>& a, const Scaled<T>& b) {
  return scaled(a.value * b.value, a.exponent + b.exponent);
}
template <bool kProducts, class T>
program::Extended<T> combined(const program::Extended<T>& a, const program::Extended<T>& b) {
  if ((a.exponent | b.exponent) == 0) {
    const T plain = a.value + b.value;
    if (!leaves<false>(a.value, b.value, plain)) return {plain, 0};
  }
  return program::settled(program::extended_sum(a, b));
}

template <class T>
T rounded(const Scaled<T>& a) {
  if (a.value == 0 || !(std::fabs(a.value) <= 1)) return a.value;
  return std::ldexp(a.value, static_cast<int>(std::clamp<int64_t>(a.exponent, -5000, 5000)));
}
// Before a piece, innermost level first.
template <class T, bool kProducts>
struct Before {
  std::array<Part<T, kProducts>, kMostLevels> levels = {};
  size_t count = 0;
};

// That of pieces in lanes side by side, as Starts and, where sums are NaN there, as parts.
template <class T, bool kProducts, size_t kLanes>
struct Starting {
  using OfPart = Part<T, kProducts>;
  Starting() {
    for (auto& level : starts.values) level.fill(kNothing<T, kProducts>);
    starts.exponents.fill(0);
  }
  Starts<T, kLanes> starts;
  std::array<std::array<OfPart, kLanes>, kMostLevels> parts;
  std::array<LaneBits, kMostLevels> needs_parts = {};
  size_t count = 0;

  LaneBits needs_any() const {
    LaneBits any = 0;
    for (const LaneBits lanes : needs_parts) any |= lanes;
    return any;
  }
  void set(size_t lane, const std::array<OfPart, kMostLevels>& levels, size_t many) {
    if constexpr (kScaled) {
      int64_t exponent = 0;
      for (size_t k = 0; k < many; k++) {
        starts.values[k][lane] = levels[k].value;
        exponent += levels[k].exponent;
      }
      set_exponent(lane, exponent);
    } else {
      for (size_t k = 0; k < many; k++) set_level(k, lane, levels[k]);
    }
  }
  // No piece reaches back from so far.
  void set_exponent(size_t lane, int64_t exponent) {
    constexpr int64_t kMost = 1 << 20;
    starts.exponents[lane] = static_cast<Exponent<T>>(std::clamp(exponent, -kMost, kMost));
  }
  Before<T, kProducts> before(size_t lane) const {
    Before<T, kProducts> before;
    before.count = count;
    for (size_t k = 0; k < count; k++) {
      if constexpr (kScaled)
        before.levels[k] = {starts.values[k][lane], k == 0 ? starts.exponents[lane] : 0};
      else if (needs_parts[k] >> lane & 1) before.levels[k] = parts[k][lane];
      else before.levels[k] = part_of<kProducts>(starts.values[k][lane]);
    }
    return before;
  }

 private:
  static constexpr bool kScaled = kFloat<T> && kProducts;

  void set_level(size_t level, size_t lane, const OfPart& part) {
    if constexpr (kFloat<T>) {
      const LaneBits bit = LaneBits{1} << lane;
      needs_parts[level] &= ~bit;
      starts.values[level][lane] = part.value;
      if (part.exponent == 0) return;
      needs_parts[level] |= bit;
      starts.values[level][lane] = std::numeric_limits<T>::quiet_NaN();
      parts[level][lane] = part;
    } else {
      starts.values[level][lane] = part;
    }
  }
};

// That of the pieces of some rows side by side, one after the other.
template <class T, bool kProducts, size_t kLanes>
class Levels {
 public:
  using OfPart = Part<T, kProducts>;
  Levels() {
    for (auto& lane : parts_) lane.fill(no_part<T, kProducts>());
  }
  const Starting<T, kProducts, kLanes>& now() const { return now_; }

  // The next piece of all rows: its total, or total(lane) where that left the range.
  template <class Total>
  void add(const Totals<T, kLanes>& totals, size_t lanes, LaneBits out, const Total& total) {
    for (size_t l = 0; l < lanes; l++)
      parts_[l][0] = combined<kProducts>(parts_[l][0],
                                         out >> l & 1 ? total(l) : part_of<kProducts>(totals, l));
    pass(1, lanes);
    for (size_t l = 0; l < lanes; l++) now_.set(l, parts_[l], now_.count);
  }

  // The next pieces of the first row, one after the other: what comes before each in a lane.
  template <size_t kPieces, class Total>
  void add_in_turn(const Totals<T, kPieces>& totals, size_t count, LaneBits out, const Total& total,
                   Starting<T, kProducts, kPieces>& before) {
    const bool in_block = blocks_[0] + static_cast<int64_t>(count) <= kScanPiece;
    if (in_block && add_in_block(totals, count, out, total, before))
      return pass(static_cast<int64_t>(count), 1);
    for (size_t s = 0; s < count; s++) {
      before.set(s, parts_[0], kMostLevels);
      before.count = now_.count;
      add_one(totals, s, out, total);
      pass(1, 1);
    }
  }

 private:
  template <class Totals, class Total>
  void add_one(const Totals& totals, size_t s, LaneBits out, const Total& total) {
    parts_[0][0] =
        combined<kProducts>(parts_[0][0], out >> s & 1 ? total(s) : part_of<kProducts>(totals, s));
  }
  static T value_of(const OfPart& part) {
    if constexpr (kFloat<T>) return part.value;
    else return part;
  }
  // Where the innermost level alone changes, unless sums need exponents.
  template <size_t kPieces, class Total>
  bool add_in_block(const Totals<T, kPieces>& totals, size_t count, LaneBits out,
                    const Total& total, Starting<T, kProducts, kPieces>& before) {
    auto& starts = before.starts;
    if constexpr (kFloat<T> && kProducts) {
      int64_t above = 0;
      for (size_t k = 1; k < kMostLevels; k++) above += parts_[0][k].exponent;
      for (size_t s = 0; s < count; s++) {
        starts.values[0][s] = parts_[0][0].value;
        before.set_exponent(s, parts_[0][0].exponent + above);
        add_one(totals, s, out, total);
      }
    } else {
      T sum = value_of(parts_[0][0]);
      for (size_t s = 0; s < count; s++) {
        starts.values[0][s] = sum;
        sum = step<kProducts>(sum, totals.values[s]);
      }
      if constexpr (kFloat<T>) {
        int is_out =
            static_cast<int>(out != 0 || !(std::fabs(sum) <= std::numeric_limits<T>::max()));
        for (const auto& part : parts_[0]) is_out |= part.exponent;
        if (is_out != 0) return false;
        parts_[0][0].value = sum;
      } else {
        parts_[0][0] = sum;
      }
    }
    before.needs_parts = {};
    before.count = std::max<size_t>(1, now_.count);
    for (size_t k = 1; k < now_.count; k++) starts.values[k].fill(value_of(parts_[0][k]));
    return true;
  }

  // So many pieces have been added. A block that is full is one of the next level.
  void pass(int64_t pieces, size_t lanes) {
    now_.count = std::max<size_t>(1, now_.count);
    blocks_[0] += pieces;
    for (size_t k = 0; blocks_[k] == kScanPiece && k + 1 < kMostLevels; k++) {
      for (size_t l = 0; l < lanes; l++) {
        parts_[l][k + 1] = combined<kProducts>(parts_[l][k + 1], parts_[l][k]);
        parts_[l][k] = no_part<T, kProducts>();
      }
      blocks_[k] = 0;
      blocks_[k + 1]++;
      now_.count = std::max(k + 2, now_.count);
    }
  }

  Starting<T, kProducts, kLanes> now_;
  std::array<std::array<OfPart, kMostLevels>, kLanes> parts_;
  std::array<int64_t, kMostLevels> blocks_ = {};
};

// A piece, or a column of one, with exponents that do not end: what comes before it is added in y,
// if that is wanted. Its own result.
template <bool kProducts, class T>
Part<T, kProducts> walk_extended(const T* x, T* y, int64_t count, int64_t apart,
                                 const Before<T, kProducts>& before) {
  auto sum = no_part<T, kProducts>();
  for (int64_t j = 0; j < count; j++) {
    sum = combined<kProducts>(sum, part_of<kProducts>(x[j * apart]));
    if (y == nullptr) continue;
    auto result = sum;
    for (size_t k = 0; k < before.count; k++)
      result = combined<kProducts>(before.levels[k], result);
    y[j * apart] = rounded(result);
  }
  return sum;
}

}  // namespace hologram::libraries::loops
