// The lazy graph: what a tensor is made of until somebody reads it.
//
// A node is immutable but for its state and result. It goes from Lazy to Ready or Failed once,
// under the lock of its Context, and then lets go of its inputs.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/view.hpp"
#include "hologram/dtype.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/library.hpp"
#include "hologram/op.hpp"

namespace hologram::graph {

struct ElementwiseOp;
struct Node;
class Context;
class OpaqueOp;
struct Meaning;

// Counts the owners of a node. Letting go of the last one frees the nodes behind it one after the
// other, however long the chain.
class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* node);  // another reference
  NodeRef(const NodeRef& other) : NodeRef(other.node_) {}
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef();
  // Give and take a reference without counting.
  Node* release() { return std::exchange(node_, nullptr); }
  static NodeRef adopt(Node* node) {
    NodeRef ref;
    ref.node_ = node;
    return ref;
  }
  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  friend bool operator==(const NodeRef& a, const NodeRef& b) { return a.node_ == b.node_; }

 private:
  Node* node_ = nullptr;
};

enum class Kind : uint8_t {
  Data,         // was given, never computed
  Elementwise,  // one element from one element of each input
  Reduce,       // one element from a row of the input
  Assemble,     // each input written into a part of the result, in order
  Opaque,       // a OpaqueOp of its own: products, combines_partials, sorts
  Composite,    // what was meant, not yet how it is computed (graph/composite.hpp)
};

enum class NodeState : uint8_t { Lazy, Ready, Failed };

// Most are all of a result as it lies in memory: those need no view of their own.
class Input {
 public:
  explicit Input(NodeRef node) noexcept : node(std::move(node)), whole_(true) {}
  Input(NodeRef node, View&& view) noexcept : node(std::move(node)), view_(std::move(view)) {}

  // Of the node's result, in the coordinates that the consumer walks.
  View view() const;
  // The same, or null if it is all of the result as it lies in memory.
  const View* part() const;
  int64_t offset() const { return whole_ ? 0 : view_.offset; }  // of the view
  hal::Binding where() const;  // the memory of the result, from where the view begins

  NodeRef node;

 private:
  bool whole_ = false;
  View view_;  // unless it is whole
};

// A number that goes into a kernel as an argument.
struct Attribute {
  DType type = DType::None;  // a compute type
  uint64_t bits = 0;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

// Where a result lies: dense, row-major, from the binding's start.
struct Storage {
  std::shared_ptr<const void> owner;
  hal::Binding where;
  bool pooled = false;  // from the context's pool, and not memory of somebody else
};

// A result as a library wants it, beside the result itself.
struct Packed {
  std::shared_ptr<const hal::LibraryPlan> packing;  // null: a copy in the order that it asks for
  View view;                                        // what was packed
  Storage result;
};

struct Node {
  Node(Kind kind, Context& context, DType dtype, const Shape& shape);
  ~Node();
  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;

  // Those who have inputs have their context through them.
  void keep_context();

  const Kind kind;
  const DType dtype;
  const Shape shape;
  Context* const context;
  std::shared_ptr<Context> kept_context;
  std::atomic<NodeState> state{NodeState::Lazy};
  // Lazy nodes above it, on the longest way. Another thread may evaluate it meanwhile.
  std::atomic<uint32_t> depth = 0;
  bool traced =
      false;  // made of what a capture was given: a Data node that never gets ready, at the end

  // Of Elementwise: the row of the table. Views have the shape of the node.
  const ElementwiseOp* op = nullptr;
  InlineVector<Attribute, 2> attributes;

  // Of Reduce: one input, whose view has the axes of this node, then those that are reduced, of
  // which there are `reduced`. If `chunk` is not 0, what is reduced goes by chunks of so many
  // elements, which the first axis of this node numbers, and the view lacks that axis; or, if it
  // `combines_partials`, are put together in their order, and the node has no such axis.
  // A second input, a bool for each row, is a guard: where it is false nobody will look at the
  // result, and the row need not be read.
  program::Combine combine = program::Combine::Add;
  uint8_t reduced = 0;
  bool combines_partials = false;
  int64_t chunk = 0;
  bool makes_pieces() const { return chunk != 0 && !combines_partials; }
  bool is_guarded() const { return kind == Kind::Reduce && inputs.size() > 1; }
  bool is_guard(const Input& input) const { return is_guarded() && &input == &inputs[1]; }

  // Of Assemble: where each input goes, a view of this node.
  std::vector<View> parts;

  std::shared_ptr<const OpaqueOp> work;    // of Opaque
  std::shared_ptr<const Meaning> meaning;  // of Composite

  InlineVector<Input, 2> inputs;  // empty once the state is not Lazy
  // Of another name for a tensor (tensor/tape.hpp): that tensor, which takes its place as an input.
  std::unique_ptr<const Input> alias_of;
  std::atomic<uint64_t> identity{0};  // given when a gradient is first recorded; never used again
  Storage result;                     // once Ready
  std::exception_ptr error;           // once Failed
  // Of a result that stays what it is, if a library has used it so; the context is locked.
  std::unique_ptr<const Packed> packed;

  std::atomic<uint32_t> references{1};  // the first is that of whoever makes the node
  uint32_t slot = UINT32_MAX;           // in a schedule under way; the context is locked then
  Node* next_waiting = nullptr;         // of those that are about to be freed
};

// Of a context, which the engine has (engine/context.cpp).
std::shared_ptr<Context> shared(Context& context);

// Its result is there, and the node lets go of what it was made of.
void become_ready(Node& node);

// Of a node that nobody refers to any more.
void free(Node* last) noexcept;

inline NodeRef::NodeRef(Node* node) : node_(node) {
  if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
}
inline NodeRef::~NodeRef() {
  if (node_ == nullptr) return;
  // Who holds the only reference is alone: nobody can take another one meanwhile.
  if (node_->references.load(std::memory_order_acquire) == 1 ||
      node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    free(node_);
}

// For messages: "add [3, 4] f32".
std::string describe(const Node& node);

}  // namespace hologram::graph
