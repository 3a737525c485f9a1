// The elementwise operations: one row of one table says everything about each. From a row come the
// tensor function with its gradient, the name in expressions, the entry in docs/operations.md and
// the conformance cases; `scripts/generate` writes what is generated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hologram/builder.hpp"
#include "hologram/dtype.hpp"

namespace hologram::graph {

// Blocks of random words are dealt to tiles of elements: the blocks of a tile one after another to
// as many elements, then the same blocks' next words to the next ones. One lane can make all
// elements of a block then, and neighbours still write side by side.
inline constexpr int64_t kBlocksOfTile = 256;
inline constexpr int64_t kElementsOfBlock = 4;  // or 2, of two words each, in half as long tiles
inline constexpr int64_t kElementsOfTile = kElementsOfBlock * kBlocksOfTile;

// An element of Traversal::Blocks: number (tile * kElementsOfBlock + turn) * kBlocksOfTile + lane.
struct ElementOfBlock {
  program::Value tile, lane;
  int64_t turn;
};

// What an expression is written over: its operands and attributes as values of a kernel.
class Operands {
 public:
  program::Builder& builder;
  std::span<const program::Value> values;
  std::span<const program::Value> attributes;
  DType from;             // the dtype of the operands (of the last one for `where`)
  DType to;               // the dtype of the result
  program::Value number;  // of the element in the result, row by row; only for `indexed` rows
  std::optional<ElementOfBlock> of_block;  // in place of the number; only for rows that draw

  program::Value operator[](size_t i) const { return values[i]; }
  program::Value attribute(size_t i) const { return attributes[i]; }
  DType compute() const { return compute_type(from); }
};

using Expression = program::Value (*)(const Operands& x);

// Which dtypes the operands may have, after promotion.
enum class Accepts : uint8_t { Any, Number, Integer, IntegerOrBool, Bool };

// How operands are promoted and what comes out.
enum class Rule : uint8_t {
  Same,    // the promoted dtype
  Float,   // the promoted dtype, f32 for integers and bool
  Test,    // bool from operands of one dtype
  Choice,  // the promoted dtype of all but the first operand, which is a bool
  Shift,   // the dtype of the first operand
  Given,   // the node's dtype; operands as they are
};

// What a NaN operand does.
enum class Nan : uint8_t { Propagates, Special, None };

enum class Group : uint8_t {
  Arithmetic,
  Rounding,
  Power,
  Function,
  Activation,
  Comparison,
  Logic,
  Internal
};

struct AttributeInfo {
  std::string_view name;  // empty: there is none
  double otherwise = 0;
};

constexpr size_t names_in(std::string_view list) {
  size_t count = list.empty() ? 0 : 1;
  for (const char c : list) count += c == ',' ? 1 : 0;
  return count;
}

struct ElementwiseOp {
  std::string_view name;
  Group group;
  std::string_view parameters;  // "a, b"; their number is the arity
  Accepts accepts;
  Rule rule;
  Expression expression;
  double low, high;  // operands for which the bound holds
  double ulps;       // the largest error there for f32 and f64, in units of the last place
  Nan nan;
  std::string_view meaning;
  // The cotangent of each operand as a formula of `ops::`, one behind the other with a ";" between:
  // of `g`, the result's cotangent, the operands and attributes by their names, and `out`, the
  // result. Empty where nothing comes back.
  std::string_view gradients;
  std::array<AttributeInfo, 2> attributes = {};
  bool indexed = false;   // the expression reads `number`
  bool absolute = false;  // the error is measured against the larger of result and operand
  bool draws = false;     // random words: the expression reads `of_block`, where it is there
  // These follow from what stands above.
  size_t arity = names_in(parameters);
  size_t attribute_count = attributes[0].name.empty() ? 0 : attributes[1].name.empty() ? 1 : 2;
};

std::span<const ElementwiseOp> elementwise_table();
const ElementwiseOp* find_elementwise(std::string_view name);
const ElementwiseOp& elementwise(std::string_view name);  // one that is there

// Kernels compute in 32 bits what memory holds in 8 or 16: the value as the dtype would hold it.
program::Value wrapped(program::Value value, DType to);

// A row that is not in the public table.
constexpr ElementwiseOp internal_row(std::string_view name, std::string_view parameters,
                                     Expression expression, bool indexed = false,
                                     bool draws = false) {
  // Without the defaults of the last two, which GCC 13 fails to evaluate here.
  return {name,
          Group::Internal,
          parameters,
          Accepts::Any,
          Rule::Given,
          expression,
          0,
          0,
          0,
          Nan::None,
          {},
          {},
          {},
          indexed,
          false,
          draws,
          names_in(parameters),
          0};
}

// Rows that make tensors from nothing or change their dtype.
namespace source {
extern const ElementwiseOp kFull;      // attribute 0 everywhere
extern const ElementwiseOp kArange;    // attribute 0 + number * attribute 1
extern const ElementwiseOp kLinspace;  // from attribute 0 to 1; attribute 2: how many
extern const ElementwiseOp
    kUniform;  // Philox: attributes 0 … 3: the key and the operation's number
extern const ElementwiseOp kNormal;
extern const ElementwiseOp kIntegers;  // the same; attributes 4, 5: the lowest and the range
// The same of key and number as operands, words u32; attribute 0 is added to the number.
extern const ElementwiseOp kUniformOf, kNormalOf, kIntegersOf;
extern const ElementwiseOp kCast;
extern const ElementwiseOp kCopy;
}  // namespace source

}  // namespace hologram::graph
