// What a part of an expression is worth.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "hologram/tensor.hpp"

namespace hologram::expression {

struct Dots {};

struct Value {
  // Nothing, a tensor or number, a dtype, a list, and what stands between the brackets of an index.
  std::variant<std::monostate, Operand, DType, std::vector<Value>, Slice, Dots> is;

  // Where rows are computed some at a time: how many there are of them; the tensor holds some.
  int64_t rows = -1;
  Tensor whole;        // of an input by rows: all of it, left in its file
  uint32_t level = 0;  // how many times all rows must have been read before it is known

  Value() = default;
  Value(Operand operand) : is(std::move(operand)) {}
  Value(const Tensor& tensor) : is(Operand(tensor)) {}
  template <Arithmetic T>
  Value(T number) : is(Operand(number)) {}
  Value(DType dtype) : is(dtype) {}
  Value(std::vector<Value> list) : is(std::move(list)) {}
  Value(Slice slice) : is(slice) {}
  Value(Dots dots) : is(dots) {}

  const Operand* operand() const { return std::get_if<Operand>(&is); }
  bool is_tensor() const { return operand() != nullptr && !operand()->is_number(); }
  bool is_number() const { return operand() != nullptr && operand()->is_number(); }
  const Tensor& tensor() const { return operand()->tensor(); }
  const std::vector<Value>* list() const { return std::get_if<std::vector<Value>>(&is); }
  bool nothing() const { return std::holds_alternative<std::monostate>(is); }
  bool by_rows() const { return rows >= 0; }
  Shape shape() const;  // of a tensor, with all its rows
};

// "a tensor f32[3]", "the number 2", "the dtype f16", "a list", …
std::string describe(const Value& value);

// A tensor of it: numbers and lists of them too. InvalidArgument for everything else.
Tensor to_tensor(const Value& value, const Executor& executor);

}  // namespace hologram::expression
