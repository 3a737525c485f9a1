// Shapes: the lengths of the axes, outermost first. Arrays are row-major.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "hologram/export.hpp"
#include "hologram/inline_vector.hpp"

namespace hologram {

inline constexpr size_t kMaxRank = 8;

using Shape = InlineVector<int64_t, kMaxRank>;  // empty for a single number

// The number of elements; ShapeMismatch if a length is negative, the rank above kMaxRank, or the
// product beyond 2^59.
HOLOGRAM_API int64_t count_of(const Shape& shape);

// "[480, 640, 3]"
HOLOGRAM_API std::string to_string(const Shape& shape);
HOLOGRAM_API std::ostream& operator<<(std::ostream& to, const Shape& shape);

}  // namespace hologram
