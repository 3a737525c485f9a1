// Operations that the array API, as NumPy, has in another way than the library.
#include <cmath>

#include "binding.hpp"

namespace hologram::python::array_api {
namespace {

// Both operands as tensors of one dtype, numbers in that of the other.
std::pair<Tensor, Tensor> brought_together(const Operand& a, const Operand& b) {
  const auto tensor = [](const Operand& x, const Operand& other) {
    if (!x.is_number()) return x.tensor();
    if (other.is_number()) return ops::full({}, x, DType::None, executor_from(nb::none()));
    return ops::full({}, x, other.tensor().dtype(), other.tensor().executor());
  };
  const Tensor first = tensor(a, b), second = tensor(b, a);
  const DType both = promote(first.dtype(), second.dtype());
  return {first.dtype() == both ? first : first.to(both),
          second.dtype() == both ? second : second.to(both)};
}

bool is_small(const Operand& count, const Operand& shifted) {
  return count.is_number() && !shifted.is_number() && count.kind() == DType::I64 &&
         count.integer() >= 0 &&
         count.integer() < static_cast<int64_t>(8 * size_of(shifted.tensor().dtype()));
}

int64_t width_of(const Tensor& x) { return static_cast<int64_t>(8 * size_of(x.dtype())); }

}  // namespace

Tensor sign(const Operand& x) {
  const Tensor made = ops::sign(x);
  return is_float(made.dtype()) ? made + 0 : made;
}

// The quotient itself where one of the two is infinite: an infinity, a zero, or NaN if both are.
Tensor floor_div(const Operand& a, const Operand& b) {
  Tensor made = ops::floor_div(a, b);
  if (!is_float(made.dtype())) return made;
  for (const Operand* x : {&a, &b}) {
    if (x->is_number() ? !std::isinf(x->real()) : !is_float(x->tensor().dtype())) continue;
    const Tensor infinite = x->is_number() ? ops::full({}, true, DType::Bool, made.executor())
                                           : ops::isinf(x->tensor());
    made = ops::where(infinite, stop_gradient(ops::div(a, b)), made);
  }
  return made;
}

Tensor shift_left(const Operand& a, const Operand& b) {
  if (is_small(b, a)) return ops::shift_left(a, b);
  const auto [x, count] = brought_together(a, b);
  return ops::where(count >= width_of(x), 0, ops::shift_left(x, count));
}

Tensor shift_right(const Operand& a, const Operand& b) {
  if (is_small(b, a)) return ops::shift_right(a, b);
  const auto [x, count] = brought_together(a, b);
  const int64_t width = width_of(x);
  const Tensor emptied = is_signed_integer(x.dtype()) ? ops::shift_right(x, width - 1) : x ^ x;
  return ops::where(count >= width, emptied, ops::shift_right(x, count));
}

}  // namespace hologram::python::array_api
