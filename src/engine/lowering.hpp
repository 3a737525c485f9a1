// From a graph that says what was meant to one that can be scheduled: composites are replaced by
// what they are made of on this device.
//
// The lowered graph is a template. It starts from nodes that stand for what is given, and serves
// every graph of the same signature, which lends it results and numbers for the time of a run. It
// holds no memory between runs.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "graph/node.hpp"

namespace hologram::graph {

struct Plan;
struct PlannedStep;

bool has_composites(const std::vector<Node*>& nodes);

class Lowered {
 public:
  // Of the nodes of a signature, inputs before those who use them, and those of them that are asked
  // for. `captured`: what is given stays, to be lent by whoever replays it; else a node stands for
  // each.
  Lowered(const std::vector<Node*>& nodes, const std::vector<Node*>& roots, bool captured);
  Lowered(const Lowered&) = delete;
  Lowered& operator=(const Lowered&) = delete;

  const std::vector<NodeRef>& roots() const { return roots_; }  // in the order of the originals
  std::vector<Node*> root_nodes() const;
  const std::vector<Node*>& nodes() const { return nodes_; }  // by place, once it is planned
  // `nodes` are those of the lowered graph's signature, whose places the plan means.
  void set_plan(const std::vector<Node*>& nodes, const Plan& plan);

  // A run: the template has what the originals have for as long as it lives.
  class Run {
   public:
    Run(Lowered& lowered, const std::vector<Node*>& originals);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    // The step has run: originals that it made are ready, and what nobody reads any more is let go.
    void finish(const PlannedStep& step, size_t index);
    // It failed: so did the originals that it works for.
    void fail(const PlannedStep& step, const std::exception_ptr& error);
    void release(const PlannedStep&) {}  // the end of the run does

   private:
    void give_back(uint32_t pair);

    Lowered& lowered_;
    const std::vector<Node*>& originals_;
    std::vector<NodeRef>
        packed_;  // by pair of those given: the original, if it lent what it packed
  };

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Pair {
    uint32_t original;  // by place
    Node* image;
    bool packs = false;  // a work reads it, and may keep it packed for a library
  };
  struct Uses {
    std::vector<Node*> results;   // that nobody reads after a step
    std::vector<uint32_t> given;  // the same of those given, by pair
  };

  std::vector<NodeRef> roots_;
  std::vector<NodeRef> held_;   // what stands for what is given, or for what somebody holds
  std::vector<Pair> given_;     // what stands for what is given
  std::vector<Pair> copies_;    // what takes numbers, or its work, from the original
  std::vector<Pair> whole_;     // what has the elements of an original that is computed
  std::vector<Pair> made_for_;  // what a composite is made of, by node
  std::vector<Node*> nodes_;
  std::vector<uint32_t> origins_;  // by place: the original that it works for
  std::vector<uint32_t> results_;  // by place: the original that has its elements, or kNone
  std::vector<Uses> last_uses_;    // by step
};

}  // namespace hologram::graph
