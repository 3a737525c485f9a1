// Products of integers of 8 and 16 bits by vectors: instructions of all processors with AVX2
// multiply i16 and add up the products of pairs, exactly.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/narrow/pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libraries/best.hpp"
#include "libraries/narrow/tiles.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::narrow::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
constexpr Sums kSums;
constexpr hn::ScalableTag<int16_t> kHalves;
constexpr int64_t kWidth = hn::MaxLanes(Sums());
// As many sums as registers hold, with two vectors of columns.
constexpr int64_t kVectors = 2, kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;

// Some rows and columns of a square.
HWY_INLINE void rectangle(const Square& s, int64_t row, int64_t column) {
  hn::Vec<Sums> sums[kRows][kVectors];
  auto* const c = reinterpret_cast<int32_t*>(s.c) + row * s.ldc + column;
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++)
      sums[r][v] = s.add ? hn::LoadU(kSums, c + r * s.ldc + v * kWidth) : hn::Zero(kSums);
  const auto word = [](const std::byte* tiles, int64_t step, int64_t tile, int64_t line) {
    return reinterpret_cast<const int32_t*>(tiles + step * kStepBytes + tile * kTileBytes +
                                            line * kLineBytes);
  };
  for (int64_t step = 0; step < s.steps; step++)
    for (int64_t line = 0; line < kLines; line++) {
      hn::Vec<Sums> none = hn::Zero(kSums);
      hn::VFromD<decltype(kHalves)> b[kVectors];
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; v++) {
        const int64_t at = column + v * kWidth;
        b[v] =
            hn::BitCast(kHalves, hn::Load(kSums, word(s.b, step, at / kLines, line) + at % kLines));
      }
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; r++) {
        const int64_t at = row + r;
        const auto a =
            hn::BitCast(kHalves, hn::Set(kSums, word(s.a, step, at / kLines, at % kLines)[line]));
#pragma GCC unroll 2
        for (int64_t v = 0; v < kVectors; v++)
          sums[r][v] = hn::ReorderWidenMulAccumulate(kSums, a, b[v], sums[r][v], none);
      }
    }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++)
      hn::StoreU(sums[r][v], kSums, c + r * s.ldc + v * kWidth);
}

void multiply(const Square& s) {
  const int64_t rows = s.high ? kSide : kLines, columns = s.wide ? kSide : kLines;
  for (int64_t column = 0; column < columns; column += kVectors * kWidth)
    for (int64_t row = 0; row < rows; row += kRows) rectangle(s, row, column);
}

bool there() { return true; }

constexpr Form form_of(DType type) {
  if (type == DType::I16) return Form::Halves;
  return type == DType::I8 ? Form::WidenedI8 : Form::WidenedU8;
}
constexpr Kernel of(DType a, DType b) {
  return {"pairs of i16",       a,      b,         form_of(a), form_of(b),
          Pays::WithoutLibrary, &there, &multiply, nullptr,    nullptr};
}

std::span<const Kernel> kernels_of_pairs() {
  static constexpr Kernel kAll[] = {
      of(DType::I8, DType::I8),  of(DType::I8, DType::U8),   of(DType::U8, DType::I8),
      of(DType::U8, DType::U8),  of(DType::I16, DType::I16), of(DType::I16, DType::I8),
      of(DType::I16, DType::U8), of(DType::I8, DType::I16),  of(DType::U8, DType::I16)};
  return kAll;
}

#else

std::span<const Kernel> kernels_of_pairs() { return {}; }

#endif

}  // namespace hologram::libraries::narrow::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::narrow {

HOLOGRAM_BEST(std::span<const Kernel>, pair_kernels(), kernels_of_pairs)

}  // namespace hologram::libraries::narrow
#endif
