// How a step of each operation is made: its operands, parameters, dtype and shape.
#include <algorithm>
#include <cmath>

#include "graphs/field.hpp"
#include "graphs/generator.hpp"

namespace hologram::graphs {
namespace {

DType float_of(DType t) { return is_float(t) ? t : DType::F32; }
DType sum_of(DType t) { return is_float(t) || t == DType::U64 ? t : DType::I64; }
bool is_one_of(std::string_view name, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::span<const Generator::Way> Generator::ways() {
  using G = Generator;
  static constexpr Way kWays[] = {{"cast", &G::to_dtype},
                                  {"sum", &G::reduction},
                                  {"prod", &G::reduction},
                                  {"mean", &G::reduction},
                                  {"var", &G::reduction},
                                  {"std", &G::reduction},
                                  {"min", &G::reduction},
                                  {"max", &G::reduction},
                                  {"any", &G::reduction},
                                  {"all", &G::reduction},
                                  {"argmin", &G::position},
                                  {"argmax", &G::position},
                                  {"logsumexp", &G::reduction},
                                  {"norm", &G::reduction},
                                  {"softmax", &G::along},
                                  {"log_softmax", &G::along},
                                  {"cumsum", &G::along},
                                  {"cumprod", &G::along},
                                  {"sort", &G::along},
                                  {"argsort", &G::along},
                                  {"topk", &G::along},
                                  {"topk_positions", &G::along},
                                  {"searchsorted", &G::search},
                                  {"matmul", &G::matmul},
                                  {"reshape", &G::reshape},
                                  {"slice", &G::slice},
                                  {"permute", &G::permute},
                                  {"broadcast_to", &G::broadcast_to},
                                  {"concat", &G::concat},
                                  {"stack", &G::concat},
                                  {"pad", &G::pad},
                                  {"put", &G::put},
                                  {"roll", &G::moved},
                                  {"repeat", &G::moved},
                                  {"tile", &G::moved},
                                  {"take", &G::take},
                                  {"gather", &G::gather},
                                  {"scatter", &G::scatter},
                                  {"scatter_add", &G::scatter},
                                  {"contiguous", &G::same},
                                  {"copy", &G::same},
                                  {"full", &G::source},
                                  {"arange", &G::source},
                                  {"eye", &G::source},
                                  {"linspace", &G::source},
                                  {"gemm", &G::gemm},
                                  {"gemv", &G::gemm}};
  return kWays;
}

bool Generator::elementwise(Step step, DType dtype) {
  using graph::Rule;
  const graph::ElementwiseOp& row = *step.operation->row;
  const uint32_t first = operand(row.rule == Rule::Choice ? DType::Bool : dtype);
  step.arguments = {Argument::of(first)};
  step.shape = shape_of(first);
  bool is_there = row.rule != Rule::Choice;  // an operand of the dtype
  for (size_t k = 1; k < row.arity; k++) {
    if (is_there && chance(15) && !(row.rule == Rule::Shift && k == 1)) {
      step.arguments.push_back(Argument::of(number_for(dtype)));
      continue;
    }
    constexpr DType kCounts[] = {DType::I8, DType::U8, DType::I32, DType::U64, DType::I64};
    const DType own = row.rule == Rule::Shift  ? any_of(kCounts)
                      : is_there && chance(25) ? below_dtype(dtype)
                                               : dtype;
    const uint32_t other = fitting(own, step.shape);
    is_there = true;
    step.arguments.push_back(Argument::of(other));
  }
  // Numbers stand on the left, too.
  if (row.arity == 2 && step.arguments[1].is_number() && chance(40))
    std::swap(step.arguments[0], step.arguments[1]);
  step.dtype = row.rule == Rule::Test    ? DType::Bool
               : row.rule == Rule::Float ? float_of(dtype)
                                         : dtype;
  add(std::move(step));
  return true;
}

bool Generator::to_dtype(Step step, DType dtype) {
  const uint32_t x = operand(dtype);
  step.arguments = {Argument::of(x)};
  step.shape = shape_of(x);
  add(std::move(step));
  return true;
}

bool Generator::reduction(Step step, DType dtype) {
  const uint32_t x = row_operand(dtype, false);
  const Shape& shape = shape_of(x);
  step.arguments = {Argument::of(x)};
  std::vector<bool> gone(shape.size(), false);
  // Over rows only where their parts can be put together.
  const bool mergeable = !is_one_of(step.operation->name, {"norm", "logsumexp"});
  for (size_t k = rows_ && !mergeable ? 1 : 0; k < shape.size(); k++)
    if (gone[k] = chance(50); gone[k])
      step.integers.push_back(static_cast<int64_t>(k) -
                              (chance(25) ? static_cast<int64_t>(shape.size()) : 0));
  if (step.integers.empty() && rows_ && !mergeable) {
    step.integers = {1};
    gone[1] = true;
  }
  if (step.integers.empty()) gone.assign(shape.size(), true);
  step.flag = chance(40);
  int64_t count = 1;
  for (size_t k = 0; k < shape.size(); k++) {
    if (gone[k]) count *= shape[k];
    if (!gone[k]) step.shape.push_back(shape[k]);
    else if (step.flag) step.shape.push_back(1);
  }
  const std::string_view name = step.operation->name;
  if (name == "norm") {
    constexpr double kOrders[] = {2, 2, 2, 1, 3, INFINITY, 0};
    step.real = any_of(kOrders);
  }
  if (is_one_of(name, {"var", "std"})) step.real = chance(30) ? 1 : 0;
  if (count == 0 && (is_one_of(name, {"min", "max"}) || (name == "norm" && step.real > 3)))
    return false;
  step.dtype = is_one_of(name, {"sum", "prod"})  ? sum_of(dtype)
               : is_one_of(name, {"min", "max"}) ? dtype
               : is_one_of(name, {"any", "all"}) ? DType::Bool
                                                 : float_of(dtype);
  add(std::move(step));
  return true;
}

bool Generator::position(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  step.arguments = {Argument::of(x)};
  step.shape = shape_of(x);
  step.integers = {random_axis(step.shape)};
  step.flag = chance(40);
  const auto k = static_cast<int64_t>(
      step.integers[0] < 0 ? step.integers[0] + static_cast<int64_t>(step.shape.size())
                           : step.integers[0]);
  if (step.shape[static_cast<size_t>(k)] == 0) return false;
  if (step.flag) step.shape[static_cast<size_t>(k)] = 1;
  else step.shape.erase(step.shape.begin() + k);
  step.dtype = DType::I64;
  add(std::move(step));
  return true;
}

bool Generator::along(Step step, DType dtype) {
  const std::string_view name = step.operation->name;
  // Products that leave the range and come back need rows of many pieces. In f64 none is so long:
  // those of any dtype come with some of f32.
  const bool returns = name == "cumprod" && size_ == Size::Large && !rows_;
  if (returns && dtype != DType::F32) {
    Step other = step;
    other.dtype = DType::F32;
    along(std::move(other), DType::F32);
  }
  const uint32_t x = returns && dtype == DType::F32 ? input(dtype, {1030}, Profile::Waves)
                                                    : row_operand(dtype, true);
  step.arguments = {Argument::of(x)};
  step.shape = shape_of(x);
  step.integers = {random_axis(step.shape)};
  step.flag = chance(50);
  step.dtype = is_one_of(name, {"softmax", "log_softmax"})      ? float_of(dtype)
               : is_one_of(name, {"cumsum", "cumprod"})         ? sum_of(dtype)
               : is_one_of(name, {"argsort", "topk_positions"}) ? DType::I64
                                                                : dtype;
  if (is_one_of(name, {"topk", "topk_positions"})) {
    const int64_t a = step.integers[0];
    int64_t& n =
        step.shape[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(step.shape.size()) : a)];
    n = chance(50) ? std::min<int64_t>(n, 3)
                   : static_cast<int64_t>(below(static_cast<size_t>(n + 1)));
    step.integers.push_back(n);
  }
  add(std::move(step));
  return true;
}

uint32_t Generator::vector_of(DType dtype) {
  const uint32_t x = operand(dtype);
  if (shape_of(x).size() == 1) return x;
  Step step;
  step.operation = &operation("reshape");
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  step.shape = {static_cast<int64_t>(elements_in(shape_of(x)))};
  return add(std::move(step));
}

bool Generator::search(Step step, DType dtype) {
  if (rows_) {
    constexpr int64_t kLengths[] = {0, 1, 8, 1031};
    const uint32_t sorted =
        input(dtype, {kLengths[static_cast<size_t>(size_)]}, Profile::Ascending);
    const uint32_t values = input(below_dtype(dtype), {shape_[0], 3});
    step.arguments = {Argument::of(sorted), Argument::of(values)};
    step.shape = shape_of(values);
    step.dtype = DType::I64;
    add(std::move(step));
    return true;
  }
  Step order;
  order.operation = &operation("sort");
  order.arguments = {Argument::of(vector_of(dtype))};
  order.shape = shape_of(order.arguments[0].step);
  order.dtype = dtype;
  order.integers = {0};
  const uint32_t sorted = add(std::move(order));
  const uint32_t values = chance(70) ? operand(below_dtype(dtype)) : fitting(dtype, shape_);
  step.arguments = {Argument::of(sorted), Argument::of(values)};
  step.shape = shape_of(values);
  step.dtype = DType::I64;
  step.flag = chance(50);
  add(std::move(step));
  return true;
}

bool Generator::matmul(Step step, DType dtype) {
  uint32_t a = operand(dtype);
  if (rows_ && shape_of(a).size() != 2) a = input(dtype, {shape_[0], shape_.back()});
  if (shape_of(a).size() != 2) {
    Step turned;
    turned.operation = &operation("reshape");
    turned.arguments = {Argument::of(a)};
    turned.dtype = dtype;
    turned.shape = {1, static_cast<int64_t>(elements_in(shape_of(a)))};
    a = add(std::move(turned));
  }
  const int64_t inner = shape_of(a)[1], columns = inner > 100 ? 2 : 5;
  if (shape_of(a)[0] * inner * columns > 100000) return false;
  const uint32_t b = input(chance(25) ? below_dtype(dtype) : dtype, {inner, columns});
  step.arguments = {Argument::of(a), Argument::of(b)};
  step.shape = {shape_of(a)[0], columns};
  step.dtype = dtype;
  add(std::move(step));
  return true;
}

bool Generator::gemm(Step step, DType dtype) {
  if (dtype == DType::Bool) return false;
  const bool vector = step.operation->name == "gemv";
  Step inner;
  inner.operation = &operation("matmul");
  if (!matmul(std::move(inner), dtype)) return false;
  // Its operands, in place of the product.
  const Step last = made_.steps.back();
  made_.steps.pop_back();
  const Shape& b = shape_of(last.arguments[1].step);
  uint32_t right = last.arguments[1].step;
  step.shape = last.shape;
  if (vector) {
    step.shape = {last.shape[0]};
    right = input(dtype, {b[0]});
  }
  step.arguments = {last.arguments[0], Argument::of(right),
                    Argument::of(fitting(dtype, step.shape))};
  const double wholes[] = {1, 2, -1, 0, 3}, parts[] = {1, 0.5, -2, 0.125, 0};
  step.reals = {is_float(dtype) ? any_of(parts) : any_of(wholes),
                is_float(dtype) ? any_of(parts) : any_of(wholes)};
  if (is_unsigned_integer(dtype))
    for (double& x : step.reals) x = std::abs(x);
  step.dtype = dtype;
  add(std::move(step));
  return true;
}

bool Generator::reshape(Step step, DType dtype) {
  const uint32_t x = operand(dtype);
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  int64_t n = static_cast<int64_t>(elements_in(shape_of(x)));
  step.shape = {n};
  for (const int64_t f : {2, 3, 5})
    if (n > 0 && n % f == 0 && chance(60)) step.shape = {n / f, f};
  if (chance(25)) step.shape.push_back(1);
  if (n == 1 && chance(40)) step.shape = {};
  add(std::move(step));
  return true;
}

bool Generator::slice(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  step.shape = shape_of(x);
  for (int64_t& n : step.shape) {
    const bool whole = rows_ && step.slices.empty();
    step.slices.push_back(whole ? Slice() : random_slice(n, n));
  }
  add(std::move(step));
  return true;
}

bool Generator::permute(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  const Shape shape = shape_of(x);
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  for (size_t k = 0; k < shape.size(); k++) step.integers.push_back(static_cast<int64_t>(k));
  std::shuffle(step.integers.begin() + (rows_ ? 1 : 0), step.integers.end(), random_);
  for (const int64_t k : step.integers) step.shape.push_back(shape[static_cast<size_t>(k)]);
  add(std::move(step));
  return true;
}

bool Generator::broadcast_to(Step step, DType dtype) {
  const uint32_t x = operand(dtype);
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  step.shape = shape_of(x);
  for (int64_t& n : step.shape)
    if (n == 1 && chance(70)) n = static_cast<int64_t>(below(4));
  if (step.shape.size() < 3)
    step.shape.insert(step.shape.begin(), 1 + static_cast<int64_t>(below(3)));
  add(std::move(step));
  return true;
}

bool Generator::concat(Step step, DType dtype) {
  const uint32_t a = of_axes(dtype);
  Shape shape = shape_of(a);
  const bool stacks = step.operation->name == "stack";
  const auto k =
      static_cast<int64_t>(stacks ? (rows_ ? 1 : below(shape.size() + 1)) : any_axis(shape));
  const DType own = chance(30) ? below_dtype(dtype) : dtype;
  Shape other = shape;
  if (!stacks && chance(50)) other[static_cast<size_t>(k)] = static_cast<int64_t>(below(5));
  uint32_t b = input(own, other);
  if (other == shape && chance(60))
    if (const auto there = found(own, &shape); there && shape_of(*there) == shape) b = *there;
  step.arguments = {Argument::of(a), Argument::of(b)};
  step.integers = {k};
  step.dtype = dtype;
  step.shape = shape;
  if (stacks) step.shape.insert(step.shape.begin() + k, 2);
  else step.shape[static_cast<size_t>(k)] += shape_of(b)[static_cast<size_t>(k)];
  add(std::move(step));
  return true;
}

bool Generator::pad(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  step.arguments = {Argument::of(x), Argument::of(number_for(dtype))};
  step.dtype = dtype;
  step.shape = shape_of(x);
  for (int64_t& n : step.shape) {
    const bool whole = rows_ && step.integers.empty();
    const auto before = static_cast<int64_t>(whole ? 0 : below(3)),
               behind = static_cast<int64_t>(whole ? 0 : below(2));
    step.integers.insert(step.integers.end(), {before, behind});
    n += before + behind;
  }
  add(std::move(step));
  return true;
}

bool Generator::put(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  step.dtype = dtype;
  step.shape = shape_of(x);
  Shape part = step.shape;
  for (int64_t& n : part) step.slices.push_back(random_slice(n, n));
  const DType own = chance(30) ? any_of(all_dtypes()) : dtype;
  uint32_t values = input(own, part);
  if (const auto there = found(own, &part); there && shape_of(*there) == part) values = *there;
  step.arguments = {Argument::of(x), Argument::of(values)};
  add(std::move(step));
  return true;
}

bool Generator::moved(Step step, DType dtype) {
  const uint32_t x = of_axes(dtype);
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  step.shape = shape_of(x);
  const std::string_view name = step.operation->name;
  if (name == "tile") {
    for (int64_t& n : step.shape) {
      const bool whole = rows_ && step.integers.empty();
      step.integers.push_back(1 + static_cast<int64_t>(whole ? 0 : below(2)));
      n *= step.integers.back();
    }
  } else {
    const size_t k = any_axis(step.shape);
    step.integers = {static_cast<int64_t>(k), 0};
    if (name == "roll") {
      constexpr int64_t kShifts[] = {1, -1, 3, -100, 1000003, 0};
      step.integers[1] = any_of(kShifts);
    } else {
      step.integers[1] = 1 + static_cast<int64_t>(below(3));
      step.shape[k] *= step.integers[1];
    }
  }
  add(std::move(step));
  return true;
}

bool Generator::same(Step step, DType dtype) {
  const uint32_t x = chance(60) ? view(of_axes(dtype)) : operand(dtype);
  if (size_of(shape_of(x)) != size_) return false;
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  step.shape = shape_of(x);
  add(std::move(step));
  return true;
}

bool Generator::source(Step step, DType dtype) {
  constexpr int64_t kLengths[] = {0, 1, 7, 1030};
  const int64_t n = kLengths[static_cast<size_t>(size_)];
  step.dtype = dtype;
  if (step.operation->name == "full") {
    step.shape = shape_;
    step.arguments = {Argument::of(number_for(dtype))};
  } else if (step.operation->name == "arange") {
    step.shape = {n};
    step.integers = {static_cast<int64_t>(below(3)), 1 + static_cast<int64_t>(below(3))};
    if (n > 1000 && (size_of(dtype) < 2 || dtype == DType::BF16)) return false;
    if (n > 1000 && size_of(dtype) == 2) step.integers[1] = 1;
  } else if (step.operation->name == "linspace") {
    if (!is_float(dtype)) return false;
    step.shape = {n};
    const double most = dtype == DType::F64 ? 1.7e308 : dtype == DType::F16 ? 6e4 : 3e38;
    step.reals = chance(40) ? std::vector<double>{-most, most}
                            : std::vector<double>{-1.5, static_cast<double>(below(100))};
  } else {
    step.shape = {n, n > 100 ? 5 : std::min<int64_t>(n, 3)};
    step.integers = {static_cast<int64_t>(below(5)) - 2};
    step.flag = chance(50);
  }
  add(std::move(step));
  return true;
}

}  // namespace hologram::graphs
