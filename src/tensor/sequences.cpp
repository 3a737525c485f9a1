#include "hologram/sequences.hpp"

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/reducer.hpp"

namespace hologram::ops {

using core::Text;
using tensor::cast_to;
using tensor::checked_axis;

namespace {

// Each step has looked at twice as many elements before each as the one before.
Tensor running(const Tensor& x, int axis, Tensor (*larger)(const Operand&, const Operand&)) {
  Tensor y = x;
  const int64_t n = x.size(axis);
  for (int64_t reach = 1; reach < n; reach *= 2) {
    const Tensor later = y.slice(axis, {reach, {}}), earlier = y.slice(axis, {0, n - reach});
    y = concat({y.slice(axis, {0, reach}), larger(later, earlier)}, axis);
  }
  return y;
}

RunningExtreme running_extreme(const char* name, const Tensor& given, int axis,
                               Tensor (*larger)(const Operand&, const Operand&)) {
  const Tensor x = given.rank() == 0 ? given.reshape({1}) : given;
  const int k = checked_axis(name, axis, x.rank());
  const Tensor values = running(x, k, larger);
  Shape along(x.shape().size(), 1);
  along[static_cast<size_t>(k)] = x.size(k);
  const Tensor at = arange(0, x.size(k), 1, DType::I64, x.executor()).reshape(std::move(along));
  const Tensor found = where((x == values) | isnan(x), at, 0);
  return {values.reshape(given.shape()), running(found, k, maximum).reshape(given.shape())};
}

}  // namespace

Tensor diff(const Tensor& x, int64_t times, int axis) {
  const int k = checked_axis("diff", axis, x.rank());
  if (times < 0) throw core::error(Text::NegativeTimes, "diff", times);
  Tensor y = x;
  for (int64_t i = 0; i < times && y.size(k) > 0; i++) {
    const Tensor next = y.slice(k, {1, {}}), before = y.slice(k, {{}, -1});
    y = y.dtype() == DType::Bool ? next != before : next - before;
  }
  return y;
}

RunningExtreme cummax(const Tensor& x, int axis) {
  return running_extreme("cummax", x, axis, maximum);
}
RunningExtreme cummin(const Tensor& x, int axis) {
  return running_extreme("cummin", x, axis, minimum);
}

Tensor interp(const Tensor& given, const Tensor& at, const Tensor& values,
              std::optional<double> left, std::optional<double> right) {
  if (at.rank() != 1 || at.shape() != values.shape() || at.size() == 0)
    throw core::error(Text::InterpShapes, to_string(at.shape()), to_string(values.shape()));
  const DType to = tensor::float_dtype(promote(promote(given.dtype(), at.dtype()), values.dtype()));
  const DType type = tensor::accumulator(to);
  const auto all =
      tensor::together("interp", {cast_to(given, type), cast_to(at, type), cast_to(values, type)});
  const Tensor &x = all[0], &a = all[1], &v = all[2];
  const int64_t n = a.size();
  const auto number = [&](std::optional<double> other, int64_t i) {
    return other ? full({}, *other, type, x.executor()) : v.select(0, i);
  };
  Tensor y = v.select(0, 0);
  if (n > 1) {
    const Tensor i = clamp(searchsorted(a, x, Side::Right) - 1, 0, n - 2);
    const Tensor a0 = take(a, i), a1 = take(a, i + 1), v0 = take(v, i), v1 = take(v, i + 1);
    const Tensor slope = (v1 - v0) / (a1 - a0);
    const Tensor forward = slope * (x - a0) + v0, backward = slope * (x - a1) + v1;
    // From an infinite value on; and between two that are equal.
    const Tensor other = where(isnan(backward) & (v0 == v1), v0, backward);
    y = where(x == a0, v0, where(x == a1, v1, where(isnan(forward), other, forward)));
  }
  y = where(x < a.select(0, 0), number(left, 0), y);
  y = where(x > a.select(0, n - 1), number(right, n - 1), y);
  return cast_to(where(isnan(x), x, y), to);
}

Tensor logspace(double start, double stop, int64_t count, double base, DType dtype,
                const Executor& executor) {
  const DType type = dtype == DType::F64 ? DType::F64 : DType::F32;
  return cast_to(pow(base, linspace(start, stop, count, type, executor)), dtype);
}

}  // namespace hologram::ops
