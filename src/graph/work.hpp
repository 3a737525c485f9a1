// Nodes that are no fused kernel: products, gathers, sorts. A Work launches programs of its own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/node.hpp"

namespace hologram::graph {

class Context;

class Work {
 public:
  virtual ~Work() = default;
  virtual std::string_view name() const = 0;
  // Computes the node: its inputs are ready and `result` has its size. The context is locked.
  virtual void run(Context& context, const Node& node, const Storage& result) const = 0;
};

}  // namespace hologram::graph
