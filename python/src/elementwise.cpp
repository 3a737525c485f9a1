// Written by scripts/generate from src/graph/elementwise.cpp.
#include "binding.hpp"

namespace hologram::python {

// clang-format off
void register_elementwise(nb::module_& m) {
  m.def("add", [](nb::handle a, nb::handle b) { return ops::add(operand_from(a), operand_from(b)); });
  m.def("subtract", [](nb::handle a, nb::handle b) { return ops::sub(operand_from(a), operand_from(b)); });
  m.def("multiply", [](nb::handle a, nb::handle b) { return ops::mul(operand_from(a), operand_from(b)); });
  m.def("divide", [](nb::handle a, nb::handle b) { return ops::div(operand_from(a), operand_from(b)); });
  m.def("floor_divide", [](nb::handle a, nb::handle b) { return array_api::floor_div(operand_from(a), operand_from(b)); });
  m.def("remainder", [](nb::handle a, nb::handle b) { return ops::rem(operand_from(a), operand_from(b)); });
  m.def("negative", [](nb::handle x) { return ops::neg(operand_from(x)); });
  m.def("abs", [](nb::handle x) { return ops::abs(operand_from(x)); });
  m.def("sign", [](nb::handle x) { return array_api::sign(operand_from(x)); });
  m.def("copysign", [](nb::handle a, nb::handle b) { return ops::copysign(operand_from(a), operand_from(b)); });
  m.def("minimum", [](nb::handle a, nb::handle b) { return ops::minimum(operand_from(a), operand_from(b)); });
  m.def("maximum", [](nb::handle a, nb::handle b) { return ops::maximum(operand_from(a), operand_from(b)); });
  m.def("clamp", [](nb::handle x, nb::handle low, nb::handle high) { return ops::clamp(operand_from(x), operand_from(low), operand_from(high)); });
  m.def("mad", [](nb::handle a, nb::handle b, nb::handle c) { return ops::mad(operand_from(a), operand_from(b), operand_from(c)); });
  m.def("fma", [](nb::handle a, nb::handle b, nb::handle c) { return ops::fma(operand_from(a), operand_from(b), operand_from(c)); });
  m.def("lerp", [](nb::handle a, nb::handle b, nb::handle weight) { return ops::lerp(operand_from(a), operand_from(b), operand_from(weight)); });
  m.def("floor", [](nb::handle x) { return ops::floor(operand_from(x)); });
  m.def("ceil", [](nb::handle x) { return ops::ceil(operand_from(x)); });
  m.def("round", [](nb::handle x) { return ops::round(operand_from(x)); });
  m.def("trunc", [](nb::handle x) { return ops::trunc(operand_from(x)); });
  m.def("sqrt", [](nb::handle x) { return ops::sqrt(operand_from(x)); });
  m.def("rsqrt", [](nb::handle x) { return ops::rsqrt(operand_from(x)); });
  m.def("square", [](nb::handle x) { return ops::square(operand_from(x)); });
  m.def("reciprocal", [](nb::handle x) { return ops::reciprocal(operand_from(x)); });
  m.def("pow", [](nb::handle a, nb::handle b) { return ops::pow(operand_from(a), operand_from(b)); });
  m.def("cbrt", [](nb::handle x) { return ops::cbrt(operand_from(x)); });
  m.def("hypot", [](nb::handle a, nb::handle b) { return ops::hypot(operand_from(a), operand_from(b)); });
  m.def("exp", [](nb::handle x) { return ops::exp(operand_from(x)); });
  m.def("exp2", [](nb::handle x) { return ops::exp2(operand_from(x)); });
  m.def("expm1", [](nb::handle x) { return ops::expm1(operand_from(x)); });
  m.def("log", [](nb::handle x) { return ops::log(operand_from(x)); });
  m.def("log2", [](nb::handle x) { return ops::log2(operand_from(x)); });
  m.def("log10", [](nb::handle x) { return ops::log10(operand_from(x)); });
  m.def("log1p", [](nb::handle x) { return ops::log1p(operand_from(x)); });
  m.def("logaddexp", [](nb::handle a, nb::handle b) { return ops::logaddexp(operand_from(a), operand_from(b)); });
  m.def("sin", [](nb::handle x) { return ops::sin(operand_from(x)); });
  m.def("cos", [](nb::handle x) { return ops::cos(operand_from(x)); });
  m.def("tan", [](nb::handle x) { return ops::tan(operand_from(x)); });
  m.def("asin", [](nb::handle x) { return ops::asin(operand_from(x)); });
  m.def("acos", [](nb::handle x) { return ops::acos(operand_from(x)); });
  m.def("atan", [](nb::handle x) { return ops::atan(operand_from(x)); });
  m.def("atan2", [](nb::handle y, nb::handle x) { return ops::atan2(operand_from(y), operand_from(x)); });
  m.def("sinh", [](nb::handle x) { return ops::sinh(operand_from(x)); });
  m.def("cosh", [](nb::handle x) { return ops::cosh(operand_from(x)); });
  m.def("tanh", [](nb::handle x) { return ops::tanh(operand_from(x)); });
  m.def("asinh", [](nb::handle x) { return ops::asinh(operand_from(x)); });
  m.def("acosh", [](nb::handle x) { return ops::acosh(operand_from(x)); });
  m.def("atanh", [](nb::handle x) { return ops::atanh(operand_from(x)); });
  m.def("sinc", [](nb::handle x) { return ops::sinc(operand_from(x)); });
  m.def("erf", [](nb::handle x) { return ops::erf(operand_from(x)); });
  m.def("erfinv", [](nb::handle x) { return ops::erfinv(operand_from(x)); });
  m.def("lgamma", [](nb::handle x) { return ops::lgamma(operand_from(x)); });
  m.def("sigmoid", [](nb::handle x) { return ops::sigmoid(operand_from(x)); });
  m.def("relu", [](nb::handle x) { return ops::relu(operand_from(x)); });
  m.def("leaky_relu", [](nb::handle x, double negative_slope) { return ops::leaky_relu(operand_from(x), negative_slope); });
  m.def("gelu", [](nb::handle x) { return ops::gelu(operand_from(x)); });
  m.def("gelu_tanh", [](nb::handle x) { return ops::gelu_tanh(operand_from(x)); });
  m.def("silu", [](nb::handle x) { return ops::silu(operand_from(x)); });
  m.def("softplus", [](nb::handle x) { return ops::softplus(operand_from(x)); });
  m.def("elu", [](nb::handle x, double alpha) { return ops::elu(operand_from(x), alpha); });
  m.def("equal", [](nb::handle a, nb::handle b) { return ops::eq(operand_from(a), operand_from(b)); });
  m.def("not_equal", [](nb::handle a, nb::handle b) { return ops::ne(operand_from(a), operand_from(b)); });
  m.def("less", [](nb::handle a, nb::handle b) { return ops::lt(operand_from(a), operand_from(b)); });
  m.def("less_equal", [](nb::handle a, nb::handle b) { return ops::le(operand_from(a), operand_from(b)); });
  m.def("greater", [](nb::handle a, nb::handle b) { return ops::gt(operand_from(a), operand_from(b)); });
  m.def("greater_equal", [](nb::handle a, nb::handle b) { return ops::ge(operand_from(a), operand_from(b)); });
  m.def("isnan", [](nb::handle x) { return ops::isnan(operand_from(x)); });
  m.def("isinf", [](nb::handle x) { return ops::isinf(operand_from(x)); });
  m.def("isfinite", [](nb::handle x) { return ops::isfinite(operand_from(x)); });
  m.def("signbit", [](nb::handle x) { return ops::signbit(operand_from(x)); });
  m.def("logical_and", [](nb::handle a, nb::handle b) { return ops::logical_and(operand_from(a), operand_from(b)); });
  m.def("logical_or", [](nb::handle a, nb::handle b) { return ops::logical_or(operand_from(a), operand_from(b)); });
  m.def("logical_xor", [](nb::handle a, nb::handle b) { return ops::logical_xor(operand_from(a), operand_from(b)); });
  m.def("logical_not", [](nb::handle x) { return ops::logical_not(operand_from(x)); });
  m.def("bitwise_and", [](nb::handle a, nb::handle b) { return ops::bitwise_and(operand_from(a), operand_from(b)); });
  m.def("bitwise_or", [](nb::handle a, nb::handle b) { return ops::bitwise_or(operand_from(a), operand_from(b)); });
  m.def("bitwise_xor", [](nb::handle a, nb::handle b) { return ops::bitwise_xor(operand_from(a), operand_from(b)); });
  m.def("bitwise_invert", [](nb::handle x) { return ops::bitwise_not(operand_from(x)); });
  m.def("bitwise_left_shift", [](nb::handle a, nb::handle b) { return array_api::shift_left(operand_from(a), operand_from(b)); });
  m.def("bitwise_right_shift", [](nb::handle a, nb::handle b) { return array_api::shift_right(operand_from(a), operand_from(b)); });
  m.def("where", [](nb::handle condition, nb::handle a, nb::handle b) { return ops::where(operand_from(condition), operand_from(a), operand_from(b)); });
}
// clang-format on

}  // namespace hologram::python
