// What comes before the pieces of a row: the order of hal::ScanDesc, with partial results whose
// exponents do not end.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "libraries/loops/scan_kernels.hpp"
#include "program/extended_range.hpp"

namespace hologram::libraries::loops {

// A partial result: of floats with an exponent of its own.
template <class T>
using Part = std::conditional_t<std::is_floating_point_v<T>, program::Extended<T>, T>;

template <class T, bool kProducts>
constexpr T kNothing = kProducts ? 1 : 0;

template <class T>
Part<T> part_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return {x, 0};
  else return x;
}

// In plain arithmetic; integers overflow as programs let them.
template <bool kProducts, class T>
T step(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return kProducts ? a * b : a + b;
  } else {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(kProducts ? x * y : x + y);
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
    const T size = std::fabs(plain);
    const bool is_low =
        kProducts && size < std::numeric_limits<T>::min() && a.value != 0 && b.value != 0;
    if (size <= std::numeric_limits<T>::max() && !is_low) return {plain, 0};
  }
  return program::settled(extended_step<kProducts>(a, b));
}

// For plain arithmetic: NaN where it needs its exponent.
template <class T>
T plain_of(const Part<T>& part) {
  if constexpr (std::is_floating_point_v<T>)
    return part.exponent == 0 ? part.value : std::numeric_limits<T>::quiet_NaN();
  else return part;
}

// Before a piece, innermost level first.
template <class T>
struct Before {
  std::array<Part<T>, kMostLevels> levels = {};
  size_t count = 0;

  bool is_plain() const {
    if constexpr (std::is_floating_point_v<T>)
      for (size_t k = 0; k < count; k++)
        if (levels[k].exponent != 0) return false;
    return true;
  }
};

// That of the pieces of a row, one after the other.
template <class T, bool kProducts>
class Levels {
 public:
  Levels() { before_.levels.fill(part_of(kNothing<T, kProducts>)); }
  const Before<T>& before() const { return before_; }
  void add(Part<T> of_piece) {
    for (size_t k = 0; k < kMostLevels; k++) {
      before_.count = k < before_.count ? before_.count : k + 1;
      Part<T>& sum = before_.levels[k];
      sum = combined<kProducts>(sum, of_piece);
      if (++blocks_[k] < hal::ScanDesc::kPiece) return;
      // A block is full: it is one of the next level.
      of_piece = sum;
      sum = part_of(kNothing<T, kProducts>);
      blocks_[k] = 0;
    }
  }

 private:
  Before<T> before_;
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
