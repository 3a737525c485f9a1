#include "hologram/convolution.hpp"

#include <tuple>

#include "core/messages.hpp"
#include "graph/convolution_work.hpp"
#include "hologram/ops.hpp"
#include "libraries/product.hpp"
#include "tensor/access.hpp"
#include "tensor/images.hpp"

namespace hologram::ops {

using core::Text;
using tensor::check_number;

namespace {

struct Names {
  const char *image, *weight;
};
constexpr Names names_of(ImageLayout layout) {
  return layout == ImageLayout::Nhwc
             ? Names{"batch, height, width, channels", "height, width, channels / groups, outputs"}
             : Names{"batch, channels, height, width", "outputs, channels / groups, height, width"};
}

// Where a library wants images dense, a copy costs less than the general program, and what made
// the image writes it in that order by itself.
Tensor for_libraries(Tensor x) {
  hal::LibraryOps* library = tensor::context_of(x).executor().device->library();
  const bool fine = !is_float(x.dtype()) || library == nullptr || !library->wants_dense_images();
  return fine ? x : tensor::dense(x);
}

// To one executor.
void bring_together(const char* name, Tensor& x, Tensor& w, Tensor* bias) {
  const graph::Context* const of_x = &tensor::context_of(x);
  if (of_x == &tensor::context_of(w) && (bias == nullptr || of_x == &tensor::context_of(*bias)))
    return;
  std::vector<Tensor> all = {x, w};
  if (bias != nullptr) all.push_back(*bias);
  all = tensor::together(name, std::move(all));
  x = all[0];
  w = all[1];
  if (bias != nullptr) *bias = all[2];
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
  Tensor x = input.to(dtype), w = weight.to(dtype),
         bias = options.bias ? options.bias->to(dtype) : Tensor();
  bring_together(kName, x, w, options.bias ? &bias : nullptr);
  if (planes) {
    x = x.permute({0, 2, 3, 1});
    w = w.permute({2, 3, 1, 0});
  }
  x = for_libraries(std::move(x));

  tensor::check_numbers(kName, options.stride, options.dilation, options.padding);
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
  std::tie(desc.rows, desc.columns) = tensor::image_axes(
      kName, x, {w.size(0), w.size(1)}, options.stride, options.dilation, options.padding);
  desc.accumulate = libraries::product_accumulator(dtype);
  // A bias is added to what has not been rounded yet.
  desc.d = options.bias ? desc.accumulate : dtype;
  if (options.bias && options.bias->shape() != Shape{w.size(3)})
    throw core::error(Text::ConvBias, kName, to_string(options.bias->shape()), w.size(3));

  Shape shape = {desc.batch, desc.rows.output, desc.columns.output, w.size(3)};
  Tensor result = tensor::make_opaque(graph::convolution_work(desc), desc.d, std::move(shape),
                                      std::move(x), std::move(w));
  if (options.bias) {
    bias = bias.to(desc.d);
    result = (dtype == DType::Bool ? result | bias : result + bias).to(dtype);
  }
  return planes ? result.permute({0, 3, 1, 2}) : result;
}

}  // namespace hologram::ops
