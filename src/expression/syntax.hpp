// An expression that has been read: a list of nodes in which operands come before those who use
// them, so that nothing that walks it needs a stack.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/dtype.hpp"

namespace hologram::expression {

enum class Kind : uint8_t {
  Number,
  String,    // `name` is what stands between the quotation marks
  Name,      // of an input, an assignment before, a dtype or a constant
  Operator,  // `name` is the function that it stands for
  Compare,   // a < b <= c: `words` are the functions between the children
  List,      // [a, b] or (a, b)
  Slice,     // begin:end:step, each a child or kAbsent
  Dots,      // ...
  Index,     // the first child, at the others
  Member,    // x.shape
  Call,      // `words` are the keywords of the children; empty: by position
  Assign,
};

inline constexpr uint32_t kAbsent = UINT32_MAX;

struct Node {
  Kind kind = Kind::Number;
  uint32_t offset = 0, length = 0;  // what to point at if it fails
  std::string name;
  DType dtype = DType::None;  // of a Number: I64, U64 (an integer beyond it) or F64
  uint64_t integer = 0;
  double real = 0;
  uint32_t definition = kAbsent;  // of a Name: the assignment that gives its value
  std::vector<uint32_t> children;
  std::vector<std::string> words;
};

// A name that was assigned, and the node that does so last.
struct Assigned {
  std::string name;
  uint32_t node;
};

struct Syntax {
  std::string text, file;
  std::vector<Node> nodes;
  std::vector<std::string> inputs;  // names that no statement before assigns, in order of use
  std::vector<Assigned> assigned;   // in order of the first assignment
  uint32_t last = kAbsent;          // the last statement
};

// InvalidProgram, with line, column and a caret, if the text is no expression; InvalidArgument if
// it calls a function that is not there.
Syntax parse(std::string_view text, std::string_view file);

}  // namespace hologram::expression
