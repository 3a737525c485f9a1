// Keys to sort by: unsigned numbers in the order of the elements; and how rows are cut for it.
#pragma once

#include <algorithm>
#include <vector>

#include "graph/box.hpp"
#include "hal/hal.hpp"

namespace hologram::graph {

class Context;

inline constexpr uint32_t kDigitBits = 8;
inline constexpr int64_t kDigits = 1 << kDigitBits;

DType key_dtype(DType element);
// How many digits make all the difference there is between elements.
uint32_t digits_of(DType element);

// The key of a loaded element: less than another where its element comes before. -0 equals 0, NaN
// comes behind everything, and descending all is the other way round.
program::Value key_of(program::Builder& builder, program::Value x, DType element, bool descending);

// As many rows as are worked on at once, so that the counts of their digits stay small. A multiple
// of every alignment of bindings.
inline constexpr int64_t kRowsAtOnce = 4096;
// Some rows of a matrix, each of so many bytes.
hal::Binding part_of(const hal::Binding& matrix, int64_t first, int64_t rows, uint64_t row_bytes);

// Rows of so many elements in pieces, one a lane: as many as keep a device busy, and no more, as
// each has a count of every digit.
struct Pieces {
  Pieces(int64_t rows, int64_t length);
  const int64_t rows, length;
  const int64_t piece;   // elements of one
  const int64_t pieces;  // of a row
  int64_t counts() const { return rows * kDigits * pieces; }
  // The largest number that programs over them come across.
  int64_t most() const { return std::max(rows * length, counts()) + kDigits * piece; }
};

// A launch of one lane for each of `lanes`; `sizes` are its scalars, of type `index`.
void launch_lanes(Context& context, const Program& program, DType index, int64_t lanes,
                  const std::vector<int64_t>& sizes, const std::vector<hal::Binding>& bindings);

}  // namespace hologram::graph
