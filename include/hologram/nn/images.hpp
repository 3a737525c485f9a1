// Images of other sizes, with borders, and with channels as pixels.
#pragma once

#include <optional>
#include <vector>

#include "hologram/tensor.hpp"

namespace hologram::nn {

// Linear, of two spatial axes bilinear, of three trilinear. Nearest takes the element at
// floor(i * scale), NearestExact that at floor((i + 0.5) * scale). Area: adaptive_avg_pool.
enum class Interpolation : uint8_t { Nearest, NearestExact, Linear, Bicubic, Area };

struct InterpolateOptions {
  std::vector<int64_t> size = {};  // of the spatial axes, or one number for all; or else
  std::vector<double> scale_factor = {};
  Interpolation mode = Interpolation::Nearest;
  bool align_corners = false;  // of Linear and Bicubic: the corners stay where they are
  // Steps between elements follow from the lengths, not from scale_factor.
  bool recompute_scale_factor = false;
};
// x [batch, channels, one to three spatial axes] in another size; Bicubic of two only (a = -0.75).
// ShapeMismatch, InvalidArgument.
HOLOGRAM_API Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

// [..., channels * r * r, height, width] to [..., channels, height * r, width * r], and back.
HOLOGRAM_API Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
HOLOGRAM_API Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
// [batch, groups * n, …]: channel g * n + i goes to i * groups + g.
HOLOGRAM_API Tensor channel_shuffle(const Tensor& x, int64_t groups);

enum class PadMode : uint8_t { Constant, Reflect, Replicate, Circular };
// Elements before and after the last axis, the one before it, …: {left, right, top, bottom, …}.
// Negative numbers cut off. Reflect leaves the edge out and takes less than the axis has, Circular
// at most as much. `value` is Constant's. InvalidArgument, ShapeMismatch.
HOLOGRAM_API Tensor pad(const Tensor& x, const std::vector<int64_t>& padding,
                        PadMode mode = PadMode::Constant, const Operand& value = 0);

}  // namespace hologram::nn
