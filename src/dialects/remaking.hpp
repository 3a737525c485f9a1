// What the lanes of a group compute again after a reduction, so that fewer registers hold what they
// know of their elements from one reduction to the next.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program/ir.hpp"

namespace hologram::dialects {

// Reductions that all lanes take part in, outside of loops, cut a program into spans. A compiler
// keeps every value of one span that another uses: the differences of a row from its mean, say,
// beside the row itself. What is made of elements in a few cheap steps is made again in each span,
// from the elements alone, which compilers would see to be the same if they could.
class Remaking {
 public:
  using Names = std::vector<std::vector<std::string>>;  // by lane and id: what stands for a value

  Remaking() = default;  // nothing is made again
  Remaking(const program::Module& module, uint32_t lanes);

  bool any() const { return !elements_.empty(); }
  bool is_element(uint32_t id) const { return any() && is_element_[id]; }
  // Whether the instruction is a reduction that a span begins behind, and the elements known there.
  bool ends_span(size_t at) const { return any() && span_[at] != span_[at + 1]; }
  std::vector<uint32_t> elements_at(size_t at) const;

  // Before an instruction of a lane uses the value: if it is of an earlier span, `make` is called
  // with its definition, behind those of what it is made of, and returns its new name, which stands
  // for it up to the end of the block.
  template <class Make>
  void remake(uint32_t id, size_t at, uint32_t lane, size_t depth, Names& names, const Make& make) {
    if (!any() || !remade_[id] || of_[lane][id] == span_[at]) return;
    const program::Inst& made = *definitions_[id];
    for (size_t k = 0; k < program::arity(made); k++)
      remake(made.args[k], at, lane, depth, names, make);
    std::string name = make(made, span_[at]);
    done_.push_back({depth, lane, id, of_[lane][id], std::move(names[lane][id])});
    of_[lane][id] = span_[at];
    names[lane][id] = std::move(name);
  }
  // Blocks deeper than this one have ended.
  void close(size_t depth, Names& names);

 private:
  struct Done {
    size_t depth;
    uint32_t lane, id, span;
    std::string name;
  };
  std::vector<uint32_t> span_;                         // by instruction
  std::vector<bool> remade_, is_element_;              // by id
  std::vector<std::pair<uint32_t, size_t>> elements_;  // ids, and where they are loaded
  std::vector<const program::Inst*> definitions_;      // by id
  std::vector<std::vector<uint32_t>> of_;              // by lane and id: the span of its name
  std::vector<Done> done_;
};

}  // namespace hologram::dialects
