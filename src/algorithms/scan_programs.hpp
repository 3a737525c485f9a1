// The programs of running sums and products (scan.hpp).
#pragma once

#include "fusion/iteration_space.hpp"

namespace hologram::graph {

// One walk through all pieces of the rows. Totals are of whole pieces alone; what has exponents of
// its own is a number of program/extended_range.hpp, stored as two arrays.
struct ScanKey {
  DType dtype, index;
  program::Combine combine;
  int8_t lanes_axis;
  enum class Results : uint8_t { None, Elements, Extended } results;
  bool extended;   // so are the elements
  bool totals;     // the result of each whole piece is wanted
  uint8_t levels;  // of what comes before a piece
};

// Scalars: the pieces of a row, its length, its whole pieces if totals are wanted, and how many
// entries each level has a row. Buffers: x; results; totals; a level each. Of what is extended, the
// exponents follow as a buffer of their own.
//
// A lane goes through one piece; scalars begin with the box {rows, pieces, inner}.
program::Program piece_program(const ScanKey& key);
// The same for dense rows, on devices whose lanes read together. The scalars begin with the number
// of pieces of all rows.
program::Program tiles_program(const ScanKey& key);
inline constexpr uint32_t kScanTilePieces = 64;  // of a group

}  // namespace hologram::graph
