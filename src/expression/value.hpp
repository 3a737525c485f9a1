// What a part of an expression is worth.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "hologram/tensor.hpp"

namespace hologram::expression {

struct Dots {};

struct Value {
  // Nothing, a tensor or number, a dtype, a text, a list, and what stands between the brackets of
  // an index.
  std::variant<std::monostate, Operand, DType, std::string, std::vector<Value>, Slice, Dots> is;

  // Where rows are computed some at a time: how many there are of them; the tensor holds some.
  int64_t rows = -1;
  Tensor whole;        // of an input by rows: all of it, left in its file
  uint32_t level = 0;  // how many times all rows must have been read before it is known
  // A tensor of numbers that were written down, or computed from such: what stands beside it
  // decides its dtype. Until then it is in memory of the host, in bool, i64, u64 or f64.
  bool weak = false;

  Value() = default;
  Value(Operand operand) : is(std::move(operand)) {}
  Value(const Tensor& tensor) : is(Operand(tensor)) {}
  template <Arithmetic T>
  Value(T number) : is(Operand(number)) {}
  Value(DType dtype) : is(dtype) {}
  Value(std::string text) : is(std::move(text)) {}
  Value(std::vector<Value> list) : is(std::move(list)) {}
  Value(Slice slice) : is(slice) {}
  Value(Dots dots) : is(dots) {}

  const Operand* operand() const { return std::get_if<Operand>(&is); }
  bool is_tensor() const { return operand() != nullptr && !operand()->is_number(); }
  bool has_dtype() const { return is_tensor() && !weak; }
  bool is_number() const { return operand() != nullptr && operand()->is_number(); }
  const Tensor& tensor() const { return operand()->tensor(); }
  const std::vector<Value>* list() const { return std::get_if<std::vector<Value>>(&is); }
  bool nothing() const { return std::holds_alternative<std::monostate>(is); }
  bool by_rows() const { return rows >= 0; }
  Shape shape() const;  // of a tensor, with all its rows
};

// "a tensor f32[3]", "the number 2", "the dtype f16", "a list", …
std::string describe(const Value& value);

// Of values and of what lists among them hold: the highest level, and whether any goes by rows.
uint32_t level_of(const std::vector<Value>& values);
bool any_rows(const std::vector<Value>& values);

// The value with these rows and this level, and so what is in it, if it is a list: any of that may
// be used by itself.
Value marked(Value value, int64_t rows, uint32_t level);

// For numbers that are known: nobody has to wait for them there.
const Executor& on_host();

// A number or a list of numbers as a weak tensor; a tensor as it is. InvalidArgument for everything
// else.
Value to_weak(const Value& value);

// A tensor of it: numbers and lists of them too, in this dtype, which has to hold them, or else
// bool, i64, u64 or f32, as they are. What has a dtype keeps it. InvalidArgument for everything
// else.
Tensor to_tensor(const Value& value, const Executor& executor, DType dtype = DType::None);

// The dtype of tensors and numbers together.
DType dtype_of(const std::vector<Value>& values);

// Tensors of all: what has no dtype gets that of all together.
std::vector<Tensor> to_tensors(const std::vector<Value>& values, const Executor& executor);

// The tensor converted as `cast` does; what has no dtype from what was written down.
Tensor convert(const Value& value, DType dtype, const Executor& executor);

}  // namespace hologram::expression
