#include "graph/signature.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "graph/composite.hpp"
#include "graph/elementwise.hpp"

namespace hologram::graph {
namespace {

constexpr uint64_t kGiven = uint64_t{1} << 63;    // a node that is there already
constexpr uint64_t kHeld = uint64_t{1} << 61;     // is_held
constexpr uint64_t kGathers = uint64_t{1} << 63;  // with the chunk of a reduction
constexpr uint64_t kWhole = uint64_t{1} << 62;    // an input that is looked at as it lies in memory

// Returns where it ends.
uint64_t* write(const Shape& shape, uint64_t* to) {
  for (const int64_t n : shape) *to++ = static_cast<uint64_t>(n);
  return to;
}

}  // namespace

bool is_held(const Node& node) {
  const auto may_be_product = [](const Node& n) {
    return n.kind == Kind::Opaque || n.kind == Kind::Composite;
  };
  const auto is_of_product = [&](const Input& input) {
    return may_be_product(*input.node) &&
           input.node->state.load(std::memory_order_acquire) == NodeState::Lazy;
  };
  if (!may_be_product(node) &&
      (node.kind != Kind::Elementwise ||
       std::none_of(node.inputs.begin(), node.inputs.end(), is_of_product)))
    return false;
  return node.references.load(std::memory_order_acquire) > 1;
}

GraphSignature::Places::Places(const std::vector<Node*>& nodes) : nodes_(nodes) {
  for (size_t i = 0; i < nodes.size(); i++) nodes[i]->slot = static_cast<uint32_t>(i);
}
GraphSignature::Places::~Places() {
  for (Node* node : nodes_) node->slot = UINT32_MAX;
}

bool GraphSignature::walk(std::span<Node* const> roots, bool tracing) {
  nodes_.clear();
  roots_.clear();
  key_.clear();
  path_.clear();
  // Also where there is no memory to go on.
  struct Clean {
    const std::vector<Node*>& nodes;
    ~Clean() {
      for (Node* node : nodes) node->slot = UINT32_MAX;
    }
  } clean{nodes_};
  bool known = true;
  for (Node* root : roots) {
    if (root->state.load(std::memory_order_acquire) == NodeState::Ready) continue;
    roots_.push_back(root);
    known = known && walk_from(root, tracing);
  }
  uint64_t* to = key_.room(roots_.size() + 1);
  for (const Node* root : roots_) *to++ = root->slot;
  *to++ = roots_.size();
  key_.end_at(to);
  return can_run_ = known;
}

GraphSignature::Met GraphSignature::meet(Node& node, bool tracing) {
  const NodeState state = node.state.load(std::memory_order_acquire);
  if (state == NodeState::Lazy && node.kind != Kind::Data) return Met::Lazy;
  if (state == NodeState::Failed || (state == NodeState::Lazy && !tracing)) return Met::Refused;
  describe_given(node);
  add(&node);
  return Met::Given;
}

bool GraphSignature::walk_from(Node* root, bool tracing) {
  if (root->slot != UINT32_MAX) return true;
  if (const Met met = meet(*root, tracing); met != Met::Lazy) return met == Met::Given;
  Stop at{root, 0};
  for (;;) {
    if (at.next < at.node->inputs.size()) {
      Node* const input = at.node->inputs[at.next++].node.get();
      if (input->slot != UINT32_MAX) continue;
      const Met met = meet(*input, tracing);
      if (met == Met::Refused) return false;
      if (met == Met::Given) continue;
      path_.push_back(at);
      at = {input, 0};
      continue;
    }
    describe(*at.node);
    add(at.node);
    if (path_.empty()) return true;
    at = path_.back();
    path_.pop_back();
  }
}

void GraphSignature::add(Node* node) {
  nodes_.push_back(node);
  node->slot = static_cast<uint32_t>(nodes_.size() - 1);
}

void GraphSignature::describe_given(const Node& node) {
  uint64_t* to = key_.room(1 + node.shape.size());
  *to++ = kGiven | node.shape.size() << 8 | static_cast<uint64_t>(node.dtype);
  key_.end_at(write(node.shape, to));
}

// Every field of a node that schedule, terms, layout and codegen look at, and whether somebody
// holds it where that matters; not the numbers that are arguments of a kernel, nor what an opaque
// node does.
void GraphSignature::describe(const Node& node) {
  const size_t inputs = node.inputs.size();
  uint64_t* to = key_.room(4 + node.shape.size() + node.attributes.size() + inputs);
  // There is still room for all inputs behind it.
  const auto write_view = [&](const View& view) {
    key_.end_at(to);
    to = key_.room(2 + view.shape.size() + view.strides.size() + inputs);
    *to++ = view.shape.size();
    to = write(view.shape, to);
    for (const int64_t s : view.strides) *to++ = static_cast<uint64_t>(s);
    *to++ = static_cast<uint64_t>(view.offset);
  };
  *to++ = static_cast<uint64_t>(node.kind) | static_cast<uint64_t>(node.dtype) << 8 |
          static_cast<uint64_t>(node.combine) << 16 | static_cast<uint64_t>(node.reduced) << 24 |
          uint64_t{node.shape.size()} << 32 | uint64_t{node.attributes.size()} << 40 |
          (is_held(node) ? kHeld : 0);
  *to++ = inputs | uint64_t{node.parts.size()} << 32;
  to = write(node.shape, to);
  if (node.kind == Kind::Elementwise) *to++ = reinterpret_cast<uintptr_t>(node.op);
  if (node.kind == Kind::Reduce)
    *to++ = static_cast<uint64_t>(node.chunk) | (node.combines_partials ? kGathers : 0);
  if (node.kind == Kind::Composite) {
    const auto& [op, numbers] = *node.meaning;
    key_.end_at(to);
    to = key_.room(2 + numbers.size() + node.attributes.size() + inputs);
    *to++ = reinterpret_cast<uintptr_t>(op);
    *to++ = numbers.size();
    for (const int64_t n : numbers) *to++ = static_cast<uint64_t>(n);
  }
  for (const Attribute& a : node.attributes) *to++ = static_cast<uint64_t>(a.type);
  for (const Input& input : node.inputs) {
    const View* const part = input.part();
    *to++ = (part == nullptr ? kWhole : 0) | input.node->slot;
    if (part != nullptr) write_view(*part);
  }
  for (const View& part : node.parts) write_view(part);
  key_.end_at(to);
}

void Key::grow(size_t more) {
  const size_t capacity = std::max(2 * capacity_, size_ + more);
  auto words = std::make_unique_for_overwrite<uint64_t[]>(capacity);
  std::copy_n(words_.get(), size_, words.get());
  words_ = std::move(words);
  capacity_ = capacity;
}

uint64_t GraphSignature::hash() const {
  return XXH3_64bits(key_.data(), key_.size() * sizeof(uint64_t));
}

}  // namespace hologram::graph
