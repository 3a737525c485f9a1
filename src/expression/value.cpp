#include "expression/value.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/messages.hpp"
#include "hologram/creation.hpp"
#include "tensor/access.hpp"

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

// The numbers of a weak tensor, row by row.
std::vector<Operand> numbers_of(const Tensor& weak) {
  const auto read = [&](const auto& values) {
    return std::vector<Operand>(values.begin(), values.end());
  };
  if (weak.dtype() == DType::F64) return read(weak.to_vector<double>());
  if (weak.dtype() == DType::U64) return read(weak.to_vector<uint64_t>());
  return read(weak.to(DType::I64).to_vector<int64_t>());
}

// InvalidArgument if the dtype does not hold one of the numbers.
Tensor in_dtype(const Tensor& weak, DType dtype) {
  if (weak.dtype() == dtype) return weak;
  const DType stored = is_float(dtype) ? compute_type(dtype) : dtype;
  Array array(stored, weak.shape());
  std::byte* to = array.mutable_data();
  for (const Operand& number : numbers_of(weak)) {
    const uint64_t bits = tensor::attribute_of(dtype, number).bits;
    std::memcpy(to, &bits, size_of(stored));
    to += size_of(stored);
  }
  return Tensor::from(array, on_host()).to(dtype);
}

}  // namespace

Shape Value::shape() const {
  Shape shape = tensor().shape();
  if (by_rows()) shape[0] = rows;
  return shape;
}

std::string describe(const Value& value) {
  if (value.is_tensor()) {
    const DType own = value.tensor().dtype();
    return fmt::format("a tensor {}{}",
                       name_of(value.weak ? tensor::with_number(DType::None, own) : own),
                       to_string(value.shape()));
  }
  if (const Operand* number = value.operand()) {
    if (number->kind() == DType::Bool) return number->integer() != 0 ? "true" : "false";
    if (number->kind() == DType::I64) return fmt::format("the number {}", number->integer());
    if (number->kind() == DType::U64)
      return fmt::format("the number {}", static_cast<uint64_t>(number->integer()));
    return fmt::format("the number {}", number->real());
  }
  if (const DType* dtype = std::get_if<DType>(&value.is))
    return fmt::format("the dtype {}", name_of(*dtype));
  if (const std::string* text = std::get_if<std::string>(&value.is))
    return fmt::format("the text '{}'", *text);
  if (value.list() != nullptr) return "a list";
  if (std::holds_alternative<Slice>(value.is)) return "a slice";
  return value.nothing() ? "none" : "'...'";
}

const Executor& on_host() {
  static const auto* const cpu = new Executor(BackendType::Cpu);
  return *cpu;
}

Value to_weak(const Value& value) {
  if (value.is_tensor()) return value;
  if (!value.is_number() && value.list() == nullptr)
    throw core::error(Text::ExpressionNoTensor, describe(value));
  Shape shape;
  std::vector<Operand> numbers;
  flatten(value, 0, shape, numbers);
  DType kind = numbers.empty() ? DType::F64 : DType::Bool;
  for (const Operand& n : numbers) kind = std::max(kind, n.kind());
  Array array(kind, shape);
  std::byte* to = array.mutable_data();
  for (const Operand& n : numbers) {
    const uint64_t bits = tensor::attribute_of(kind, n).bits;
    std::memcpy(to, &bits, size_of(kind));
    to += size_of(kind);
  }
  Value weak(Tensor::from(array, on_host()));
  weak.weak = true;
  return weak;
}

Tensor to_tensor(const Value& value, const Executor& executor, DType dtype) {
  if (value.has_dtype()) return value.tensor();
  const Tensor weak = to_weak(value).tensor();
  if (dtype == DType::None) dtype = tensor::with_number(DType::None, weak.dtype());
  return Tensor::from(in_dtype(weak, dtype).array(), executor);
}

DType dtype_of(const std::vector<Value>& values) {
  DType dtype = DType::None, kind = DType::None;
  for (const Value& v : values) {
    const DType own = v.is_number() ? v.operand()->kind() : v.tensor().dtype();
    if (!v.has_dtype()) kind = std::max(kind, own);
    else dtype = dtype == DType::None ? own : promote(dtype, own);
  }
  return kind == DType::None ? dtype : tensor::with_number(dtype, kind);
}

std::vector<Tensor> to_tensors(const std::vector<Value>& values, const Executor& executor) {
  std::vector<Value> all;
  all.reserve(values.size());
  for (const Value& v : values) all.push_back(to_weak(v));
  const DType dtype = dtype_of(all);
  std::vector<Tensor> tensors;
  tensors.reserve(all.size());
  for (const Value& v : all) tensors.push_back(to_tensor(v, executor, dtype));
  return tensors;
}

Tensor convert(const Value& value, DType dtype, const Executor& executor) {
  if (value.has_dtype()) return value.tensor().to(dtype);
  return Tensor::from(to_weak(value).tensor().to(dtype).array(), executor);
}

uint32_t level_of(const std::vector<Value>& values) {
  uint32_t level = 0;
  for (const Value& v : values) {
    level = std::max(level, v.level);
    if (v.list() != nullptr) level = std::max(level, level_of(*v.list()));
  }
  return level;
}

bool any_rows(const std::vector<Value>& values) {
  return std::any_of(values.begin(), values.end(), [](const Value& v) {
    return v.by_rows() || (v.list() != nullptr && any_rows(*v.list()));
  });
}

Value marked(Value value, int64_t rows, uint32_t level) {
  if (const std::vector<Value>* const list = value.list()) {
    std::vector<Value> parts;
    for (const Value& part : *list) parts.push_back(marked(part, rows, level));
    value.is = std::move(parts);
  }
  value.rows = rows;
  value.level = level;
  return value;
}

}  // namespace hologram::expression
