#include "hologram/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "core/messages.hpp"
#include "core/out_of_memory.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque_op.hpp"
#include "hologram/elementwise.hpp"
#include "tensor/tape.hpp"

namespace hologram {

using core::Text;
using graph::Node;
using graph::NodeRef;
using graph::NodeState;
using graph::View;
using tensor::Access;

namespace {

struct Default {
  std::mutex mutex;
  std::shared_ptr<const Executor> executor;
};
// Never destroyed: tensors of static storage may outlive it.
Default& the_default() {
  static auto* instance = new Default;
  return *instance;
}

// Of memory that is ready.
Tensor made_of(graph::Context& context, DType dtype, const Shape& shape, graph::Storage storage) {
  auto node = std::make_unique<Node>(graph::Kind::Data, context, dtype, shape);
  node->result = std::move(storage);
  node->state = NodeState::Ready;
  return Access::make(NodeRef::adopt(node.release()));
}

}  // namespace

const Executor& default_executor() {
  Default& d = the_default();
  const std::lock_guard lock(d.mutex);
  if (d.executor == nullptr) d.executor = std::make_shared<const Executor>();
  return *d.executor;
}

const Executor& executor_of(BackendType backend) {
  const Executor& usual = default_executor();
  if (backend == BackendType::Auto || usual.device().backend == backend) return usual;
  // Never taken down: tensors may outlive everything else.
  static auto* const made = new std::map<BackendType, Executor>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto at = made->find(backend);
  return at != made->end() ? at->second : made->emplace(backend, Executor(backend)).first->second;
}

void set_default_executor(const Executor& executor) {
  Default& d = the_default();
  auto made = std::make_shared<const Executor>(executor);
  const std::lock_guard lock(d.mutex);
  // Somebody may hold the reference that default_executor gave: what was, stays.
  static auto* former = new std::vector<std::shared_ptr<const Executor>>;
  if (d.executor != nullptr) former->push_back(std::move(d.executor));
  d.executor = std::move(made);
}

namespace graph {

Tensor TensorAccess::make(NodeRef node) {
  Tensor t;
  t.node_ = node.release();
  return t;
}
Tensor TensorAccess::make(NodeRef node, View view) {
  Tensor t = make(std::move(node));
  if (!(view.shape == t.node_->shape && is_dense(view)))
    t.view_ = std::make_shared<const View>(std::move(view));
  return t;
}
NodeRef TensorAccess::node(Tensor&& tensor) {
  look(tensor);
  return NodeRef::adopt(std::exchange(tensor.node_, nullptr));
}
View TensorAccess::view(const Tensor& tensor) {
  return tensor.view_ ? *tensor.view_ : dense_view(look(tensor).shape);
}
void TensorAccess::throw_no_tensor() { throw core::error(Text::NoTensor); }

}  // namespace graph

Tensor::Tensor(const Tensor& other) : node_(NodeRef(other.node_).release()), view_(other.view_) {}
Tensor& Tensor::operator=(const Tensor& other) & { return *this = Tensor(other); }
Tensor& Tensor::operator=(Tensor&& other) & noexcept {
  std::swap(node_, other.node_);
  std::swap(view_, other.view_);
  return *this;
}
void Tensor::release_node() noexcept { NodeRef::adopt(node_); }

Tensor Tensor::from(const Array& array, const Executor& executor) {
  if (array.dtype() == DType::None) throw core::error(Text::NoTensor);
  std::shared_ptr<graph::Context> context = graph::Context::of(executor);
  graph::Storage storage = context->adopt(array);
  return made_of(*context, array.dtype(), array.shape(), std::move(storage));
}

Tensor Tensor::from_device_pointer(void* memory, Shape shape, DType dtype,
                                   std::function<void(void*)> release, const Executor& executor) {
  if (dtype == DType::None) throw core::error(Text::NoTensor);
  // Checks the shape, and touches nothing.
  const Array described = Array::borrow(dtype, std::move(shape), static_cast<const void*>(memory));
  std::shared_ptr<graph::Context> context = graph::Context::of(executor);
  const uint64_t bytes = described.bytes();
  auto answer = executor.state()->device->borrow(memory, bytes, std::move(release));
  if (const auto* refusal = std::get_if<hal::Refusal>(&answer))
    throw core::error(Text::NotDeviceMemory, memory, executor.device().name, refusal->reason);
  std::shared_ptr<hal::Buffer> buffer = std::move(std::get<std::unique_ptr<hal::Buffer>>(answer));
  const hal::Binding where{buffer.get(), 0, bytes};
  return made_of(*context, dtype, described.shape(), {std::move(buffer), where});
}

DType Tensor::dtype() const { return Access::look(*this).dtype; }
const Shape& Tensor::shape() const {
  if (node_ == nullptr) throw core::error(Text::NoTensor);
  return view_ ? view_->shape : node_->shape;
}
int64_t Tensor::size() const { return graph::element_count(shape()); }
int64_t Tensor::size(int axis) const {
  return shape()[static_cast<size_t>(tensor::checked_axis("size", axis, rank()))];
}
Executor Tensor::executor() const { return tensor::context_of(*this).handle(); }

bool Tensor::ready() const {
  return Access::look(*this).state.load(std::memory_order_acquire) == NodeState::Ready;
}

const Tensor& Tensor::eval() const {
  Node* const root = &Access::look(*this);
  if (root->state.load(std::memory_order_acquire) != NodeState::Ready)
    core::or_out_of_memory([&] { root->context->evaluate({&root, 1}); });
  return *this;
}

Array Tensor::array() const {
  return core::or_out_of_memory([&] {
    const Tensor flat = tensor::dense(*this);
    flat.eval();
    const NodeRef node = Access::node(flat);
    return node->context->read(*node).reshaped(shape());
  });
}

DeviceMemory Tensor::device_memory() const {
  return core::or_out_of_memory([&] {
    const Tensor flat = tensor::dense(*this);
    flat.eval();
    return Access::node(flat)->context->lend(*Access::node(flat));
  });
}

Array Tensor::one_as(DType dtype) const {
  if (size() != 1) throw core::error(Text::NotOneElement, to_string(shape()));
  return core::or_out_of_memory([&] { return reshape({}).to(dtype).array(); });
}

void Tensor::copy_bytes_to(DType dtype, void* to, size_t count) const {
  if (dtype != this->dtype())
    throw core::error(Text::ReadDType, name_of(this->dtype()), name_of(dtype));
  if (static_cast<int64_t>(count) != size()) throw core::error(Text::ReadCount, size(), count);
  core::or_out_of_memory([&] {
    const Tensor flat = tensor::dense(*this);
    flat.eval();
    const NodeRef node = Access::node(flat);
    node->context->read(*node, static_cast<std::byte*>(to));
  });
}

Tensor& Tensor::assign(const Operand& value) & {
  return core::or_out_of_memory([&]() -> Tensor& {
    const NodeRef old = Access::node(*this);
    const Tensor given = value.is_number() ? tensor::full_like_number(value, dtype(), *old->context)
                                           : value.tensor().to(dtype());
    const Tensor made = tensor::dense(given.broadcast_to(shape()).to(executor()));
    const NodeRef node = Access::node(made);
    // Held by this handle and by `old` alone, the memory is nobody else's.
    const bool ours = old->references.load(std::memory_order_acquire) == 2 && node != old &&
                      old->state.load(std::memory_order_acquire) == NodeState::Ready &&
                      old->result.pooled && old->result.owner.use_count() == 1 &&
                      graph::bytes_of(*old) == graph::bytes_of(*node);
    if (ours && !node->traced) node->context->evaluate_into(*node, *old);
    else made.eval();
    return *this = made;
  });
}

Tensor& Tensor::operator+=(const Operand& other) & { return *this = ops::add(*this, other); }
Tensor& Tensor::operator-=(const Operand& other) & { return *this = ops::sub(*this, other); }
Tensor& Tensor::operator*=(const Operand& other) & { return *this = ops::mul(*this, other); }
Tensor& Tensor::operator/=(const Operand& other) & { return *this = ops::div(*this, other); }

Tensor Tensor::to(DType dtype) const { return tensor::cast_to(*this, dtype); }

Tensor Tensor::to(BackendType backend) const { return to(executor_of(backend)); }

Tensor Tensor::to(const Executor& executor) const {
  if (executor.state() == this->executor().state()) return *this;
  Tensor moved = core::or_out_of_memory([&] {
    const Tensor flat = tensor::dense(*this);
    flat.eval();
    const NodeRef node = Access::node(flat);
    std::shared_ptr<graph::Context> context = graph::Context::of(executor);
    if (auto brought = context->bring(*node))
      return made_of(*context, dtype(), shape(), std::move(*brought));
    return from(array(), executor);
  });
  if (tensor::is_recording())
    tensor::record({*this}, {moved}, [home = this->executor()](const auto& g, const auto&) {
      return tensor::Tensors{g.front().to(home)};
    });
  return moved;
}

void eval(const std::vector<Tensor>& tensors) {
  core::or_out_of_memory([&] {
    // By context, in the order of their first tensor.
    std::vector<std::pair<graph::Context*, std::vector<Node*>>> groups;
    for (const Tensor& t : tensors) {
      const NodeRef node = Access::node(t);
      auto at = std::find_if(groups.begin(), groups.end(),
                             [&](const auto& g) { return g.first == node->context; });
      if (at == groups.end()) at = groups.insert(at, {node->context, {}});
      at->second.push_back(node.get());
    }
    for (auto& [context, nodes] : groups) context->evaluate(nodes);
  });
}
void eval(std::initializer_list<Tensor> tensors) {
  core::or_out_of_memory([&] { eval(std::vector<Tensor>(tensors)); });
}

std::string explain(const std::vector<Tensor>& tensors, ExplainOptions options) {
  std::string text;
  for (const Tensor& t : tensors) {
    // One after the other only where they are on different executors.
    const NodeRef node = Access::node(t);
    if (node->context != Access::node(tensors.front())->context) text += explain(t, options);
  }
  std::vector<Node*> nodes;
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) {
    if (Access::node(t)->context != Access::node(tensors.front())->context) continue;
    flat.push_back(tensor::dense(t));
    nodes.push_back(Access::node(flat.back()).get());
  }
  if (nodes.empty()) return text;
  return nodes.front()->context->explain(nodes, options) + text;
}

}  // namespace hologram
