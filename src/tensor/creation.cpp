#include "hologram/creation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/messages.hpp"
#include "graph/elementwise.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

using core::Text;
using graph::Attribute;
using graph::Context;
using tensor::attribute_of;
using tensor::make_source;

namespace source = graph::source;

namespace {

DType default_of(const Operand& number) {
  return number.kind() == DType::F64 ? DType::F32 : number.kind();
}

void need_number(const char* name, const Operand& operand) {
  if (!operand.is_number()) throw core::error(Text::NeedsNumber, name);
}

int64_t steps_between(const Operand& start, const Operand& stop, const Operand& step) {
  if (step.real() == 0) throw core::error(Text::StepZero);
  // In whole numbers where they are given: beyond 2^53 doubles are too coarse.
  if (start.kind() != DType::F64 && stop.kind() != DType::F64 && step.kind() != DType::F64) {
    const __int128 gap = static_cast<__int128>(stop.integer()) - start.integer();
    const __int128 by = step.integer();
    const __int128 count = by > 0 ? (gap + by - 1) / by : (gap + by + 1) / by;
    return count > 0 ? static_cast<int64_t>(std::min<__int128>(count, INT64_MAX)) : 0;
  }
  const double count = std::ceil((stop.real() - start.real()) / step.real());
  if (!(count < 0x1p62)) throw core::error(Text::RangeCount);
  return count > 0 ? static_cast<int64_t>(count) : 0;
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

std::vector<Attribute> draw(Context& context) {
  const auto [key, number] = context.next_random();
  std::vector<Attribute> words;
  for (const uint64_t word : {key, key >> 32, number, number >> 32})
    words.push_back({DType::U32, word & 0xffffffffu});
  return words;
}

Tensor random(const graph::ElementwiseOp& op, Shape shape, DType dtype, const Executor& executor) {
  if (!is_float(dtype)) throw core::error(Text::OperandDType, op.name, name_of(dtype), "floats");
  const auto context = Context::of(executor);
  return make_source(op, dtype, shape, draw(*context), *context);
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
  return make_source(source::kArange, dtype, {count},
                     {attribute_of(dtype, start), attribute_of(dtype, step)},
                     *Context::of(executor));
}
Tensor arange(const Operand& stop) { return arange(0, stop); }

Tensor linspace(double start, double stop, int64_t count, DType dtype, const Executor& executor) {
  if (!is_float(dtype)) throw core::error(Text::OperandDType, "linspace", name_of(dtype), "floats");
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
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

void seed(uint64_t key, const Executor& executor) { Context::of(executor)->seed(key); }

Tensor rand(Shape shape, DType dtype, const Executor& executor) {
  return random(source::kUniform, std::move(shape), dtype, executor);
}
Tensor randn(Shape shape, DType dtype, const Executor& executor) {
  return random(source::kNormal, std::move(shape), dtype, executor);
}
Tensor randint(int64_t low, int64_t high, Shape shape, DType dtype, const Executor& executor) {
  if (!is_integer(dtype))
    throw core::error(Text::OperandDType, "randint", name_of(dtype), "integers");
  if (low >= high) throw core::error(Text::EmptyRange, low, high);
  attribute_of(dtype, low);
  attribute_of(dtype, high - 1);
  const auto context = Context::of(executor);
  std::vector<Attribute> attributes = draw(*context);
  attributes.push_back({DType::I64, static_cast<uint64_t>(low)});
  attributes.push_back({DType::U64, static_cast<uint64_t>(high) - static_cast<uint64_t>(low)});
  return make_source(source::kIntegers, dtype, shape, attributes, *context);
}

}  // namespace hologram::ops
