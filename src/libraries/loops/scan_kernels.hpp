// Running sums of pieces or rows side by side, a lane of a vector each, bit for bit what one after
// the other gives: a lane adds up its own from the first element to the last.
//
// They go in plain arithmetic, and say in which lanes it left the range of the type: where a sum
// is not finite, or a product neither normal nor 0 because of a factor. Those are walked again with
// exponents that do not end (program/extended_range.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "hal/hal.hpp"

namespace hologram::libraries::loops {

inline constexpr size_t kMostAtOnce = 16;  // pieces
inline constexpr size_t kMostLevels = 4;   // above the pieces: rows of up to 2^40 elements

// A bit for each lane that left the range.
using LaneBits = uint64_t;

// What comes before pieces in lanes side by side: those of a level behind each other.
template <class T, size_t kLanes>
using Starts = std::array<std::array<T, kLanes>, kMostLevels>;

// For the best vector instructions of this processor. Pieces are whole ones, of
// hal::ScanDesc::kPiece elements, that lie behind each other.
template <class T>
struct PieceKernels {
  static constexpr size_t kMost = 64 / sizeof(T);
  struct alignas(64) Turned {  // element by element, those of all pieces beside each other
    std::array<T, kMost * hal::ScanDesc::kPiece> elements;
  };
  using Add = LaneBits (*)(const Turned& sums, const Starts<T, kMostAtOnce>& starts, T* y);
  int64_t pieces;                                        // at once
  LaneBits (*sum)(const T* x, Turned& sums, T* totals);  // each piece by itself
  std::array<Add, kMostLevels + 1> add;                  // what comes before, so many levels of it
};
// Null where vectors are short.
const PieceKernels<float>* pieces_of_sums(float);
const PieceKernels<double>* pieces_of_sums(double);
const PieceKernels<float>* pieces_of_products(float);
const PieceKernels<double>* pieces_of_products(double);

// Of `rows` rows, `apart` elements from one to the next, so many elements of each: running sums
// with what comes before them into y, by themselves into the totals.
template <class T>
struct BesideKernel {
  static constexpr size_t kLevels = 2;
  using Run = LaneBits (*)(const T* x, T* y, int64_t apart, int64_t count,
                           const Starts<T, kMostAtOnce>& starts, T* totals);
  int64_t rows;  // at most kMostAtOnce
  std::array<Run, kLevels + 1> run;
};
const BesideKernel<float>* sums_beside(float);
const BesideKernel<double>* sums_beside(double);
const BesideKernel<int64_t>* sums_beside(int64_t);
const BesideKernel<float>* products_beside(float);
const BesideKernel<double>* products_beside(double);

// The same down columns that lie beside each other, a strip of them: `lanes` or less, or
// kVectors * lanes.
template <class T>
struct StripKernels {
  static constexpr int64_t kVectors = 4;
  static constexpr size_t kMost = kVectors * 64 / sizeof(T);
  using Run = LaneBits (*)(const T* x, T* y, int64_t apart, int64_t count, int64_t columns,
                           const Starts<T, kMost>& starts, T* totals);
  int64_t lanes;
  Run sum;  // totals alone
  std::array<Run, kMostLevels + 1> run;
};
const StripKernels<float>* strips_of_sums(float);
const StripKernels<double>* strips_of_sums(double);
const StripKernels<float>* strips_of_products(float);
const StripKernels<double>* strips_of_products(double);

// Of one row, whose sums were made one after the other.
template <class T>
struct RowKernels {
  // Whether a running product left the range. The element before the first of them is 1.
  bool (*leaves)(const T* x, const T* products, int64_t count);
  // What comes before is added, by so many levels. Whether that left the range.
  std::array<bool (*)(const T* sums, T* y, int64_t count, const std::array<T, kMostLevels>& starts),
             kMostLevels + 1>
      add;
};
const RowKernels<float>* rows_of_sums(float);
const RowKernels<double>* rows_of_sums(double);
const RowKernels<float>* rows_of_products(float);
const RowKernels<double>* rows_of_products(double);

}  // namespace hologram::libraries::loops
