#include "graph/node.hpp"

#include <fmt/format.h>

#include "graph/context.hpp"
#include "graph/elementwise.hpp"
#include "graph/work.hpp"

namespace hologram::graph {
namespace {

// A graph's nodes come and go together, more of them than an allocator has at hand: each thread
// keeps the memory of some. Sanitizers are to see who uses a node that is gone.
#ifdef HOLOGRAM_SANITIZED
constexpr uint32_t kMostSpare = 0;
#else
constexpr uint32_t kMostSpare = 64;
#endif

struct Spare {
  Spare* next;
};

// Without a destructor, so that nodes may go after it, and reading it costs little.
struct OfThread {
  // Nodes whose last reference fell while one was being freed wait here, so that a chain of a
  // million is a loop and not a recursion. The list needs no memory: there may be none.
  Node* waiting = nullptr;
  bool freeing = false;
  bool ending = false;
  uint32_t spares = 0;
  Spare* spare = nullptr;
};
#if defined(__linux__)
// Few bytes, which a library that is opened late finds room for: no call for each access.
[[gnu::tls_model("initial-exec")]]
#endif
constinit thread_local OfThread t_own;

struct Ends {
  bool begun = false;
  ~Ends() {
    t_own.ending = true;
    while (t_own.spare != nullptr) ::operator delete(std::exchange(t_own.spare, t_own.spare->next));
    t_own.spares = 0;
  }
};
thread_local Ends t_ends;

// Memory of a node.
void keep(OfThread& own, void* memory) noexcept {
  if (own.spares == kMostSpare || own.ending) return ::operator delete(memory);
  if (own.spares++ == 0) t_ends.begun = true;  // it ends with the thread
  own.spare = new (memory) Spare{own.spare};
}

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
  OfThread& own = t_own;
  last->next_waiting = std::exchange(own.waiting, last);
  if (own.freeing) return;
  own.freeing = true;
  while (own.waiting != nullptr) {
    Node* const node = std::exchange(own.waiting, own.waiting->next_waiting);
    node->~Node();
    keep(own, node);
  }
  own.freeing = false;
}

void* Node::operator new(size_t bytes) {
  OfThread& own = t_own;
  if (own.spare == nullptr) return ::operator new(bytes);
  own.spares--;
  return std::exchange(own.spare, own.spare->next);
}

void Node::operator delete(void* memory) noexcept { keep(t_own, memory); }

Node::Node(Kind kind, Context& context, DType dtype, Shape shape)
    : kind(kind), dtype(dtype), shape(std::move(shape)), context(&context) {
  if (kind == Kind::Data) keep_context();
}
Node::~Node() = default;

void Node::keep_context() {
  if (kept_context == nullptr) kept_context = context->shared();
}

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
