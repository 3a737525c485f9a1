// Convolutions of images, for every dtype, whoever computes them.
#include <fmt/format.h>

#include <cmath>

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/sums.hpp"
#include "hologram/convolution.hpp"

namespace hologram::conformance {
namespace {

struct Convolution {
  std::string_view name;
  int64_t batch, height, width, channels, outputs;  // channels and outputs of all groups
  int64_t kernel_height, kernel_width;
  ops::Conv2d options;
};

const std::vector<Convolution>& convolutions() {
  using ops::Padding2d;
  constexpr auto kPlanes = ops::ImageLayout::Nchw;
  static const std::vector<Convolution> all = {
      {"plain", 1, 7, 8, 3, 5, 3, 3, {}},
      {"padded", 2, 9, 11, 4, 6, 3, 3, {.padding = 1}},
      {"strided", 1, 12, 15, 3, 7, 3, 2, {.stride = {2, 3}, .padding = {0, 2, 1, 0}}},
      {"dilated", 1, 11, 13, 2, 3, 3, 3, {.padding = 2, .dilation = {2, 3}}},
      {"same", 1, 10, 9, 3, 4, 4, 3, {.stride = 2, .padding = Padding2d::same()}},
      {"point by point", 2, 5, 6, 9, 34, 1, 1, {}},
      {"groups", 1, 6, 7, 6, 8, 3, 3, {.padding = 1, .groups = 2}},
      {"depthwise", 2, 9, 7, 17, 17, 3, 3, {.padding = 1, .groups = 17}},
      {"depthwise twice", 1, 5, 6, 4, 8, 3, 3, {.padding = 1, .groups = 4}},
      {"many channels", 1, 4, 5, 150, 20, 3, 3, {.padding = 1}},
      {"wide row", 1, 3, 300, 2, 3, 2, 5, {.padding = {0, 2}}},
      {"padding beyond the kernel", 1, 3, 4, 2, 3, 2, 2, {.padding = 3}},
      {"planes", 2, 9, 20, 4, 6, 3, 3, {.padding = 1, .layout = kPlanes}},
      {"planes of groups", 1, 9, 33, 6, 4, 3, 3, {.stride = 2, .groups = 2, .layout = kPlanes}},
      {"planes depthwise", 1, 8, 40, 5, 5, 3, 3, {.padding = 1, .groups = 5, .layout = kPlanes}},
      {"no images", 0, 5, 5, 2, 3, 3, 3, {}},
      {"no channels", 1, 5, 5, 0, 3, 3, 3, {.padding = 1}},
  };
  return all;
}

// The places of an element of each operand, whatever the order of the axes.
struct Places {
  const Convolution& c;
  int64_t channels;  // of a group

  bool planes() const { return c.options.layout == ops::ImageLayout::Nchw; }
  Shape image(int64_t height, int64_t width, int64_t depth) const {
    return planes() ? Shape{c.batch, depth, height, width} : Shape{c.batch, height, width, depth};
  }
  Shape weight() const {
    return planes() ? Shape{c.outputs, channels, c.kernel_height, c.kernel_width}
                    : Shape{c.kernel_height, c.kernel_width, channels, c.outputs};
  }
  static size_t in_image(const Shape& shape, bool planes, int64_t n, int64_t y, int64_t x,
                         int64_t k) {
    return static_cast<size_t>(planes ? ((n * shape[1] + k) * shape[2] + y) * shape[3] + x
                                      : ((n * shape[1] + y) * shape[2] + x) * shape[3] + k);
  }
  size_t in_weight(int64_t i, int64_t j, int64_t k, int64_t o) const {
    return static_cast<size_t>(planes()
                                   ? ((o * channels + k) * c.kernel_height + i) * c.kernel_width + j
                                   : ((i * c.kernel_width + j) * channels + k) * c.outputs + o);
  }
};

struct Along {
  int64_t length, before;  // of the result; of padding
};
Along along(const Convolution& c, bool rows) {
  const ops::Conv2d& o = c.options;
  const int64_t input = rows ? c.height : c.width, stride = rows ? o.stride.height : o.stride.width,
                reach = rows ? (c.kernel_height - 1) * o.dilation.height + 1
                             : (c.kernel_width - 1) * o.dilation.width + 1;
  if (o.padding.is_same) {
    const int64_t length = (input + stride - 1) / stride;
    return {length, std::max<int64_t>(0, (length - 1) * stride + reach - input) / 2};
  }
  const int64_t before = rows ? o.padding.top : o.padding.left,
                behind = rows ? o.padding.bottom : o.padding.right;
  return {(input + before + behind - reach) / stride + 1, before};
}

Finding convolve(const Suite& suite, const Convolution& c, DType dtype, bool biased) {
  Generator generator(seed_of("conv2d", dtype, c.name));
  const ops::Conv2d& o = c.options;
  const Places places{c, c.channels / o.groups};
  const Array x = plain_values(dtype, places.image(c.height, c.width, c.channels), -1, 1,
                               generator),
              w = plain_values(dtype, places.weight(), -1, 1, generator),
              bias = plain_values(dtype, {c.outputs}, -1, 1, generator);
  const auto placed = [&](const Array& values, Arrangement how) {
    return laid_out({"", how, values.shape()}, values, suite.ways().plain);
  };
  ops::Conv2d options = o;
  if (biased) options.bias = Tensor::from(bias, suite.ways().plain);
  const Array result =
      ops::conv2d(placed(x, biased ? Arrangement::Spread : Arrangement::Dense),
                  placed(w, biased ? Arrangement::Reversed : Arrangement::Dense), options)
          .array();
  const Along rows = along(c, true), columns = along(c, false);
  Finding found;
  const Shape shape = places.image(rows.length, columns.length, c.outputs);
  if (result.dtype() != dtype || result.shape() != shape) {
    found.wrong = "dtype or shape is wrong";
    return found;
  }
  found.bound = is_float(dtype) ? 1 : 0;
  found.elements = result.size();
  const auto terms = static_cast<double>(c.kernel_height * c.kernel_width * places.channels);
  for (int64_t at = 0; at < static_cast<int64_t>(result.size()); at++) {
    const int64_t k = at % c.outputs, column = at / c.outputs % columns.length,
                  row = at / c.outputs / columns.length % rows.length,
                  n = at / c.outputs / columns.length / rows.length;
    const size_t i = Places::in_image(shape, places.planes(), n, row, column, k);
    const int64_t first = k / (c.outputs / o.groups) * places.channels;
    SumOfProducts sum(dtype);
    for (int64_t a = 0; a < c.kernel_height; a++)
      for (int64_t b = 0; b < c.kernel_width; b++) {
        const int64_t y = row * o.stride.height + a * o.dilation.height - rows.before,
                      z = column * o.stride.width + b * o.dilation.width - columns.before;
        if (y < 0 || y >= c.height || z < 0 || z >= c.width) continue;
        for (int64_t d = 0; d < places.channels; d++)
          sum.take(x, Places::in_image(x.shape(), places.planes(), n, y, z, first + d), w,
                   places.in_weight(a, b, d, k));
      }
    if (biased) sum.add(bias, static_cast<size_t>(k));
    sum.judge(result, i, terms + 2, found);
  }
  return found;
}

}  // namespace

void convolution_cases(Suite& suite) {
  for (const DType dtype : all_dtypes())
    for (const Convolution& c : convolutions()) {
      suite.attempt("conv2d", dtype, c.name, [&] { return convolve(suite, c, dtype, false); });
      suite.attempt("conv2d", dtype, fmt::format("{}, with a bias", c.name),
                    [&] { return convolve(suite, c, dtype, true); });
    }
}

}  // namespace hologram::conformance
