// hologram's own product of matrices: one Atlas program for every device, type and layout, for when
// no library takes the product.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/hal/operations.hpp"
#include "hologram/program.hpp"

namespace hologram::libraries {

// What the program depends on. Sizes, strides and starts are arguments.
struct ProductKey {
  DType a = DType::None, b = DType::None, d = DType::None;
  DType accumulate = DType::None;  // a compute type
  bool along_rows = false;         // lanes lie along the rows of d (each a row) instead of columns
  uint8_t rows = 4;                // how many rows (columns) of d a lane computes
  bool wide = false;               // indices are i64
  // For devices with many threads: a workgroup computes a square. Whether the terms of a lie side
  // by side, and whether the columns of b do.
  bool tiled = false, a_terms = false, b_columns = false;
  uint8_t tile = 0;  // which of kProductTiles
  friend bool operator==(const ProductKey&, const ProductKey&) = default;
};

// A matrix of each of the batch in its buffer, in elements; strides may be 0 or negative.
struct ProductMatrix {
  DType type = DType::None;
  int64_t start = 0, row = 0, column = 0, batch = 0;
};

struct Product {
  ProductMatrix a, b, d;
  DType accumulate = DType::None;
  int64_t m = 0, n = 0, k = 0, batch = 1;
};

Product product_of(const hal::GemmDesc& desc);

// The type that a product into `d` is summed in: f64 for f64, f32 for other floats, the compute
// type of integers; bool for bool, whose product is `and` and whose sum is `or`.
DType product_accumulator(DType d);

// How to launch: the bindings are a, b, d. The grid is empty where d is.
struct ProductLaunch {
  ProductKey key;
  Grid grid = {0, 0, 0};
  std::vector<uint64_t> scalars;
};

// How a workgroup goes about its part of d, a rectangle. A lane computes every fourth quad of rows
// of a column's quads, so to say: quads of neighbours, as many as there are, `down` (`across`)
// quads apart.
struct ProductTile {
  int64_t rows, columns;  // of the rectangle
  int64_t deep;           // terms of a strip; divides a block of terms
  int64_t across, down;   // lanes along the columns and along the rows
  int64_t lanes() const { return across * down; }
  // Of a strip in workgroup memory; neighbouring terms do not fall on the same bank.
  int64_t pitch_of_rows() const { return rows + 4; }
  int64_t pitch_of_columns() const { return columns + 4; }
  int64_t shared_bytes() const { return 4 * deep * (pitch_of_rows() + pitch_of_columns()); }
};
inline constexpr ProductTile kProductTiles[] = {
    {128, 64, 16, 16, 16}, {128, 128, 16, 32, 16}, {128, 128, 16, 16, 16}, {64, 128, 16, 16, 16},
    {64, 64, 16, 16, 16},  {64, 64, 16, 8, 8},     {32, 32, 32, 8, 8}};
std::string name_of(const ProductTile& tile);  // "128 x 64 x 16, 256 lanes"

// The one that is taken if nothing is known of the device but how many workgroups it does at a time
// and how much memory one has: the largest that occupies them all, otherwise the smallest.
uint8_t usual_tile(const Product& product, uint32_t compute_units, uint32_t shared_bytes);

// Chosen by types, sizes and strides, and whether the device has many threads: the results have the
// same bits either way, and by every one of the tiles.
ProductLaunch product_launch(const Product& product, bool is_gpu_like = false, uint8_t tile = 0);

// d[i, j] = sum of a[i, p] b[p, j] over p. Sums go by blocks of kTermsOfBlock terms, in
// the order of p, with fma; integers wrap. An empty sum is 0.
program::Program product_program(const ProductKey& key);
program::Program tiled_product_program(const ProductKey& key);  // of keys that are `tiled`

}  // namespace hologram::libraries
