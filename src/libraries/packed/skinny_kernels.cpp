#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/skinny_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "libraries/packed/skinny.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
constexpr int kHighest = HWY_TARGET == HWY_AVX2 ? 4 : 8;  // rows
// Sums that do not wait for each other, as many as additions are under way at a time.
constexpr int kApart = 8;

// kTogether blocks of terms for kHeight rows, kVectors wide, the last of which is a part.
template <class T, int kHeight, int kVectors, int kTogether>
void panel(const T* a, int64_t a_row, int64_t a_term, const T* b, int64_t ldb, int64_t terms,
           hn::Mask<Tag<T>> some, T* sums, int64_t next) {
  constexpr Tag<T> tag;
  hn::Vec<Tag<T>> sum[kTogether][kHeight][kVectors];
#pragma GCC unroll 8
  for (auto& block : sum)
#pragma GCC unroll 8
    for (auto& row : block)
#pragma GCC unroll 2
      for (auto& s : row) s = hn::Zero(tag);
  for (int64_t p = 0; p < terms; p++, a += a_term, b += ldb)
#pragma GCC unroll 8
    for (int64_t g = 0; g < kTogether; g++) {
      const T* const x = a + g * kTermsOfBlock * a_term;
      const T* const row = b + g * kTermsOfBlock * ldb;
      const auto last = hn::MaskedLoad(some, tag, row + (kVectors - 1) * kLanes<T>);
      const auto first = kVectors > 1 ? hn::LoadU(tag, row) : last;
#pragma GCC unroll 8
      for (int64_t r = 0; r < kHeight; r++) {
        const auto factor = hn::Set(tag, x[r * a_row]);
        auto& s = sum[g][r];
        s[0] = hn::MulAdd(factor, first, s[0]);
        if constexpr (kVectors > 1) s[1] = hn::MulAdd(factor, last, s[1]);
      }
    }
#pragma GCC unroll 8
  for (int64_t g = 0; g < kTogether; g++)
#pragma GCC unroll 8
    for (int64_t r = 0; r < kHeight; r++)
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; v++)
        hn::StoreU(sum[g][r][v], tag, sums + g * next + (r * kVectors + v) * kLanes<T>);
}

// So many rows of the blocks that are there, from high to low.
template <class T, int kVectors, int kHeight = kHighest>
void panels(const T* a, int64_t a_row, int64_t a_term, const T* b, int64_t ldb, int64_t terms,
            int64_t rows, hn::Mask<Tag<T>> some, T* sums, int64_t next) {
  constexpr int kTogether = std::max(1, kApart / (kHeight * kVectors));
  int64_t row = 0;
  for (; row + kHeight <= rows; row += kHeight) {
    const T* const x = a + row * a_row;
    T* const to = sums + row * kVectors * kLanes<T>;
    int64_t term = 0;
    for (; term + kTogether * kTermsOfBlock <= terms; term += kTogether * kTermsOfBlock)
      panel<T, kHeight, kVectors, kTogether>(x + term * a_term, a_row, a_term, b + term * ldb, ldb,
                                             kTermsOfBlock, some, to + term / kTermsOfBlock * next,
                                             next);
    for (; term < terms; term += kTermsOfBlock)
      panel<T, kHeight, kVectors, 1>(x + term * a_term, a_row, a_term, b + term * ldb, ldb,
                                     std::min(kTermsOfBlock, terms - term), some,
                                     to + term / kTermsOfBlock * next, next);
  }
  if constexpr (kHeight > 1)
    if (row < rows)
      panels<T, kVectors, kHeight / 2>(a + row * a_row, a_row, a_term, b, ldb, terms, rows - row,
                                       some, sums + row * kVectors * kLanes<T>, next);
}

template <class T>
void run(const T* a, int64_t a_row, int64_t a_term, const T* b, int64_t ldb, int64_t terms,
         int64_t rows, int64_t columns, T* sums) {
  const bool two = columns > kLanes<T>;
  const int64_t next = rows * (two ? 2 : 1) * kLanes<T>;
  const auto some = hn::FirstN(Tag<T>(), static_cast<size_t>(two ? columns - kLanes<T> : columns));
  if (two) panels<T, 2>(a, a_row, a_term, b, ldb, terms, rows, some, sums, next);
  else panels<T, 1>(a, a_row, a_term, b, ldb, terms, rows, some, sums, next);
}

template <class T>
const SkinnyKernel<T>* kernel() {
  static constexpr SkinnyKernel<T> kKernel = {kLanes<T>, &run<T>};
  return &kKernel;
}

#else

template <class T>
const SkinnyKernel<T>* kernel() {
  return nullptr;
}

#endif

const SkinnyKernel<float>* thin_f32() { return kernel<float>(); }
const SkinnyKernel<double>* thin_f64() { return kernel<double>(); }

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HOLOGRAM_SIMD_DISPATCH(const SkinnyKernel<float>*, skinny_kernel(float), thin_f32)
HOLOGRAM_SIMD_DISPATCH(const SkinnyKernel<double>*, skinny_kernel(double), thin_f64)

}  // namespace hologram::libraries::packed
#endif
