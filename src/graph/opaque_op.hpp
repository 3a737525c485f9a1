// Nodes that are no fused kernel: products, gathers, sorts. A OpaqueOp launches programs of its
// own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/candidates.hpp"
#include "graph/node.hpp"

namespace hologram::graph {

class Context;
struct Epilogue;

class OpaqueOp {
 public:
  virtual ~OpaqueOp() = default;
  virtual std::string_view name() const = 0;
  // Computes the node: its inputs are ready and `result` has its size. The context is locked.
  virtual void run(Context& context, const Node& node, const Storage& result) const = 0;
  // Who might compute it, in the order in which they are asked, as far as that is known before its
  // inputs are ready.
  virtual Candidates candidates(Context& context, const Node& node) const = 0;
  // Whether the result is the first input, all of it, with some elements replaced: run() leaves the
  // others alone where both are the same memory.
  virtual bool updates() const { return false; }
  // Where the result lies, if that is in the memory of an input, which is ready.
  virtual std::optional<Storage> lies_in(const Node&) const { return std::nullopt; }
  // Whether a library may be asked to compute the node's epilogue with it.
  virtual bool takes_epilogue(const Epilogue&) const { return false; }
  // The same for what the epilogue leaves; or nothing, and why.
  virtual std::optional<hal::Refusal> run(Context&, const Epilogue&, const Storage&) const {
    return hal::Refusal{"it has no library"};
  }
  // Why that would not be done, as far as it is known before the inputs are ready.
  virtual std::optional<hal::Refusal> refuses(Context&, const Epilogue&) const {
    return hal::Refusal{"it has no library"};
  }
};

}  // namespace hologram::graph
