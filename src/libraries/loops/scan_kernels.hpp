// Running sums of pieces or rows side by side, a lane of a vector each, bit for bit what one after
// the other gives: a lane adds up its own from the first element to the last.
#pragma once

#include <array>
#include <cstdint>

#include "hal/hal.hpp"

namespace hologram::libraries::loops {

inline constexpr int64_t kMostAtOnce = 16;  // pieces

// For the best vector instructions of this processor. Pieces are whole ones, of
// hal::ScanDesc::kPiece elements, that lie behind each other.
struct PieceKernels {
  struct alignas(64) Turned {  // element by element, those of all pieces beside each other
    std::array<float, kMostAtOnce * hal::ScanDesc::kPiece> elements;
  };
  int64_t pieces;                                               // at once
  void (*turn)(const float* x, Turned& turned, float* totals);  // and adds each piece up
  void (*run)(const Turned& turned, const float* starts, float* y);
};

// Of sums and of products; null where vectors are short.
const PieceKernels* sums_of_pieces();
const PieceKernels* products_of_pieces();

// Of `rows` rows, `apart` elements from one to the next, so many elements of each: from the starts
// on into y, and from nothing on into the totals.
template <class T>
struct BesideKernel {
  int64_t rows;  // at most kMostAtOnce
  void (*run)(const T* x, T* y, int64_t apart, int64_t count, const T* starts, T* totals);
};
const BesideKernel<float>* sums_beside(float);
const BesideKernel<double>* sums_beside(double);
const BesideKernel<int64_t>* sums_beside(int64_t);
const BesideKernel<float>* products_beside(float);
const BesideKernel<double>* products_beside(double);

}  // namespace hologram::libraries::loops
