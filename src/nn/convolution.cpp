#include "hologram/nn/convolution.hpp"

#include <algorithm>
#include <string>

#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// Images with axes of length 1 that a convolution along fewer axes does not have.
constexpr const char* kAxes[] = {"", "batch, channels, length", "batch, channels, height, width",
                                 "batch, channels, depth, height, width"};
constexpr const char* kWeights[] = {"", "outputs, channels / groups, length",
                                    "outputs, channels / groups, height, width",
                                    "outputs, channels / groups, depth, height, width"};

// `run` with a batch, which goes again where the input has none.
template <size_t N, class F>
Tensor batched(const char* name, const Tensor& input, const Tensor& weight, const F& run) {
  constexpr int kRank = N + 2;
  if ((input.rank() != kRank && input.rank() != kRank - 1) || weight.rank() != kRank)
    throw core::error(Text::ConvRank, name, to_string(input.shape()), to_string(weight.shape()),
                      kAxes[N], kWeights[N]);
  return input.rank() == kRank ? run(input) : run(input.unsqueeze(0)).squeeze(0);
}

template <size_t N>
void check(const char* name, const char* what, const PerAxis<N>& numbers, int64_t least) {
  for (const int64_t number : numbers.values)
    need(number >= least && number <= int64_t{1} << 30, name, what, static_cast<double>(number),
         least == 0 ? "a number from 0 to 2^30" : "a number from 1 to 2^30");
}

struct Sides {
  int64_t before = 0, after = 0;
};
template <size_t N>
std::array<Sides, N> padding_of(const char* name, const Tensor& weight,
                                const ConvOptions<N>& options) {
  check(name, "stride", options.stride, 1);
  check(name, "dilation", options.dilation, 1);
  check(name, "padding", options.padding, 0);
  std::array<Sides, N> sides;
  for (size_t k = 0; k < N; k++) {
    const int64_t reach = options.dilation[k] * (weight.size(static_cast<int>(k) + 2) - 1);
    sides[k] = {options.padding[k], options.padding[k]};
    if (!options.padding.is_same) continue;
    need(options.stride[k] == 1, name, "stride", static_cast<double>(options.stride[k]),
         "1 with a padding of same()");
    sides[k] = {reach / 2, reach - reach / 2};
  }
  return sides;
}

// Zeros of this shape with x at `first`, every `step`-th element, of the axes from 2 on.
Tensor spread(const Tensor& x, const Shape& shape, const PerAxis<2>& first,
              const PerAxis<2>& step) {
  std::vector<Slice> part(2);
  for (size_t k = 0; k < 2; k++)
    part.push_back(
        {first[k], first[k] + (x.size(static_cast<int>(k) + 2) - 1) * step[k] + 1, step[k]});
  return ops::put(ops::zeros(shape, x.dtype(), x.executor()), part, x);
}

// A weight [channels, outputs / groups, …] as that of a convolution in the other direction.
Tensor turned(const Tensor& weight, int64_t groups) {
  const Shape& s = weight.shape();
  return weight.reshape({groups, s[0] / groups, s[1], s[2], s[3]})
      .permute({0, 2, 1, 3, 4})
      .reshape({groups * s[1], s[0] / groups, s[2], s[3]})
      .flip({2, 3});
}

Tensor transposed(const char* name, const Tensor& x, const Tensor& weight,
                  const ConvTransposeOptions<2>& options) {
  check(name, "stride", options.stride, 1);
  check(name, "dilation", options.dilation, 1);
  check(name, "padding", options.padding, 0);
  check(name, "output padding", options.output_padding, 0);
  need(options.groups >= 1, name, "number of groups", static_cast<double>(options.groups),
       "1 or more");
  if (x.size(1) != weight.size(0) || x.size(1) % options.groups != 0)
    throw core::error(Text::ConvChannels, name, x.size(1), options.groups,
                      to_string(weight.shape()), "channels, outputs / groups, kernel's axes");
  Shape shape = {x.size(0), x.size(1), 0, 0};
  PerAxis<2> first;
  std::vector<Slice> kept(2);
  for (size_t k = 0; k < 2; k++) {
    const int axis = static_cast<int>(k) + 2;
    const int64_t stride = options.stride[k], more = options.output_padding[k];
    need(more < std::max(stride, options.dilation[k]), name, "output padding",
         static_cast<double>(more), "less than the stride or the dilation");
    const int64_t before = options.dilation[k] * (weight.size(axis) - 1) - options.padding[k],
                  after = before + more, length = (x.size(axis) - 1) * stride + 1;
    // What the padding cuts off beyond the kernel is cut off the input.
    first.values[k] = std::max<int64_t>(before, 0);
    shape[k + 2] = first[k] + length + std::max<int64_t>(after, 0);
    kept.push_back({std::max<int64_t>(-before, 0), shape[k + 2] - std::max<int64_t>(-after, 0)});
    if (x.size(axis) < 1 || weight.size(axis) < 1 || before + length + after < weight.size(axis))
      throw core::error(Text::NnWindow, name, weight.size(axis), before + length + after, axis);
  }
  const Tensor apart = spread(x, shape, first, options.stride).slice(kept);
  return ops::conv2d(apart, turned(weight, options.groups),
                     {.dilation = {options.dilation[0], options.dilation[1]},
                      .groups = options.groups,
                      .bias = options.bias,
                      .layout = ops::ImageLayout::Nchw});
}

// The windows of an axis that are `offset` from their first elements.
Slice of_windows(int64_t offset, int64_t count, int64_t stride) {
  return {offset, offset + (count - 1) * stride + 1, stride};
}

PerAxis<2> window_counts(const char* name, const PerAxis<2>& lengths, const PerAxis<2>& kernel,
                         const UnfoldOptions& o) {
  check(name, "kernel", kernel, 1);
  check(name, "stride", o.stride, 1);
  check(name, "dilation", o.dilation, 1);
  check(name, "padding", o.padding, 0);
  PerAxis<2> counts;
  for (size_t k = 0; k < 2; k++) {
    const int64_t length = lengths[k] + 2 * o.padding[k], reach = o.dilation[k] * (kernel[k] - 1);
    if (reach >= length) throw core::error(Text::NnWindow, name, reach + 1, length, k + 2);
    counts.values[k] = (length - reach - 1) / o.stride[k] + 1;
  }
  return counts;
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const ConvOptions<1>& options) {
  return batched<1>("conv1d", input, weight, [&](const Tensor& x) {
    const Sides sides = padding_of("conv1d", weight, options)[0];
    return ops::conv2d(x.unsqueeze(2), weight.unsqueeze(2),
                       {.stride = {1, options.stride[0]},
                        .padding = {0, 0, sides.before, sides.after},
                        .dilation = {1, options.dilation[0]},
                        .groups = options.groups,
                        .bias = options.bias,
                        .layout = ops::ImageLayout::Nchw})
        .squeeze(2);
  });
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const ConvOptions<2>& options) {
  return batched<2>("conv2d", input, weight, [&](const Tensor& x) {
    const auto [rows, columns] = padding_of("conv2d", weight, options);
    return ops::conv2d(x, weight,
                       {.stride = {options.stride[0], options.stride[1]},
                        .padding = {rows.before, rows.after, columns.before, columns.after},
                        .dilation = {options.dilation[0], options.dilation[1]},
                        .groups = options.groups,
                        .bias = options.bias,
                        .layout = ops::ImageLayout::Nchw});
  });
}

// The slices that a kernel sees at once become channels of images, so that one convolution adds
// everything before it rounds.
Tensor conv3d(const Tensor& input, const Tensor& weight, const ConvOptions<3>& options) {
  return batched<3>("conv3d", input, weight, [&](const Tensor& x) {
    const auto [slices, rows, columns] = padding_of("conv3d", weight, options);
    const Shape &s = x.shape(), &w = weight.shape();
    const int64_t stride = options.stride[0], dilation = options.dilation[0];
    const int64_t depth = s[2] + slices.before + slices.after, reach = dilation * (w[2] - 1) + 1;
    if (w[2] < 1 || reach > depth) throw core::error(Text::NnWindow, "conv3d", reach, depth, 2);
    const int64_t count = (depth - reach) / stride + 1;
    const Tensor padded =
        ops::pad(x, {{}, {}, {slices.before, slices.after}, {}, {}}).permute({0, 2, 1, 3, 4});
    std::vector<Tensor> seen;
    for (int64_t k = 0; k < w[2]; k++)
      seen.push_back(padded.slice(1, of_windows(k * dilation, count, stride)));
    const Tensor images = ops::stack(seen, 3).reshape({s[0] * count, s[1] * w[2], s[3], s[4]});
    const Tensor result =
        ops::conv2d(images, weight.reshape({w[0], w[1] * w[2], w[3], w[4]}),
                    {.stride = {options.stride[1], options.stride[2]},
                     .padding = {rows.before, rows.after, columns.before, columns.after},
                     .dilation = {options.dilation[1], options.dilation[2]},
                     .groups = options.groups,
                     .bias = options.bias,
                     .layout = ops::ImageLayout::Nchw});
    return result.reshape({s[0], count, w[0], result.size(2), result.size(3)})
        .permute({0, 2, 1, 3, 4});
  });
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTransposeOptions<1>& options) {
  return batched<1>("conv_transpose1d", input, weight, [&](const Tensor& x) {
    return transposed("conv_transpose1d", x.unsqueeze(2), weight.unsqueeze(2),
                      {.bias = options.bias,
                       .stride = {1, options.stride[0]},
                       .padding = {0, options.padding[0]},
                       .output_padding = {0, options.output_padding[0]},
                       .groups = options.groups,
                       .dilation = {1, options.dilation[0]}})
        .squeeze(2);
  });
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTransposeOptions<2>& options) {
  return batched<2>("conv_transpose2d", input, weight, [&](const Tensor& x) {
    return transposed("conv_transpose2d", x, weight, options);
  });
}

Tensor unfold(const Tensor& input, const PerAxis<2>& kernel, const UnfoldOptions& o) {
  if (input.rank() == 3) return unfold(input.unsqueeze(0), kernel, o).squeeze(0);
  if (input.rank() != 4)
    throw core::error(Text::NnRank, "unfold", to_string(input.shape()), kAxes[2]);
  const PerAxis<2> counts = window_counts("unfold", {input.size(2), input.size(3)}, kernel, o);
  const Tensor x =
      ops::pad(input, {{}, {}, {o.padding[0], o.padding[0]}, {o.padding[1], o.padding[1]}});
  std::vector<Tensor> columns;
  for (int64_t i = 0; i < kernel[0]; i++)
    for (int64_t j = 0; j < kernel[1]; j++)
      columns.push_back(x.slice(2, of_windows(i * o.dilation[0], counts[0], o.stride[0]))
                            .slice(3, of_windows(j * o.dilation[1], counts[1], o.stride[1])));
  return ops::stack(columns, 2)
      .reshape({x.size(0), x.size(1) * kernel[0] * kernel[1], counts[0] * counts[1]});
}

Tensor fold(const Tensor& columns, const PerAxis<2>& output, const PerAxis<2>& kernel,
            const UnfoldOptions& o) {
  if (columns.rank() == 2) return fold(columns.unsqueeze(0), output, kernel, o).squeeze(0);
  check("fold", "length of the output", output, 1);
  const PerAxis<2> counts = window_counts("fold", output, kernel, o);
  const int64_t elements = kernel[0] * kernel[1], windows = counts[0] * counts[1];
  if (columns.rank() != 3 || columns.size(1) % elements != 0 || columns.size(2) != windows)
    throw core::error(
        Text::NnRank, "fold", to_string(columns.shape()),
        "batch, channels * " + std::to_string(elements) + ", " + std::to_string(windows));
  const int64_t batch = columns.size(0), channels = columns.size(1) / elements,
                height = output[0] + 2 * o.padding[0], width = output[1] + 2 * o.padding[1];
  const DType to = columns.dtype(), wide = is_float(to) ? compute_type(to) : to;
  // Along rows first, which leaves fewer images to be added up.
  const Tensor x =
      columns.to(wide).reshape({batch, channels, kernel[0], kernel[1], counts[0], counts[1]});
  Tensor rows, image;
  for (int64_t j = 0; j < kernel[1]; j++) {
    const Tensor part = x.select(3, j).reshape({batch, channels * kernel[0], counts[0], counts[1]});
    const Tensor apart = spread(part, {batch, channels * kernel[0], counts[0], width},
                                {0, j * o.dilation[1]}, {1, o.stride[1]});
    rows = rows.defined() ? rows + apart : apart;
  }
  rows = rows.reshape({batch, channels, kernel[0], counts[0], width});
  for (int64_t i = 0; i < kernel[0]; i++) {
    const Tensor apart = spread(rows.select(2, i), {batch, channels, height, width},
                                {i * o.dilation[0], 0}, {o.stride[0], 1});
    image = image.defined() ? image + apart : apart;
  }
  return image.to(to).slice(
      {{}, {}, {o.padding[0], o.padding[0] + output[0]}, {o.padding[1], o.padding[1] + output[1]}});
}

}  // namespace hologram::nn
