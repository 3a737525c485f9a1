#include "graph/node.hpp"

#include <fmt/format.h>

#include "graph/elementwise.hpp"
#include "graph/work.hpp"

namespace hologram::graph {
namespace {

void release(Node* last) {
  // Nodes whose last reference fell while one was being freed wait here, so that a chain of a
  // million is a loop and not a recursion. The list needs no memory: there may be none.
  thread_local Node* waiting = nullptr;
  thread_local bool freeing = false;
  last->next_waiting = std::exchange(waiting, last);
  if (freeing) return;
  freeing = true;
  while (waiting != nullptr) {
    const std::unique_ptr<Node> node(waiting);
    waiting = node->next_waiting;
  }
  freeing = false;
}

void let_go(Node* node) {
  // Who holds the only reference is alone: nobody can take another one meanwhile.
  if (node->references.load(std::memory_order_acquire) == 1 ||
      node->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    release(node);
}

}  // namespace

NodeRef::NodeRef(Node* node) : node_(node) {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}
NodeRef::NodeRef(const NodeRef& other) : NodeRef(other.node_) {}
NodeRef::~NodeRef() {
  if (node_ != nullptr) let_go(node_);
}

Node::Node(Kind kind, std::shared_ptr<Context> context, DType dtype, Shape shape)
    : kind(kind), dtype(dtype), shape(std::move(shape)), context(std::move(context)) {}
Node::~Node() = default;

std::string describe(const Node& node) {
  std::string_view name = "data";
  switch (node.kind) {
    case Kind::Data: break;
    case Kind::Elementwise: name = node.op->name; break;
    case Kind::Reduce: name = node.combine == program::Combine::Add ? "sum" : "reduce"; break;
    case Kind::Assemble: name = "assemble"; break;
    case Kind::Opaque: name = node.work->name(); break;
  }
  return fmt::format("{} {} {}", name, to_string(node.shape), name_of(node.dtype));
}

}  // namespace hologram::graph
