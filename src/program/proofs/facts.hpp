// What is known about the integers of a program at one place in it, and what follows from that.
//
// Every integer value is a node that stands for the number itself, so that a wrapped sum is not the
// sum of its operands unless that is shown too. A fact says that one node is at most another plus a
// number. A question is answered by following facts and definitions for a bounded number of steps;
// "no" means "not shown".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "program/proofs/intervals.hpp"

namespace hologram::program {

// One factor of a length: a node, or a number where the node is kNone.
struct Factor {
  uint32_t node = kNone;
  Wide number = 1;
  friend bool operator==(const Factor&, const Factor&) = default;
  friend bool operator<(const Factor& a, const Factor& b) {
    return std::tuple(a.node, a.number) < std::tuple(b.node, b.number);
  }
};
using Factors = std::vector<Factor>;  // sorted, without ones

class Facts {
 public:
  // The module must outlive the facts, unchanged. Its require clauses hold from the start.
  explicit Facts(const Module& module);

  // Nodes of the body's values. (kZero is the number 0.)
  static constexpr uint32_t kZero = 0;
  uint32_t node_of(uint32_t value) const { return body_ + value; }

  // The condition has this value from here on; until the facts are forgotten down to a mark.
  void assume(uint32_t condition, bool holds, int depth = 64);
  void assume_at_most(uint32_t a, uint32_t b, Wide offset);  // a <= b + offset
  size_t mark() const { return log_.size(); }
  void forget(size_t mark);

  // The value is the same as the other one wherever it is in scope. (That is said of this value
  // only: another one that is computed alike elsewhere may differ.)
  void set_same(uint32_t value, uint32_t other) { chosen_[value] = other; }

  // Whether the condition is known to hold, or not to.
  std::optional<bool> truth(uint32_t condition, int depth = 12);

  // The condition is what it is known to be here wherever it is in scope.
  void set_truth(uint32_t condition, bool holds) { decided_[condition] = holds; }

  // a <= b + offset
  bool at_most(uint32_t a, uint32_t b, Wide offset);

  // The length of a buffer as a node, and as a product if it has dimensions.
  uint32_t length_of(uint32_t buffer) const { return lengths_[buffer]; }
  const Factors& factors_of(uint32_t buffer) const { return factors_[buffer]; }
  // A buffer whose length is the product.
  std::optional<uint32_t> buffer_of(const Factors& factors) const;

  const Inst* definition(uint32_t node) const { return definitions_[node]; }
  uint32_t operand(uint32_t node, size_t k) const;
  // The node that stands for the same number: of a length, a scalar, a cast that changes nothing.
  uint32_t resolve(uint32_t node);
  const Interval& interval(uint32_t node) const { return intervals_[node]; }
  DType index_type() const { return m_.index; }

 private:
  struct Edge {
    uint32_t node;
    Wide offset;
  };
  struct Change {
    uint32_t a, b;  // an edge between them; or, where b is kNone, the truth of a
  };

  void add_code(const Code& code, uint32_t first);
  void name_lengths();
  void unify();
  uint32_t root(uint32_t node) const;
  bool keeps_value(const Inst& cast, uint32_t operand) const;

  bool prove(uint32_t a, uint32_t b, Wide offset, int depth);
  bool prove_from_above(uint32_t a, uint32_t b, Wide offset, int depth);
  bool prove_from_below(uint32_t a, uint32_t b, Wide offset, int depth);
  bool prove_length(uint32_t b, int depth);
  bool is_exact(const Inst& inst, uint32_t x, uint32_t y, int depth);
  bool not_negative(uint32_t node, int depth) { return prove(kZero, node, 0, depth); }
  void assume_comparison(Op op, uint32_t a, uint32_t b);
  bool is_less(uint32_t a, uint32_t b);

  const Module& m_;
  uint32_t host_ = 1, body_ = 0, first_length_ = 0, first_scalar_ = 0;
  std::vector<const Inst*> definitions_;
  std::vector<Interval> intervals_;
  std::vector<uint32_t> same_;    // by node: itself, or the node it is the same as everywhere
  std::vector<uint32_t> chosen_;  // by node: itself, or the node it is the same as in its scope
  std::vector<std::vector<Edge>> above_, below_;       // a <= node + offset; node + offset <= a
  std::vector<std::optional<bool>> truths_, decided_;  // from here on; in the whole scope
  std::vector<Change> log_;
  std::vector<uint32_t> lengths_;
  std::vector<Factors> factors_;
  std::map<Factors, uint32_t> buffers_;
  std::vector<std::vector<uint32_t>> buffers_with_;  // by scalar: those it is a dimension of
  int steps_ = 0;
};

// Whether 0 <= index < the length of the buffer, or < count.
bool is_inside(Facts& facts, uint32_t index, uint32_t buffer);
bool is_below(Facts& facts, uint32_t index, Wide count);

// Whether a < b where a is the quotient of an index into a product of which b is a factor.
bool is_quotient_below(Facts& facts, uint32_t a, uint32_t b);

}  // namespace hologram::program
