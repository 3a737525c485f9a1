// Running sums of pieces or rows side by side, a lane of a vector each, bit for bit what one after
// the other gives: a lane adds up its own from the first element to the last.
//
// Sums go in plain arithmetic, products of floats with an exponent that changes after every few.
// They say in which lanes that left the range of the type: where a result is not finite, or a
// product neither normal nor 0 because of a factor. Those are walked again with exponents that do
// not end.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "hologram/hal/operations.hpp"

namespace hologram::libraries::loops {

inline constexpr size_t kMostAtOnce = 16;  // pieces
inline constexpr size_t kMostLevels = 4;   // above the pieces: rows of up to 2^40 elements

// A bit for each lane that left the range.
using LaneBits = uint64_t;

template <class T>
using Exponent = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// What comes before pieces in lanes side by side: those of a level behind each other. Of products
// of floats, which are from a half to 1, 0, infinite or NaN, the levels' exponents are added up.
template <class T, size_t kLanes>
struct Starts {
  std::array<std::array<T, kLanes>, kMostLevels> values;
  std::array<Exponent<T>, kLanes> exponents;
};
template <class T, size_t kLanes>
struct Totals {
  std::array<T, kLanes> values;
  std::array<Exponent<T>, kLanes> exponents;  // of products of floats
  std::array<Exponent<T>, kLanes> highest;    // of those of every four products
};

// For the best vector instructions of this processor. Pieces lie hal::ScanDesc::kPiece elements
// apart; of each the first `count` elements are taken, a multiple of four.
//
// Plain products, which are not watched, are the fast way where nothing leaves the range
// (scan_plain.hpp).
template <class T>
struct PieceKernels {
  static constexpr size_t kMost = 64 / sizeof(T);
  struct alignas(64) Turned {  // element by element, those of all pieces beside each other
    std::array<T, kMost * hal::ScanDesc::kPiece> elements;
    std::array<Exponent<T>, kMost * hal::ScanDesc::kPiece / 4> exponents;  // of every four
  };
  using Sum = LaneBits (*)(const T* x, int64_t count, Turned& sums, Totals<T, kMostAtOnce>& totals);
  using Add = LaneBits (*)(const Turned& sums, int64_t count, const Starts<T, kMostAtOnce>& starts,
                           T* y);
  int64_t pieces;                        // at once
  Sum sum;                               // each piece by itself
  std::array<Add, kMostLevels + 1> add;  // what comes before, so many levels of it
};
// Null where there are no vectors.
const PieceKernels<float>* pieces_of_sums(float);
const PieceKernels<double>* pieces_of_sums(double);
const PieceKernels<float>* pieces_of_products(float);
const PieceKernels<float>* plain_pieces_of_products(float);
const PieceKernels<double>* pieces_of_products(double);
const PieceKernels<double>* plain_pieces_of_products(double);

// Of `rows` rows, `apart` elements from one to the next, so many elements of each: running sums
// with what comes before them into y, by themselves into the totals.
template <class T>
struct BesideKernel {
  static constexpr size_t kLevels = 2;
  using Run = LaneBits (*)(const T* x, T* y, int64_t apart, int64_t count,
                           const Starts<T, kMostAtOnce>& starts, Totals<T, kMostAtOnce>& totals);
  int64_t rows;  // at most kMostAtOnce
  std::array<Run, kLevels + 1> run;
  Run vanishing;  // of products: with zeros before them, one level
};
const BesideKernel<float>* sums_beside(float);
const BesideKernel<double>* sums_beside(double);
const BesideKernel<int64_t>* sums_beside(int64_t);
const BesideKernel<float>* products_beside(float);
const BesideKernel<float>* plain_products_beside(float);
const BesideKernel<double>* products_beside(double);
const BesideKernel<double>* plain_products_beside(double);

// The same down columns that lie beside each other, a strip of them: `lanes` or less, or
// kVectors * lanes.
template <class T>
struct StripKernels {
  static constexpr int64_t kVectors = 4;
  static constexpr size_t kMost = kVectors * 64 / sizeof(T);
  using Run = LaneBits (*)(const T* x, T* y, int64_t apart, int64_t count, int64_t columns,
                           const Starts<T, kMost>& starts, Totals<T, kMost>& totals);
  int64_t lanes;
  Run sum;  // totals alone
  std::array<Run, kMostLevels + 1> run;
  Run vanishing;
};
const StripKernels<float>* strips_of_sums(float);
const StripKernels<double>* strips_of_sums(double);
const StripKernels<float>* strips_of_products(float);
const StripKernels<float>* plain_strips_of_products(float);
const StripKernels<double>* strips_of_products(double);
const StripKernels<double>* plain_strips_of_products(double);

}  // namespace hologram::libraries::loops
