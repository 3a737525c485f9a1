#include "program/text/lexer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/messages.hpp"
#include "core/parse_real.hpp"
#include "program/text/excerpt.hpp"

namespace hologram::program {
namespace {

using core::Text;

struct Spelling {
  std::string_view text;
  Tok kind;
};

// Longer spellings stand before those that they begin with.
constexpr auto kSpellings = std::to_array<Spelling>({
    {"<<=", Tok::ShlAssign}, {">>=", Tok::ShrAssign}, {"..", Tok::DotDot},
    {"->", Tok::Arrow},      {"&&", Tok::AndAnd},     {"||", Tok::OrOr},
    {"==", Tok::Eq},         {"!=", Tok::Ne},         {"<=", Tok::Le},
    {">=", Tok::Ge},         {"<<", Tok::Shl},        {">>", Tok::Shr},
    {"+=", Tok::AddAssign},  {"-=", Tok::SubAssign},  {"*=", Tok::MulAssign},
    {"/=", Tok::DivAssign},  {"%=", Tok::RemAssign},  {"&=", Tok::AndAssign},
    {"|=", Tok::OrAssign},   {"^=", Tok::XorAssign},  {"(", Tok::LParen},
    {")", Tok::RParen},      {"[", Tok::LBracket},    {"]", Tok::RBracket},
    {"{", Tok::LBrace},      {"}", Tok::RBrace},      {",", Tok::Comma},
    {":", Tok::Colon},       {".", Tok::Dot},         {"?", Tok::Question},
    {"=", Tok::Assign},      {"|", Tok::Or},          {"^", Tok::Xor},
    {"&", Tok::And},         {"<", Tok::Lt},          {">", Tok::Gt},
    {"+", Tok::Add},         {"-", Tok::Sub},         {"*", Tok::Mul},
    {"/", Tok::Div},         {"%", Tok::Rem},         {"!", Tok::Bang},
    {"~", Tok::Tilde},
});

constexpr auto kReserved = std::to_array<std::string_view>(
    {"program", "fn",   "const", "require", "shared",   "var",       "for",        "unroll",
     "while",   "loop", "if",    "else",    "break",    "continue",  "return",     "true",
     "false",   "inf",  "nan",   "lane_id", "group_id", "global_id", "group_count"});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::vector<Token> run() {
    if (text_.size() > kMaxTextBytes)
      throw core::error(Text::AtlasTextLength, file_, kMaxTextBytes);
    while (skip_blanks()) read();
    if (!open_.empty()) {
      const Token& token = tokens_[open_.back()];
      fail(token.offset, 1, Text::AtlasUnclosed, spelled(token), partner(token.kind));
    }
    add(Tok::Line, 0);
    add(Tok::End, 0);
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(size_t offset, size_t length, Text text, const Args&... args) const {
    throw at_place(core::error(text, args...), text_, file_, offset, length);
  }

  std::string_view spelled(const Token& token) const {
    return text_.substr(token.offset, token.length);
  }
  static std::string_view partner(Tok kind) {
    switch (kind) {
      case Tok::LParen: return ")";
      case Tok::LBracket: return "]";
      case Tok::LBrace: return "}";
      case Tok::RParen: return "(";
      case Tok::RBracket: return "[";
      default: return "{";
    }
  }

  // To the next character that means something; line ends become tokens on the way.
  bool skip_blanks() {
    for (; at_ < text_.size(); at_++) {
      const char c = text_[at_];
      if (c == '\n') {
        if (ends_statement()) add(Tok::Line, 1);
        line_++;
      } else if (c == ';') {
        add(Tok::Line, 1);
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return true;
      }
    }
    return false;
  }

  bool ends_statement() const {
    if (!open_.empty() && tokens_[open_.back()].kind != Tok::LBrace) return false;
    if (tokens_.empty()) return false;
    const Tok last = tokens_.back().kind;
    switch (last) {
      case Tok::Line:
      case Tok::LBrace:
      case Tok::Comma:
      case Tok::Colon:
      case Tok::DotDot:
      case Tok::Arrow: return false;
      default: return last < Tok::Question;
    }
  }

  void add(Tok kind, size_t length) {
    tokens_.push_back({kind, static_cast<uint32_t>(at_), static_cast<uint32_t>(length), line_, 0});
  }

  void read() {
    const char c = text_[at_];
    if (is_digit(c)) return read_number();
    if (is_letter(c)) return read_name();
    for (const Spelling& s : kSpellings) {
      if (text_.substr(at_, s.text.size()) != s.text) continue;
      add(s.kind, s.text.size());
      balance();
      at_ += s.text.size();
      return;
    }
    const auto byte = static_cast<unsigned char>(c);
    fail(at_, 1, Text::AtlasCharacter,
         byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", c) : fmt::format("0x{:02x}", byte));
  }

  void read_name() {
    size_t end = at_;
    while (end < text_.size() && is_word(text_[end])) end++;
    if (end - at_ > kMaxNameLength) fail(at_, 1, Text::AtlasNameLength, kMaxNameLength);
    add(Tok::Name, end - at_);
    at_ = end;
  }

  void read_number() {
    const auto at = [&](size_t i) { return i < text_.size() ? text_[i] : '\0'; };
    const bool hex = at(at_) == '0' && (at(at_ + 1) == 'x' || at(at_ + 1) == 'X');
    size_t end = at_;
    const auto words = [&] {
      while (is_word(at(end))) {
        const bool exponent = !hex && (at(end) == 'e' || at(end) == 'E');
        end++;
        if (exponent && (at(end) == '+' || at(end) == '-')) end++;
      }
    };
    words();
    if (!hex && at(end) == '.' && at(end + 1) != '.' && !is_letter(at(end + 1))) {
      end++;
      words();
    }
    Literal literal;
    if (!parse_literal(text_.substr(at_, end - at_), literal))
      fail(at_, end - at_, Text::AtlasNumber, text_.substr(at_, std::min<size_t>(end - at_, 64)));
    add(Tok::Number, end - at_);
    at_ = end;
  }

  // Ties brackets to their partners, so that a block can be skipped and a missing one is named.
  void balance() {
    const auto index = static_cast<uint32_t>(tokens_.size() - 1);
    const Token token = tokens_.back();
    switch (token.kind) {
      case Tok::LParen:
      case Tok::LBracket:
      case Tok::LBrace: open_.push_back(index); return;
      case Tok::RParen:
      case Tok::RBracket:
      case Tok::RBrace: break;
      default: return;
    }
    if (open_.empty())
      fail(token.offset, 1, Text::AtlasUnopened, spelled(token), partner(token.kind));
    Token& opening = tokens_[open_.back()];
    if (spelled(opening) != partner(token.kind))
      fail(token.offset, 1, Text::AtlasWrongClose, spelled(token), spelled(opening), opening.line,
           partner(opening.kind));
    opening.match = index;
    tokens_.back().match = open_.back();
    open_.pop_back();
  }

  std::string_view text_, file_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  std::vector<Token> tokens_;
  std::vector<uint32_t> open_;
};

bool parse_digits(std::string_view digits, unsigned base, Wide& value) {
  value = 0;
  for (const char c : digits) {
    const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - 'A' + 10;
    if (digit < 0 || digit >= static_cast<int>(base)) return false;
    value = value * base + digit;
    if (value > UINT64_MAX) return false;
  }
  return !digits.empty();
}

}  // namespace

std::vector<Token> tokenize(std::string_view text, std::string_view file) {
  return Lexer(text, file).run();
}

bool parse_literal(std::string_view text, Literal& literal) {
  const bool hex = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  constexpr auto kSuffixes = std::to_array<DType>(
      {DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64});
  literal.type = DType::None;
  for (const DType type : kSuffixes)
    if (text.ends_with(name_of(type)) && !(hex && is_float(type))) literal.type = type;
  if (literal.type != DType::None) text.remove_suffix(3);
  if (hex) {
    literal.number = Number::of_integer(0);
    return parse_digits(text.substr(2), 16, literal.number.integer);
  }
  if (text.find_first_not_of("0123456789") == std::string_view::npos && !is_float(literal.type)) {
    literal.number = Number::of_integer(0);
    return parse_digits(text, 10, literal.number.integer);
  }
  literal.number = Number::of_real(0);
  return !is_integer(literal.type) && !text.empty() && is_digit(text[0]) &&
         core::parse_real(text, literal.number.real);
}

std::string_view describe(Tok kind) {
  switch (kind) {
    case Tok::End: return "the end of the text";
    case Tok::Line: return "the end of the line";
    case Tok::Name: return "a name";
    case Tok::Number: return "a number";
    default: break;
  }
  for (const Spelling& s : kSpellings)
    if (s.kind == kind) return s.text;
  return "?";
}

bool is_reserved(std::string_view text) {
  return std::find(kReserved.begin(), kReserved.end(), text) != kReserved.end() ||
         parse_dtype(text).has_value();
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), is_word) && !is_reserved(text);
}

}  // namespace hologram::program
