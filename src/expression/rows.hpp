// Evaluation by pieces of rows, of inputs that do not fit into memory.
//
// A trial with the first rows tells for every node whether its tensor has the rows of the inputs,
// and how many times all rows must have been read before it is known. Then the inputs are read once
// for every such level: reductions over the rows put their parts together, and what else can be
// known is computed on the way.
#pragma once

#include <optional>

#include "expression/evaluate.hpp"
#include "expression/row_reductions.hpp"
#include "hologram/expression.hpp"

namespace hologram::expression {

class ByRows : public Evaluator {
 public:
  ByRows(const Syntax& syntax, const Executor& executor, std::map<std::string, Value> inputs,
         const std::map<std::string, RowSource>& sources, const std::vector<Assigned>& wanted,
         const Expression::RowSink& sink, const Expression::RowOptions& options);

  Expression::RowReport run();

 private:
  struct Plan {
    bool live = false, by_rows = false;
    uint32_t level = 0;
    std::optional<RowReduction> reduction;  // over the first axis, as far as it has got
  };

  void mark_live();
  void try_out();
  void choose_length();
  void settle(uint32_t level);
  void pass(uint32_t level);
  void piece(uint32_t level);
  void load(int64_t first, int64_t count);
  void hand_over(const Assigned& output);

  Value across_rows(uint32_t node, const Call& call) override;
  uint64_t bytes_by_rows() const override;
  Tensor rows_of(const Tensor& whole) const override;
  bool small(const Tensor& tensor) const override;

  const std::map<std::string, RowSource>& sources_;
  const std::vector<Assigned>& wanted_;
  const Expression::RowSink& sink_;
  const Expression::RowOptions& options_;
  std::vector<Plan> plan_;
  int64_t total_ = 0, length_ = 1;  // rows; of a piece
  int64_t first_ = 0, count_ = 0;   // the rows that are there
  uint32_t passes_ = 1;
  bool trial_ = true;
  Expression::RowReport report_;
};

}  // namespace hologram::expression
