#include "hologram/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"
#include "graph/convolution_work.hpp"
#include "hologram/ops.hpp"
#include "libraries/product.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

using core::Text;
using hal::ConvAxis;

namespace {

constexpr int64_t kMost = int64_t{1} << 30;  // of a stride, a dilation, a padding

struct Names {
  const char *image, *weight;
};
constexpr Names names_of(ImageLayout layout) {
  return layout == ImageLayout::Nhwc
             ? Names{"batch, height, width, channels", "height, width, channels / groups, outputs"}
             : Names{"batch, channels, height, width", "outputs, channels / groups, height, width"};
}

void check_number(const char* operation, std::string_view what, int64_t number, int64_t least) {
  if (number < least || number > kMost)
    throw core::error(Text::ConvNumber, operation, what, number, least, kMost);
}

void check_numbers(const char* operation, const Extent& stride, const Extent& dilation,
                   const Border& padding) {
  check_number(operation, "stride of the height", stride.height, 1);
  check_number(operation, "stride of the width", stride.width, 1);
  check_number(operation, "dilation of the height", dilation.height, 1);
  check_number(operation, "dilation of the width", dilation.width, 1);
  for (const int64_t side : {padding.top, padding.bottom, padding.left, padding.right})
    check_number(operation, "padding", side, 0);
}

// One axis of the image, with `before` and `behind` around it.
ConvAxis axis_of(const char* operation, const char* name, int64_t input, int64_t kernel,
                 int64_t stride, int64_t dilation, int64_t before, int64_t behind, bool same) {
  check_number(operation, fmt::format("kernel's {}", name), kernel, 1);
  ConvAxis a{.input = input, .kernel = kernel, .stride = stride, .dilation = dilation};
  const int64_t reach = (kernel - 1) * dilation + 1;  // of the kernel
  if (same) {
    a.output = (input + stride - 1) / stride;
    a.before = std::max<int64_t>(0, (a.output - 1) * stride + reach - input) / 2;
    return a;
  }
  const int64_t length = input + before + behind;
  if (reach > length)
    throw core::error(Text::ConvKernel, operation, kernel, dilation, length, name);
  a.output = (length - reach) / stride + 1;
  a.before = before;
  return a;
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2d& options) {
  constexpr const char* kName = "conv2d";
  const bool planes = options.layout == ImageLayout::Nchw;
  const Names names = names_of(options.layout);
  if ((input.rank() != 3 && input.rank() != 4) || weight.rank() != 4)
    throw core::error(Text::ConvRank, kName, to_string(input.shape()), to_string(weight.shape()),
                      names.image, names.weight);
  if (input.rank() == 3) return conv2d(input.unsqueeze(0), weight, options).squeeze(0);

  DType dtype = promote(input.dtype(), weight.dtype());
  if (options.bias) dtype = promote(dtype, options.bias->dtype());
  std::vector<Tensor> all = {input.to(dtype), weight.to(dtype)};
  if (options.bias) all.push_back(options.bias->to(dtype));
  all = tensor::together(kName, std::move(all));
  const Tensor x = planes ? all[0].permute({0, 2, 3, 1}) : all[0],
               w = planes ? all[1].permute({2, 3, 1, 0}) : all[1];

  check_numbers(kName, options.stride, options.dilation, options.padding);
  check_number(kName, "number of groups", options.groups, 1);
  hal::ConvDesc desc;
  desc.x = desc.w = dtype;
  desc.batch = x.size(0);
  desc.groups = options.groups;
  if (x.size(3) % desc.groups != 0 || w.size(3) % desc.groups != 0 ||
      x.size(3) / desc.groups != w.size(2))
    throw core::error(Text::ConvChannels, kName, x.size(3), desc.groups, to_string(weight.shape()),
                      names.weight);
  desc.channels = w.size(2);
  desc.outputs = w.size(3) / desc.groups;
  const Border& around = options.padding;
  desc.rows = axis_of(kName, "height", x.size(1), w.size(0), options.stride.height,
                      options.dilation.height, around.top, around.bottom, around.is_same);
  desc.columns = axis_of(kName, "width", x.size(2), w.size(1), options.stride.width,
                         options.dilation.width, around.left, around.right, around.is_same);
  desc.accumulate = libraries::product_accumulator(dtype);
  // A bias is added to what has not been rounded yet.
  desc.d = options.bias ? desc.accumulate : dtype;
  if (options.bias && options.bias->shape() != Shape{w.size(3)})
    throw core::error(Text::ConvBias, kName, to_string(options.bias->shape()), w.size(3));

  Tensor result =
      tensor::make_opaque(graph::convolution_work(desc), desc.d,
                          {desc.batch, desc.rows.output, desc.columns.output, w.size(3)}, {x, w});
  if (options.bias) {
    const Tensor bias = all[2].to(desc.d);
    result = (dtype == DType::Bool ? result | bias : result + bias).to(dtype);
  }
  return planes ? result.permute({0, 3, 1, 2}) : result;
}

}  // namespace hologram::ops
