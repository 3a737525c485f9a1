#include "libraries/accumulation.hpp"

namespace hologram::libraries {

using program::Buf;
using program::Value;

Value Accumulation::zero() const { return b_.constant_bits(type_, 0); }

Value Accumulation::cast(Value value, DType type) const {
  return value.type() == type ? value : b_.cast(value, type);
}

Value Accumulation::load(Buf buffer, Value index) const {
  return cast(b_.load(buffer, index), type_);
}

Value Accumulation::add(Value x, Value y) const { return type_ == DType::Bool ? x | y : x + y; }

Value Accumulation::multiply_add(Value x, Value y, Value sum) const {
  return type_ == DType::Bool ? (x & y) | sum : fma(x, y, sum);
}

void declare_layout(program::Builder& b, const std::string& letter, MatrixOperand& matrix) {
  matrix.start = b.scalar(letter + "_start", b.index_type());
  matrix.row = b.scalar(letter + "_row", b.index_type());
  matrix.column = b.scalar(letter + "_column", b.index_type());
  matrix.batch = b.scalar(letter + "_batch", b.index_type());
}

}  // namespace hologram::libraries
