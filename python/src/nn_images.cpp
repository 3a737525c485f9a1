// Convolutions, pooling, normalisation and resizing.
#include "nn.hpp"

namespace hologram::python {
namespace {

using Optional = std::optional<Tensor>;

template <size_t N>
using Stride = std::optional<nn::PerAxis<N>>;

constexpr const char* kConvolution =
    "Convolution of input [batch, channels, spatial axes...] by weight [outputs, channels / "
    "groups,\n"
    "kernel...]; padding: numbers, 'same' or 'valid'. The batch may be missing.";

template <size_t N>
void bind_convolution(nb::module_& m, const char* name,
                      Tensor (*function)(const Tensor&, const Tensor&, const nn::ConvOptions<N>&)) {
  m.def(
      name,
      [function](const Tensor& input, const Tensor& weight, Optional bias, nn::PerAxis<N> stride,
                 nn::ConvPadding<N> padding, nn::PerAxis<N> dilation, int64_t groups) {
        return function(input, weight, {std::move(bias), stride, padding, dilation, groups});
      },
      "input"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0,
      "dilation"_a = 1, "groups"_a = 1, kConvolution);
}

template <size_t N>
void bind_transposed(nb::module_& m, const char* name,
                     Tensor (*function)(const Tensor&, const Tensor&,
                                        const nn::ConvTransposeOptions<N>&)) {
  m.def(
      name,
      [function](const Tensor& input, const Tensor& weight, Optional bias, nn::PerAxis<N> stride,
                 nn::PerAxis<N> padding, nn::PerAxis<N> output_padding, int64_t groups,
                 nn::PerAxis<N> dilation) {
        return function(input, weight,
                        {std::move(bias), stride, padding, output_padding, groups, dilation});
      },
      "input"_a, "weight"_a, "bias"_a = nb::none(), "stride"_a = 1, "padding"_a = 0,
      "output_padding"_a = 0, "groups"_a = 1, "dilation"_a = 1,
      "The adjoint of a convolution with weight [channels, outputs / groups, kernel...].");
}

template <size_t N>
void bind_max_pool(nb::module_& m, const char* name,
                   nn::MaxPool (*function)(const Tensor&, const nn::PerAxis<N>&,
                                           const nn::MaxPoolOptions<N>&),
                   Tensor (*plain)(const Tensor&, const nn::PerAxis<N>&,
                                   const nn::MaxPoolOptions<N>&)) {
  m.def(
      name,
      [=](const Tensor& input, nn::PerAxis<N> kernel, Stride<N> stride, nn::PerAxis<N> padding,
          nn::PerAxis<N> dilation, bool ceil_mode, bool return_indices) -> nb::object {
        const nn::MaxPoolOptions<N> options{stride, padding, dilation, ceil_mode};
        if (!return_indices) return object_from(plain(input, kernel, options));
        const nn::MaxPool made = function(input, kernel, options);
        return nb::make_tuple(made.output, made.indices);
      },
      "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "dilation"_a = 1,
      "ceil_mode"_a = false, "return_indices"_a = false,
      "The largest element of each window of [batch, channels, spatial axes...]; return_indices:\n"
      "(values, int64 places in the input's spatial axes).");
}

template <size_t N>
void bind_avg_pool(nb::module_& m, const char* name,
                   Tensor (*function)(const Tensor&, const nn::PerAxis<N>&,
                                      const nn::AvgPoolOptions<N>&)) {
  m.def(
      name,
      [function](const Tensor& input, nn::PerAxis<N> kernel, Stride<N> stride,
                 nn::PerAxis<N> padding, bool ceil_mode, bool count_include_pad,
                 std::optional<int64_t> divisor_override) {
        return function(input, kernel,
                        {stride, padding, ceil_mode, count_include_pad, divisor_override});
      },
      "input"_a, "kernel_size"_a, "stride"_a = nb::none(), "padding"_a = 0, "ceil_mode"_a = false,
      "count_include_pad"_a = true, "divisor_override"_a = nb::none(),
      "The mean of each window of [batch, channels, spatial axes...].");
}

template <size_t N>
void bind_adaptive(nb::module_& m, const char* name,
                   Tensor (*function)(const Tensor&, const nn::PerAxis<N>&)) {
  m.def(
      name,
      [function](const Tensor& input, nn::PerAxis<N> output) { return function(input, output); },
      "input"_a, "output_size"_a, "Windows such that the result has these spatial lengths.");
}

void register_pooling(nb::module_& m) {
  bind_max_pool<1>(m, "max_pool1d", nn::max_pool1d_with_indices, nn::max_pool1d);
  bind_max_pool<2>(m, "max_pool2d", nn::max_pool2d_with_indices, nn::max_pool2d);
  bind_max_pool<3>(m, "max_pool3d", nn::max_pool3d_with_indices, nn::max_pool3d);
  m.def("max_unpool2d", nn::max_unpool2d, "pooled"_a, "indices"_a, "output_size"_a,
        "Zeros of these lengths with `pooled` put back at the indices that pooling gave.");
  bind_avg_pool<1>(m, "avg_pool1d", nn::avg_pool1d);
  bind_avg_pool<2>(m, "avg_pool2d", nn::avg_pool2d);
  bind_avg_pool<3>(m, "avg_pool3d", nn::avg_pool3d);
  bind_adaptive<1>(m, "adaptive_avg_pool1d", nn::adaptive_avg_pool1d);
  bind_adaptive<2>(m, "adaptive_avg_pool2d", nn::adaptive_avg_pool2d);
  bind_adaptive<3>(m, "adaptive_avg_pool3d", nn::adaptive_avg_pool3d);
  bind_adaptive<1>(m, "adaptive_max_pool1d", nn::adaptive_max_pool1d);
  bind_adaptive<2>(m, "adaptive_max_pool2d", nn::adaptive_max_pool2d);
  bind_adaptive<3>(m, "adaptive_max_pool3d", nn::adaptive_max_pool3d);
  m.def("global_avg_pool", nn::global_avg_pool, "input"_a,
        "The mean over all spatial axes, which stay with a length of 1.");
  m.def("global_max_pool", nn::global_max_pool, "input"_a,
        "The largest over all spatial axes, which stay with a length of 1.");
}

void register_normalization(nb::module_& m) {
  m.def(
      "batch_norm",
      [](const Tensor& x, Optional running_mean, Optional running_var, Optional weight,
         Optional bias, bool training, double momentum, double eps) {
        nn::BatchNorm made =
            nn::batch_norm(x, running_mean, running_var,
                           {std::move(weight), std::move(bias), training, momentum, eps});
        const auto given = [](const Tensor& t) {
          return t.defined() ? object_from(t) : nb::none();
        };
        return nb::make_tuple(made.output, given(made.running_mean), given(made.running_var));
      },
      "x"_a, "running_mean"_a.none(), "running_var"_a.none(), "weight"_a = nb::none(),
      "bias"_a = nb::none(), "training"_a = false, "momentum"_a = 0.1, "eps"_a = 1e-5,
      "(output, running_mean, running_var) of [batch, channels, ...]: the running statistics are "
      "the\n"
      "new ones in training, else those given.");
  m.def(
      "layer_norm",
      [](const Tensor& x, nb::handle normalized_shape, Optional weight, Optional bias, double eps) {
        return nn::layer_norm(x, shape_from(normalized_shape),
                              {std::move(weight), std::move(bias), eps});
      },
      "x"_a, "normalized_shape"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5,
      "Mean 0 and variance 1 over the last axes, whose lengths are normalized_shape.");
  m.def(
      "rms_norm",
      [](const Tensor& x, nb::handle normalized_shape, Optional weight, std::optional<double> eps) {
        return nn::rms_norm(x, shape_from(normalized_shape), weight, eps);
      },
      "x"_a, "normalized_shape"_a, "weight"_a = nb::none(), "eps"_a = nb::none(),
      "x / sqrt(mean(x * x) + eps) * weight over the last axes.");
  m.def(
      "group_norm",
      [](const Tensor& x, int64_t num_groups, Optional weight, Optional bias, double eps) {
        return nn::group_norm(x, num_groups, {std::move(weight), std::move(bias), eps});
      },
      "x"_a, "num_groups"_a, "weight"_a = nb::none(), "bias"_a = nb::none(), "eps"_a = 1e-5,
      "Over so many groups of channels of [batch, channels, ...], of each image by itself.");
  m.def(
      "instance_norm",
      [](const Tensor& x, Optional running_mean, Optional running_var, Optional weight,
         Optional bias, bool use_input_stats, double eps) {
        return nn::instance_norm(x, {std::move(running_mean), std::move(running_var),
                                     std::move(weight), std::move(bias), use_input_stats, eps});
      },
      "x"_a, "running_mean"_a = nb::none(), "running_var"_a = nb::none(), "weight"_a = nb::none(),
      "bias"_a = nb::none(), "use_input_stats"_a = true, "eps"_a = 1e-5,
      "Over each channel of each image.");
  m.def(
      "local_response_norm",
      [](const Tensor& x, int64_t size, double alpha, double beta, double k) {
        return nn::local_response_norm(x, size, {alpha, beta, k});
      },
      "x"_a, "size"_a, "alpha"_a = 1e-4, "beta"_a = 0.75, "k"_a = 1.0,
      "x / (k + alpha * mean(x * x of `size` neighbouring channels))^beta.");
  m.def("normalize", nn::normalize, "x"_a, "p"_a = 2.0, "axis"_a = 1, "eps"_a = 1e-12,
        "x / max(norm(x), eps) along an axis.");
  m.def("cosine_similarity", nn::cosine_similarity, "x1"_a, "x2"_a, "axis"_a = 1, "eps"_a = 1e-8,
        "sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps)) along an axis.");
  m.def("pairwise_distance", nn::pairwise_distance, "x1"_a, "x2"_a, "p"_a = 2.0, "eps"_a = 1e-6,
        "keepdims"_a = false, "norm(x1 - x2 + eps) along the last axis.");
}

std::vector<double> numbers_from(nb::handle value) {
  if (value.is_none()) return {};
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) return {nb::cast<double>(value)};
  return nb::cast<std::vector<double>>(value);
}

void register_resizing(nb::module_& m) {
  m.def(
      "interpolate",
      [](const Tensor& x, nb::handle size, nb::handle scale_factor, nn::Interpolation mode,
         bool align_corners, bool recompute_scale_factor) {
        // Bilinear and trilinear are Linear of two and of three axes.
        constexpr auto kLinear = nn::Interpolation::Linear;
        nn::InterpolateOptions options;
        if (!size.is_none()) {
          const Shape lengths = shape_from(size);
          options.size.assign(lengths.begin(), lengths.end());
        }
        options.scale_factor = numbers_from(scale_factor);
        options.mode = mode > nn::Interpolation::Area ? kLinear : mode;
        options.align_corners = align_corners;
        options.recompute_scale_factor = recompute_scale_factor;
        return nn::interpolate(x, options);
      },
      "x"_a, "size"_a = nb::none(), "scale_factor"_a = nb::none(), "mode"_a = "nearest",
      "align_corners"_a = false, "recompute_scale_factor"_a = false,
      "x [batch, channels, spatial axes...] in another size, by 'nearest', 'nearest-exact',\n"
      "'linear' (also called 'bilinear', 'trilinear'), 'bicubic' or 'area'.");
  m.def("pixel_shuffle", nn::pixel_shuffle, "x"_a, "upscale_factor"_a,
        "[..., channels * r * r, height, width] to [..., channels, height * r, width * r].");
  m.def("pixel_unshuffle", nn::pixel_unshuffle, "x"_a, "downscale_factor"_a,
        "The inverse of pixel_shuffle.");
  m.def("channel_shuffle", nn::channel_shuffle, "x"_a, "groups"_a,
        "[batch, groups * n, ...]: channel g * n + i goes to i * groups + g.");
  m.def(
      "pad",
      [](const Tensor& x, const std::vector<int64_t>& padding, nn::PadMode mode, nb::handle value) {
        return nn::pad(x, padding, mode, operand_from(value));
      },
      "x"_a, "pad"_a, "mode"_a = "constant", "value"_a = 0,
      "Elements before and after the last axis, the one before it, ...: (left, right, top, ...);\n"
      "negative ones cut off. Modes: 'constant', 'reflect', 'replicate', 'circular'.");
  m.def(
      "unfold",
      [](const Tensor& input, nn::PerAxis<2> kernel, nn::PerAxis<2> dilation,
         nn::PerAxis<2> padding, nn::PerAxis<2> stride) {
        return nn::unfold(input, kernel, {dilation, padding, stride});
      },
      "input"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0, "stride"_a = 1,
      "Windows as columns: [batch, channels * kernel's elements, windows].");
  m.def(
      "fold",
      [](const Tensor& columns, nn::PerAxis<2> output, nn::PerAxis<2> kernel,
         nn::PerAxis<2> dilation, nn::PerAxis<2> padding, nn::PerAxis<2> stride) {
        return nn::fold(columns, output, kernel, {dilation, padding, stride});
      },
      "input"_a, "output_size"_a, "kernel_size"_a, "dilation"_a = 1, "padding"_a = 0,
      "stride"_a = 1, "The sum of such columns, each where it came from.");
}

}  // namespace

void register_images(nb::module_& m) {
  bind_convolution<1>(m, "conv1d", nn::conv1d);
  bind_convolution<2>(m, "conv2d", nn::conv2d);
  bind_convolution<3>(m, "conv3d", nn::conv3d);
  bind_transposed<1>(m, "conv_transpose1d", nn::conv_transpose1d);
  bind_transposed<2>(m, "conv_transpose2d", nn::conv_transpose2d);
  register_pooling(m);
  register_normalization(m);
  register_resizing(m);
}

}  // namespace hologram::python
