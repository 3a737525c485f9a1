// The text of an expression as tokens.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hologram::expression {

inline constexpr size_t kMostBytes = size_t{1} << 20;
inline constexpr size_t kLongestName = 128;

enum class Tok : uint8_t {
  End,
  Line,  // the end of a statement: a line end or a semicolon
  Name,
  Number,
  String,
  LParen,
  RParen,
  LBracket,
  RBracket,
  Comma,
  Colon,
  Dot,
  Dots,
  Assign,
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Rem,
  Pow,
  MatMul,
  Tilde,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  WordAnd,
  WordOr,
  WordNot,
};

struct Token {
  Tok kind = Tok::End;
  uint32_t offset = 0;
  uint32_t length = 0;
};

// The tokens with Tok::End last; line ends inside brackets and comments from # on are left out.
// InvalidProgram, with its place, for what is no token.
std::vector<Token> tokenize(std::string_view text, std::string_view file);

// "'+'", "a name", "the end of the line", …
std::string_view describe(Tok kind);

}  // namespace hologram::expression
