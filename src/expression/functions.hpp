// What can be called in an expression: every row of the table of elementwise operations, and the
// rows of the table in functions.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expression/value.hpp"
#include "graph/elementwise.hpp"
#include "hologram/reductions.hpp"

namespace hologram::expression {

// What a call does with the rows of its first argument, which are computed some at a time where
// they do not fit into memory.
enum class Along : uint8_t {
  Nothing,  // it looks at no tensor's elements
  Each,     // a row of the result comes from the same row of each argument
  Axis,     // the same, as long as `axis` is not the first
  Reduced,  // the same, or, over the first axis, parts are put together as `merge` says
  Left,     // a row of the result comes from the same row of the first argument, and all others
  Images,   // the same, if the first argument has four axes
  All,      // all rows are needed at once
};

// How what comes out of parts of the rows is put together.
enum class Merge : uint8_t {
  None,
  Sum,
  Product,
  Least,
  Largest,
  Any,
  All,
  Mean,
  Variance,
  Deviation
};

class Call;

struct Function {
  std::string_view name;
  std::string_view parameters;  // "x, axis=none"; one without a default must be given
  Along along;
  Value (*call)(const Call& call);
  std::string_view meaning;
  Merge merge = Merge::None;
};

std::span<const Function> functions();
// The part of them about order, counts, parts of matrices and linear algebra.
std::span<const Function> array_functions();
// Every name that can be called, in the order of the tables.
std::vector<std::string_view> function_names();

struct Parameter {
  std::string name;
  bool required = true;
  Value otherwise;
};

// What a name stands for: a row of one of the tables.
struct Callable {
  std::string_view name;
  std::string parameters;
  const Function* function = nullptr;
  const graph::ElementwiseOp* elementwise = nullptr;

  std::string signature() const;  // "sum(x, axis=none, keepdims=false)"
  Along along() const { return function == nullptr ? Along::Each : function->along; }
};
// Its name is empty if there is none.
Callable find_callable(std::string_view name);

// The arguments of one call, in the order of the parameters. What asks for an argument of the wrong
// sort gets an InvalidArgument with the signature.
class Call {
 public:
  Call(Callable callable, std::vector<Value> arguments, const std::vector<std::string>& words,
       const Executor& executor);

  // The value; elementwise operations of numbers give a number.
  Value run() const;

  const Callable& callable() const { return callable_; }
  std::vector<Value>& values() { return values_; }
  const std::vector<Value>& values() const { return values_; }
  const Executor& executor() const { return executor_; }
  size_t position(std::string_view parameter) const;  // values().size() if there is none

  Operand operand(size_t i) const;  // a tensor or a number
  Tensor tensor(size_t i) const;    // numbers become tensors without axes
  // Those of these that are given, where what has no dtype gets that of the others.
  std::vector<Tensor> together(std::initializer_list<size_t> which) const;
  bool given(size_t i) const;  // not `none`
  bool flag(size_t i) const;
  int64_t integer(size_t i) const;
  int axis(size_t i) const;
  double real(size_t i) const;
  std::vector<double> reals(size_t i) const;  // a number, or a list of them
  DType dtype(size_t i) const;
  const std::string& text(size_t i) const;
  // Where a text is in a list of the good ones.
  size_t choice(size_t i, std::initializer_list<std::string_view> words) const;
  ops::Axes axes(size_t i) const;  // `none`: all
  Shape shape(size_t i) const;
  std::vector<Tensor> tensors(size_t i) const;

  [[noreturn]] void refuse(size_t i, std::string_view wanted) const;

 private:
  std::vector<int64_t> integers(size_t i, std::string_view wanted) const;
  std::vector<Operand> settled(const graph::ElementwiseOp& op,
                               const std::vector<Value>& values) const;

  Callable callable_;
  std::vector<Parameter> parameters_;
  std::vector<Value> values_;
  const Executor& executor_;
};

}  // namespace hologram::expression
