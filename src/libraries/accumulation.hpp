// What hologram's own products and convolutions have in common.
#pragma once

#include <string>

#include "hologram/builder.hpp"

namespace hologram::libraries {

// Terms of a partial sum: in every such program alike, so that the bits are. As many as the fastest
// libraries take: with 64, errors are half as large up to some 1,000 terms, and larger from 4,096
// on, but the sums of parts cost a processor 2 to 5 % of its time.
inline constexpr int64_t kTermsOfBlock = 256;

// Terms and their sums in the type that they are accumulated in; of bools, `and` and `or`.
class Accumulation {
 public:
  Accumulation(program::Builder& b, DType type) : b_(b), type_(type) {}

  program::Value zero() const;
  program::Value cast(program::Value value, DType type) const;
  program::Value load(program::Buf buffer, program::Value index) const;
  program::Value add(program::Value x, program::Value y) const;
  program::Value multiply_add(program::Value x, program::Value y, program::Value sum) const;

 private:
  program::Builder& b_;
  const DType type_;
};

// A matrix in a program: a buffer, and its layout as scalars.
struct MatrixOperand {
  program::Buf buffer{};
  program::Value start, row, column, batch;
};

// The scalars of the layout, in this order and of the type of indices: a_start, a_row, a_column,
// a_batch.
void declare_layout(program::Builder& b, const std::string& letter, MatrixOperand& matrix);

}  // namespace hologram::libraries
