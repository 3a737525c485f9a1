// A node that says what was meant, a mean or a product of matrices, and not how it is computed:
// that is decided when it is, with the device in hand (engine/lowering.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "graph/candidates.hpp"
#include "graph/node.hpp"

namespace hologram::graph {

// A row: one function.
struct CompositeOp {
  std::string_view name;
  // What it is made of, from its inputs: the result in the order of the node's elements, of its
  // dtype and size. It may ask the node's device what suits it, but not for the order in which
  // numbers are added: that is a matter of shapes. The context is locked.
  Input (*lower)(const Node& composite, std::span<const Input> inputs);
  // The ways that there are, where it has several; null if it has one.
  Candidates (*candidates)(const Node& composite, std::span<const Input> inputs) = nullptr;
};

// What a node of this kind means.
struct Meaning {
  const CompositeOp* op;
  std::vector<int64_t> numbers;  // axes, strides, the bits of a real number: what the row reads
};

// Copies of operands that several composites of one graph read: while this lives, those of the
// thread are made once.
class SharedCopies {
 public:
  SharedCopies();
  ~SharedCopies();
  SharedCopies(const SharedCopies&) = delete;
  SharedCopies& operator=(const SharedCopies&) = delete;

  // What `make` gives for the input, or gave for the same one before.
  static Input of(const Input& input, Input (*make)(const Input& input));

 private:
  struct Made {
    Input original, copy;
    Input (*make)(const Input& input);
  };
  std::multimap<const Node*, Made> made_;
  SharedCopies* const outer_;
};

}  // namespace hologram::graph
