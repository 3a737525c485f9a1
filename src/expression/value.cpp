#include "expression/value.hpp"

#include <fmt/format.h>

#include "core/messages.hpp"
#include "hologram/creation.hpp"

namespace hologram::expression {
namespace {

using core::Text;

constexpr size_t kMostListed = 100000;

// The lengths of nested lists and the numbers in them, row by row.
void flatten(const Value& value, size_t depth, Shape& shape, std::vector<Operand>& numbers) {
  if (const std::vector<Value>* list = value.list()) {
    const auto n = static_cast<int64_t>(list->size());
    if (depth == shape.size() && numbers.empty() && depth < kMaxRank) shape.push_back(n);
    if (depth >= shape.size() || shape[depth] != n) throw core::error(Text::ExpressionList);
    for (const Value& v : *list) flatten(v, depth + 1, shape, numbers);
    return;
  }
  if (!value.is_number() || depth != shape.size() || numbers.size() >= kMostListed)
    throw core::error(Text::ExpressionList);
  numbers.push_back(*value.operand());
}

}  // namespace

Shape Value::shape() const {
  Shape shape = tensor().shape();
  if (by_rows()) shape[0] = rows;
  return shape;
}

std::string describe(const Value& value) {
  if (value.is_tensor())
    return fmt::format("a tensor {}{}", name_of(value.tensor().dtype()), to_string(value.shape()));
  if (const Operand* number = value.operand()) {
    if (number->kind() == DType::Bool) return number->integer() != 0 ? "true" : "false";
    if (number->kind() == DType::I64) return fmt::format("the number {}", number->integer());
    return fmt::format("the number {}", number->real());
  }
  if (const DType* dtype = std::get_if<DType>(&value.is))
    return fmt::format("the dtype {}", name_of(*dtype));
  if (value.list() != nullptr) return "a list";
  if (std::holds_alternative<Slice>(value.is)) return "a slice";
  return value.nothing() ? "none" : "'...'";
}

Tensor to_tensor(const Value& value, const Executor& executor) {
  if (value.is_tensor()) return value.tensor();
  if (value.is_number()) return ops::full({}, *value.operand(), DType::None, executor);
  if (value.list() == nullptr) throw core::error(Text::ExpressionNoTensor, describe(value));
  Shape shape;
  std::vector<Operand> numbers;
  flatten(value, 0, shape, numbers);
  DType kind = numbers.empty() ? DType::F64 : DType::Bool;
  for (const Operand& n : numbers) kind = std::max(kind, n.kind());
  if (kind == DType::F64) {
    std::vector<float> floats;
    floats.reserve(numbers.size());
    for (const Operand& n : numbers) floats.push_back(static_cast<float>(n.real()));
    return Tensor::from_vector(std::move(floats), shape, executor);
  }
  std::vector<int64_t> integers;
  integers.reserve(numbers.size());
  for (const Operand& n : numbers) integers.push_back(n.integer());
  return Tensor::from_vector(std::move(integers), shape, executor).to(kind);
}

}  // namespace hologram::expression
