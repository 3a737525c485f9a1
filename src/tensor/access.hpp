// The inside of a Tensor, for the rooms that make them.
#pragma once

#include <array>
#include <span>

#include "engine/context.hpp"
#include "hologram/tensor.hpp"

namespace hologram::graph {

struct TensorAccess {
  static Tensor make(NodeRef node);
  static Tensor make(NodeRef node, View view);
  static NodeRef node(const Tensor& tensor) { return NodeRef(&look(tensor)); }
  static NodeRef node(Tensor&& tensor);  // takes it: to count owners costs a locked access each
  // The same, held by the tensor alone.
  static Node& look(const Tensor& tensor) {
    if (tensor.node_ == nullptr) throw_no_tensor();
    return *tensor.node_;
  }
  static View view(const Tensor& tensor);
  // The same, or null if it is all of the node's result as it lies in memory.
  static const View* part(const Tensor& tensor) { return tensor.view_.get(); }

 private:
  [[noreturn]] static void throw_no_tensor();
};

}  // namespace hologram::graph

namespace hologram::tensor {

using Access = graph::TensorAccess;

// The node as an input to others: all of the tensor, in its own coordinates.
graph::Input input_of(const Tensor& tensor);
graph::Input input_of(Tensor&& tensor);
// The tensor that one of another name stands for: to be looked at, not to be recorded.
Tensor without_alias(const Tensor& tensor);
inline graph::Context& context_of(const Tensor& tensor) { return *Access::look(tensor).context; }

// Takes the node, once it is complete, into the graph; evaluates where that has grown long.
Tensor finish(std::unique_ptr<graph::Node> node);

using AxisList = InlineVector<int, kMaxRank>;

// `axis` of so many, counted from the last if negative. ShapeMismatch names `operation`.
int checked_axis(std::string_view operation, int axis, int rank);
// Each axis once, in ascending order; all of them if the list is empty.
AxisList checked_axes(std::string_view operation, std::span<const int> wanted, int rank);

Tensor cast_to(const Tensor& tensor, DType dtype);
Tensor cast_to(Tensor&& tensor, DType dtype);
// The tensor in this dtype: itself, which has to outlive this, or a conversion.
class Converted {
 public:
  Converted(const Tensor& tensor, DType dtype)
      : made_(tensor.dtype() == dtype ? Tensor() : cast_to(tensor, dtype)),
        is_(tensor.dtype() == dtype ? tensor : made_) {}
  Converted(const Converted&) = delete;
  Converted& operator=(const Converted&) = delete;
  const Tensor& operator*() const { return is_; }

 private:
  Tensor made_;
  const Tensor& is_;
};

// A row of the table applied: operands promoted, broadcast and, by the documented rule, brought to
// one device.
Tensor apply(const graph::ElementwiseOp& op, std::span<const Operand* const> operands,
             std::span<const double> attributes = {});
Tensor apply(const graph::ElementwiseOp& op, std::span<const Operand> operands,
             std::span<const double> attributes = {});

// The shape that both are repeated to; ShapeMismatch.
Shape broadcast_shape(std::string_view operation, const Shape& a, const Shape& b);

// A tensor from nothing.
Tensor make_source(const graph::ElementwiseOp& op, DType dtype, const Shape& shape,
                   InlineVector<graph::Attribute, 2> attributes, graph::Context& context);
// What a tensor and a number, of the kind Bool, I64, U64 or F64, are brought to: the tensor's dtype
// unless that is of a lesser kind. Without a tensor, None, what the number is by itself.
DType with_number(DType tensor, DType number);
// Every integer that a number of C++ or of an expression may be, and their sums and products.
using Whole = __int128;
Whole whole_of(const Operand& number);  // of an integer, or of a bool 0 or 1
bool fits(DType dtype, Whole number);   // whether an integer dtype holds it
// The number modulo the width of an integer dtype.
graph::Attribute wrapped(DType dtype, Whole number);
// The number as an attribute of a tensor of this dtype; InvalidArgument if it does not fit.
graph::Attribute attribute_of(DType dtype, const Operand& number);
graph::Attribute attribute_of(DType dtype, double number);
graph::Attribute attribute_of(DType dtype, int64_t number);
Tensor full_like_number(const Operand& number, DType dtype, graph::Context& context);

// Combines along axes, which go, or stay with a length of 1.
Tensor reduce(const Tensor& tensor, program::Combine combine, std::span<const int> axes,
              bool keepdims = false);
// The same; axes stay. `guard`, a bool for each row in the shape of the result, says whose result
// will be looked at: the others are unspecified, and need not be computed.
Tensor reduce_where(const Tensor& guard, const Tensor& tensor, program::Combine combine,
                    std::span<const int> axes);

// A row of the table of one of our own, over operands that are there as it wants them: of one
// shape, or repeated to one, and on one device. Attributes have the type of `dtype`.
Tensor apply_internal(const graph::ElementwiseOp& op, DType dtype,
                      std::initializer_list<Tensor> operands,
                      std::initializer_list<double> attributes = {});

// The same value, dense in memory, if it is read as a view that is not.
Tensor dense(const Tensor& tensor);

// Brings tensors to one executor.
std::vector<Tensor> together(std::string_view operation, std::vector<Tensor> tensors);

// A node with a Work over inputs that are dense in memory, which it takes.
Tensor make_opaque(std::unique_ptr<const graph::OpaqueOp> work, DType dtype, const Shape& shape,
                   std::span<Tensor> inputs);
template <class... Inputs>
Tensor make_opaque(std::unique_ptr<const graph::OpaqueOp> work, DType dtype, const Shape& shape,
                   Inputs... inputs) {
  std::array<Tensor, sizeof...(inputs)> all = {std::move(inputs)...};
  return make_opaque(std::move(work), dtype, shape, std::span<Tensor>(all));
}

// A result put together from parts; they are written in order, `views` says where.
struct Part {
  Tensor tensor;
  graph::View to;
};
Tensor assemble(DType dtype, const Shape& shape, const std::vector<Part>& parts,
                graph::Context& context);

}  // namespace hologram::tensor
