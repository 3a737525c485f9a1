// A captured graph for another executor: the same operations on its nodes. What was decided for a
// device stays behind; composites are lowered anew.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "graph/node.hpp"

namespace hologram::graph {

// The same operation in a context, on other inputs.
std::unique_ptr<Node> copy_of(const Node& node, Context& context, std::vector<Input> inputs);

struct Moved {
  std::vector<NodeRef> given, roots;  // in the order of the originals
};

// `bring` gives the other context's node for one that is ready.
Moved moved(const std::vector<NodeRef>& given, const std::vector<NodeRef>& roots, Context& to,
            const std::function<NodeRef(const NodeRef& ready)>& bring);

}  // namespace hologram::graph
