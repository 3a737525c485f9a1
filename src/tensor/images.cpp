#include "tensor/images.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "tensor/access.hpp"

namespace hologram::tensor {

using core::Text;
using hal::ConvAxis;

namespace {

constexpr int64_t kMost = int64_t{1} << 30;  // of a stride, a dilation, a padding

// One axis, with `before` and `after` around it.
ConvAxis axis_of(const char* operation, const char* name, const char* of_kernel, ConvAxis a,
                 int64_t before, int64_t after, bool same) {
  check_number(operation, of_kernel, a.kernel, 1);
  const int64_t reach = (a.kernel - 1) * a.dilation + 1;  // of the kernel
  if (same) {
    a.output = (a.input + a.stride - 1) / a.stride;
    a.before = std::max<int64_t>(0, (a.output - 1) * a.stride + reach - a.input) / 2;
    return a;
  }
  const int64_t length = a.input + before + after;
  if (reach > length)
    throw core::error(Text::ConvKernel, operation, a.kernel, a.dilation, length, name);
  a.output = (length - reach) / a.stride + 1;
  a.before = before;
  return a;
}

}  // namespace

bool lie_in_planes(const Tensor& images) {
  const graph::Strides& s = Access::view(images).strides;
  return images.rank() == 4 && images.size(3) > 1 && s[3] > s[2] && s[3] > s[1];
}

void check_number(const char* operation, std::string_view what, int64_t number, int64_t least) {
  if (number < least || number > kMost)
    throw core::error(Text::ConvNumber, operation, what, number, least, kMost);
}

void check_numbers(const char* operation, const ops::Extent& stride, const ops::Extent& dilation,
                   const ops::Padding2d& padding) {
  check_number(operation, "stride of the height", stride.height, 1);
  check_number(operation, "stride of the width", stride.width, 1);
  check_number(operation, "dilation of the height", dilation.height, 1);
  check_number(operation, "dilation of the width", dilation.width, 1);
  for (const int64_t side : {padding.top, padding.bottom, padding.left, padding.right})
    check_number(operation, "padding", side, 0);
}

std::pair<ConvAxis, ConvAxis> image_axes(const char* operation, const Tensor& images,
                                         const ops::Extent& kernel, const ops::Extent& stride,
                                         const ops::Extent& dilation,
                                         const ops::Padding2d& padding) {
  const ConvAxis rows{.input = images.size(1),
                      .kernel = kernel.height,
                      .stride = stride.height,
                      .dilation = dilation.height},
      columns{.input = images.size(2),
              .kernel = kernel.width,
              .stride = stride.width,
              .dilation = dilation.width};
  return {axis_of(operation, "height", "kernel's height", rows, padding.top, padding.bottom,
                  padding.is_same),
          axis_of(operation, "width", "kernel's width", columns, padding.left, padding.right,
                  padding.is_same)};
}

}  // namespace hologram::tensor
