// Results of captured calculations in the memory of their inputs.
#pragma once

#include <string>
#include <vector>

#include "engine/plan.hpp"

namespace hologram::graph {

// The root, and what leads from the given node to it: each is the one before with some elements
// replaced, and all lie in the same memory.
struct Donated {
  Node* given = nullptr;
  Node* root = nullptr;
  size_t input = 0;
  std::vector<Node*> between{};
  std::string refused{};  // why it cannot be
  // Gives all of them the memory of the given node.
  void lay() const;
};

// Brings the steps, those of the schedule and of its plan alike, into an order in which nothing is
// read after it is overwritten, ends what would copy the memory onto itself, and has kernels
// overwrite what they read. Returns why that cannot be, or nothing.
// `placed` are those for which that is done already.
std::string place_donation(Schedule& schedule, Plan& plan, const std::vector<Node*>& nodes,
                           const std::vector<Donated>& placed, Donated& donated);

}  // namespace hologram::graph
