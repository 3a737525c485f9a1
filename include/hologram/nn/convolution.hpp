// Convolutions along one, two or three axes.
#pragma once

#include <array>
#include <concepts>
#include <optional>

#include "hologram/tensor.hpp"

namespace hologram::nn {

// One number for each of N spatial axes, outermost first, or one for all of them.
template <size_t N>
struct PerAxis {
  std::array<int64_t, N> values = {};
  constexpr PerAxis(int64_t all = 0) { values.fill(all); }
  template <std::integral... I>
  requires(sizeof...(I) == N && N > 1) constexpr PerAxis(I... each)
      : values{static_cast<int64_t>(each)...} {}
  constexpr int64_t operator[](size_t axis) const { return values[axis]; }
};

// Zeros on both sides of each axis. same(): as many as keep the lengths, the odd one after; for
// strides of 1 only.
template <size_t N>
struct ConvPadding : PerAxis<N> {
  using PerAxis<N>::PerAxis;
  bool is_same = false;
  static constexpr ConvPadding same() {
    ConvPadding made;
    made.is_same = true;
    return made;
  }
};

template <size_t N>
struct ConvOptions {
  std::optional<Tensor> bias = {};  // [outputs]
  PerAxis<N> stride = 1;
  ConvPadding<N> padding = 0;
  PerAxis<N> dilation = 1;
  int64_t groups = 1;
};

// An input [batch, channels, spatial axes…], or one without the batch, and a weight [outputs,
// channels / groups, kernel's axes…]. Lengths of the result are
// (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1, rounded down. conv3d is a
// conv2d over as many copies of the input as the kernel is deep. ShapeMismatch, InvalidArgument.
HOLOGRAM_API Tensor conv1d(const Tensor& input, const Tensor& weight,
                           const ConvOptions<1>& options = {});
HOLOGRAM_API Tensor conv2d(const Tensor& input, const Tensor& weight,
                           const ConvOptions<2>& options = {});
HOLOGRAM_API Tensor conv3d(const Tensor& input, const Tensor& weight,
                           const ConvOptions<3>& options = {});

template <size_t N>
struct ConvTransposeOptions {
  std::optional<Tensor> bias = {};  // [outputs]
  PerAxis<N> stride = 1;
  PerAxis<N> padding = 0;         // cut off on both sides
  PerAxis<N> output_padding = 0;  // more elements at the end; less than the stride or the dilation
  int64_t groups = 1;
  PerAxis<N> dilation = 1;
};

// The adjoint of a convolution with this weight: [channels, outputs / groups, kernel's axes…].
// Lengths of the result are
// (input - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1.
// It is a convolution of the input with stride - 1 zeros between its elements.
HOLOGRAM_API Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                                     const ConvTransposeOptions<1>& options = {});
HOLOGRAM_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                                     const ConvTransposeOptions<2>& options = {});

struct UnfoldOptions {
  PerAxis<2> dilation = 1, padding = 0, stride = 1;
};
// Windows as columns: [batch, channels, height, width] to [batch, channels * kernel's elements,
// windows]; and the sum of such columns, each where it came from. The batch may be missing.
HOLOGRAM_API Tensor unfold(const Tensor& input, const PerAxis<2>& kernel,
                           const UnfoldOptions& options = {});
HOLOGRAM_API Tensor fold(const Tensor& columns, const PerAxis<2>& output, const PerAxis<2>& kernel,
                         const UnfoldOptions& options = {});

}  // namespace hologram::nn
