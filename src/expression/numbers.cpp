#include "expression/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <optional>

#include "core/messages.hpp"
#include "hologram/creation.hpp"
#include "tensor/access.hpp"

namespace hologram::expression {
namespace {

using core::Text;
using tensor::Whole;
using tensor::whole_of;

[[noreturn]] void refuse(std::string_view operation) {
  throw core::error(Text::ExpressionInteger, operation);
}

Whole floor_quotient(Whole a, Whole b) {
  if (b == 0) return 0;
  const Whole q = a / b;
  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

Whole product(Whole a, Whole b) {
  Whole result = 0;
  if (__builtin_mul_overflow(a, b, &result)) refuse("mul");
  return result;
}

Whole power(Whole base, Whole exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  if (exponent > 64) refuse("pow");
  Whole result = 1;
  for (Whole k = 0; k < exponent; k++)
    if (__builtin_mul_overflow(result, base, &result)) refuse("pow");
  return result;
}

// Those for which doubles, or the width of a dtype, are too narrow. Those of one number take no
// `b`.
struct Exact {
  std::string_view name;
  Whole (*result)(Whole a, Whole b);
};
constexpr Exact kExact[] = {
    {"add", [](Whole a, Whole b) { return a + b; }},
    {"sub", [](Whole a, Whole b) { return a - b; }},
    {"mul", product},
    {"neg", [](Whole a, Whole) { return -a; }},
    {"abs", [](Whole a, Whole) { return a < 0 ? -a : a; }},
    {"square", [](Whole a, Whole) { return product(a, a); }},
    {"floor_div", floor_quotient},
    {"rem", [](Whole a, Whole b) { return b == 0 ? 0 : a - floor_quotient(a, b) * b; }},
    {"pow", power},
    {"minimum", [](Whole a, Whole b) { return std::min(a, b); }},
    {"maximum", [](Whole a, Whole b) { return std::max(a, b); }},
};

using Order = std::partial_ordering;

Order reversed(Order order) {
  return order == Order::less ? Order::greater : order == Order::greater ? Order::less : order;
}

Order order(Whole a, double b) {
  if (std::isnan(b)) return Order::unordered;
  if (std::fabs(b) > 0x1p65) return 0.0 <=> b;
  const double below = std::floor(b);
  const auto whole = static_cast<Whole>(below);
  if (a != whole) return a < whole ? Order::less : Order::greater;
  return below <=> b;
}

Order order(const Operand& a, const Operand& b) {
  const bool of_a = a.kind() != DType::F64, of_b = b.kind() != DType::F64;
  if (of_a && !of_b) return order(whole_of(a), b.real());
  if (of_b && !of_a) return reversed(order(whole_of(b), a.real()));
  if (!of_a) return a.real() <=> b.real();
  const Whole x = whole_of(a), y = whole_of(b);
  return x < y ? Order::less : x > y ? Order::greater : Order::equivalent;
}

struct Comparison {
  std::string_view name;
  bool (*holds)(Order);
};
constexpr Comparison kComparisons[] = {
    {"eq", [](Order o) { return o == Order::equivalent; }},
    {"ne", [](Order o) { return o != Order::equivalent; }},
    {"lt", [](Order o) { return o == Order::less; }},
    {"le", [](Order o) { return o == Order::less || o == Order::equivalent; }},
    {"gt", [](Order o) { return o == Order::greater; }},
    {"ge", [](Order o) { return o == Order::greater || o == Order::equivalent; }},
};

std::optional<Value> exactly(std::string_view name, const std::vector<Value>& values) {
  const Operand &a = *values.front().operand(), &b = *values.back().operand();
  for (const Comparison& c : kComparisons)
    if (c.name == name) return Value(c.holds(order(a, b)));
  const DType kind = std::max(a.kind(), b.kind());
  if (!is_integer(kind)) return {};
  for (const Exact& e : kExact) {
    if (e.name != name) continue;
    const Whole result = e.result(whole_of(a), whole_of(b));
    if (tensor::fits(DType::I64, result)) return Value(static_cast<int64_t>(result));
    if (tensor::fits(DType::U64, result)) return Value(static_cast<uint64_t>(result));
    refuse(name);
  }
  return {};
}

DType kind_of(const Value& v) { return v.weak ? v.tensor().dtype() : v.operand()->kind(); }

bool is_negative(const Value& v) {
  return v.is_number() && kind_of(v) != DType::F64 && whole_of(*v.operand()) < 0;
}

}  // namespace

Value fold(const graph::ElementwiseOp& op, const std::vector<Value>& values,
           std::span<const double> attributes) {
  const bool numbers =
      std::all_of(values.begin(), values.end(), [](const Value& v) { return v.is_number(); });
  const bool inverse = op.name == "pow" && is_negative(values.back());
  DType kind = DType::Bool;
  for (const Value& v : values) kind = std::max(kind, kind_of(v));
  if (numbers && !inverse && values.size() <= 2)
    if (auto exact = exactly(op.name, values)) return *std::move(exact);
  const bool truth =
      op.accepts != graph::Accepts::Any && op.accepts != graph::Accepts::IntegerOrBool;
  if (op.rule == graph::Rule::Float || inverse) kind = DType::F64;
  else if (kind == DType::Bool && truth && op.rule == graph::Rule::Same) kind = DType::I64;
  // On the CPU, which has every dtype.
  std::vector<Operand> operands;
  for (const Value& v : values) {
    const bool condition = op.rule == graph::Rule::Choice && operands.empty();
    operands.emplace_back(to_tensor(to_weak(v), on_host(), condition ? kind_of(v) : kind));
  }
  const Tensor result = tensor::apply(op, operands, attributes);
  if (!numbers) {
    Value weak(result);
    weak.weak = true;
    return weak;
  }
  if (result.dtype() == DType::Bool) return result.item<bool>();
  if (is_float(result.dtype())) return result.item<double>();
  return result.dtype() == DType::U64 ? Value(result.item<uint64_t>())
                                      : Value(result.item<int64_t>());
}

}  // namespace hologram::expression
