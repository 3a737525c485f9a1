#include "expression/functions.hpp"

#include <fmt/format.h>

#include "hologram/convolution.hpp"
#include "hologram/linear.hpp"
#include "hologram/movement.hpp"
#include "hologram/ops.hpp"
#include "hologram/ordering.hpp"

namespace hologram::expression {
namespace {

using A = Along;
using M = Merge;
using C = const Call&;

std::optional<int> axis_of(C c, size_t i) {
  return c.given(i) ? std::optional(c.axis(i)) : std::nullopt;
}
Value squeezed(C c) { return c.given(1) ? c.tensor(0).squeeze(c.axis(1)) : c.tensor(0).squeeze(); }
Value range(C c) {
  const DType dtype = c.given(3) ? c.dtype(3) : DType::None;
  if (!c.given(1)) return ops::arange(0, c.operand(0), c.operand(2), dtype, c.executor());
  return ops::arange(c.operand(0), c.operand(1), c.operand(2), dtype, c.executor());
}
Value made(C c) {
  const Value& given = c.values()[0];
  if (!c.given(1)) return c.tensor(0);
  const DType dtype = c.dtype(1);
  // Of numbers that are written down, integers have to fit; fractions are cut, as everywhere.
  const bool cuts =
      !is_float(dtype) && !given.has_dtype() && to_weak(given).tensor().dtype() == DType::F64;
  return given.has_dtype() || cuts ? convert(given, dtype, c.executor())
                                   : to_tensor(given, c.executor(), dtype);
}
Value scattered(C c, Tensor (*scatter)(const Tensor&, const Tensor&, const Operand&, int)) {
  const Tensor x = c.tensor(0), indices = c.tensor(1);
  const Value& values = c.values()[2];
  if (values.list() == nullptr) return scatter(x, indices, c.operand(2), c.axis(3));
  return scatter(x, indices, to_tensor(values, c.executor(), x.dtype()), c.axis(3));
}
Value multiplied(C c, Tensor (*product)(const Tensor&, const Tensor&)) {
  const std::vector<Tensor> both = c.together({0, 1});
  return product(both[0], both[1]);
}

Value split(C c) {
  const bool lengths = c.values()[1].list() != nullptr;
  const std::vector<Tensor> parts = lengths ? ops::split(c.tensor(0), c.shape(1), c.axis(2))
                                            : ops::split(c.tensor(0), c.integer(1), c.axis(2));
  return std::vector<Value>(parts.begin(), parts.end());
}
// x, times, axis
Value repeated(C c) {
  const Value& times = c.values()[1];
  if (times.is_number()) return ops::repeat(c.tensor(0), c.integer(1), axis_of(c, 2));
  return ops::repeat(c.tensor(0), c.tensor(1), axis_of(c, 2));
}
Value padded(C c) {
  // A list is looked at where nobody has to wait for it.
  const Tensor pairs =
      c.values()[1].list() != nullptr ? to_tensor(c.values()[1], on_host()) : c.tensor(1);
  std::vector<ops::Padding> padding;
  if (pairs.rank() != 2 || pairs.size(1) != 2 || !is_integer(pairs.dtype()))
    c.refuse(1, "a list of pairs of whole numbers");
  const std::vector<int64_t> numbers = pairs.to(DType::I64).to_vector<int64_t>();
  for (size_t k = 0; k < numbers.size(); k += 2) padding.push_back({numbers[k], numbers[k + 1]});
  if (!c.given(3)) return ops::pad(c.tensor(0), padding, c.operand(2));
  return ops::pad(c.tensor(0), padding,
                  ops::PadMode(c.choice(3, {"reflect", "symmetric", "edge", "wrap"})));
}
// One number, one for the height and one for the width, or (of a padding) one for each side.
ops::Extent extent(C c, size_t i) {
  if (c.values()[i].list() == nullptr) return c.integer(i);
  const Shape both = c.shape(i);
  if (both.size() != 2) c.refuse(i, "a whole number or two");
  return {both[0], both[1]};
}
ops::Padding2d border(C c, size_t i) {
  if (c.values()[i].list() == nullptr) return c.integer(i);
  const Shape sides = c.shape(i);
  if (sides.size() == 2) return {sides[0], sides[1]};
  if (sides.size() != 4) c.refuse(i, "a whole number, two of them, or four");
  return {sides[0], sides[1], sides[2], sides[3]};
}
ops::ImageLayout layout(C c, size_t i) {
  return c.flag(i) ? ops::ImageLayout::Nchw : ops::ImageLayout::Nhwc;
}
Value convolved(C c) {
  ops::Conv2d options{.stride = extent(c, 3),
                      .padding = c.flag(7) ? ops::Padding2d::same() : border(c, 4),
                      .dilation = extent(c, 5),
                      .groups = c.integer(6),
                      .layout = layout(c, 8)};
  const std::vector<Tensor> all = c.together({0, 1, 2});
  if (c.given(2)) options.bias = all[2];
  return ops::conv2d(all[0], all[1], options);
}
// x, kernel, stride, padding, same, channels_first
ops::Pool2d pooling(C c) {
  ops::Pool2d options{.kernel = extent(c, 1),
                      .padding = c.flag(4) ? ops::Padding2d::same() : border(c, 3),
                      .layout = layout(c, 5)};
  if (c.given(2)) options.stride = extent(c, 2);
  return options;
}
Value averaged(C c) {
  ops::Pool2d options = pooling(c);
  options.count_include_pad = c.flag(6);
  return ops::avg_pool2d(c.tensor(0), options);
}
Value largest(C c) {
  const ops::TopK top = ops::topk(c.tensor(0), c.integer(1), c.axis(2), c.flag(3));
  return std::vector<Value>{top.values, top.indices};
}
Value different(C c) {
  const ops::Unique all = ops::unique(c.tensor(0));
  return std::vector<Value>{all.values, all.counts};
}

// clang-format off
const Function kTable[] = {
{"sum", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::sum(c.tensor(0), c.axes(1), c.flag(2)); }, "The sum. `axis` is a number or a list of them; without it all elements are added.", M::Sum},
{"prod", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::prod(c.tensor(0), c.axes(1), c.flag(2)); }, "The product.", M::Product},
{"mean", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::mean(c.tensor(0), c.axes(1), c.flag(2)); }, "The mean; of integers in f32.", M::Mean},
{"var", "x, axis=none, correction=0, keepdims=false", A::Reduced, [](C c) -> Value { return ops::var(c.tensor(0), c.axes(1), c.real(2), c.flag(3)); }, "The mean square distance from the mean, divided by n - correction.", M::Variance},
{"std", "x, axis=none, correction=0, keepdims=false", A::Reduced, [](C c) -> Value { return ops::std(c.tensor(0), c.axes(1), c.real(2), c.flag(3)); }, "The square root of var.", M::Deviation},
{"min", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::min(c.tensor(0), c.axes(1), c.flag(2)); }, "The least element, NaN if there is one; min(a, b) of two tensors is minimum.", M::Least},
{"max", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::max(c.tensor(0), c.axes(1), c.flag(2)); }, "The largest element, NaN if there is one; max(a, b) of two tensors is maximum.", M::Largest},
{"any", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::any(c.tensor(0), c.axes(1), c.flag(2)); }, "Whether some element differs from 0.", M::Any},
{"all", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::all(c.tensor(0), c.axes(1), c.flag(2)); }, "Whether every element differs from 0.", M::All},
{"argmin", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::argmin(c.tensor(0), axis_of(c, 1), c.flag(2)); }, "Where the first least element is: along one axis, or in the flattened tensor."},
{"argmax", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::argmax(c.tensor(0), axis_of(c, 1), c.flag(2)); }, "Where the first largest element is."},
{"logsumexp", "x, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::logsumexp(c.tensor(0), c.axes(1), c.flag(2)); }, "log(sum(exp(x))) without overflow."},
{"norm", "x, order=2, axis=none, keepdims=false", A::Reduced, [](C c) -> Value { return ops::norm(c.tensor(0), c.real(1), c.axes(2), c.flag(3)); }, "sum(abs(x) ** order) ** (1 / order); of order inf the largest magnitude."},
{"softmax", "x, axis=-1", A::Axis, [](C c) -> Value { return ops::softmax(c.tensor(0), c.axis(1)); }, "exp(x) / sum(exp(x)) along an axis, without overflow."},
{"log_softmax", "x, axis=-1", A::Axis, [](C c) -> Value { return ops::log_softmax(c.tensor(0), c.axis(1)); }, "log(softmax(x)), accurate where softmax is tiny."},

{"cast", "x, dtype", A::Each, [](C c) -> Value { return convert(c.values()[0], c.dtype(1), c.executor()); }, "x converted to a dtype."},
{"reshape", "x, shape", A::All, [](C c) -> Value { return c.tensor(0).reshape(c.shape(1)); }, "The same elements in another shape; one length may be -1."},
{"flatten", "x", A::All, [](C c) -> Value { return c.tensor(0).flatten(); }, "All elements along one axis."},
{"transpose", "x, a=-2, b=-1", A::All, [](C c) -> Value { return c.tensor(0).transpose(c.axis(1), c.axis(2)); }, "Two axes exchanged; x.T reverses all of them."},
{"permute", "x, axes", A::All, [](C c) -> Value { return c.tensor(0).permute(c.axes(1).list); }, "The axes in another order."},
{"squeeze", "x, axis=none", A::All, squeezed, "Without axes of length 1."},
{"unsqueeze", "x, axis", A::All, [](C c) -> Value { return c.tensor(0).unsqueeze(c.axis(1)); }, "With one more axis of length 1; x[:, none] does that too."},
{"broadcast_to", "x, shape", A::All, [](C c) -> Value { return c.tensor(0).broadcast_to(c.shape(1)); }, "Repeated to a shape."},
{"flip", "x, axis=none", A::Axis, [](C c) -> Value { return c.tensor(0).flip(c.axes(1).list); }, "Backwards along axes."},
{"concat", "tensors, axis=0", A::All, [](C c) -> Value { return ops::concat(c.tensors(0), c.axis(1)); }, "A list of tensors, one behind the other along an axis."},
{"stack", "tensors, axis=0", A::All, [](C c) -> Value { return ops::stack(c.tensors(0), c.axis(1)); }, "The same along a new axis."},
{"split", "x, parts, axis=0", A::All, split, "The list of so many parts, or of parts of the lengths in a list."},
{"pad", "x, padding, value=0, mode=none", A::All, padded, "A number around x: padding is [before, after] for each axis, as [[1, 1], [0, 2]]. Or what the mode says: 'reflect', 'symmetric', 'edge' or 'wrap'."},
{"take", "x, indices, axis=none", A::Axis, [](C c) -> Value { return ops::take(c.tensor(0), c.tensor(1), axis_of(c, 2)); }, "x at indices along an axis; without one, of x flattened."},
{"gather", "x, indices, axis", A::Axis, [](C c) -> Value { return ops::gather(c.tensor(0), c.tensor(1), c.axis(2)); }, "Position by position: result[i, j] = x[indices[i, j], j] for axis 0."},
{"scatter", "x, indices, values, axis", A::Axis, [](C c) -> Value { return scattered(c, ops::scatter); }, "x with values put at indices along an axis."},
{"scatter_add", "x, indices, values, axis", A::Axis, [](C c) -> Value { return scattered(c, ops::scatter_add); }, "x with values added at indices along an axis."},
{"slice_at", "x, axis, start, length", A::All, [](C c) -> Value { return ops::slice_at(c.tensor(0), c.axis(1), c.operand(2), c.integer(3)); }, "So many elements along an axis from a start on, which may be a tensor of one integer."},
{"put_at", "x, axis, start, values", A::All, [](C c) -> Value { return ops::put_at(c.tensor(0), c.axis(1), c.operand(2), c.tensor(3)); }, "x with values along an axis from a start on, which may be a tensor of one integer."},
{"roll", "x, shift, axis=none", A::Axis, [](C c) -> Value { return ops::roll(c.tensor(0), c.integer(1), axis_of(c, 2)); }, "Moved along an axis, and in at the other end."},
{"repeat", "x, times, axis=none", A::Axis, repeated, "Each element so often, or as often as a vector says that has a number for each."},
{"tile", "x, times", A::All, [](C c) -> Value { return ops::tile(c.tensor(0), c.shape(1)); }, "All of x so often along each of the last axes."},

{"matmul", "a, b", A::Left, [](C c) -> Value { return multiplied(c, ops::matmul); }, "The product of matrices, also written a @ b; axes before the last two are a batch."},
{"bmm", "a, b", A::All, [](C c) -> Value { return multiplied(c, ops::bmm); }, "The same of exactly three axes."},
{"gemm", "a, b, c, alpha=1, beta=1, transpose_a=false, transpose_b=false", A::All, [](C c) -> Value { const auto all = c.together({0, 1, 2}); return ops::gemm(all[0], all[1], all[2], c.operand(3), c.operand(4), c.flag(5), c.flag(6)); }, "alpha * a @ b + beta * c."},
{"gemv", "a, x, y, alpha=1, beta=1", A::All, [](C c) -> Value { const auto all = c.together({0, 1, 2}); return ops::gemv(all[0], all[1], all[2], c.operand(3), c.operand(4)); }, "alpha * a @ x + beta * y."},
{"dot", "a, b", A::All, [](C c) -> Value { return multiplied(c, ops::dot); }, "sum(a * b) of two vectors."},
{"outer", "a, b", A::All, [](C c) -> Value { return multiplied(c, ops::outer); }, "a[i] * b[j]."},
{"tensordot", "a, b, axes=2", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::tensordot(both[0], both[1], c.axis(2)); }, "Sums over the last axes of a and the first ones of b."},
{"conv2d", "x, weight, bias=none, stride=1, padding=0, dilation=1, groups=1, same=false, channels_first=false", A::Images, convolved, "Convolution of images [n, height, width, channels] with a weight [height, width, channels / groups, outputs], or of [n, channels, height, width] with [outputs, channels / groups, height, width]. stride and dilation are a number or [height, width], padding also [top, bottom, left, right]; same: a padding after which the result has the length input / stride."},
{"max_pool2d", "x, kernel=2, stride=none, padding=0, same=false, channels_first=false", A::Images, [](C c) -> Value { return ops::max_pool2d(c.tensor(0), pooling(c)); }, "The largest element of each window of images, as of conv2d; the stride is the kernel unless given."},
{"avg_pool2d", "x, kernel=2, stride=none, padding=0, same=false, channels_first=false, count_padding=false", A::Images, averaged, "The mean of each window; padding does not count unless it is to."},

{"cumsum", "x, axis=-1", A::Axis, [](C c) -> Value { return ops::cumsum(c.tensor(0), c.axis(1)); }, "The sum up to each element along an axis."},
{"cumprod", "x, axis=-1", A::Axis, [](C c) -> Value { return ops::cumprod(c.tensor(0), c.axis(1)); }, "The product up to each element along an axis."},
{"sort", "x, axis=-1, descending=false", A::Axis, [](C c) -> Value { return ops::sort(c.tensor(0), c.axis(1), c.flag(2)); }, "In order along an axis; NaN counts as the largest."},
{"argsort", "x, axis=-1, descending=false", A::Axis, [](C c) -> Value { return ops::argsort(c.tensor(0), c.axis(1), c.flag(2)); }, "The indices that sort."},
{"topk", "x, k, axis=-1, largest=true", A::Axis, largest, "The list of the k largest elements along an axis and of their indices: topk(x, 3)[0]."},
{"searchsorted", "sorted, values, right=false", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::searchsorted(both[0], both[1], c.flag(2) ? ops::Side::Right : ops::Side::Left); }, "Where values would go into a sorted vector."},
{"nonzero", "x", A::All, [](C c) -> Value { return ops::nonzero(c.tensor(0)); }, "The indices of elements that differ from 0, [count, axes]."},
{"unique", "x", A::All, different, "The list of the different values in order and of how often each is there."},

{"tensor", "values, dtype=none", A::Each, made, "Numbers, or nested lists of numbers, as a tensor."},
{"zeros", "shape, dtype=f32", A::Nothing, [](C c) -> Value { return ops::zeros(c.shape(0), c.dtype(1), c.executor()); }, "0 everywhere."},
{"ones", "shape, dtype=f32", A::Nothing, [](C c) -> Value { return ops::ones(c.shape(0), c.dtype(1), c.executor()); }, "1 everywhere."},
{"full", "shape, value, dtype=none", A::Nothing, [](C c) -> Value { return ops::full(c.shape(0), c.operand(1), c.given(2) ? c.dtype(2) : DType::None, c.executor()); }, "A number everywhere."},
{"zeros_like", "x", A::Each, [](C c) -> Value { return ops::zeros_like(c.tensor(0)); }, "0 in the shape and dtype of x."},
{"ones_like", "x", A::Each, [](C c) -> Value { return ops::ones_like(c.tensor(0)); }, "1 in the shape and dtype of x."},
{"full_like", "x, value", A::Each, [](C c) -> Value { return ops::full_like(c.tensor(0), c.operand(1)); }, "A number in the shape and dtype of x."},
{"arange", "start, stop=none, step=1, dtype=none", A::Nothing, range, "start, start + step, … before stop; arange(stop) starts at 0."},
{"linspace", "start, stop, count, dtype=f32", A::Nothing, [](C c) -> Value { return ops::linspace(c.real(0), c.real(1), c.integer(2), c.dtype(3), c.executor()); }, "`count` numbers from start to stop, both included."},
{"eye", "rows, columns=-1, diagonal=0, dtype=f32", A::Nothing, [](C c) -> Value { return ops::eye(c.integer(0), c.integer(1), c.integer(2), c.dtype(3), c.executor()); }, "1 on a diagonal, 0 elsewhere."},
{"tri", "rows, columns=-1, diagonal=0, dtype=f32", A::Nothing, [](C c) -> Value { return ops::tri(c.integer(0), c.integer(1), c.integer(2), c.dtype(3), c.executor()); }, "1 on and below a diagonal."},
{"rand", "shape, dtype=f32", A::Nothing, [](C c) -> Value { return ops::rand(c.shape(0), c.dtype(1), c.executor()); }, "Random numbers, uniform in [0, 1)."},
{"randn", "shape, dtype=f32", A::Nothing, [](C c) -> Value { return ops::randn(c.shape(0), c.dtype(1), c.executor()); }, "Random numbers, normal, of mean 0 and variance 1."},
{"randint", "low, high, shape, dtype=i64", A::Nothing, [](C c) -> Value { return ops::randint(c.operand(0), c.operand(1), c.shape(2), c.dtype(3), c.executor()); }, "Random whole numbers from low to below high."},
};
// clang-format on

// "x, low, high" and the attributes with what they are otherwise.
std::string parameters_of(const graph::ElementwiseOp& op) {
  std::string text(op.parameters);
  for (size_t k = 0; k < op.attribute_count; k++)
    text += fmt::format(", {}={}", op.attributes[k].name, op.attributes[k].otherwise);
  return text;
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> list(std::begin(kTable), std::end(kTable));
    const std::span<const Function> more = array_functions();
    list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const Function& f : functions()) names.push_back(f.name);
  for (const graph::ElementwiseOp& op : graph::elementwise_table()) names.push_back(op.name);
  return names;
}

std::string Callable::signature() const { return fmt::format("{}({})", name, parameters); }

Callable find_callable(std::string_view name) {
  for (const Function& f : functions())
    if (f.name == name) return {f.name, std::string(f.parameters), &f, nullptr};
  if (const graph::ElementwiseOp* op = graph::find_elementwise(name))
    return {op->name, parameters_of(*op), nullptr, op};
  return {};
}

}  // namespace hologram::expression
