// Functions on tensors that are no elementwise ones, by position; the package gives them the names
// and parameters that Python shows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "reductions.hpp"

namespace hologram::python {
namespace {

using OptionalAxis = std::optional<int>;

// Of the functions that take axes and keepdims.
constexpr Reduction kReductions[] = {
    {"sum", ops::sum}, {"prod", ops::prod}, {"mean", ops::mean}, {"min", ops::min},
    {"max", ops::max}, {"any", ops::any},   {"all", ops::all},   {"logsumexp", ops::logsumexp}};

void register_reductions(nb::module_& m) {
  for (const Reduction& r : kReductions) bind(m, r);
  bind(m, Spread{"var", ops::var});
  bind(m, Spread{"std", ops::std});
  m.def(
      "norm",
      [](const Tensor& x, double order, nb::handle axes, bool keepdims) {
        return ops::norm(x, order, axes_from(axes), keepdims);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
  m.def(
      "argmin",
      [](const Tensor& x, OptionalAxis axis, bool keepdims) {
        return ops::argmin(x, axis, keepdims);
      },
      nb::arg(), nb::arg().none(), nb::arg());
  m.def(
      "argmax",
      [](const Tensor& x, OptionalAxis axis, bool keepdims) {
        return ops::argmax(x, axis, keepdims);
      },
      nb::arg(), nb::arg().none(), nb::arg());
  m.def("softmax", ops::softmax);
  m.def("log_softmax", ops::log_softmax);
  m.def("cumsum", ops::cumsum);
  m.def("cumprod", ops::cumprod);
}

void register_order(nb::module_& m) {
  m.def("sort", ops::sort);
  m.def("argsort", ops::argsort);
  m.def("topk", [](const Tensor& x, int64_t k, int axis, bool largest) {
    const auto [values, indices] = ops::topk(x, k, axis, largest);
    return nb::make_tuple(values, indices);
  });
  m.def("searchsorted", [](const Tensor& sorted, nb::handle values, bool right) {
    return ops::searchsorted(sorted, tensor_from(values),
                             right ? ops::Side::Right : ops::Side::Left);
  });
  m.def("nonzero", [](const Tensor& x) { return without_gil([&] { return ops::nonzero(x); }); });
  m.def("unique", [](const Tensor& x) {
    const auto found = without_gil([&] { return ops::unique(x); });
    return nb::make_tuple(found.values, found.counts);
  });
}

void register_views(nb::module_& m) {
  m.def("reshape", [](const Tensor& x, nb::handle shape) { return x.reshape(shape_from(shape)); });
  m.def("permute", [](const Tensor& x, nb::handle axes) { return x.permute(ints_from(axes)); });
  m.def("squeeze", [](const Tensor& x, int axis) { return x.squeeze(axis); });
  m.def("unsqueeze", [](const Tensor& x, int axis) { return x.unsqueeze(axis); });
  m.def("broadcast_to",
        [](const Tensor& x, nb::handle shape) { return x.broadcast_to(shape_from(shape)); });
  m.def("flip", [](const Tensor& x, nb::handle axes) { return x.flip(ints_from(axes)); });
  m.def("astype", [](const Tensor& x, nb::handle dtype) { return x.to(dtype_from(dtype)); });
  m.def("copy", ops::copy);
  m.def("contiguous", ops::contiguous);
}

void register_movement(nb::module_& m) {
  m.def("concat", [](nb::handle list, int axis) { return ops::concat(tensors_from(list), axis); });
  m.def("stack", [](nb::handle list, int axis) { return ops::stack(tensors_from(list), axis); });
  m.def("split", [](const Tensor& x, std::vector<int64_t> lengths, int axis) {
    return ops::split(x, lengths, axis);
  });
  m.def("chunk",
        [](const Tensor& x, int64_t parts, int axis) { return ops::split(x, parts, axis); });
  m.def("pad",
        [](const Tensor& x, const std::vector<std::vector<int64_t>>& widths, nb::handle value) {
          std::vector<ops::Padding> padding;
          for (const auto& pair : widths) padding.push_back({pair.at(0), pair.at(1)});
          return ops::pad(x, padding, operand_from(value));
        });
  m.def(
      "take",
      [](const Tensor& x, const Tensor& indices, OptionalAxis axis) {
        return ops::take(x, indices, axis);
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("gather", ops::gather);
  m.def("slice_at", [](const Tensor& x, int axis, nb::handle start, int64_t length) {
    return ops::slice_at(x, axis, operand_from(start), length);
  });
  m.def("put_at", [](const Tensor& x, int axis, nb::handle start, const Tensor& values) {
    return ops::put_at(x, axis, operand_from(start), values);
  });
  m.def("scatter", [](const Tensor& x, const Tensor& indices, nb::handle values, int axis) {
    return ops::scatter(x, indices, operand_from(values), axis);
  });
  m.def("scatter_add", [](const Tensor& x, const Tensor& indices, nb::handle values, int axis) {
    return ops::scatter_add(x, indices, operand_from(values), axis);
  });
  m.def(
      "roll",
      [](const Tensor& x, int64_t shift, OptionalAxis axis) { return ops::roll(x, shift, axis); },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def(
      "repeat",
      [](const Tensor& x, int64_t times, OptionalAxis axis) { return ops::repeat(x, times, axis); },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("tile", ops::tile);
}

ops::ImageLayout layout_from(const std::string& name) {
  if (name == "NHWC") return ops::ImageLayout::Nhwc;
  if (name == "NCHW") return ops::ImageLayout::Nchw;
  fail(ErrorKind::InvalidArgument, "there is no layout '" + name + "'", "Use 'NHWC' or 'NCHW'.");
}

// A number for both directions, or a pair.
ops::Extent extent_from(nb::handle value) {
  const Shape numbers = shape_from(value);
  if (numbers.size() == 1) return numbers[0];
  if (numbers.size() == 2) return {numbers[0], numbers[1]};
  fail(ErrorKind::InvalidArgument, "one number or two are needed, for height and width",
       "Write 2 or (2, 3).");
}

template <class Sides>
Sides sides_from(nb::handle value) {
  if (nb::isinstance<nb::str>(value) && nb::cast<std::string>(value) == "same")
    return Sides::same();
  const Shape n = shape_from(value);
  if (n.size() == 1) return n[0];
  if (n.size() == 2) return {n[0], n[1]};
  if (n.size() == 4) return {n[0], n[1], n[2], n[3]};
  fail(ErrorKind::InvalidArgument, "padding takes 1, 2 or 4 numbers, or 'same'",
       "Write 1, (1, 2) for height and width, or (top, bottom, left, right).");
}

void register_products(nb::module_& m) {
  m.def("matmul",
        [](nb::handle a, nb::handle b) { return ops::matmul(tensor_from(a), tensor_from(b)); });
  m.def("matmul_to", [](nb::handle a, nb::handle b, nb::handle dtype) {
    return ops::matmul(tensor_from(a), tensor_from(b), dtype_from(dtype));
  });
  m.def("outer", ops::outer);
  m.def("tensordot", [](const Tensor& a, const Tensor& b, nb::handle axes_a, nb::handle axes_b) {
    return ops::tensordot(a, b, ints_from(axes_a), ints_from(axes_b));
  });
  m.def(
      "conv2d",
      [](const Tensor& x, const Tensor& weight, nb::handle bias, nb::handle stride,
         nb::handle padding, nb::handle dilation, int64_t groups, const std::string& layout) {
        ops::Conv2d options;
        options.stride = extent_from(stride);
        options.padding = sides_from<decltype(options.padding)>(padding);
        options.dilation = extent_from(dilation);
        options.groups = groups;
        if (!bias.is_none()) options.bias = tensor_from(bias);
        options.layout = layout_from(layout);
        return ops::conv2d(x, weight, options);
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
      nb::arg());
  m.def(
      "pool2d",
      [](const Tensor& x, bool of_max, nb::handle kernel, nb::handle stride, nb::handle padding,
         bool counts_padding, const std::string& layout) {
        ops::Pool2d options;
        options.kernel = extent_from(kernel);
        if (!stride.is_none()) options.stride = extent_from(stride);
        options.padding = sides_from<decltype(options.padding)>(padding);
        options.count_include_pad = counts_padding;
        options.layout = layout_from(layout);
        return of_max ? ops::max_pool2d(x, options) : ops::avg_pool2d(x, options);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace

void register_functions(nb::module_& m) {
  register_reductions(m);
  register_order(m);
  register_views(m);
  register_movement(m);
  register_products(m);
}

}  // namespace hologram::python
