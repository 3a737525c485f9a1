// What a template is parsed into.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "llm/jinja/value.hpp"

namespace hologram::llm::jinja {

enum class Op : uint8_t {
  // Expressions. What stands in `nodes`, then what in `text`.
  Constant,   // `value`
  Name,       // the name
  MakeList,   // elements
  MakeTuple,  // elements
  MakeDict,   // keys and values in turns
  Attribute,  // object; the name
  Item,       // object, key
  Slice,      // object, first, last, step, of which any may be missing (null)
  Call,       // function, then arguments, with their names in `names` or ""
  Filter,     // operand, then arguments likewise; the filter's name
  Test,       // the same
  Not,
  Negative,
  Positive,
  And,
  Or,
  Binary,   // two; the operator
  Compare,  // operands; the operators between them in `names`
  Choice,   // condition, then, else (may be null)
  // Statements.
  Text,         // text as it stands
  Print,        // an expression
  If,           // condition and body in turns; a body alone is `else`
  For,          // iterable, condition (may be null), body, else (may be null); `names`: targets
  Set,          // the value; `names`: targets, of which "a.b" is that of a namespace
  SetBlock,     // a body; `names`: the target; filters in `more`
  Macro,        // a body, then defaults (may be null); `names`: parameters; its name
  CallBlock,    // a Call, and a Macro, the caller
  FilterBlock,  // a Filter without an operand, and a body
  With,         // values, then a body; `names`: targets
  Body,         // statements
  Break,
  Continue,
};

struct Node {
  Op op;
  int line;
  int depth = 1;
  std::string text;
  Value value;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::string> names;
  bool flag = false;  // Test: negated; For: recursive
};
using NodePtr = std::unique_ptr<Node>;

// Failure.
NodePtr parse(std::string_view source);

}  // namespace hologram::llm::jinja
