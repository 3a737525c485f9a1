#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/column_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "libraries/accumulation.hpp"
#include "libraries/packed/columns.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
constexpr int64_t kLeast = 8;  // vectors: as many as additions are under way at a time
constexpr int kMost = HWY_TARGET == HWY_AVX2 ? 12 : 24;  // vectors of sums

// Columns of so many vectors, of which the last begins at `last` and may lie over the one before.
template <class T, int kVectors>
void sums(const T* a, int64_t a_term, const T* b, int64_t ldb, int64_t terms, int64_t last, T* d) {
  constexpr Tag<T> tag;
  HWY_ALIGN T totals[kVectors * kLanes<T>] = {};
  for (int64_t first = 0; first < terms; first += kTermsOfBlock) {
    const int64_t end = std::min(first + kTermsOfBlock, terms);
    hn::Vec<Tag<T>> sum[kVectors];
#pragma GCC unroll 24
    for (auto& s : sum) s = hn::Zero(tag);
    for (int64_t p = first; p < end; p++) {
      const T* const row = b + p * ldb;
      const auto x = hn::Set(tag, a[p * a_term]);
#pragma GCC unroll 24
      for (int v = 0; v < kVectors; v++)
        sum[v] =
            hn::MulAdd(x, hn::LoadU(tag, row + (v + 1 < kVectors ? v * kLanes<T> : last)), sum[v]);
    }
#pragma GCC unroll 24
    for (int v = 0; v < kVectors; v++) {
      T* const total = totals + v * kLanes<T>;
      hn::Store(hn::Add(hn::Load(tag, total), sum[v]), tag, total);
    }
  }
#pragma GCC unroll 24
  for (int v = 0; v < kVectors; v++)
    hn::StoreU(hn::Load(tag, totals + v * kLanes<T>), tag,
               d + (v + 1 < kVectors ? v * kLanes<T> : last));
}

template <class T, int... kVectors>
constexpr auto all_sums(std::integer_sequence<int, kVectors...>) {
  return std::array{&sums<T, kVectors + 1>...};
}

template <class T>
void run(const T* a, int64_t a_term, const T* b, int64_t ldb, int64_t terms, int64_t columns,
         T* d) {
  static constexpr auto kSums = all_sums<T>(std::make_integer_sequence<int, kMost>());
  const int64_t vectors = (columns + kLanes<T> - 1) / kLanes<T>;
  const int64_t blocks = (vectors + kMost - 1) / kMost, each = (vectors + blocks - 1) / blocks;
  for (int64_t v = 0; v < vectors; v += each) {
    const int64_t count = std::min(each, vectors - v), from = v * kLanes<T>;
    const int64_t last = std::min((count - 1) * kLanes<T>, columns - kLanes<T> - from);
    kSums[static_cast<size_t>(count - 1)](a, a_term, b + from, ldb, terms, last, d + from);
  }
}

// Sixteen rows side by side are read along, each element once.
template <class T>
void columns_of(const T* x, int64_t step, int64_t rows, int64_t columns, T* d) {
  constexpr Tag<T> tag;
  constexpr int64_t kRun = hal::ColumnReduceDesc::kRun;
  const int64_t whole = columns - columns % kLanes<T>;
  // Places from every fourth row on, by one, two and three rows: there are not as many registers as
  // rows, and compilers take one for each.
  int64_t three = 3 * step;
  asm("" : "+r"(three));
  for (int64_t first = 0; first < rows; first += kRun) {
    const T* const from = x + first * step;
    const int64_t run = std::min(kRun, rows - first);
    const auto before = [&](int64_t j)
                            HWY_ATTR { return first == 0 ? hn::Zero(tag) : hn::LoadU(tag, d + j); };
    const auto sum_at = [&](int64_t j) HWY_ATTR {
      auto sum = hn::Zero(tag);
      const T* fourth = from + j;
      if (run == kRun) {
#pragma GCC unroll 4
        for (int64_t t = 0; t < kRun; t += 4) {
          if (t > 0) fourth += 4 * step;
          sum = hn::Add(sum, hn::LoadU(tag, fourth));
          sum = hn::Add(sum, hn::LoadU(tag, fourth + step));
          sum = hn::Add(sum, hn::LoadU(tag, fourth + 2 * step));
          sum = hn::Add(sum, hn::LoadU(tag, fourth + three));
        }
      } else {
        for (int64_t t = 0; t < run; t++, fourth += step)
          sum = hn::Add(sum, hn::LoadU(tag, fourth));
      }
      return hn::Add(before(j), sum);
    };
    // The last vector may lie over the one before, and has the same numbers there.
    const int64_t last = columns - kLanes<T>;
    const bool overlaps = whole < columns && last >= 0;
    const auto last_sum = overlaps ? sum_at(last) : hn::Zero(tag);
    for (int64_t j = 0; j < whole; j += kLanes<T>) hn::StoreU(sum_at(j), tag, d + j);
    if (overlaps) {
      hn::StoreU(last_sum, tag, d + last);
      continue;
    }
    for (int64_t j = whole; j < columns; j++) {
      T sum = 0;
      for (int64_t t = 0; t < run; t++) sum += from[t * step + j];
      d[j] = (first == 0 ? T{0} : d[j]) + sum;
    }
  }
}

#if HWY_TARGET != HWY_NEON

// The same of less than a vector. Runs do not wait for each other.
template <class T>
void narrow_columns(const T* x, int64_t step, int64_t rows, hn::Mask<Tag<T>> some, T* d) {
  constexpr Tag<T> tag;
  constexpr int64_t kRun = hal::ColumnReduceDesc::kRun;
  auto total = hn::Zero(tag);
  int64_t first = 0;
  const auto row = [&](int64_t r) HWY_ATTR { return hn::MaskedLoad(some, tag, x + r * step); };
  for (; first + kRun <= rows; first += kRun) {
    auto sum = hn::Zero(tag);
#pragma GCC unroll 16
    for (int64_t t = 0; t < kRun; t++) sum = hn::Add(sum, row(first + t));
    total = hn::Add(total, sum);
  }
  if (first < rows) {
    auto sum = hn::Zero(tag);
    for (int64_t t = first; t < rows; t++) sum = hn::Add(sum, row(t));
    total = hn::Add(total, sum);
  }
  hn::BlendedStore(total, some, tag, d);
}

#endif

template <class T>
void sums_of_columns(const T* x, int64_t step, int64_t rows, int64_t columns, T* d) {
#if HWY_TARGET != HWY_NEON
  if (columns < kLanes<T>)
    return narrow_columns(x, step, rows, hn::FirstN(Tag<T>(), static_cast<size_t>(columns)), d);
#endif
  columns_of(x, step, rows, columns, d);
}

template <class T>
ColumnSums<T>* sums_alone() {
  return &sums_of_columns<T>;
}

template <class T>
const ColumnKernel<T>* kernel() {
  static constexpr ColumnKernel<T> kKernel = {kLeast * kLanes<T>, &run<T>};
  return &kKernel;
}

#else

template <class T>
const ColumnKernel<T>* kernel() {
  return nullptr;
}
template <class T>
ColumnSums<T>* sums_alone() {
  return nullptr;
}

#endif

const ColumnKernel<float>* of_f32() { return kernel<float>(); }
const ColumnKernel<double>* of_f64() { return kernel<double>(); }
ColumnSums<float>* alone_of_f32() { return sums_alone<float>(); }
ColumnSums<double>* alone_of_f64() { return sums_alone<double>(); }

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HOLOGRAM_SIMD_DISPATCH(const ColumnKernel<float>*, column_kernel(float), of_f32)
HOLOGRAM_SIMD_DISPATCH(const ColumnKernel<double>*, column_kernel(double), of_f64)
HOLOGRAM_SIMD_DISPATCH(ColumnSums<float>*, column_sums(float), alone_of_f32)
HOLOGRAM_SIMD_DISPATCH(ColumnSums<double>*, column_sums(double), alone_of_f64)

}  // namespace hologram::libraries::packed
#endif
