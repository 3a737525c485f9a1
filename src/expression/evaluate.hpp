// From an expression and its inputs to values.
#pragma once

#include <map>
#include <string>

#include "expression/functions.hpp"
#include "expression/syntax.hpp"

namespace hologram::expression {

class Evaluator {
 public:
  Evaluator(const Syntax& syntax, const Executor& executor, std::map<std::string, Value> inputs);
  virtual ~Evaluator() = default;

  // Everything, in order; what was used is let go.
  void run();
  // The value of a statement.
  const Value& value(uint32_t node) const { return values_[node]; }

 protected:
  // The value of a node whose operands are there. Errors point at the node.
  Value compute(uint32_t at);

  // A reduction over the first axis of rows of which only some are there.
  virtual Value across_rows(uint32_t node, const Call& call);
  // What cannot be done row by row, and why.
  [[noreturn]] void refuse_rows(const std::string& why) const;
  virtual uint64_t bytes_by_rows() const { return 0; }  // of all inputs by rows
  // Rows of a tensor that is there as a whole, those of the inputs' rows.
  virtual Tensor rows_of(const Tensor& whole) const { return whole; }
  virtual bool small(const Tensor&) const { return true; }

  Value take(uint32_t node);

  const Syntax& syntax_;
  const Executor& executor_;
  std::map<std::string, Value> inputs_;
  std::vector<Value> values_;
  bool keep_ = false;  // operands stay: they are used again

 private:
  Value compute_unplaced(uint32_t at);
  Value name(const Node& node) const;
  Value apply(uint32_t at, const std::string& function, std::vector<Value> arguments,
              const std::vector<std::string>& words);
  Value compare(uint32_t at, const Node& node);
  Value slice(const Node& node);
  Value index(const Node& node);
  Value member(const Node& node);
  void align(std::vector<Value>& values) const;
};

}  // namespace hologram::expression
