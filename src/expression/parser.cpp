#include <charconv>
#include <cmath>
#include <map>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "core/parse_real.hpp"
#include "expression/functions.hpp"
#include "expression/lexer.hpp"
#include "expression/names.hpp"
#include "expression/syntax.hpp"
#include "program/text/excerpt.hpp"

namespace hologram::expression {
namespace {

using core::Text;

constexpr size_t kDeepest = 200;  // brackets and operators within each other
constexpr size_t kMostNodes = 200000;

struct Binary {
  Tok token;
  int strength;  // binds tighter than what has less
  const char* function;
};
constexpr int kNot = 3, kCompare = 4, kSign = 10;
// ** stands apart: it binds to the right, and tighter than a sign before it.
constexpr Binary kBinary[] = {
    {Tok::WordOr, 1, "logical_or"}, {Tok::WordAnd, 2, "logical_and"},
    {Tok::Eq, kCompare, "eq"},      {Tok::Ne, kCompare, "ne"},
    {Tok::Lt, kCompare, "lt"},      {Tok::Le, kCompare, "le"},
    {Tok::Gt, kCompare, "gt"},      {Tok::Ge, kCompare, "ge"},
    {Tok::Or, 5, "bitwise_or"},     {Tok::Xor, 6, "bitwise_xor"},
    {Tok::And, 7, "bitwise_and"},   {Tok::Shl, 8, "shift_left"},
    {Tok::Shr, 8, "shift_right"},   {Tok::Add, 9, "add"},
    {Tok::Sub, 9, "sub"},           {Tok::Mul, kSign, "mul"},
    {Tok::Div, kSign, "div"},       {Tok::FloorDiv, kSign, "floor_div"},
    {Tok::Rem, kSign, "rem"},       {Tok::MatMul, kSign, "matmul"},
};
struct Prefix {
  Tok token;
  const char* function;  // nullptr: the value itself
};
constexpr Prefix kPrefixes[] = {
    {Tok::Sub, "neg"}, {Tok::Tilde, "bitwise_not"}, {Tok::Add, nullptr}};

const Binary* binary(Tok token) {
  for (const Binary& b : kBinary)
    if (b.token == token) return &b;
  return nullptr;
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) {
    out_.text = text;
    out_.file = file;
    tokens_ = tokenize(out_.text, out_.file);
  }

  Syntax run() {
    for (;;) {
      while (take(Tok::Line)) {
      }
      if (peek().kind == Tok::End) break;
      if (out_.last != kAbsent && out_.nodes[out_.last].kind != Kind::Assign)
        fail(Text::ExpressionUnused, place_);
      statement();
      if (peek().kind != Tok::Line && peek().kind != Tok::End)
        unexpected("an operator or the end of the statement");
    }
    if (out_.last == kAbsent) unexpected("an expression");
    return std::move(out_);
  }

 private:
  // Counts how deep the text goes, so that no text exhausts the stack.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser.depth_ > kDeepest)
        parser.fail(Text::ExpressionLimit, parser.peek(),
                    "goes deeper than " + std::to_string(kDeepest) + " levels");
    }
    ~Level() { parser_.depth_--; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token next() {
    const Token token = peek();
    if (at_ + 1 < tokens_.size()) at_++;
    return token;
  }
  bool take(Tok kind) {
    if (peek().kind != kind) return false;
    next();
    return true;
  }
  void expect(Tok kind) {
    if (!take(kind)) unexpected(describe(kind));
  }
  std::string_view text_of(const Token& token) const {
    return std::string_view(out_.text).substr(token.offset, token.length);
  }

  template <class... Args>
  [[noreturn]] void fail(Text text, const Token& where, const Args&... args) const {
    throw program::at_place(core::error(text, args...), out_.text, out_.file, where.offset,
                            where.length);
  }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    const Token& token = peek();
    const bool shown = token.kind == Tok::Name || token.kind == Tok::Number;
    fail(Text::ExpressionSyntax, token, wanted,
         shown ? '\'' + std::string(text_of(token)) + '\'' : std::string(describe(token.kind)));
  }

  uint32_t add(Kind kind, const Token& where) {
    if (out_.nodes.size() >= kMostNodes) fail(Text::ExpressionLimit, where, "has too many parts");
    Node& node = out_.nodes.emplace_back();
    node.kind = kind;
    node.offset = where.offset;
    node.length = where.length;
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }
  uint32_t apply(const char* function, const Token& where, std::vector<uint32_t> children) {
    const uint32_t node = add(Kind::Operator, where);
    out_.nodes[node].name = function;
    out_.nodes[node].children = std::move(children);
    return node;
  }

  void statement() {
    place_ = peek();
    if (peek().kind != Tok::Name || peek(1).kind != Tok::Assign) {
      out_.last = expression();
      return;
    }
    const Token name = next();
    next();
    const std::string text(text_of(name));
    if (const std::string_view what = reserved(text); !what.empty())
      fail(Text::ExpressionReserved, name, text, what);
    const uint32_t value = expression();
    const uint32_t node = add(Kind::Assign, name);
    out_.nodes[node].name = text;
    out_.nodes[node].children = {value};
    out_.last = node;
    const auto [known, fresh] = variables_.try_emplace(text, out_.assigned.size());
    if (fresh) out_.assigned.push_back({text, node});
    else out_.assigned[known->second].node = node;
  }

  uint32_t expression(int strength = 0) {
    const Level level(*this);
    uint32_t left;
    if (peek().kind == Tok::WordNot && strength <= kNot) {
      const Token where = next();
      left = apply("logical_not", where, {expression(kNot)});
    } else {
      left = prefixed();
    }
    for (;;) {
      const Binary* op = binary(peek().kind);
      if (op == nullptr || op->strength <= strength) return left;
      if (op->strength == kCompare) {
        left = comparison(left);
        continue;
      }
      const Token where = next();
      const uint32_t right = expression(op->strength);
      left = apply(op->function, where, {left, right});
    }
  }

  uint32_t comparison(uint32_t first) {
    const Token where = peek();
    std::vector<uint32_t> children = {first};
    std::vector<std::string> words;
    for (const Binary* op = binary(peek().kind); op != nullptr && op->strength == kCompare;
         op = binary(peek().kind)) {
      next();
      words.emplace_back(op->function);
      children.push_back(expression(kCompare));
    }
    const uint32_t node = add(Kind::Compare, where);
    out_.nodes[node].children = std::move(children);
    out_.nodes[node].words = std::move(words);
    return node;
  }

  uint32_t prefixed() {
    const Level level(*this);
    for (const Prefix& p : kPrefixes) {
      if (peek().kind != p.token) continue;
      const Token where = next();
      const uint32_t value = prefixed();
      return p.function == nullptr ? value : apply(p.function, where, {value});
    }
    const uint32_t base = postfixed();
    if (peek().kind != Tok::Pow) return base;
    const Token where = next();
    const uint32_t exponent = prefixed();
    return apply("pow", where, {base, exponent});
  }

  uint32_t postfixed() {
    uint32_t value = primary();
    for (;;) {
      if (peek().kind == Tok::LBracket) value = index(value);
      else if (peek().kind == Tok::Dot) value = member(value);
      else return value;
    }
  }

  uint32_t member(uint32_t of) {
    next();
    if (peek().kind != Tok::Name) unexpected("a name");
    const Token where = next();
    const uint32_t node = add(Kind::Member, where);
    out_.nodes[node].name = text_of(where);
    out_.nodes[node].children = {of};
    return node;
  }

  uint32_t index(uint32_t of) {
    const Token where = next();
    std::vector<uint32_t> children = {of};
    if (peek().kind == Tok::RBracket) unexpected("an index");
    do {
      if (peek().kind == Tok::RBracket) break;
      children.push_back(index_part());
    } while (take(Tok::Comma));
    expect(Tok::RBracket);
    const uint32_t node = add(Kind::Index, where);
    out_.nodes[node].children = std::move(children);
    return node;
  }

  uint32_t index_part() {
    const Token where = peek();
    if (take(Tok::Dots)) return add(Kind::Dots, where);
    const auto ends = [&] {
      const Tok k = peek().kind;
      return k == Tok::Colon || k == Tok::Comma || k == Tok::RBracket;
    };
    std::vector<uint32_t> parts(3, kAbsent);
    if (!ends()) parts[0] = expression();
    if (peek().kind != Tok::Colon && parts[0] != kAbsent) return parts[0];
    expect(Tok::Colon);
    if (!ends()) parts[1] = expression();
    if (take(Tok::Colon) && !ends()) parts[2] = expression();
    const uint32_t node = add(Kind::Slice, where);
    out_.nodes[node].children = std::move(parts);
    return node;
  }

  uint32_t primary() {
    const Token where = peek();
    switch (where.kind) {
      case Tok::Number: return number();
      case Tok::String: return quoted();
      case Tok::Name: return peek(1).kind == Tok::LParen ? call() : name();
      case Tok::LBracket: {
        next();
        return list(where, Tok::RBracket, {});
      }
      case Tok::LParen: {
        next();
        if (peek().kind == Tok::RParen) return list(where, Tok::RParen, {});
        const uint32_t value = expression();
        if (peek().kind == Tok::Comma) {
          next();
          return list(where, Tok::RParen, {value});
        }
        expect(Tok::RParen);
        return value;
      }
      default: unexpected("a number, a name or '('");
    }
  }

  uint32_t list(const Token& where, Tok end, std::vector<uint32_t> children) {
    while (peek().kind != end) {
      children.push_back(expression());
      if (!take(Tok::Comma)) break;
    }
    expect(end);
    const uint32_t node = add(Kind::List, where);
    out_.nodes[node].children = std::move(children);
    return node;
  }

  uint32_t quoted() {
    const Token where = next();
    const std::string_view text = text_of(where);
    const uint32_t node = add(Kind::String, where);
    out_.nodes[node].name = text.substr(1, text.size() - 2);
    return node;
  }

  uint32_t number() {
    const Token where = next();
    std::string_view text = text_of(where);
    uint64_t integer = 0;
    double real = 0;
    const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    const char* const end = text.data() + text.size();
    const auto whole = std::from_chars(text.data(), end, integer, base);
    const bool is_whole = whole.ec == std::errc() && whole.ptr == end;
    if (is_whole) {
      real = static_cast<double>(integer);
    } else {
      const bool fraction = core::parse_real(text, real);
      const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
      if (base == 16 || digits || !fraction) fail(Text::ExpressionNumber, where, text_of(where));
    }
    const uint32_t node = add(Kind::Number, where);
    const DType whole_dtype = integer > INT64_MAX ? DType::U64 : DType::I64;
    out_.nodes[node].dtype = is_whole ? whole_dtype : DType::F64;
    out_.nodes[node].integer = integer;
    out_.nodes[node].real = real;
    return node;
  }

  uint32_t name() {
    const Token where = next();
    const std::string text(text_of(where));
    const uint32_t node = add(Kind::Name, where);
    out_.nodes[node].name = text;
    if (const auto known = variables_.find(text); known != variables_.end())
      out_.nodes[node].definition = out_.assigned[known->second].node;
    else if (reserved(text).empty() &&
             std::find(out_.inputs.begin(), out_.inputs.end(), text) == out_.inputs.end())
      out_.inputs.push_back(text);
    return node;
  }

  uint32_t call() {
    const Token where = next();
    const std::string text(text_of(where));
    if (find_callable(text).name.empty()) {
      const std::string_view near = core::nearest(text, function_names());
      fail(Text::ExpressionFunction, where, text,
           near.empty() ? std::string() : "Did you mean " + std::string(near) + "? ");
    }
    next();
    std::vector<uint32_t> children;
    std::vector<std::string> words;
    while (peek().kind != Tok::RParen) {
      std::string word;
      if (peek().kind == Tok::Name && peek(1).kind == Tok::Assign) {
        word = text_of(next());
        next();
      } else if (!words.empty() && !words.back().empty()) {
        fail(Text::ExpressionPositional, peek(), find_callable(text).signature());
      }
      children.push_back(expression());
      words.push_back(std::move(word));
      if (!take(Tok::Comma)) break;
    }
    expect(Tok::RParen);
    const uint32_t node = add(Kind::Call, where);
    out_.nodes[node].name = text;
    out_.nodes[node].children = std::move(children);
    out_.nodes[node].words = std::move(words);
    return node;
  }

  Syntax out_;
  std::vector<Token> tokens_;
  size_t at_ = 0, depth_ = 0;
  Token place_;                              // where the latest statement begins
  std::map<std::string, size_t> variables_;  // positions in `assigned`
};

}  // namespace

Syntax parse(std::string_view text, std::string_view file) { return Parser(text, file).run(); }

}  // namespace hologram::expression
