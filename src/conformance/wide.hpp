// Numbers wide enough to say what the right answer is, and elements of arrays as such.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hologram/array.hpp"

namespace hologram::conformance {

#ifdef __SIZEOF_FLOAT128__
using Wide = __float128;  // + - * / of two f64, rounded once more, are rounded as once
#else
using Wide = long double;
#endif
__extension__ using Integer = __int128;

Wide real_at(DType dtype, const std::byte* data, size_t i);
Integer whole_at(DType dtype, const std::byte* data, size_t i);

// Rounded to nearest even; integers wrap.
void put_real(DType dtype, std::byte* data, size_t i, double value);
void put_whole(DType dtype, std::byte* data, size_t i, Integer value);
Integer wrapped(DType dtype, Integer value);

inline bool is_nan(Wide x) { return x != x; }
inline bool is_infinite(Wide x) { return x - x != 0 && x == x; }
inline Wide magnitude(Wide x) { return x < 0 ? -x : x; }
bool is_negative(Wide x);  // of zeros, too

// |result - exact| in units of the last place of `scale`, or of `exact` if that is larger. Those
// below the normal numbers are of the smallest denormal. Infinite where only one is NaN, or an
// infinity is not explained by rounding.
double error_in_units(DType dtype, Wide result, Wide exact, Wide scale = 0);

int digits_of(DType dtype);  // bits of the significand
// The largest finite number, and the smallest normal one.
double largest_of(DType dtype);
double smallest_of(DType dtype);

}  // namespace hologram::conformance
