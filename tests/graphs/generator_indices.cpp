// Steps that take positions.
#include "graphs/generator.hpp"

#include <algorithm>

#include "graphs/field.hpp"

namespace hologram::graphs {

// Whole numbers of some dtype, brought into [0, length) or [-length, 0).
uint32_t Generator::positions(int64_t length, const Shape& shape) {
  std::vector<DType> list;
  for (const DType t : all_dtypes())
    if (is_integer(t) && (size_of(t) == 8 ||
                          length < int64_t{1} << (8 * size_of(t) - (is_signed_integer(t) ? 1 : 0))))
      list.push_back(t);
  const DType dtype = any_of(list);
  uint32_t from = input(dtype, shape);
  if (const auto there = found(dtype, &shape); there && shape_of(*there) == shape) from = *there;
  if (chance(30) && from + 1 == made_.steps.size() && is_input(made_.steps[from])) {
    // Through another dtype on the way.
    made_.steps[from].dtype = any_of(all_dtypes());
    from = cast(from, dtype);
  }
  const auto step_of = [&](std::string_view name, uint32_t x, int64_t number) {
    Step step;
    step.operation = &operation(name);
    step.arguments = {Argument::of(x), Argument::of(Number(number))};
    step.dtype = dtype;
    step.shape = shape;
    return add(std::move(step));
  };
  const uint32_t inside = step_of("rem", from, std::max<int64_t>(length, 1));
  return is_signed_integer(dtype) && chance(25) ? step_of("sub", inside, length) : inside;
}

bool Generator::take(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  const Shape shape = shape_of(x);
  const size_t k = any_axis(shape);
  const auto many = static_cast<int64_t>(shape[k] == 0 ? 0 : 1 + below(6));
  const uint32_t at = positions(shape[k], chance(80) ? Shape{many} : Shape{many, 1});
  step.arguments = {Argument::of(x), Argument::of(at)};
  step.integers = {static_cast<int64_t>(k)};
  step.dtype = dtype;
  step.shape = shape;
  step.shape.erase(step.shape.begin() + static_cast<int64_t>(k));
  const Shape own = shape_of(at);
  step.shape.insert(step.shape.begin() + static_cast<int64_t>(k), own.begin(), own.end());
  add(std::move(step));
  return true;
}

bool Generator::gather(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  Shape shape = shape_of(x);
  const size_t k = any_axis(shape);
  const int64_t length = shape[k];
  shape[k] = static_cast<int64_t>(length == 0 ? 0 : 1 + below(4));
  Shape own = shape;
  for (size_t d = 0; d < own.size(); d++)
    if (d != k && own[d] > 0 && chance(20)) own[d] = 1;
  const uint32_t at = positions(length, own);
  step.arguments = {Argument::of(x), Argument::of(at)};
  step.integers = {static_cast<int64_t>(k)};
  step.dtype = dtype;
  step.shape = shape;
  add(std::move(step));
  return true;
}

bool Generator::scatter(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  const Shape shape = shape_of(x);
  Shape own = shape;
  const size_t k = any_axis(shape);
  own[k] = static_cast<int64_t>(shape[k] == 0 ? 0 : 1 + below(4));
  const uint32_t at = positions(shape[k], own);
  step.arguments = {Argument::of(x), Argument::of(at)};
  if (chance(25)) step.arguments.push_back(Argument::of(number_for(dtype)));
  else
    step.arguments.push_back(Argument::of(fitting(chance(20) ? any_of(all_dtypes()) : dtype, own)));
  step.integers = {static_cast<int64_t>(k)};
  step.dtype = dtype;
  step.shape = shape;
  add(std::move(step));
  return true;
}

}  // namespace hologram::graphs
