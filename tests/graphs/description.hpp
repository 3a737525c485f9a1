// Descriptions of tensor programs: lists of steps. The same description is built as tensors on any
// executor, evaluated by an oracle, printed as an expression, made smaller, and counted.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/elementwise.hpp"
#include "hologram/tensor.hpp"

namespace hologram::graphs {

struct Operation;

// A number as an operand.
using Number = std::variant<bool, int64_t, uint64_t, double>;

// Another step's result, or a number.
struct Argument {
  uint32_t step = std::numeric_limits<uint32_t>::max();
  Number number = false;

  static Argument of(uint32_t step) { return {step, false}; }
  static Argument of(Number number) { return {std::numeric_limits<uint32_t>::max(), number}; }
  bool is_number() const { return step == std::numeric_limits<uint32_t>::max(); }
};

// Which values an input holds.
enum class Profile : uint8_t {
  Moderate,  // small fractions; of integers all that are small
  Anything,  // the whole range of the dtype, with its ends, NaN, infinities and denormals
  Positive,  // from 0 to 1; of integers from 0
  Scaled,    // of one magnitude, far from 1
  Twos,      // mostly 2, with 0, 1 and -1
  Waves,     // runs of 2 and of 0.5: products leave the range of f32 for long, and come back
  Equal,     // the same value everywhere
  Offset,    // close together, far from 0
  Ascending  // sorted
};
inline constexpr uint8_t kProfiles = 9;

// One operation. Which of the parameters it has, its row in the table of operations says.
struct Step {
  const Operation* operation = nullptr;
  std::vector<Argument> arguments;
  DType dtype = DType::None;  // of the result
  Shape shape;

  std::vector<int64_t> integers;  // an axis, lengths, counts
  std::vector<Slice> slices;
  double real = 0;
  std::vector<double> reals;  // the ends of a range; factors
  bool flag = false;
  Profile profile = Profile::Moderate;
  uint32_t seed = 0;
  std::shared_ptr<const Array> values;  // an input's, where the profile does not say them

  int axis() const { return static_cast<int>(integers.at(0)); }
};

struct Description {
  std::vector<Step> steps;
  std::vector<uint32_t> roots;  // what is evaluated
};

// What an oracle says of an element: a whole number, or the range of a float. Where `known` is
// false nothing is said.
struct Field;

struct Operation {
  std::string_view name;
  const graph::ElementwiseOp* row = nullptr;  // of the table of elementwise operations
  Tensor (*build)(const Step& step, std::span<const Tensor> x) = nullptr;
  Field (*right)(const Step& step, std::span<const Field> x) = nullptr;
  // As an expression: {a}, {b}, … are the operands, and see text.cpp for the parameters.
  std::string_view text;
  bool is_expression = true;  // there is such a function
};

// Elementwise operations come from the library's own table, the others from operations.cpp.
std::span<const Operation> operations();
const Operation& operation(std::string_view name);

// The values of an input.
Array values_of(const Step& input);
inline bool is_input(const Step& step) { return step.operation->build == nullptr; }

// All steps as tensors; `inputs`, if any, take the place of the inputs, in order. `look` sees each
// tensor when it is made.
using Look = void (*)(const Tensor& tensor);
std::vector<Tensor> build(const Description& description, const Executor& executor,
                          Look look = nullptr, std::span<const Tensor> inputs = {});
std::vector<Tensor> roots_of(const Description& description, const std::vector<Tensor>& all);

Operand operand_of(const Number& number);

// Which steps the roots need.
std::vector<bool> live_steps(const Description& description);

// The names of the values, "x0" for the inputs and "t3" for the results.
std::string name_of(const Description& description, uint32_t step);
// An expression whose inputs are the description's; empty if the language lacks an operation.
// `literals`: some small inputs are written as lists of numbers.
std::string expression_of(const Description& description, bool literals = false);
// For people: what each input holds, and the expression.
std::string text_of(const Description& description);
std::string text_of(const Step& step, std::span<const std::string> names);

}  // namespace hologram::graphs
