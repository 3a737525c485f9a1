// Elementwise operations by the oracle of the conformance suite. Of operands that are known to a
// range only, the ends of the ranges are looked at where that is enough.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "conformance/oracle.hpp"
#include "graphs/right.hpp"

namespace hologram::graphs {
namespace {

using conformance::Oracle;
using graph::ElementwiseOp;
using graph::Rule;

// Between its values at the ends of ranges of operands lie all others.
bool is_monotone(std::string_view name) {
  static const std::set<std::string_view> names = {
      "add",        "sub",       "mul",   "neg",  "sign",    "minimum", "maximum",  "clamp",
      "fma",        "mad",       "floor", "ceil", "round",   "trunc",   "sqrt",     "exp",
      "exp2",       "expm1",     "log",   "log2", "log10",   "log1p",   "asin",     "acos",
      "atan",       "sinh",      "tanh",  "erf",  "sigmoid", "relu",    "softplus", "elu",
      "leaky_relu", "logaddexp", "lt",    "le",   "gt",      "ge"};
  return names.contains(name);
}
bool is_even(std::string_view name) {
  return name == "abs" || name == "square" || name == "cosh" || name == "hypot";
}
bool is_quotient(std::string_view name) { return name == "div" || name == "reciprocal"; }
bool is_wave(std::string_view name) { return name == "sin" || name == "cos"; }

Wide floored_rest(Wide a, Wide b) {
  const auto x = static_cast<long double>(a), y = static_cast<long double>(b);
  const long double rest = std::fmod(x, y);
  if (rest == 0) return std::copysign(0.0L, y);
  return (rest < 0) == (y < 0) ? rest : static_cast<Wide>(rest) + b;
}

// Whether the documents say what comes out of these.
bool is_promised(const ElementwiseOp& row, const Oracle& oracle, std::span<const Wide> x) {
  bool nan = false, infinite = false, outside = false;
  for (const Wide v : x) {
    nan = nan || is_nan(v);
    infinite = infinite || is_infinite(v);
    outside = outside || v < row.low || v > row.high;
  }
  // The sign of a NaN is no value.
  if (row.name == "copysign" && is_nan(x[1])) return false;
  if (nan) return row.nan != graph::Nan::Special || oracle.operands == conformance::Operands::Any;
  if (row.name == "rem") return x[1] != 0 && !infinite;
  if (row.name == "floor_div") return x[1] != 0 && !infinite;
  return oracle.operands == conformance::Operands::Any || (!infinite && !outside);
}

Wide exact_value(const ElementwiseOp& row, const Oracle& oracle, std::span<const Wide> x) {
  if (row.nan == graph::Nan::Propagates)
    for (const Wide v : x)
      if (is_nan(v)) return v;
  if (row.name == "rem") return floored_rest(x[0], x[1]);
  if (row.name == "floor_div") return (x[0] - floored_rest(x[0], x[1])) / x[1];
  double attributes[2] = {row.attributes[0].otherwise, row.attributes[1].otherwise};
  return oracle.real(x.data(), attributes);
}

// How far a result may be from the exact one before it is rounded to 16 bits.
Wide slack_of(const ElementwiseOp& row, DType to, std::span<const Wide> x, Wide exact) {
  const DType wide = accumulator_of(to);
  if (row.ulps == 0 || is_nan(exact) || is_infinite(exact)) return 0;
  Wide size = magnitude(exact), other = 0;
  for (const Wide v : x)
    if (row.absolute && !is_infinite(v)) size = std::max(size, magnitude(v));
  if (row.name == "mad") other = unit_of(wide, x[0] * x[1]);
  const double more = row.ulps == 0.5 ? 0 : to == DType::F64 ? 0x1p-10 : 0x1p-20;
  return static_cast<Wide>(row.ulps + more) * unit_of(wide, size) + other;
}

Element one_point(const ElementwiseOp& row, const Oracle& oracle, DType to,
                  std::span<const Wide> x) {
  if (!is_promised(row, oracle, x)) return unknown();
  const Wide exact = exact_value(row, oracle, x);
  if (to == DType::Bool) return whole(exact != 0);
  return result(to, exact, exact, slack_of(row, to, x, exact));
}

// Of ranges: between what comes out at their ends.
Element between_ends(const ElementwiseOp& row, const Oracle& oracle, DType to,
                     std::span<const Element> x) {
  const bool even = is_even(row.name);
  if (!is_monotone(row.name) && !even && !is_quotient(row.name) && !is_wave(row.name))
    return unknown();
  for (const Element& e : x) {
    const bool zero_inside = e.low <= 0 && e.high >= 0 && !e.exact();
    if (is_infinite(e.low) || is_infinite(e.high) || is_nan(e.low)) return unknown();
    if (even && zero_inside) return unknown();
    if (is_quotient(row.name) && &e == &x.back() && e.low <= 0 && e.high >= 0) return unknown();
  }
  std::optional<Element> all;
  for (uint32_t corner = 0; corner < 1u << x.size(); corner++) {
    Wide at[3] = {};
    for (size_t k = 0; k < x.size(); k++) at[k] = (corner >> k & 1) != 0 ? x[k].high : x[k].low;
    const Element here = one_point(row, oracle, to, {at, x.size()});
    if (!here.known) return here;
    if (!all) all = here;
    if (to == DType::Bool && here.whole != all->whole) return unknown();
    if (is_nan(here.low) != is_nan(all->low)) return unknown();
    all->low = std::min(all->low, here.low);
    all->high = std::max(all->high, here.high);
  }
  if (is_wave(row.name) && to != DType::Bool) {
    const Wide reach = x[0].high - x[0].low;
    all->low -= reach;
    all->high += reach;
  }
  return *all;
}

// What operands are brought to.
DType operand_dtype(const Step& step, Fields x) {
  const ElementwiseOp& row = *step.operation->row;
  DType dtype = DType::None;
  for (size_t k = row.rule == Rule::Choice ? 1 : 0; k < row.arity; k++) {
    if (row.rule == Rule::Shift && k == 1) break;
    if (step.arguments[k].is_number()) continue;
    dtype = dtype == DType::None ? x[k].dtype : promoted(dtype, x[k].dtype);
  }
  return row.rule == Rule::Float && !is_float(dtype) ? DType::F32 : dtype;
}

}  // namespace

Element element_of(const Number& number, DType dtype) {
  if (const double* value = std::get_if<double>(&number)) {
    if (!is_float(dtype)) return unknown();
    const Wide wide = rounded(accumulator_of(dtype), *value);
    return result(dtype, wide, wide);  // beside 16 bits it is used in f32
  }
  const Integer value = std::visit([](auto v) { return static_cast<Integer>(v); }, number);
  if (!is_float(dtype)) return whole(value);
  const Wide wide = rounded(accumulator_of(dtype), static_cast<Wide>(value));
  return result(dtype, wide, wide);
}

Field right_elementwise(const Step& step, Fields x) {
  const ElementwiseOp& row = *step.operation->row;
  const Oracle* oracle = conformance::find_oracle(row.name);
  Field out = unknown_field(step.dtype, step.shape);
  const DType dtype = operand_dtype(step, x);
  const auto as = [&](size_t k) {
    if (row.rule == Rule::Choice && k == 0) return DType::Bool;
    return row.rule == Rule::Shift && k == 1
               ? (step.arguments[k].is_number() ? DType::I64 : x[k].dtype)
               : dtype;
  };
  if (oracle == nullptr || (is_float(dtype) ? oracle->real == nullptr : oracle->whole == nullptr))
    return out;
  std::vector<Field> operands(row.arity);
  for (size_t k = 0; k < row.arity; k++)
    if (!step.arguments[k].is_number()) operands[k] = converted(x[k], as(k));
  // Small powers by numbers are products, each of which is rounded where it is stored.
  const bool products =
      row.name == "pow" && is_float(dtype) && step.arguments[1].is_number() && size_of(dtype) == 2;
  const int bits = dtype == DType::Bool ? 1 : static_cast<int>(8 * size_of(dtype));
  for (size_t i = 0; i < out.size(); i++) {
    std::array<Element, 3> e;
    const Shape place = place_of(step.shape, i);
    bool known = true, exact = true;
    for (size_t k = 0; k < row.arity; k++) {
      e[k] = step.arguments[k].is_number()
                 ? element_of(step.arguments[k].number, as(k))
                 : operands[k].elements[broadcast_index(operands[k].shape, place)];
      if (row.rule == Rule::Choice && k == 0 && e[0].known && is_float(dtype))
        e[0] = real(e[0].whole != 0 ? 1 : 0);
      known = known && e[k].known;
      exact = exact && e[k].exact();
    }
    Element& to = out.elements[i];
    if (row.name == "where" && e[0].known) {
      to = (is_float(dtype) ? e[0].low != 0 : e[0].whole != 0) ? e[1] : e[2];
      continue;
    }
    if (!known) continue;
    if (!is_float(dtype)) {
      const Integer at[3] = {e[0].whole, e[1].whole, e[2].whole};
      to = whole(
          conformance::wrapped(step.dtype, oracle->whole(at, {bits, is_signed_integer(dtype)})));
    } else if (exact) {
      const Wide at[3] = {e[0].low, e[1].low, e[2].low};
      to = one_point(row, *oracle, step.dtype, {at, row.arity});
    } else {
      to = between_ends(row, *oracle, step.dtype, {e.data(), row.arity});
    }
    if (products && to.known) to = result(dtype, to.low, to.high, 3 * unit_of(dtype, to.high));
  }
  return out;
}

}  // namespace hologram::graphs
