#include "expression/lexer.hpp"

#include <algorithm>
#include <string>

#include "core/messages.hpp"
#include "program/text/excerpt.hpp"

namespace hologram::expression {
namespace {

using core::Text;

struct Spelling {
  std::string_view text;
  Tok kind;
  std::string_view words;
};

// Longer ones before those that they begin with.
constexpr Spelling kSymbols[] = {
    {"...", Tok::Dots, "'...'"}, {"**", Tok::Pow, "'**'"},  {"//", Tok::FloorDiv, "'//'"},
    {"<<", Tok::Shl, "'<<'"},    {">>", Tok::Shr, "'>>'"},  {"==", Tok::Eq, "'=='"},
    {"!=", Tok::Ne, "'!='"},     {"<=", Tok::Le, "'<='"},   {">=", Tok::Ge, "'>='"},
    {"(", Tok::LParen, "'('"},   {")", Tok::RParen, "')'"}, {"[", Tok::LBracket, "'['"},
    {"]", Tok::RBracket, "']'"}, {",", Tok::Comma, "','"},  {":", Tok::Colon, "':'"},
    {".", Tok::Dot, "'.'"},      {"=", Tok::Assign, "'='"}, {"+", Tok::Add, "'+'"},
    {"-", Tok::Sub, "'-'"},      {"*", Tok::Mul, "'*'"},    {"/", Tok::Div, "'/'"},
    {"%", Tok::Rem, "'%'"},      {"@", Tok::MatMul, "'@'"}, {"~", Tok::Tilde, "'~'"},
    {"&", Tok::And, "'&'"},      {"|", Tok::Or, "'|'"},     {"^", Tok::Xor, "'^'"},
    {"<", Tok::Lt, "'<'"},       {">", Tok::Gt, "'>'"},     {";", Tok::Line, "the end of the line"},
};
constexpr Spelling kWords[] = {
    {"and", Tok::WordAnd, "'and'"}, {"or", Tok::WordOr, "'or'"}, {"not", Tok::WordNot, "'not'"}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    if (text_.size() > kMostBytes)
      throw core::error(Text::ExpressionLimit,
                        "is longer than " + std::to_string(kMostBytes) + " bytes");
    while (at_ < text_.size()) step();
    add(Tok::End, 0);
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void add(Tok kind, size_t length) {
    tokens_.push_back({kind, static_cast<uint32_t>(at_), static_cast<uint32_t>(length)});
    at_ += length;
  }

  void step() {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') {
      if (open_ > 0) at_++;
      else add(Tok::Line, 1);
    } else if (c == ' ' || c == '\t' || c == '\r') {
      at_++;
    } else if (is_letter(c)) {
      word();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      number();
    } else if (c == '"' || c == '\'') {
      quoted(c);
    } else {
      symbol();
    }
  }

  void word() {
    size_t n = 1;
    while (is_letter(peek(n)) || is_digit(peek(n))) n++;
    const std::string_view name = text_.substr(at_, n);
    if (n > kLongestName)
      throw program::at_place(core::error(Text::ExpressionLimit, "has a name that is too long"),
                              text_, file_, at_, n);
    for (const Spelling& s : kWords)
      if (s.text == name) return add(s.kind, n);
    add(Tok::Name, n);
  }

  // Whatever looks like a number; the parser says whether it is one.
  void number() {
    size_t n = 1;
    const bool hexadecimal = text_[at_] == '0' && (peek(1) == 'x' || peek(1) == 'X');
    for (;; n++) {
      const char c = peek(n), before = peek(n - 1);
      const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E') && !hexadecimal;
      if (!is_digit(c) && !is_letter(c) && c != '.' && !sign) break;
      if (c == '.' && peek(n + 1) == '.') break;
    }
    add(Tok::Number, n);
  }

  // Between two of the same quotation marks, on one line, as it stands.
  void quoted(char mark) {
    const size_t end = text_.find_first_of(std::string{mark, '\n'}, at_ + 1);
    if (end >= text_.size() || text_[end] != mark)
      throw program::at_place(core::error(Text::ExpressionQuoted), text_, file_, at_, 1);
    add(Tok::String, end + 1 - at_);
  }

  void symbol() {
    for (const Spelling& s : kSymbols) {
      if (!text_.substr(at_).starts_with(s.text)) continue;
      if (s.kind == Tok::LParen || s.kind == Tok::LBracket) open_++;
      if ((s.kind == Tok::RParen || s.kind == Tok::RBracket) && open_ > 0) open_--;
      return add(s.kind, s.text.size());
    }
    size_t n = 1;  // a whole character of UTF-8
    while (n < 4 && (static_cast<unsigned char>(peek(n)) & 0xC0u) == 0x80u) n++;
    const auto c = static_cast<unsigned char>(text_[at_]);
    const std::string shown = c < 0x20 || c == 0x7f
                                  ? "a control character"
                                  : '\'' + std::string(text_.substr(at_, n)) + '\'';
    throw program::at_place(core::error(Text::ExpressionCharacter, shown), text_, file_, at_, n);
  }

  std::string_view text_, file_;
  size_t at_ = 0;
  size_t open_ = 0;  // brackets
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, std::string_view file) {
  return Lexer(text, file).run();
}

std::string_view describe(Tok kind) {
  switch (kind) {
    case Tok::End: return "the end";
    case Tok::Line: return "the end of the statement";
    case Tok::Name: return "a name";
    case Tok::Number: return "a number";
    case Tok::String: return "a text";
    default: break;
  }
  for (const Spelling& s : kSymbols)
    if (s.kind == kind) return s.words;
  for (const Spelling& s : kWords)
    if (s.kind == kind) return s.words;
  return "";
}

}  // namespace hologram::expression
