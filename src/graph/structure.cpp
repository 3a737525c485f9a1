#include "graph/structure.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "graph/elementwise.hpp"

namespace hologram::graph {
namespace {

constexpr uint64_t kGiven = uint64_t{1} << 63;  // a node that is there already
constexpr uint64_t kHeld = uint64_t{1} << 61;   // is_held
constexpr uint64_t kWhole = uint64_t{1} << 62;  // an input that is looked at as it lies in memory

// A product, or what reads one, that somebody may ask for later.
bool is_held(const Node& node) {
  const auto is_opaque = [](const Input& input) {
    return input.node->kind == Kind::Opaque &&
           input.node->state.load(std::memory_order_acquire) == NodeState::Lazy;
  };
  if (node.kind != Kind::Opaque &&
      (node.kind != Kind::Elementwise ||
       std::none_of(node.inputs.begin(), node.inputs.end(), is_opaque)))
    return false;
  return node.references.load(std::memory_order_acquire) > 1;
}

}  // namespace

Structure::Places::Places(const std::vector<Node*>& nodes) : nodes_(nodes) {
  for (size_t i = 0; i < nodes.size(); i++) nodes[i]->slot = static_cast<uint32_t>(i);
}
Structure::Places::~Places() {
  for (Node* node : nodes_) node->slot = UINT32_MAX;
}

bool Structure::walk(std::span<Node* const> roots, bool tracing) {
  nodes_.clear();
  roots_.clear();
  words_.clear();
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
  words_.make_room(roots_.size() + 1);
  for (const Node* root : roots_) words_.write(root->slot);
  words_.write(roots_.size());
  return known;
}

bool Structure::walk_from(Node* root, bool tracing) {
  if (root->slot != UINT32_MAX) return true;
  path_.push_back({root, 0});
  while (!path_.empty()) {
    Stop& stop = path_.back();
    Node* node = stop.node;
    if (stop.next == 0) {
      const NodeState state = node->state.load(std::memory_order_acquire);
      const bool stand_in = state == NodeState::Lazy && node->kind == Kind::Data;
      if (state == NodeState::Failed || (stand_in && !tracing)) return false;
      if (state == NodeState::Ready || stand_in) {
        describe_given(*node);
        add(node);
        path_.pop_back();
        continue;
      }
    }
    // Past the inputs that were met before.
    while (stop.next < node->inputs.size() && node->inputs[stop.next].node->slot != UINT32_MAX)
      stop.next++;
    if (stop.next < node->inputs.size()) {
      path_.push_back({node->inputs[stop.next++].node.get(), 0});
      continue;
    }
    describe(*node);
    add(node);
    path_.pop_back();
  }
  return true;
}

void Structure::add(Node* node) {
  nodes_.push_back(node);
  node->slot = static_cast<uint32_t>(nodes_.size() - 1);
}

void Structure::describe(const Shape& shape) {
  for (const int64_t n : shape) words_.write(static_cast<uint64_t>(n));
}

void Structure::describe(const View& view) {
  words_.make_room(2 + 2 * view.shape.size());
  words_.write(view.shape.size());
  describe(view.shape);
  for (const int64_t s : view.strides) words_.write(static_cast<uint64_t>(s));
  words_.write(static_cast<uint64_t>(view.offset));
}

void Structure::describe_given(const Node& node) {
  words_.make_room(1 + node.shape.size());
  words_.write(kGiven | node.shape.size() << 8 | static_cast<uint64_t>(node.dtype));
  describe(node.shape);
}

// Every field of a node that schedule, terms, layout and codegen look at, and whether somebody
// holds it where that matters; not the numbers that are arguments of a kernel, nor what an opaque
// node does.
void Structure::describe(const Node& node) {
  words_.make_room(3 + node.shape.size() + node.attributes.size());
  words_.write(static_cast<uint64_t>(node.kind) | static_cast<uint64_t>(node.dtype) << 8 |
               static_cast<uint64_t>(node.combine) << 16 |
               static_cast<uint64_t>(node.reduced) << 24 | uint64_t{node.shape.size()} << 32 |
               uint64_t{node.attributes.size()} << 40 | (is_held(node) ? kHeld : 0));
  words_.write(node.inputs.size() | uint64_t{node.parts.size()} << 32);
  describe(node.shape);
  if (node.kind == Kind::Elementwise) words_.write(reinterpret_cast<uintptr_t>(node.op));
  if (node.kind == Kind::Reduce) words_.write(static_cast<uint64_t>(node.chunk));
  for (const Attribute& a : node.attributes) words_.write(static_cast<uint64_t>(a.type));
  for (const Input& input : node.inputs) {
    const View* const part = input.part();
    words_.make_room(1);
    words_.write((part == nullptr ? kWhole : 0) | input.node->slot);
    if (part != nullptr) describe(*part);
  }
  for (const View& part : node.parts) describe(part);
}

void Words::grow(size_t more) {
  const size_t capacity = std::max(2 * capacity_, size_ + more);
  auto words = std::make_unique_for_overwrite<uint64_t[]>(capacity);
  std::copy_n(words_.get(), size_, words.get());
  words_ = std::move(words);
  capacity_ = capacity;
}

uint64_t Structure::hash() const {
  return XXH3_64bits(words_.data(), words_.size() * sizeof(uint64_t));
}

}  // namespace hologram::graph
