#include "hologram/convolution.hpp"

#include <tuple>

#include "algorithms/convolution.hpp"
#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "libraries/product.hpp"
#include "tensor/access.hpp"
#include "tensor/images.hpp"
#include "tensor/precision.hpp"
#include "tensor/rules.hpp"

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
Tensor for_libraries(const Tensor& x, hal::LibraryOps* library) {
  const bool wants = is_float(x.dtype()) && library != nullptr && library->wants_dense_images();
  return wants ? tensor::dense(x) : x;
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
  const tensor::ProductPolicy* policy = tensor::products();
  if (policy != nullptr && !policy->takes(dtype)) policy = nullptr;
  const DType out = policy != nullptr ? policy->result : dtype;
  if (policy != nullptr) dtype = policy->compute;
  std::vector<Tensor> all;
  all.reserve(3);
  all.push_back(input.to(dtype));
  all.push_back(weight.to(dtype));
  if (options.bias) all.push_back(options.bias->to(policy != nullptr ? DType::F32 : dtype));
  all = tensor::together(kName, std::move(all));
  hal::LibraryOps* const library = tensor::context_of(all[0]).executor().device->library();
  const Tensor given = planes ? all[0].permute({0, 2, 3, 1}) : all[0];
  // The result lies as the images do.
  const bool keeps_planes =
      library != nullptr && library->takes_planes(dtype) && tensor::lie_in_planes(given);
  const Tensor x = keeps_planes
                       ? for_libraries(given.permute({0, 3, 1, 2}), library).permute({0, 2, 3, 1})
                       : for_libraries(given, library),
               w = planes ? all[1].permute({2, 3, 1, 0}) : all[1];

  tensor::check_numbers(kName, options.stride, options.dilation, options.padding);
  check_number(kName, "number of groups", options.groups, 1);
  hal::ConvDesc desc;
  desc.x = desc.w = dtype;
  desc.planes = keeps_planes;
  const Shape &images = x.shape(), &kernel = w.shape();
  const int64_t channels = images[3], outputs = kernel[3];
  desc.batch = images[0];
  desc.groups = options.groups;
  if (channels % desc.groups != 0 || outputs % desc.groups != 0 ||
      channels / desc.groups != kernel[2])
    throw core::error(Text::ConvChannels, kName, channels, desc.groups, to_string(weight.shape()),
                      names.weight);
  desc.channels = kernel[2];
  desc.outputs = outputs / desc.groups;
  std::tie(desc.rows, desc.columns) = tensor::image_axes(
      kName, x, {kernel[0], kernel[1]}, options.stride, options.dilation, options.padding);
  desc.accumulate = libraries::product_accumulator(dtype);
  // A bias is added to what has not been rounded yet.
  desc.d = options.bias ? desc.accumulate : out;
  if (options.bias && options.bias->shape() != Shape{outputs})
    throw core::error(Text::ConvBias, kName, to_string(options.bias->shape()), outputs);

  Shape shape = {desc.batch, desc.rows.output, desc.columns.output, outputs};
  if (keeps_planes) shape = {desc.batch, outputs, desc.rows.output, desc.columns.output};
  const auto make = [&] {
    return tensor::make_opaque(graph::convolution_op(desc), desc.d, shape, x, w);
  };
  Tensor result =
      !tensor::is_recording() ? make() : tensor::with_gradient({x, w}, make, [&](const Tensor&) {
        return [x, w, desc, dtype = policy != nullptr ? dtype : desc.d](
                   const Tensor& g, const tensor::Wanted& wanted) {
          const Tensor change = desc.planes ? g.permute({0, 2, 3, 1}) : g;
          return tensor::rules::of_conv2d(x, w, desc.rows, desc.columns, desc.groups,
                                          change.to(dtype), wanted);
        };
      });
  if (options.bias) {
    Tensor bias = all[2].to(desc.d);
    if (keeps_planes) bias = bias.reshape({outputs, 1, 1});
    result = (dtype == DType::Bool ? result | bias : result + bias).to(out);
  }
  if (planes == keeps_planes) return result;
  return planes ? result.permute({0, 3, 1, 2}) : result.permute({0, 2, 3, 1});
}

}  // namespace hologram::ops
