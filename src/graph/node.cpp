#include "graph/node.hpp"

#include <fmt/format.h>

#include "core/spare_memory.hpp"
#include "graph/composite.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque_op.hpp"

namespace hologram::graph {
namespace {

// Nodes whose last reference fell while one was being freed wait here, so that a chain of a million
// is a loop and not a recursion. The list needs no memory: there may be none.
struct Freeing {
  Node* waiting = nullptr;
  bool under_way = false;
};
#if defined(__linux__)
// Few bytes, which a library that is opened late finds room for: no call for each access.
[[gnu::tls_model("initial-exec")]]
#endif
constinit thread_local Freeing t_freeing;

}  // namespace

View Input::view() const { return whole_ ? dense_view(node->shape) : view_; }

const View* Input::part() const {
  if (whole_) return nullptr;
  if (view_.offset != 0 || view_.shape != node->shape) return &view_;
  int64_t step = 1;
  for (size_t k = view_.shape.size(); k-- > 0; step *= view_.shape[k])
    if (view_.strides[k] != step) return &view_;
  return nullptr;
}

hal::Binding Input::where() const {
  hal::Binding from = node->result.where;
  const uint64_t skipped = static_cast<uint64_t>(offset()) * size_of(node->dtype);
  from.offset += skipped;
  from.size -= skipped;
  return from;
}

void free(Node* last) noexcept {
  Freeing& freeing = t_freeing;
  last->next_waiting = std::exchange(freeing.waiting, last);
  if (freeing.under_way) return;
  freeing.under_way = true;
  while (freeing.waiting != nullptr)
    delete std::exchange(freeing.waiting, freeing.waiting->next_waiting);
  freeing.under_way = false;
}

void* Node::operator new(size_t) { return core::SpareMemory<Node>::take(); }
void Node::operator delete(void* memory) noexcept { core::SpareMemory<Node>::give(memory); }

Node::Node(Kind kind, Context& context, DType dtype, const Shape& shape)
    : kind(kind), dtype(dtype), shape(shape), context(&context) {
  if (kind == Kind::Data) keep_context();
}
Node::~Node() = default;

void Node::keep_context() {
  if (kept_context == nullptr) kept_context = shared(*context);
}

void become_ready(Node& node) {
  node.depth.store(0, std::memory_order_relaxed);
  node.keep_context();
  node.inputs.reset();
  node.parts.clear();
  node.state.store(NodeState::Ready, std::memory_order_release);
}

std::string describe(const Node& node) {
  std::string_view name = "data";
  switch (node.kind) {
    case Kind::Data: break;
    case Kind::Elementwise: name = node.op->name; break;
    case Kind::Reduce: name = node.combine == program::Combine::Add ? "sum" : "reduce"; break;
    case Kind::Assemble: name = "assemble"; break;
    case Kind::Opaque: name = node.work->name(); break;
    case Kind::Composite: name = node.meaning->op->name; break;
  }
  return fmt::format("{} {} {}", name, to_string(node.shape), name_of(node.dtype));
}

}  // namespace hologram::graph
