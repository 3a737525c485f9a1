// Keys to sort by: unsigned numbers in the order of the elements; and how rows are cut for it.
#pragma once

#include <algorithm>
#include <vector>

#include "fusion/iteration_space.hpp"
#include "hologram/hal/buffer.hpp"

namespace hologram::graph {

class Context;

inline constexpr uint32_t kDigitBits = 8;
inline constexpr int64_t kDigits = 1 << kDigitBits;

DType key_dtype(DType element);
// The digits that make all the difference there is between elements, the least significant first.
struct Digits {
  uint32_t first, count;
};
Digits digits_of(DType element);

// The key of a loaded element: less than another where its element comes before. -0 equals 0, NaN
// comes behind everything, and descending all is the other way round.
program::Value key_of(program::Builder& builder, program::Value x, DType element, bool descending);

// As many rows as are worked on at once, so that the counts of their digits stay small. A multiple
// of every alignment of bindings.
inline constexpr int64_t kRowsAtOnce = 4096;
// Some rows of a matrix, each of so many bytes.
hal::Binding part_of(const hal::Binding& matrix, int64_t first, int64_t rows, uint64_t row_bytes);

// A launch of one lane for each of `lanes`; `sizes` are its scalars, of type `index`.
void launch_lanes(Context& context, const Program& program, DType index, int64_t lanes,
                  const std::vector<int64_t>& sizes, const std::vector<hal::Binding>& bindings);

}  // namespace hologram::graph
