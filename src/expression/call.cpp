#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "core/parse_real.hpp"
#include "expression/functions.hpp"
#include "expression/names.hpp"
#include "hologram/creation.hpp"
#include "tensor/access.hpp"

namespace hologram::expression {
namespace {

using core::Text;

Value default_of(std::string_view text) {
  int64_t whole = 0;
  double real = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, whole).ptr == end) return whole;
  if (core::parse_real(text, real)) return real;
  return constant(text);
}

std::vector<Parameter> parse_parameters(std::string_view text) {
  std::vector<Parameter> list;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(", "), text.size());
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 2, text.size()));
    Parameter& p = list.emplace_back();
    const size_t equals = one.find('=');
    p.name = one.substr(0, equals);
    p.required = equals == std::string_view::npos;
    if (!p.required) p.otherwise = default_of(one.substr(equals + 1));
  }
  return list;
}

// Elementwise operations of numbers alone are done at once and exactly as of tensors, in the widest
// dtype of the kind; on the CPU, which has all of them.
Value fold(const graph::ElementwiseOp& op, const std::vector<Operand>& numbers,
           const std::vector<double>& attributes) {
  DType kind = DType::Bool;
  for (const Operand& n : numbers) kind = std::max(kind, n.kind());
  const bool inverse = op.name == "pow" && kind == DType::I64 && numbers.back().integer() < 0;
  const bool truth =
      op.accepts != graph::Accepts::Any && op.accepts != graph::Accepts::IntegerOrBool;
  if (op.rule == graph::Rule::Float || inverse) kind = DType::F64;
  else if (kind == DType::Bool && truth && op.rule == graph::Rule::Same) kind = DType::I64;
  std::vector<Operand> operands;
  for (const Operand& n : numbers) {
    const bool condition = op.rule == graph::Rule::Choice && operands.empty();
    operands.emplace_back(ops::full({}, n, condition ? n.kind() : kind, on_host()));
  }
  const Tensor result = tensor::apply(op, operands, attributes);
  if (result.dtype() == DType::Bool) return result.item<bool>();
  return is_float(result.dtype()) ? Value(result.item<double>()) : Value(result.item<int64_t>());
}

}  // namespace

const Executor& on_host() {
  static const auto* const cpu = new Executor(BackendType::Cpu);
  return *cpu;
}

Call::Call(Callable callable, std::vector<Value> arguments, const std::vector<std::string>& words,
           const Executor& executor)
    : callable_(std::move(callable)), executor_(executor) {
  // Of two tensors, or numbers, min and max are the elementwise ones.
  const bool extreme = callable_.name == "min" || callable_.name == "max";
  if (extreme && arguments.size() == 2 && (words.empty() || words[1].empty()) &&
      arguments[1].operand() != nullptr) {
    const char* const pairwise = callable_.name == "min" ? "minimum" : "maximum";
    if (arguments[0].is_tensor() && arguments[1].is_number())
      throw core::error(Text::ExpressionExtreme, callable_.name, pairwise);
    callable_ = find_callable(pairwise);
  }
  parameters_ = parse_parameters(callable_.parameters);
  if (arguments.size() > parameters_.size())
    throw core::error(Text::ExpressionTooMany, callable_.name, parameters_.size(), arguments.size(),
                      callable_.signature());
  values_.resize(parameters_.size());
  std::vector<bool> set(parameters_.size());
  for (size_t i = 0; i < arguments.size(); i++) {
    size_t at = i;
    if (!words.empty() && !words[i].empty()) {
      at = position(words[i]);
      if (at == parameters_.size()) {
        std::vector<std::string_view> names;
        for (const Parameter& p : parameters_) names.push_back(p.name);
        const std::string_view near = core::nearest(words[i], names);
        throw core::error(Text::ExpressionKeyword, callable_.name, words[i], callable_.signature(),
                          near.empty() ? "" : fmt::format(" Did you mean {}?", near));
      }
    }
    if (set[at])
      throw core::error(Text::ExpressionTwice, callable_.name, parameters_[at].name,
                        callable_.signature());
    set[at] = true;
    values_[at] = std::move(arguments[i]);
  }
  for (size_t i = 0; i < parameters_.size(); i++) {
    if (set[i]) continue;
    if (parameters_[i].required)
      throw core::error(Text::ExpressionMissing, callable_.name, parameters_[i].name,
                        callable_.signature());
    values_[i] = parameters_[i].otherwise;
  }
}

Value Call::run() const {
  if (callable_.function != nullptr) return callable_.function->call(*this);
  const graph::ElementwiseOp& op = *callable_.elementwise;
  std::vector<Operand> operands;
  bool numbers = true;
  for (size_t i = 0; i < op.arity; i++) {
    operands.push_back(operand(i));
    numbers &= operands.back().is_number();
  }
  std::vector<double> attributes;
  for (size_t k = 0; k < op.attribute_count; k++) attributes.push_back(real(op.arity + k));
  if (numbers) return fold(op, operands, attributes);
  return tensor::apply(op, operands, attributes);
}

size_t Call::position(std::string_view parameter) const {
  size_t i = 0;
  while (i < parameters_.size() && parameters_[i].name != parameter) i++;
  return i;
}

void Call::refuse(size_t i, std::string_view wanted) const {
  throw core::error(Text::ExpressionArgument, callable_.name, parameters_[i].name, wanted,
                    describe(values_[i]), callable_.signature());
}

Operand Call::operand(size_t i) const {
  if (values_[i].operand() != nullptr) return *values_[i].operand();
  if (values_[i].list() == nullptr) refuse(i, "a tensor or a number");
  return tensor(i);
}

Tensor Call::tensor(size_t i) const {
  if (values_[i].operand() == nullptr && values_[i].list() == nullptr)
    refuse(i, "a tensor or a number");
  return to_tensor(values_[i], executor_);
}

bool Call::given(size_t i) const { return !values_[i].nothing(); }

bool Call::flag(size_t i) const {
  if (!values_[i].is_number() || values_[i].operand()->kind() == DType::F64)
    refuse(i, "true or false");
  return values_[i].operand()->integer() != 0;
}

int64_t Call::integer(size_t i) const { return integers(i, "a whole number").at(0); }

int Call::axis(size_t i) const {
  const int64_t n = values_[i].list() == nullptr ? integer(i) : INT64_MAX;
  if (n != static_cast<int>(n)) refuse(i, "the number of an axis");
  return static_cast<int>(n);
}

double Call::real(size_t i) const {
  if (!values_[i].is_number()) refuse(i, "a number");
  const Operand& n = *values_[i].operand();
  return n.kind() == DType::F64 ? n.real() : static_cast<double>(n.integer());
}

DType Call::dtype(size_t i) const {
  const DType* const dtype = std::get_if<DType>(&values_[i].is);
  if (dtype == nullptr) refuse(i, "a dtype, as f32");
  return *dtype;
}

std::vector<int64_t> Call::integers(size_t i, std::string_view wanted) const {
  std::vector<int64_t> list;
  const auto add = [&](const Value& v) {
    if (!v.is_number() || v.operand()->kind() != DType::I64) refuse(i, wanted);
    list.push_back(v.operand()->integer());
  };
  if (const std::vector<Value>* values = values_[i].list())
    for (const Value& v : *values) add(v);
  else add(values_[i]);
  if (list.empty() && wanted == "a whole number") refuse(i, wanted);
  return list;
}

ops::Axes Call::axes(size_t i) const {
  constexpr const char* kWanted = "the number of an axis or a list of them";
  std::vector<int> list;
  if (!given(i)) return list;
  for (const int64_t n : integers(i, kWanted)) {
    if (n != static_cast<int>(n)) refuse(i, kWanted);
    list.push_back(static_cast<int>(n));
  }
  if (list.empty()) refuse(i, kWanted);
  return list;
}

Shape Call::shape(size_t i) const { return integers(i, "a shape, as [3, 4]"); }

std::vector<Tensor> Call::tensors(size_t i) const {
  if (values_[i].list() == nullptr) refuse(i, "a list of tensors");
  std::vector<Tensor> list;
  for (const Value& v : *values_[i].list()) list.push_back(to_tensor(v, executor_));
  return list;
}

}  // namespace hologram::expression
