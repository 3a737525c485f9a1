// Products of pairs of narrow elements by vectors, on all processors with AVX2: of integers of 8
// and 16 bits by the instruction that multiplies i16 and adds up the products of a pair, and of
// bf16 as f32, which unlike the instructions for bf16 keeps subnormal numbers.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/narrow/pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "libraries/narrow/tiles.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::narrow::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<int32_t>;
constexpr Words kWords;
using W = hn::Vec<Words>;
constexpr int64_t kWidth = hn::MaxLanes(Words());

// What becomes of words that hold a pair each.
struct PairsOfI16 {
  using Sums = Words;
  static HWY_INLINE W add(W a, W b, W sum) {
    constexpr hn::ScalableTag<int16_t> kHalves;
    W none = hn::Zero(kWords);
    return hn::ReorderWidenMulAccumulate(kWords, hn::BitCast(kHalves, a), hn::BitCast(kHalves, b),
                                         sum, none);
  }
};
struct PairsOfBf16 {
  using Sums = hn::ScalableTag<float>;
  using F = hn::Vec<Sums>;
  static HWY_INLINE F first(W pair) { return hn::BitCast(Sums(), hn::ShiftLeft<16>(pair)); }
  static HWY_INLINE F second(W pair) {
    return hn::BitCast(Sums(), hn::And(pair, hn::Set(kWords, static_cast<int32_t>(0xffff0000))));
  }
  static HWY_INLINE F add(W a, W b, F sum) {
    return hn::MulAdd(second(a), second(b), hn::MulAdd(first(a), first(b), sum));
  }
};
// As many sums as registers hold, with two vectors of columns.
constexpr int64_t kVectors = 2, kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;

// Some rows and columns of a square.
template <class Pairs>
HWY_INLINE void rectangle(const Square& s, int64_t row, int64_t column) {
  using Sums = typename Pairs::Sums;
  constexpr Sums kSums;
  hn::Vec<Sums> sums[kRows][kVectors];
  auto* const c = reinterpret_cast<hn::TFromD<Sums>*>(s.c) + row * s.ldc + column;
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
      W b[kVectors];
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; v++) {
        const int64_t at = column + v * kWidth;
        b[v] = hn::Load(kWords, word(s.b, step, at / kLines, line) + at % kLines);
      }
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; r++) {
        const int64_t at = row + r;
        const W a = hn::Set(kWords, word(s.a, step, at / kLines, at % kLines)[line]);
#pragma GCC unroll 2
        for (int64_t v = 0; v < kVectors; v++) sums[r][v] = Pairs::add(a, b[v], sums[r][v]);
      }
    }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; r++)
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; v++)
      hn::StoreU(sums[r][v], kSums, c + r * s.ldc + v * kWidth);
}

template <class Pairs>
void multiply(const Square& s) {
  const int64_t rows = s.high ? kSide : kLines, columns = s.wide ? kSide : kLines;
  for (int64_t column = 0; column < columns; column += kVectors * kWidth)
    for (int64_t row = 0; row < rows; row += kRows) rectangle<Pairs>(s, row, column);
}

bool there() { return true; }

constexpr Form form_of(DType type) {
  if (type == DType::I16) return Form::Halves;
  return type == DType::I8 ? Form::UpcastI8 : Form::UpcastU8;
}
constexpr Kernel of(DType a, DType b) {
  return {
      "pairs of i16",        a,       b,      form_of(a), form_of(b), Pays::WithoutLibrary, &there,
      &multiply<PairsOfI16>, nullptr, nullptr};
}

std::span<const Kernel> kernels_of_pairs() {
  static constexpr Kernel kAll[] = {
      of(DType::I8, DType::I8),
      of(DType::I8, DType::U8),
      of(DType::U8, DType::I8),
      of(DType::U8, DType::U8),
      of(DType::I16, DType::I16),
      of(DType::I16, DType::I8),
      of(DType::I16, DType::U8),
      of(DType::I8, DType::I16),
      of(DType::U8, DType::I16),
      {"pairs of bf16", DType::BF16, DType::BF16, Form::Halves, Form::Halves, Pays::Never, &there,
       &multiply<PairsOfBf16>, nullptr, nullptr}};
  return kAll;
}

#else

std::span<const Kernel> kernels_of_pairs() { return {}; }

#endif

}  // namespace hologram::libraries::narrow::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::narrow {

HOLOGRAM_SIMD_DISPATCH(std::span<const Kernel>, pair_kernels(), kernels_of_pairs)

}  // namespace hologram::libraries::narrow
#endif
