#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libraries/packed/depthwise_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <utility>

#include "libraries/packed/depthwise.hpp"
#include "libraries/simd_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::libraries::packed::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using V = hn::Vec<Tag>;
constexpr Tag kTag;
constexpr int64_t kWidth = hn::MaxLanes(Tag());
// Of sums at a time: outputs next to each other, and vectors of channels. Registers have room for
// the weights of a row of kSlide beside them.
constexpr int kMostOutputs = 6, kMostVectors = 2;

// In elements, from one to the next.
struct Steps {
  explicit Steps(const hal::ConvDesc& d, int64_t rows)
      : rows(rows),
        taps(d.columns.kernel),
        x_tap(d.x_strides[2] * d.columns.dilation),
        x_row(d.x_strides[1] * d.rows.dilation - taps * x_tap),
        x_output(d.x_strides[2] * d.columns.stride),
        w_tap(d.w_strides[1]),
        w_row(d.w_strides[0] - taps * w_tap),
        d_output(d.groups) {}
  int64_t rows, taps;    // of the kernel
  int64_t x_tap, x_row;  // a row: from the end of the one before
  int64_t x_output, w_tap, w_row, d_output;
};

template <int kOutputs, int kVectors>
struct Sums {
  HWY_INLINE Sums() {
#pragma GCC unroll 12
    for (auto& each : of) each = hn::Zero(kTag);
  }
  HWY_INLINE void add(int output, int v, V x, V w) {
    V& sum = of[output * kVectors + v];
    sum = hn::MulAdd(x, w, sum);
  }
  HWY_INLINE void store(float* d, int64_t d_output) const {
#pragma GCC unroll 6
    for (int t = 0; t < kOutputs; t++) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; v++)
        hn::StoreU(of[t * kVectors + v], kTag, d + t * d_output + v * kWidth);
    }
  }
  V of[kOutputs * kVectors];
};

// Outputs all of whose terms lie inside of the image.
template <int kOutputs, int kVectors>
void inside(const Steps& steps, const float* x, const float* w, float* d) {
  const Steps s = steps;
  Sums<kOutputs, kVectors> sums;
  for (int64_t i = 0; i < s.rows; i++, x += s.x_row, w += s.w_row) {
    for (int64_t j = 0; j < s.taps; j++, x += s.x_tap, w += s.w_tap) {
      V weight[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; v++) weight[v] = hn::LoadU(kTag, w + v * kWidth);
#pragma GCC unroll 6
      for (int t = 0; t < kOutputs; t++) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; v++)
          sums.add(t, v, hn::LoadU(kTag, x + t * s.x_output + v * kWidth), weight[v]);
      }
    }
  }
  sums.store(d, s.d_output);
}

// Columns of the image that lie inside, from the one that the first output meets first.
struct Within {
  int64_t begin, end;
};

// Of kSlide columns where what one output has of the image, the next has a column further: each
// element is loaded once for them all. What lies outside is 0.
template <int kOutputs, int kVectors, bool kAllInside>
void sliding(const Steps& steps, const float* x, const float* w, float* d, Within within) {
  const Steps s = steps;
  Sums<kOutputs, kVectors> sums;
  for (int64_t i = 0; i < s.rows; i++, x += s.x_row + kSlide * s.x_tap, w += s.w_row) {
    V weight[kSlide * kVectors];
#pragma GCC unroll 3
    for (int j = 0; j < kSlide; j++, w += s.w_tap) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; v++) weight[j * kVectors + v] = hn::LoadU(kTag, w + v * kWidth);
    }
    const float* from = x;
#pragma GCC unroll 8
    for (int at = 0; at < kOutputs + kSlide - 1; at++, from += s.x_tap) {
      const bool is_inside = kAllInside || (at >= within.begin && at < within.end);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; v++) {
        const V element = is_inside ? hn::LoadU(kTag, from + v * kWidth) : hn::Zero(kTag);
        HWY_FENCE;  // or it would be loaded again for each output
#pragma GCC unroll 3
        for (int j = 0; j < kSlide; j++)
          if (at >= j && at - j < kOutputs) sums.add(at - j, v, element, weight[j * kVectors + v]);
      }
    }
  }
  sums.store(d, s.d_output);
}

// Two outputs, as one alone would wait for its sums, of which terms lie outside: zeros of columns.
// `at` is where the first terms lie.
template <int kVectors>
void edge(const hal::ConvDesc& desc, const Steps& s, const float* x, std::array<int64_t, 2> at,
          const float* w, float* d, int64_t d_apart) {
  Sums<2, kVectors> sums;
  for (int64_t i = 0; i < s.rows; i++, w += s.w_row) {
    const float* const row = x + i * desc.x_strides[1] * desc.rows.dilation;
    for (int64_t j = 0; j < s.taps; j++, w += s.w_tap) {
#pragma GCC unroll 2
      for (int t = 0; t < 2; t++) {
        const int64_t column = at[static_cast<size_t>(t)] + j * desc.columns.dilation;
        const bool is_inside = column >= 0 && column < desc.columns.input;
        const float* const from = row + column * desc.x_strides[2];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; v++)
          sums.add(t, v, is_inside ? hn::LoadU(kTag, from + v * kWidth) : hn::Zero(kTag),
                   hn::LoadU(kTag, w + v * kWidth));
      }
    }
  }
  sums.store(d, d_apart);
}

struct Tiles {
  std::array<decltype(&inside<1, 1>), kMostOutputs> inside;
  std::array<std::array<decltype(&sliding<1, 1, true>), kMostOutputs>, 2> sliding;
  decltype(&edge<1>) edge;
};
template <int kVectors, int... kOutputs>
constexpr Tiles tiles_of(std::integer_sequence<int, kOutputs...>) {
  return {
      {&inside<kOutputs + 1, kVectors>...},
      {{{&sliding<kOutputs + 1, kVectors, false>...}, {&sliding<kOutputs + 1, kVectors, true>...}}},
      &edge<kVectors>};
}
template <int... kVectors>
constexpr auto all_tiles(std::integer_sequence<int, kVectors...>) {
  return std::array{tiles_of<kVectors + 1>(std::make_integer_sequence<int, kMostOutputs>())...};
}

// What is no whole vector at the end is part of one that lies over those before.
template <class Tile>
HWY_INLINE void for_channels(int64_t channels, const Tile& tile) {
  static constexpr auto kTiles = all_tiles(std::make_integer_sequence<int, kMostVectors>());
  for (int64_t c = 0; c < channels;) {
    const int64_t vectors = std::clamp<int64_t>((channels - c) / kWidth, 1, kMostVectors);
    tile(kTiles[static_cast<size_t>(vectors - 1)], std::min(c, channels - kWidth));
    c += vectors * kWidth;
  }
}

// tile(from, count) for a few outputs each of [first, end).
template <class Tile>
HWY_INLINE void for_outputs(int64_t first, int64_t end, const Tile& tile) {
  const int64_t tiles = (end - first + kMostOutputs - 1) / kMostOutputs;
  for (int64_t k = 0; k < tiles; k++) {
    const int64_t from = first + (end - first) * k / tiles;
    tile(from, first + (end - first) * (k + 1) / tiles - from);
  }
}

void slide_along(const hal::ConvDesc& desc, const Steps& s, const float* x, const float* w,
                 float* d) {
  const hal::ConvAxis& a = desc.columns;
  for_outputs(0, a.output, [&](int64_t from, int64_t count) {
    // A step is one column of the image, or several, of which the first are outside.
    const int64_t at = from * a.stride - a.before, columns = count + kSlide - 1;
    const auto steps_to = [&](int64_t column) {
      return column <= at ? 0 : (column - at + a.stride - 1) / a.stride;
    };
    const Within within = {steps_to(0), steps_to(a.input)};
    const bool all = within.begin == 0 && within.end >= columns;
    for_channels(desc.groups, [&](const Tiles& of, int64_t c) {
      of.sliding[all ? 1 : 0][static_cast<size_t>(count - 1)](
          s, x + at * desc.x_strides[2] + c, w + c, d + from * s.d_output + c, within);
    });
  });
}

void row(const hal::ConvDesc& desc, const float* x, const float* w, int64_t rows, float* d) {
  const Steps s(desc, rows);
  if (slides(desc)) return slide_along(desc, s, x, w, d);
  const hal::ConvAxis& a = desc.columns;
  const int64_t room = a.input - 1 - (a.kernel - 1) * a.dilation + a.before;
  const int64_t first = std::min((a.before + a.stride - 1) / a.stride, a.output);
  const int64_t end = std::clamp(room < 0 ? 0 : room / a.stride + 1, first, a.output);
  for_outputs(first, end, [&](int64_t from, int64_t count) {
    const int64_t at = (from * a.stride - a.before) * desc.x_strides[2], to = from * s.d_output;
    for_channels(desc.groups, [&](const Tiles& of, int64_t c) {
      of.inside[static_cast<size_t>(count - 1)](s, x + at + c, w + c, d + to + c);
    });
  });
  const int64_t edges = first + a.output - end;
  const auto output = [&](int64_t k) { return k < first ? k : k - first + end; };
  for (int64_t k = 0; k < edges; k += 2) {
    const int64_t one = output(k), other = output(std::min(k + 1, edges - 1));
    const std::array at = {one * a.stride - a.before, other * a.stride - a.before};
    for_channels(desc.groups, [&](const Tiles& of, int64_t c) {
      of.edge(desc, s, x + c, at, w + c, d + one * s.d_output + c, (other - one) * s.d_output);
    });
  }
}

const DepthwiseKernel* best() {
  static constexpr DepthwiseKernel kKernel = {kWidth, &row};
  return &kKernel;
}

#else

const DepthwiseKernel* best() { return nullptr; }

#endif

}  // namespace hologram::libraries::packed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::libraries::packed {

HOLOGRAM_SIMD_DISPATCH(const DepthwiseKernel*, depthwise_kernel(), best)

}  // namespace hologram::libraries::packed
#endif
