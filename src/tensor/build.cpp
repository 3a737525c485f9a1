// How tensors become nodes of the graph.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/messages.hpp"
#include "fusion/kernel.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque_op.hpp"
#include "program/typing.hpp"
#include "tensor/elementwise_gradients.hpp"
#include "tensor/parts.hpp"

namespace hologram::tensor {

using core::Text;
using graph::Attribute;
using graph::Context;
using graph::ElementwiseOp;
using graph::Input;
using graph::Kind;
using graph::Node;
using graph::NodeRef;
using graph::NodeState;
using graph::Rule;
using graph::View;

namespace {

// Longer chains are computed on the way, so that the graph stays small.
constexpr uint32_t kDeepest = 256;

bool accepts(graph::Accepts accepts, DType t) {
  switch (accepts) {
    case graph::Accepts::Any: return true;
    case graph::Accepts::Number: return t != DType::Bool;
    case graph::Accepts::Integer: return is_integer(t);
    case graph::Accepts::IntegerOrBool: return !is_float(t);
    case graph::Accepts::Bool: return t == DType::Bool;
  }
  return false;
}

const char* words(graph::Accepts accepts) {
  switch (accepts) {
    case graph::Accepts::Any: return "any dtype";
    case graph::Accepts::Number: return "integers and floats";
    case graph::Accepts::Integer: return "integers";
    case graph::Accepts::IntegerOrBool: return "integers and bool";
    case graph::Accepts::Bool: return "bool";
  }
  return "";
}

DType common_dtype(std::span<const Operand* const> operands) {
  DType t = DType::None, number = DType::None;
  for (const Operand* o : operands) {
    if (o->is_number()) {
      number = number == DType::None ? o->kind() : std::max(number, o->kind());
    } else {
      const DType own = o->tensor().dtype();
      t = t == DType::None ? own : promote(t, own);
    }
  }
  return number == DType::None ? t : with_number(t, number);
}

Attribute of_whole(DType dtype, Whole number) {
  const DType t = compute_type(dtype);
  // One rounding: by way of f64 there would be two.
  if (t == DType::F32) return {t, std::bit_cast<uint32_t>(static_cast<float>(number))};
  if (t == DType::F64) return {t, std::bit_cast<uint64_t>(static_cast<double>(number))};
  if (t == DType::Bool) return {t, number != 0};
  if (!fits(dtype, number)) {
    const auto bits = static_cast<uint64_t>(number);
    throw number < 0 ? core::error(Text::NumberRange, static_cast<int64_t>(bits), name_of(dtype))
                     : core::error(Text::NumberRange, bits, name_of(dtype));
  }
  return wrapped(dtype, number);
}

}  // namespace

DType with_number(DType tensor, DType number) {
  if (number == DType::F64) return is_float(tensor) ? tensor : DType::F32;
  return tensor == DType::None || tensor == DType::Bool ? std::max(tensor, number) : tensor;
}

Whole whole_of(const Operand& number) {
  return number.kind() == DType::U64 ? Whole{static_cast<uint64_t>(number.integer())}
                                     : Whole{number.integer()};
}

bool fits(DType dtype, Whole number) {
  const auto bits = static_cast<int>(8 * size_of(dtype));
  if (is_unsigned_integer(dtype)) return number >= 0 && number >> bits == 0;
  const Whole high = number >> (bits - 1);
  return high == 0 || high == -1;
}

Attribute wrapped(DType dtype, Whole number) {
  const DType t = compute_type(dtype);
  const auto bits = static_cast<uint64_t>(number);
  return {t, size_of(t) == 4 ? bits & 0xffffffffu : bits};
}

Attribute attribute_of(DType dtype, int64_t number) { return of_whole(dtype, number); }

Attribute attribute_of(DType dtype, double number) {
  switch (compute_type(dtype)) {
    case DType::F64: return {DType::F64, std::bit_cast<uint64_t>(number)};
    case DType::F32: return {DType::F32, std::bit_cast<uint32_t>(static_cast<float>(number))};
    case DType::Bool: return {DType::Bool, number != 0};
    default:
      if (number != std::trunc(number) || std::fabs(number) > 0x1p64)
        throw core::error(Text::NumberRange, number, name_of(dtype));
      if (!fits(dtype, static_cast<Whole>(number)))
        throw core::error(Text::NumberRange, number, name_of(dtype));
      return wrapped(dtype, static_cast<Whole>(number));
  }
}

Attribute attribute_of(DType dtype, const Operand& number) {
  return number.kind() == DType::F64 ? attribute_of(dtype, number.real())
                                     : of_whole(dtype, whole_of(number));
}

namespace {

// The input that a tensor of another name stands for, or nothing.
std::optional<Input> original_of(const Tensor& tensor) {
  const Input* const original = Access::look(tensor).alias_of.get();
  if (original == nullptr) return {};
  const View* const part = Access::part(tensor);
  if (part == nullptr) return *original;
  auto view = graph::composed(original->view(), *part);
  if (!view) return {};
  return std::optional<Input>(std::in_place, original->node, std::move(*view));
}

}  // namespace

Tensor without_alias(const Tensor& tensor) {
  auto original = original_of(tensor);
  if (!original) return tensor;
  View view = original->view();
  return Access::make(std::move(original->node), std::move(view));
}

Input input_of(const Tensor& tensor) {
  if (auto original = original_of(tensor)) return *std::move(original);
  if (Access::part(tensor) == nullptr) return Input(Access::node(tensor));
  return {Access::node(tensor), Access::view(tensor)};
}

Input input_of(Tensor&& tensor) {
  if (Access::look(tensor).alias_of != nullptr) return input_of(std::as_const(tensor));
  if (Access::part(tensor) == nullptr) return Input(Access::node(std::move(tensor)));
  View view = Access::view(tensor);
  return {Access::node(std::move(tensor)), std::move(view)};
}

namespace {

// Its shape is known to be that of a tensor.
Tensor taken(std::unique_ptr<Node> node) {
  uint32_t depth = 0;
  for (const Input& input : node->inputs)
    if (input.node->state.load(std::memory_order_acquire) == NodeState::Lazy) {
      depth = std::max(depth, input.node->depth.load(std::memory_order_relaxed) + 1);
      node->traced = node->traced || input.node->traced;
    }
  node->depth.store(depth, std::memory_order_relaxed);
  const bool deep = depth >= kDeepest && !node->traced;
  if (node->inputs.empty()) node->keep_context();
  NodeRef made = NodeRef::adopt(node.release());
  if (deep) {
    Node* const root = made.get();
    root->context->evaluate({&root, 1});
  }
  return Access::make(std::move(made));
}

}  // namespace

Tensor finish(std::unique_ptr<Node> node) {
  count_of(node->shape);
  // The others may become part of a kernel, and never be in memory, unless no memory could hold
  // them.
  const bool kept = node->kind == Kind::Opaque || node->kind == Kind::Assemble;
  if (kept || graph::bytes_of(*node) >> 48 != 0) node->context->require_room(*node);
  return taken(std::move(node));
}

Tensor make_source(const ElementwiseOp& op, DType dtype, const Shape& shape,
                   InlineVector<Attribute, 2> attributes, Context& context) {
  auto node = std::make_unique<Node>(Kind::Elementwise, context, dtype, shape);
  node->op = &op;
  node->attributes = std::move(attributes);
  return finish(std::move(node));
}

Tensor full_like_number(const Operand& number, DType dtype, Context& context) {
  return make_source(graph::source::kFull, dtype, {}, {attribute_of(dtype, number)}, context);
}

Tensor cast_to(const Tensor& tensor, DType dtype) {
  if (dtype == DType::None)
    throw core::error(Text::OperandDType, "cast", name_of(dtype), "a dtype");
  if (tensor.dtype() == dtype) return tensor;
  auto node = std::make_unique<Node>(Kind::Elementwise, context_of(tensor), dtype, tensor.shape());
  node->op = &graph::source::kCast;
  node->inputs.push_back(input_of(tensor));
  Tensor made = finish(std::move(node));
  if (is_recording()) record_same(tensor, made);
  return made;
}

Tensor cast_to(Tensor&& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return std::move(tensor);
  return cast_to(std::as_const(tensor), dtype);
}

namespace {

Tensor copied(const Tensor& tensor) {
  const Node& node = Access::look(tensor);
  auto copy = std::make_unique<Node>(Kind::Elementwise, *node.context, node.dtype, tensor.shape());
  copy->op = &graph::source::kCopy;
  copy->inputs.push_back(input_of(tensor));
  Tensor made = finish(std::move(copy));
  if (is_recording()) record_same(tensor, made);
  return made;
}

// Dense from some element of its node on, from which the device can be given it.
bool is_part(const Tensor& tensor) {
  View view = Access::view(tensor);
  const uint64_t start = static_cast<uint64_t>(view.offset) * size_of(tensor.dtype());
  if (view.offset < 0 || start % context_of(tensor).device().binding_alignment != 0) return false;
  view.offset = 0;
  return graph::is_dense(view);
}

}  // namespace

bool is_whole(const Tensor& tensor) {
  return graph::is_dense(Access::view(tensor)) &&
         tensor.size() == graph::element_count(Access::look(tensor).shape);
}

// An input that stands for another is replaced by that, which has to be dense, too.
Tensor dense(const Tensor& tensor) {
  if (is_whole(tensor) && is_whole(without_alias(tensor))) return tensor;
  return copied(tensor);
}

Tensor dense_part(const Tensor& tensor) {
  return is_part(without_alias(tensor)) ? tensor : dense(tensor);
}

Shape broadcast_shape(std::string_view operation, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t k = 1; k <= out.size(); k++) {
    const int64_t x = k <= a.size() ? a[a.size() - k] : 1, y = k <= b.size() ? b[b.size() - k] : 1;
    if (x != y && x != 1 && y != 1)
      throw core::error(Text::Broadcast, operation, to_string(a), to_string(b));
    out[out.size() - k] = x == 1 ? y : x;
  }
  return out;
}

namespace {

using Pointers = InlineVector<const Tensor*, 4>;

bool are_apart(const Pointers& tensors) {
  for (const Tensor* t : tensors)
    if (&context_of(*t) != &context_of(*tensors.front())) return true;
  return false;
}

// Another input: the tensor's elements, repeated to the node's shape.
void add_input(Node& node, const Tensor& tensor) {
  if (Access::look(tensor).alias_of != nullptr)
    return node.inputs.push_back(input_of(tensor.broadcast_to(node.shape)));
  if (tensor.shape() != node.shape)
    node.inputs.emplace_back(Access::node(tensor),
                             graph::expanded(Access::view(tensor), node.shape));
  else if (const View* const part = Access::part(tensor))
    node.inputs.emplace_back(Access::node(tensor), View(*part));
  else node.inputs.emplace_back(Access::node(tensor));
}

// A node of this dtype that lacks its inputs.
std::unique_ptr<Node> node_of(const ElementwiseOp& op, std::span<const double> attributes,
                              DType dtype, const Shape& shape, Context& context) {
  auto node = std::make_unique<Node>(Kind::Elementwise, context,
                                     op.rule == Rule::Test ? DType::Bool : dtype, shape);
  node->op = &op;
  for (size_t k = 0; k < op.attribute_count; k++)
    node->attributes.push_back(
        attribute_of(dtype, k < attributes.size() ? attributes[k] : op.attributes[k].otherwise));
  node->inputs.reserve(op.arity);
  return node;
}

// The node of the first operand, if all are whole tensors of its dtype, shape and context, which
// the operation takes as they are: nothing is promoted, repeated or moved. Else null.
const Node* alike(const ElementwiseOp& op, std::span<const Operand* const> operands) {
  if (op.rule == Rule::Choice || op.rule == Rule::Shift) return nullptr;
  const Node* first = nullptr;
  for (const Operand* o : operands) {
    if (o->is_number()) return nullptr;
    const Node& node = Access::look(o->tensor());
    if (Access::part(o->tensor()) != nullptr) return nullptr;
    if (first == nullptr) first = &node;
    if (node.dtype != first->dtype || node.context != first->context || node.shape != first->shape)
      return nullptr;
  }
  if (first == nullptr || !accepts(op.accepts, first->dtype)) return nullptr;
  return op.rule == Rule::Float && !is_float(first->dtype) ? nullptr : first;
}

// A power that a number says is small: products are as near in a tenth of the time.
std::optional<Tensor> small_power(const Operand& base, const Operand& exponent, DType dtype) {
  static const ElementwiseOp &square = graph::elementwise("square"),
                             &mul = graph::elementwise("mul");
  if (base.is_number() || !exponent.is_number() || base.tensor().dtype() != dtype) return {};
  const double n = exponent.real();
  if (n != 2 && n != 3 && n != 4) return {};
  const Operand squared(tensor::apply(square, std::array{&base}));
  if (n == 2) return squared.tensor();
  return n == 3 ? tensor::apply(mul, std::array{&squared, &base})
                : tensor::apply(square, std::array{&squared});
}

}  // namespace

Tensor apply(const ElementwiseOp& op, std::span<const Operand> operands,
             std::span<const double> attributes) {
  InlineVector<const Operand*, 4> list;
  for (const Operand& o : operands) list.push_back(&o);
  return apply(op, std::span<const Operand* const>(list), attributes);
}

Tensor apply(const ElementwiseOp& op, std::span<const Operand* const> operands,
             std::span<const double> attributes) {
  if (operands.size() != op.arity)
    throw core::error(Text::OperandArguments, op.name, op.arity, operands.size(), op.parameters);
  if (const Node* const like = alike(op, operands)) {
    auto node = node_of(op, attributes, like->dtype, like->shape, *like->context);
    for (const Operand* o : operands) add_input(*node, o->tensor());
    Tensor made = taken(std::move(node));
    if (is_recording()) {
      Tensors all;
      for (const Operand* o : operands) all.push_back(o->tensor());
      record_elementwise(op, attributes, std::move(all), made);
    }
    return made;
  }
  // What is promoted together; the rest keeps its dtype.
  std::span<const Operand* const> equal = operands;
  if (op.rule == Rule::Choice) equal = operands.subspan(1);
  if (op.rule == Rule::Shift) equal = operands.first(1);
  DType dtype = common_dtype(equal);
  if (!accepts(op.accepts, dtype))
    if (op.rule != Rule::Float || dtype != DType::Bool)
      throw core::error(Text::OperandDType, op.name, name_of(dtype), words(op.accepts));
  if (op.rule == Rule::Float && !is_float(dtype)) dtype = DType::F32;
  if (static const ElementwiseOp& pow = graph::elementwise("pow"); &op == &pow)
    if (auto power = small_power(*operands[0], *operands[1], dtype)) return *std::move(power);

  Pointers tensors;
  for (const Operand* o : operands)
    if (!o->is_number()) tensors.push_back(&o->tensor());
  std::vector<Tensor> moved;  // to one executor
  if (are_apart(tensors)) {
    for (const Tensor* t : tensors) moved.push_back(*t);
    moved = together(op.name, std::move(moved));
    for (size_t i = 0; i < moved.size(); i++) tensors[i] = &moved[i];
  }
  std::shared_ptr<Context> of_default;
  if (tensors.empty()) of_default = Context::of(default_executor());
  Context& context = tensors.empty() ? *of_default : context_of(*tensors.front());

  Pointers inputs;
  InlineVector<Tensor, 4> made;  // out of numbers and casts
  made.reserve(operands.size());
  size_t next = 0;
  for (size_t i = 0; i < operands.size(); i++) {
    const Operand& operand = *operands[i];
    DType wanted = dtype;
    if (op.rule == Rule::Choice && i == 0) wanted = DType::Bool;
    if (op.rule == Rule::Shift && i == 1) {
      wanted = operand.is_number() ? DType::I64 : operand.tensor().dtype();
      if (!is_integer(wanted))
        throw core::error(Text::OperandDType, op.name, name_of(wanted), words(op.accepts));
    }
    if (operand.is_number()) {
      inputs.push_back(&made.emplace_back(full_like_number(operand, wanted, context)));
      continue;
    }
    const Tensor& t = *tensors[next++];
    if (op.rule == Rule::Choice && i == 0 && t.dtype() != DType::Bool)
      throw core::error(Text::ConditionDType, name_of(t.dtype()));
    inputs.push_back(t.dtype() == wanted ? &t : &made.emplace_back(cast_to(t, wanted)));
  }
  Shape shape = inputs.empty() ? Shape() : inputs.front()->shape();
  for (const Tensor* t : inputs)
    if (t->shape() != shape) shape = broadcast_shape(op.name, shape, t->shape());

  auto node = node_of(op, attributes, dtype, shape, context);
  for (const Tensor* t : inputs) add_input(*node, *t);
  Tensor result = finish(std::move(node));
  if (is_recording()) {
    Tensors all;
    for (const Tensor* t : inputs) all.push_back(*t);
    record_elementwise(op, attributes, std::move(all), result);
  }
  return result;
}

Tensor apply_internal(const ElementwiseOp& op, DType dtype, std::initializer_list<Tensor> operands,
                      std::initializer_list<double> attributes) {
  Shape shape = operands.begin()->shape();
  for (const Tensor& t : operands)
    if (t.shape() != shape) shape = broadcast_shape(op.name, shape, t.shape());
  auto node =
      std::make_unique<Node>(Kind::Elementwise, context_of(*operands.begin()), dtype, shape);
  node->op = &op;
  const DType number = dtype == DType::Bool ? operands.begin()->dtype() : dtype;
  for (const double a : attributes) node->attributes.push_back(attribute_of(number, a));
  for (const Tensor& t : operands) add_input(*node, t);
  return finish(std::move(node));
}

Tensor make_opaque(std::unique_ptr<const graph::OpaqueOp> work, DType dtype, const Shape& shape,
                   std::span<Tensor> inputs) {
  auto node = std::make_unique<Node>(Kind::Opaque, context_of(inputs.front()), dtype, shape);
  node->work = std::move(work);
  for (Tensor& t : inputs) node->inputs.push_back(input_of(std::move(t)));
  return finish(std::move(node));
}

Tensor assemble(DType dtype, const Shape& shape, const std::vector<Part>& parts, Context& context) {
  auto node = std::make_unique<Node>(Kind::Assemble, context, dtype, shape);
  for (const Part& part : parts) {
    node->inputs.push_back(input_of(cast_to(part.tensor, dtype)));
    node->parts.push_back(part.to);
  }
  return finish(std::move(node));
}

}  // namespace hologram::tensor
