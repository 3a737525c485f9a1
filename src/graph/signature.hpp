// What a lazy graph looks like, without what is in it: a key that everything the scheduler
// decides follows from. Two graphs of the same key take the same steps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/node.hpp"

namespace hologram::graph {

// A growing list of words; `room` makes sure of so many more, and `end_at` says how many were
// written.
class Key {
 public:
  void clear() { size_ = 0; }
  uint64_t* room(size_t more) {
    if (size_ + more > capacity_) grow(more);
    return words_.get() + size_;
  }
  void end_at(const uint64_t* end) { size_ = static_cast<size_t>(end - words_.get()); }
  const uint64_t* data() const { return words_.get(); }
  size_t size() const { return size_; }

 private:
  void grow(size_t more);

  std::unique_ptr<uint64_t[]> words_;
  size_t size_ = 0, capacity_ = 0;
};

// A product, or what reads one, that somebody may ask for later: it is not to be made for what
// follows it alone.
bool is_held(const Node& node);

// Kept from graph to graph, so that its memory is.
class GraphSignature {
 public:
  // Walks what the lazy ones of these nodes are made of, under the context's lock. False where
  // there is a node that failed, or, unless `tracing`, one that a capture was given; the scheduler
  // knows what to say of it.
  bool walk(std::span<Node* const> roots, bool tracing);

  // Lazy nodes and the ready ones that they start from, each once, inputs before those who use
  // them. Their numbers here are their places.
  const std::vector<Node*>& nodes() const { return nodes_; }
  const std::vector<Node*>& roots() const { return roots_; }  // the lazy ones
  bool can_run() const { return can_run_; }                   // what the walk said

  std::span<const uint64_t> key() const { return {key_.data(), key_.size()}; }
  uint64_t hash() const;

  // While one lives, the slots of the nodes are their places.
  class Places {
   public:
    explicit Places(const std::vector<Node*>& nodes);
    ~Places();
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

   private:
    const std::vector<Node*>& nodes_;
  };

 private:
  struct Stop {
    Node* node;
    size_t next;  // the input that is walked next
  };
  enum class Met : uint8_t { Given, Lazy, Refused };
  Met meet(Node& node, bool tracing);  // what is given is described at once
  bool walk_from(Node* root, bool tracing);
  void add(Node* node);
  void describe_given(const Node& node);
  void describe(const Node& node);

  bool can_run_ = false;
  std::vector<Node*> nodes_, roots_;
  Key key_;
  std::vector<Stop> path_;
};

}  // namespace hologram::graph
