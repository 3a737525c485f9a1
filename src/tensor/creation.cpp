#include "hologram/creation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/messages.hpp"
#include "graph/elementwise.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"
#include "tensor/whole_numbers.hpp"

namespace hologram::ops {

using core::Text;
using graph::Attribute;
using graph::Context;
using tensor::attribute_of;
using tensor::is_whole;
using tensor::make_source;
using tensor::need_number;
using tensor::text_of;
using tensor::Whole;
using tensor::whole_in;
using tensor::whole_of;

namespace source = graph::source;

namespace {

DType default_of(const Operand& number) {
  return number.kind() == DType::F64 ? DType::F32 : number.kind();
}

int64_t steps_between(const Operand& start, const Operand& stop, const Operand& step) {
  if (step.real() == 0) throw core::error(Text::StepZero);
  // In whole numbers where they are given: beyond 2^53 doubles are too coarse.
  if (is_whole(start) && is_whole(stop) && is_whole(step)) {
    const Whole gap = whole_of(stop) - whole_of(start), by = whole_of(step);
    const Whole count = by > 0 ? (gap + by - 1) / by : (gap + by + 1) / by;
    return count > 0 ? static_cast<int64_t>(std::min<Whole>(count, INT64_MAX)) : 0;
  }
  const double from = start.real(), to = stop.real(), by = step.real();
  // The difference may be beyond what doubles hold where the quotient is not.
  const double gap = to - from;
  double count = std::isfinite(gap) ? gap / by : to / by - from / by;
  if (std::isnan(count) || count >= 0x1p62) throw core::error(Text::RangeCount);
  // A step that is so large that the quotient vanishes still has room for the start.
  count = std::max(std::ceil(count), from != to && (from < to) == (by > 0) ? 1.0 : 0.0);
  return static_cast<int64_t>(count);
}

// Of an integer dtype: InvalidArgument unless it holds the first and the last element. The step
// wraps, as sums do: it need not be of the dtype itself.
std::array<Attribute, 2> integer_steps(DType dtype, const Operand& start, const Operand& step,
                                       int64_t count) {
  const Attribute first = attribute_of(dtype, start);
  if (count <= 1) return {first, tensor::wrapped(dtype, 0)};
  const Whole by = whole_in(dtype, step), last = whole_in(dtype, start) + by * (count - 1);
  if (!tensor::fits(dtype, last))
    throw core::error(Text::NumberRange, text_of(last), name_of(dtype));
  return {first, tensor::wrapped(dtype, by)};
}

// 1 where compare(column - row, diagonal).
Tensor where_diagonals(const graph::ElementwiseOp& compare, int64_t rows, int64_t columns,
                       int64_t diagonal, DType dtype, const Executor& executor) {
  if (columns < 0) columns = rows;
  // In 32 bits where these number the rows and columns: they take half of the time.
  const DType type = std::max(rows, columns) < INT32_MAX / 2 ? DType::I32 : DType::I64;
  const auto numbers = [&](int64_t count) {
    return make_source(source::kArange, type, {count},
                       {attribute_of(type, int64_t{0}), attribute_of(type, int64_t{1})},
                       *Context::of(executor));
  };
  const Tensor row = numbers(rows), column = numbers(columns);
  // Beyond both there is no more to be found.
  const Operand place = column - row.reshape({rows, 1}),
                limit = std::clamp(diagonal, -rows, columns);
  return tensor::apply(compare, std::array{&place, &limit}).to(dtype);
}

}  // namespace

Tensor full(Shape shape, const Operand& value, DType dtype, const Executor& executor) {
  need_number("full", value);
  if (dtype == DType::None) dtype = default_of(value);
  return make_source(source::kFull, dtype, shape, {attribute_of(dtype, value)},
                     *Context::of(executor));
}
Tensor zeros(Shape shape, DType dtype, const Executor& executor) {
  return full(std::move(shape), 0, dtype, executor);
}
Tensor ones(Shape shape, DType dtype, const Executor& executor) {
  return full(std::move(shape), 1, dtype, executor);
}
Tensor empty(Shape shape, DType dtype, const Executor& executor) {
  return zeros(std::move(shape), dtype, executor);
}

Tensor arange(const Operand& start, const Operand& stop, const Operand& step, DType dtype,
              const Executor& executor) {
  for (const Operand* o : {&start, &stop, &step}) need_number("arange", *o);
  const int64_t count = steps_between(start, stop, step);
  if (dtype == DType::None)
    dtype = default_of(std::max({start, stop, step}, [](const Operand& a, const Operand& b) {
      return a.kind() < b.kind();
    }));
  if (dtype == DType::Bool) dtype = DType::I64;
  const auto [first, by] = is_float(dtype)
                               ? std::array{attribute_of(dtype, start),
                                            attribute_of(dtype, count > 1 ? step : Operand(0))}
                               : integer_steps(dtype, start, step, count);
  return make_source(source::kArange, dtype, {count}, {first, by}, *Context::of(executor));
}
Tensor arange(const Operand& stop) { return arange(0, stop); }

Tensor linspace(double start, double stop, int64_t count, DType dtype, const Executor& executor) {
  if (!is_float(dtype)) throw core::error(Text::OperandDType, "linspace", name_of(dtype), "floats");
  const auto gaps = static_cast<double>(count - 1);
  double step = count > 1 ? (stop - start) / gaps : 0;
  // The difference may be beyond what doubles hold where a step is not.
  if (std::isinf(step)) step = stop / gaps - start / gaps;
  // Of two ends, which are given, no step is taken: it may be beyond what the dtype holds.
  if (count == 2 && std::fabs(step) > std::numeric_limits<float>::max()) step = 0;
  const Attribute first = attribute_of(dtype, start),
                  last = attribute_of(dtype, count > 1 ? stop : start);
  return make_source(source::kLinspace, dtype, {count},
                     {first, attribute_of(dtype, step), last, attribute_of(DType::I64, count - 1)},
                     *Context::of(executor));
}

Tensor eye(int64_t rows, int64_t columns, int64_t diagonal, DType dtype, const Executor& executor) {
  return where_diagonals(graph::elementwise("eq"), rows, columns, diagonal, dtype, executor);
}
Tensor tri(int64_t rows, int64_t columns, int64_t diagonal, DType dtype, const Executor& executor) {
  return where_diagonals(graph::elementwise("le"), rows, columns, diagonal, dtype, executor);
}

Tensor full_like(const Tensor& tensor, const Operand& value) {
  return full(tensor.shape(), value, tensor.dtype(), tensor.executor());
}
Tensor zeros_like(const Tensor& tensor) { return full_like(tensor, 0); }
Tensor ones_like(const Tensor& tensor) { return full_like(tensor, 1); }
Tensor empty_like(const Tensor& tensor) { return full_like(tensor, 0); }

}  // namespace hologram::ops
