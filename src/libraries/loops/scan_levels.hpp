// What comes before the pieces of a row: the order of hal::ScanDesc, with partial results whose
// exponents do not end.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "libraries/loops/scan_kernels.hpp"
#include "program/extended_range.hpp"

namespace hologram::libraries::loops {

inline constexpr int64_t kScanPiece = hal::ScanDesc::kPiece;
template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

// A partial result: of floats with an exponent of its own.
template <class T>
using Part = std::conditional_t<kFloat<T>, program::Extended<T>, T>;

template <class T, bool kProducts>
constexpr T kNothing = kProducts ? 1 : 0;

template <class T>
Part<T> part_of(T x) {
  if constexpr (kFloat<T>) return {x, 0};
  else return x;
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
program::Extended<T> extended_step(const program::Extended<T>& a, const program::Extended<T>& b) {
  if constexpr (kProducts) return program::extended_product(a, b);
  else return program::extended_sum(a, b);
}

template <bool kProducts, class T>
T combined(T a, T b) {
  return step<kProducts>(a, b);
}
template <bool kProducts, class T>
program::Extended<T> combined(const program::Extended<T>& a, const program::Extended<T>& b) {
  if ((a.exponent | b.exponent) == 0) {
    const T plain = step<kProducts>(a.value, b.value);
    if (!leaves<kProducts>(a.value, b.value, plain)) return {plain, 0};
  }
  return program::settled(extended_step<kProducts>(a, b));
}

// Before a piece, innermost level first.
template <class T>
struct Before {
  std::array<Part<T>, kMostLevels> levels = {};
  size_t count = 0;
};

// That of pieces in lanes side by side, as Starts and, where those are NaN, as parts.
template <class T, bool kProducts, size_t kLanes>
struct Starting {
  Starting() {
    for (auto& level : starts) level.fill(kNothing<T, kProducts>);
  }
  Starts<T, kLanes> starts;
  std::array<std::array<Part<T>, kLanes>, kMostLevels> parts;
  std::array<LaneBits, kMostLevels> needs_parts = {};
  size_t count = 0;

  LaneBits needs_any() const {
    LaneBits any = 0;
    for (const LaneBits lanes : needs_parts) any |= lanes;
    return any;
  }
  Part<T> part(size_t level, size_t lane) const {
    return needs_parts[level] >> lane & 1 ? parts[level][lane] : part_of(starts[level][lane]);
  }
  void set(size_t level, size_t lane, const Part<T>& part) {
    if constexpr (kFloat<T>) {
      const LaneBits bit = LaneBits{1} << lane;
      needs_parts[level] &= ~bit;
      starts[level][lane] = part.value;
      if (part.exponent == 0) return;
      needs_parts[level] |= bit;
      starts[level][lane] = std::numeric_limits<T>::quiet_NaN();
      parts[level][lane] = part;
    } else {
      starts[level][lane] = part;
    }
  }
  Before<T> before(size_t lane) const {
    Before<T> before;
    before.count = count;
    for (size_t k = 0; k < count; k++) before.levels[k] = part(k, lane);
    return before;
  }
};

// That of the pieces of some rows side by side, one after the other.
template <class T, bool kProducts, size_t kLanes>
class Levels {
 public:
  const Starting<T, kProducts, kLanes>& now() const { return now_; }

  // The next piece of all rows: totals[lane], or total(lane) where that left the range.
  template <class Total>
  void add(const std::array<T, kLanes>& totals, size_t lanes, LaneBits out, const Total& total) {
    std::array<T, kLanes> next = now_.starts[0];
    int is_out = static_cast<int>((out | now_.needs_parts[0]) != 0);
    for (size_t l = 0; l < lanes; l++) {
      next[l] = step<kProducts>(now_.starts[0][l], totals[l]);
      is_out |= static_cast<int>(leaves<kProducts>(now_.starts[0][l], totals[l], next[l]));
    }
    if (is_out == 0) now_.starts[0] = next;
    else
      for (size_t l = 0; l < lanes; l++)
        now_.set(
            0, l,
            combined<kProducts>(now_.part(0, l), out >> l & 1 ? total(l) : part_of<T>(totals[l])));
    pass(1);
  }

  // The next pieces of the first row, one after the other: what comes before each in a lane.
  template <size_t kPieces, class Total>
  void add_in_turn(const std::array<T, kPieces>& totals, size_t count, LaneBits out,
                   const Total& total, Starting<T, kProducts, kPieces>& before) {
    T sum = now_.starts[0][0];
    int is_out = static_cast<int>((out | now_.needs_any()) != 0 ||
                                  blocks_[0] + static_cast<int64_t>(count) > kScanPiece);
    for (size_t s = 0; s < count; s++) {
      before.starts[0][s] = sum;
      const T next = step<kProducts>(sum, totals[s]);
      is_out |= static_cast<int>(leaves<kProducts>(sum, totals[s], next));
      sum = next;
    }
    if (is_out == 0) {
      before.needs_parts = {};
      before.count = std::max<size_t>(1, now_.count);
      for (size_t k = 1; k < now_.count; k++) before.starts[k].fill(now_.starts[k][0]);
      now_.starts[0][0] = sum;
      return pass(static_cast<int64_t>(count));
    }
    for (size_t s = 0; s < count; s++) {
      before.count = now_.count;
      for (size_t k = 0; k < kMostLevels; k++) before.set(k, s, now_.part(k, 0));
      now_.set(
          0, 0,
          combined<kProducts>(now_.part(0, 0), out >> s & 1 ? total(s) : part_of<T>(totals[s])));
      pass(1);
    }
  }

 private:
  // So many pieces have been added. A block that is full is one of the next level.
  void pass(int64_t pieces) {
    now_.count = std::max<size_t>(1, now_.count);
    blocks_[0] += pieces;
    for (size_t k = 0; blocks_[k] == kScanPiece && k + 1 < kMostLevels; k++) {
      for (size_t l = 0; l < kLanes; l++) {
        now_.set(k + 1, l, combined<kProducts>(now_.part(k + 1, l), now_.part(k, l)));
        now_.set(k, l, part_of(kNothing<T, kProducts>));
      }
      blocks_[k] = 0;
      blocks_[k + 1]++;
      now_.count = std::max(k + 2, now_.count);
    }
  }

  Starting<T, kProducts, kLanes> now_;
  std::array<int64_t, kMostLevels> blocks_ = {};
};

// A piece, or a column of one, with exponents that do not end: what comes before it is added in y,
// if that is wanted. Its own result.
template <bool kProducts, class T>
Part<T> walk_extended(const T* x, T* y, int64_t count, int64_t apart, const Before<T>& before) {
  Part<T> sum = part_of(kNothing<T, kProducts>);
  for (int64_t j = 0; j < count; j++) {
    sum = extended_step<kProducts>(sum, part_of(x[j * apart]));
    if (y == nullptr) continue;
    Part<T> result = sum;
    for (size_t k = 0; k < before.count; k++)
      result = extended_step<kProducts>(before.levels[k], result);
    y[j * apart] = program::rounded(result);
  }
  return program::settled(sum);
}

}  // namespace hologram::libraries::loops
