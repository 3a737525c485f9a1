// The text of a program as tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/text/number.hpp"

namespace hologram::program {

inline constexpr size_t kMaxTextBytes = size_t{4} << 20;
inline constexpr size_t kMaxNameLength = 128;

enum class Tok : uint8_t {
  End,
  Line,  // the end of a statement: a line end or a semicolon
  Name,
  Number,
  LParen,
  RParen,
  LBracket,
  RBracket,
  LBrace,
  RBrace,
  Comma,
  Colon,
  Dot,
  DotDot,
  Arrow,
  Question,
  Assign,
  OrOr,
  AndAnd,
  Or,
  Xor,
  And,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Shl,
  Shr,
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  Bang,
  Tilde,
  AddAssign,
  SubAssign,
  MulAssign,
  DivAssign,
  RemAssign,
  AndAssign,
  OrAssign,
  XorAssign,
  ShlAssign,
  ShrAssign,
};

struct Token {
  Tok kind = Tok::End;
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t line = 1;
  uint32_t match = 0;  // of a bracket: the token of its partner
};

// The tokens with Tok::End last. Brackets are balanced; line ends inside ( ) and [ ], after an
// operator and at the start of a block are left out. InvalidProgram with its place otherwise.
std::vector<Token> tokenize(std::string_view text, std::string_view file);

// A literal: a number, and its type if it has a suffix. Whether it is one at all.
struct Literal {
  Number number;
  DType type = DType::None;
};
bool parse_literal(std::string_view text, Literal& literal);

// The spelling of an operator or bracket, "a name", "the end of the line", …
std::string_view describe(Tok kind);

// Whether a text is an identifier that a program may declare.
bool is_identifier(std::string_view text);
bool is_reserved(std::string_view text);

}  // namespace hologram::program
