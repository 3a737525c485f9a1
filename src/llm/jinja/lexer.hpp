// A template cut into text and the tokens of its tags, with white space around them taken away as
// transformers configures it: trim_blocks and lstrip_blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hologram::llm::jinja {

enum class TokenType : uint8_t {
  Data,  // text outside of tags
  BlockBegin,
  BlockEnd,
  VariableBegin,
  VariableEnd,
  Name,
  String,  // with its escapes resolved
  Int,
  Float,
  Operator,
  End,
};

struct Token {
  TokenType type;
  std::string text;
  int line;
};

std::vector<Token> tokens_of(std::string_view source);  // Failure

}  // namespace hologram::llm::jinja
