#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "core/parse_real.hpp"
#include "expression/functions.hpp"
#include "expression/names.hpp"
#include "expression/numbers.hpp"
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

}  // namespace

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
  const size_t elementwise = callable_.elementwise == nullptr ? 0 : callable_.elementwise->arity;
  for (size_t i = 0; i < elementwise; i++)
    if (values_[i].list() != nullptr) values_[i] = to_weak(values_[i]);
}

Value Call::run() const {
  if (callable_.function != nullptr) return callable_.function->call(*this);
  const graph::ElementwiseOp& op = *callable_.elementwise;
  std::vector<Value> operands(values_.begin(), values_.begin() + static_cast<int64_t>(op.arity));
  for (size_t i = 0; i < operands.size(); i++)
    if (operands[i].operand() == nullptr) refuse(i, "a tensor or a number");
  std::vector<double> attributes;
  for (size_t k = 0; k < op.attribute_count; k++) attributes.push_back(real(op.arity + k));
  if (std::none_of(operands.begin(), operands.end(), [](const Value& v) { return v.has_dtype(); }))
    return fold(op, operands, attributes);
  return tensor::apply(op, settled(op, operands), attributes);
}

// Lists get the dtype that a number in their place would have.
std::vector<Operand> Call::settled(const graph::ElementwiseOp& op,
                                   const std::vector<Value>& values) const {
  const auto alone = [&](size_t i) {
    return (op.rule == graph::Rule::Choice && i == 0) || (op.rule == graph::Rule::Shift && i == 1);
  };
  std::vector<Value> equal;
  for (size_t i = 0; i < values.size(); i++)
    if (!alone(i)) equal.push_back(values[i]);
  const DType dtype = dtype_of(equal);
  std::vector<Operand> operands;
  for (size_t i = 0; i < values.size(); i++)
    operands.push_back(values[i].weak
                           ? to_tensor(values[i], executor_, alone(i) ? DType::None : dtype)
                           : *values[i].operand());
  return operands;
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
  if (values_[i].is_number()) return *values_[i].operand();
  return tensor(i);
}

Tensor Call::tensor(size_t i) const {
  if (values_[i].operand() == nullptr && values_[i].list() == nullptr)
    refuse(i, "a tensor or a number");
  return to_tensor(values_[i], executor_);
}

std::vector<Tensor> Call::together(std::initializer_list<size_t> which) const {
  std::vector<Value> list;
  for (const size_t i : which) {
    if (values_[i].nothing()) continue;
    if (values_[i].operand() == nullptr && values_[i].list() == nullptr)
      refuse(i, "a tensor or a number");
    list.push_back(values_[i]);
  }
  return to_tensors(list, executor_);
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
  return values_[i].operand()->real();
}

DType Call::dtype(size_t i) const {
  const DType* const dtype = std::get_if<DType>(&values_[i].is);
  if (dtype == nullptr) refuse(i, "a dtype, as f32");
  return *dtype;
}

const std::string& Call::text(size_t i) const {
  const std::string* const text = std::get_if<std::string>(&values_[i].is);
  if (text == nullptr) refuse(i, "a text between quotation marks");
  return *text;
}

size_t Call::choice(size_t i, std::initializer_list<std::string_view> words) const {
  const std::string& given = text(i);
  const auto* const found = std::find(words.begin(), words.end(), given);
  if (found == words.end()) refuse(i, fmt::format("one of '{}'", fmt::join(words, "', '")));
  return static_cast<size_t>(found - words.begin());
}

std::vector<double> Call::reals(size_t i) const {
  if (values_[i].list() == nullptr) return {real(i)};
  std::vector<double> list;
  for (const Value& v : *values_[i].list()) {
    if (!v.is_number()) refuse(i, "a number or a list of them");
    list.push_back(v.operand()->real());
  }
  return list;
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
  return to_tensors(*values_[i].list(), executor_);
}

}  // namespace hologram::expression
