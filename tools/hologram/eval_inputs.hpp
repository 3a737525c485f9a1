// name=value for an expression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hologram/expression.hpp"

namespace hologram::tool {

struct EvalInputs {
  std::map<std::string, Operand> numbers;
  std::map<std::string, Array> arrays;       // mapped where that can be
  std::map<std::string, RowSource> sources;  // of those arrays that can be read by rows

  Expression::Inputs all(const Executor& executor) const;
  // Those that are not among `by_rows`.
  Expression::Inputs without(const std::map<std::string, RowSource>& by_rows,
                             const Executor& executor) const;
  uint64_t bytes() const;  // of the arrays
  // The largest array that can be read by rows, and those as long that are large too.
  std::map<std::string, RowSource> large_sources(uint64_t limit) const;
};

// Numbers as they are, everything else is the path of a file. UsageError for what the expression
// has no input for, what is missing or given twice.
EvalInputs read_inputs(const Expression& expression, const std::vector<std::string>& texts,
                       bool linear);

}  // namespace hologram::tool
