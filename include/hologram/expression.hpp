// Expressions over tensors, written as text: docs/expressions.md describes the language.
//
//   const Expression e = Expression::parse("y = sigmoid(a*b + c); mean(y, axis=0)");
//   Tensor mean = e.evaluate({{"a", a}, {"b", b}, {"c", 2.5}}).back().second;
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hologram/tensor.hpp"

namespace hologram {

// An input that is read by rows, pieces along its first axis, because it may not fit into memory.
struct RowSource {
  DType dtype = DType::None;
  Shape shape;
  // All of it, if it can be had without being read: some rows are taken from it.
  Array whole;
  // Rows [first, first + count), for as long as the array lives.
  std::function<Array(int64_t first, int64_t count)> read;
};

class HOLOGRAM_API Expression {
 public:
  using Inputs = std::map<std::string, Operand>;
  using Results = std::vector<std::pair<std::string, Tensor>>;

  // InvalidProgram, with `file`, line, column and a caret under the culprit, for what is no
  // expression; InvalidArgument for a function that is not there. Any text is safe to parse.
  static Expression parse(std::string_view text, std::string_view file = "expression");

  const std::string& text() const;
  // The names that it needs values for, in order of use.
  const std::vector<std::string>& inputs() const;
  // The names that it assigns, in order; last, unless that is an assignment, "" for the value of
  // the last statement.
  std::vector<std::string> outputs() const;
  // The name of what the last statement gives: one of outputs().
  std::string last() const;

  // Every output, lazily: nothing is computed before it is read. InvalidArgument if an input is
  // missing or there is none of that name; errors of the operations point at their place.
  Results evaluate(const Inputs& inputs, const Executor& executor = default_executor()) const;

  // Receives rows [first, first + the length of rows' first axis) of an output of the shape
  // `whole`, in order; of an output that has no such rows all at once, with `first` 0.
  using RowSink = std::function<void(const std::string& output, const Shape& whole, int64_t first,
                                     const Array& rows)>;
  struct RowOptions {
    uint64_t bytes = uint64_t{256} << 20;  // what inputs and outputs of one piece may take
    // Called after every piece with the part of the work that is done, 0 to 1; it may throw.
    std::function<void(double)> progress;
  };
  struct RowReport {
    uint64_t pieces = 0;  // that were computed, in all passes
    uint32_t passes = 0;  // over the inputs
  };
  // Computes some outputs piece by piece, going over the inputs as often as reductions over the
  // first axis make necessary. All sources must have the same number of rows. Sums over the first
  // axis are added up in f64. UnsupportedOperation, pointing at the place, for what needs all rows
  // of a source at once.
  RowReport evaluate_by_rows(const Inputs& inputs, const std::map<std::string, RowSource>& sources,
                             const std::vector<std::string>& outputs, const RowSink& sink,
                             const RowOptions& options,
                             const Executor& executor = default_executor()) const;

 private:
  struct State;
  explicit Expression(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A function that expressions may call.
struct FunctionInfo {
  std::string name;
  std::string signature;  // "sum(x, axis=none, keepdims=false)"
  std::string meaning;    // a sentence
};
// All of them, in the order of the documentation.
HOLOGRAM_API std::vector<FunctionInfo> expression_functions();

}  // namespace hologram
