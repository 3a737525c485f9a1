// Products in plain arithmetic first, twice as fast as with exponents: the processor's own flags
// say whether anything underflowed, overflowed or was denormal, or 0 met what is infinite. Where
// nothing did the bits are the same.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "libraries/loops/scan_levels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hologram::libraries::loops {

// What was raised since this was made. Between the two, computations are behind a call that the
// compiler does not see through.
class FloatFlags {
 public:
#if defined(__x86_64__)
  static constexpr bool kThere = true;
  FloatFlags() { _mm_setcsr(_mm_getcsr() & ~kLeaves); }
  bool left_range() const { return (_mm_getcsr() & kLeaves) != 0; }

 private:
  static constexpr unsigned kLeaves =
      _MM_EXCEPT_INVALID | _MM_EXCEPT_DENORM | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW;
#else
  static constexpr bool kThere = false;
  bool left_range() const { return true; }
#endif
};

// What comes before products in plain numbers, if it is such or so small that nothing is left of a
// product.
template <class T, size_t kLanes>
bool plain_starts(const Starting<T, true, kLanes>& before, size_t lanes, Starts<T, kLanes>& plain) {
  using L = std::numeric_limits<T>;
  constexpr int64_t kMost = L::max_exponent - 8;
  constexpr int64_t kNothing = 2 * L::min_exponent - L::digits - 8;
  if (before.count == 0) return true;
  bool is_plain = true;
  for (size_t k = 0; k < before.count; k++) plain.values[k] = before.starts.values[k];
  for (size_t l = 0; l < lanes; l++) {
    const auto exponent = static_cast<int64_t>(before.starts.exponents[l]);
    if (exponent == 0) continue;
    T factor = 0;
    if (exponent > -kMost && exponent < kMost) {
      factor = power_of_two<T>(exponent);
    } else {
      T all = 0;
      for (size_t k = 0; k < before.count; k++) all += std::fabs(before.starts.values[k][l]);
      is_plain = is_plain && exponent < kNothing && all <= L::max();
    }
    plain.values[0][l] *= factor;
  }
  return is_plain;
}

// Zeros that come before products of which nothing is left, those of exponents up to `highest` in
// each lane: whether such are all of them.
template <class T, size_t kLanes>
bool vanishing_starts(const Starting<T, true, kLanes>& before, size_t lanes,
                      const std::array<Exponent<T>, kLanes>& highest, Starts<T, kLanes>& zeros) {
  using L = std::numeric_limits<T>;
  constexpr int64_t kVanishing = L::min_exponent - 1 - L::digits - L::max_exponent;
  if (before.count == 0) return false;
  zeros.values[0].fill(0);
  bool all = true;
  for (size_t l = 0; l < lanes; l++) {
    const int64_t exponent = int64_t{before.starts.exponents[l]} + highest[l];
    T product = 1;
    for (size_t k = 0; k < before.count; k++) product *= before.starts.values[k][l];
    all = all && (product == 0 || exponent <= kVanishing);
    zeros.values[0][l] = product * 0;
    all = all && zeros.values[0][l] == 0;
  }
  return all;
}

// plain() if it may do and did; whether it was so. Where it did not it is not tried for a while.
class PlainFirst {
 public:
  template <class Plain>
  bool run(bool may_do, const Plain& plain) {
    if (!FloatFlags::kThere) return false;
    if (wait_ > 0) return wait_--, false;
    if (may_do) {
      const FloatFlags flags;
      plain();
      if (!flags.left_range()) return next_ = kLeast, true;
    }
    wait_ = next_;
    next_ = std::min(2 * next_, kMost);
    return false;
  }

 private:
  static constexpr int kLeast = 8, kMost = 128;
  int wait_ = 0, next_ = kLeast;
};

// The ways of a kernel for products of floats; sums are Scaled.
enum class Way { Plain, Vanishing, Scaled };
template <Way kWay>
using WayTag = std::integral_constant<Way, kWay>;

// run(a way, what comes before) for `lanes` lanes, the fastest way that does.
template <bool kProducts, class T, size_t kLanes, class Run>
LaneBits run_levels(PlainFirst& first, const Starting<T, kProducts, kLanes>& before, size_t lanes,
                    Totals<T, kLanes>& totals, const Run& run) {
  using Scaled = WayTag<Way::Scaled>;
  if constexpr (kFloat<T> && kProducts) {
    Starts<T, kLanes> starts;
    const bool may_do = plain_starts(before, lanes, starts);
    if (first.run(may_do,
                  [&] { run(WayTag<Way::Plain>(), before.count == 0 ? before.starts : starts); }))
      return 0;
    if (vanishing_starts(before, lanes, {}, starts)) {
      const LaneBits out = run(WayTag<Way::Vanishing>(), starts);
      if (vanishing_starts(before, lanes, totals.highest, starts)) return out;
    }
    return run(Scaled(), before.starts);
  } else {
    return before.needs_any() | run(Scaled(), before.starts);
  }
}

}  // namespace hologram::libraries::loops
