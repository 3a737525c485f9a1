// Products of rounded rows with tiles of rows in blocks, by the instructions of a processor.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hologram::libraries::blocks {

// A tile of kTileRows rows times some columns, which are rounded rows (hal::BytesDesc).
struct Tile {
  const uint32_t* words;
  int64_t blocks, parts;  // of a row
  const uint32_t* x[8];   // of each column
  float* y;               // kTileRows numbers of each column,
  int64_t step;           // so far apart
  int64_t ahead;          // words that memory is announced ahead; 0: not at all
};

// For one type of blocks.
struct TypeKernels {
  std::string_view type;
  void (*one)(const Tile& tile);   // of one column,
  void (*many)(const Tile& tile);  // or of `columns`
};

// By some instructions.
struct Kernels {
  std::string_view name;
  int64_t columns;
  std::span<const TypeKernels> types;
  // Rounds a row of so many blocks.
  void (*round)(const float* x, int64_t blocks, uint32_t* to);

  const TypeKernels* of(std::string_view type) const {
    for (const TypeKernels& row : types)
      if (row.type == type) return &row;
    return nullptr;
  }
};

// Those that this processor can run, best first. All give the same bits.
std::span<const Kernels* const> kernels();

const Kernels& plain_kernels();
// Null where the build or the processor has none.
const Kernels* avx2_kernels();
const Kernels* vnni_kernels();

}  // namespace hologram::libraries::blocks
