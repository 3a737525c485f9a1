#include "llm/pattern.hpp"

#include <algorithm>
#include <functional>

#include "llm/unicode.hpp"

namespace hologram::llm {

// A sequence of items, or alternatives of such, or one item.
struct Pattern::Node {
  enum class Kind : uint8_t { Sequence, Choice, Set, Repeat, Ahead, NotAhead, End, Begin };
  struct Range {
    char32_t first, last;
  };
  Kind kind = Kind::Sequence;
  std::vector<std::shared_ptr<const Node>> parts;
  // Of a set.
  std::vector<Range> ranges;
  uint8_t categories = 0, categories_not = 0;  // bits
  bool space = false, not_space = false, negated = false, any = false;
  // Of a repetition.
  size_t least = 0, most = 0;
  bool keeps = false;

  bool has(char32_t point) const {
    const auto bit = static_cast<uint8_t>(1u << static_cast<unsigned>(category_of(point)));
    bool found = any || (categories & bit) != 0 || (categories_not != 0 && !(categories_not & bit));
    found = found || (space && is_space(point)) || (not_space && !is_space(point));
    for (size_t i = 0; i < ranges.size() && !found; i++)
      found = point >= ranges[i].first && point <= ranges[i].last;
    return found != negated;
  }
};

namespace {

using Node = Pattern::Node;
using NodePtr = std::shared_ptr<const Node>;
using Kind = Node::Kind;

class Unknown {};
constexpr int kDeepest = 50;
constexpr size_t kMostSteps = 2000000;
constexpr size_t kEndless = SIZE_MAX;

class Parser {
 public:
  explicit Parser(std::vector<char32_t> text) : text_(std::move(text)) {}

  NodePtr all() {
    NodePtr root = choice(0);
    if (at_ != text_.size()) throw Unknown();
    return root;
  }

 private:
  bool more() const { return at_ < text_.size(); }
  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0;
  }
  char32_t take() {
    if (!more()) throw Unknown();
    return text_[at_++];
  }
  bool accept(std::u32string_view word) {
    for (size_t i = 0; i < word.size(); i++)
      if (peek(i) != word[i]) return false;
    at_ += word.size();
    return true;
  }

  NodePtr choice(int depth) {
    if (depth > kDeepest) throw Unknown();
    auto node = std::make_shared<Node>();
    node->kind = Kind::Choice;
    do node->parts.push_back(sequence(depth));
    while (accept(U"|"));
    return node->parts.size() == 1 ? node->parts[0] : node;
  }

  NodePtr sequence(int depth) {
    auto node = std::make_shared<Node>();
    while (more() && peek() != '|' && peek() != ')') node->parts.push_back(repeated(item(depth)));
    return node;
  }

  NodePtr repeated(NodePtr inner) {
    size_t least = 1, most = 1;
    if (accept(U"?")) least = 0;
    else if (accept(U"*")) least = 0, most = kEndless;
    else if (accept(U"+")) most = kEndless;
    else if (accept(U"{")) {
      least = most = number();
      if (accept(U",")) most = peek() == '}' ? kEndless : number();
      if (!accept(U"}")) throw Unknown();
    } else return inner;
    if (peek() == '?' || most < least) throw Unknown();
    auto node = std::make_shared<Node>();
    node->kind = Kind::Repeat;
    node->least = least;
    node->most = most;
    node->keeps = accept(U"+");
    node->parts.push_back(std::move(inner));
    return node;
  }
  size_t number() {
    size_t n = 0;
    if (peek() < '0' || peek() > '9') throw Unknown();
    while (peek() >= '0' && peek() <= '9' && n < 100000) n = n * 10 + (take() - '0');
    return n;
  }

  NodePtr item(int depth) {
    if (accept(U"(")) return group(depth);
    auto node = std::make_shared<Node>();
    node->kind = Kind::Set;
    const char32_t c = take();
    if (c == '[') set(*node);
    else if (c == '\\') escape(*node);
    else if (c == '.') node->ranges = {{'\n', '\n'}}, node->negated = true;
    else if (c == '$') node->kind = Kind::End;
    else if (c == '^') node->kind = Kind::Begin;
    else if (c == '*' || c == '+' || c == '?' || c == '{') throw Unknown();
    else add(*node, c, c);
    return node;
  }

  NodePtr group(int depth) {
    const bool before = any_case_;
    Kind kind = Kind::Sequence;
    if (accept(U"?i:")) any_case_ = true;
    else if (accept(U"?!")) kind = Kind::NotAhead;
    else if (accept(U"?=")) kind = Kind::Ahead;
    else if (!accept(U"?:") && peek() == '?') throw Unknown();
    NodePtr inner = choice(depth + 1);
    if (!accept(U")")) throw Unknown();
    any_case_ = before;
    if (kind == Kind::Sequence) return inner;
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->parts.push_back(std::move(inner));
    return node;
  }

  void add(Node& node, char32_t first, char32_t last) const {
    node.ranges.push_back({first, last});
    if (!any_case_ || first != last) return;
    if (first >= 'a' && first <= 'z') node.ranges.push_back({first - 32, first - 32});
    if (first >= 'A' && first <= 'Z') node.ranges.push_back({first + 32, first + 32});
  }

  // Behind a backslash. Returns whether it was one code point, which it leaves last in the ranges.
  bool escape(Node& node) {
    const char32_t c = take();
    switch (c) {
      case 'p': node.categories |= category(); return false;
      case 'P': node.categories_not |= category(); return false;
      case 's': node.space = true; return false;
      case 'S': node.not_space = true; return false;
      case 'd': node.categories |= 1u << static_cast<unsigned>(Category::Number); return false;
      case 'r': add(node, '\r', '\r'); return true;
      case 'n': add(node, '\n', '\n'); return true;
      case 't': add(node, '\t', '\t'); return true;
      case 'u': {
        char32_t point = 0;
        for (int i = 0; i < 4; i++) point = point * 16 + hex(take());
        add(node, point, point);
        return true;
      }
      default:
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
          throw Unknown();
        add(node, c, c);
        return true;
    }
  }
  static char32_t hex(char32_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    throw Unknown();
  }
  uint8_t category() {
    constexpr std::u32string_view kLetters = U"LMNPSZC";
    const bool braces = accept(U"{");
    const size_t number = kLetters.find(take());
    if (number == std::u32string_view::npos) throw Unknown();
    if (braces && !accept(U"}")) return subcategory(number);
    return static_cast<uint8_t>(1u << number);
  }
  // Cased letters apart are not in the table: Lu, Ll and the like are taken for all letters where
  // both stand beside each other, which is not told here.
  [[noreturn]] uint8_t subcategory(size_t /*number*/) { throw Unknown(); }

  void set(Node& node) {
    node.negated = accept(U"^");
    while (!accept(U"]")) {
      bool single = true;
      if (accept(U"\\")) single = escape(node);
      else {
        const char32_t c = take();
        if (c == '[' && (peek() == ':' || peek() == '^')) throw Unknown();
        add(node, c, c);
      }
      if (!single || peek() != '-' || peek(1) == ']') continue;
      take();
      const char32_t first = node.ranges.back().first;
      Node last;
      if (accept(U"\\")) {
        if (!escape(last)) throw Unknown();
      } else {
        add(last, take(), 0);
      }
      node.ranges.back().last = last.ranges[0].first;
      if (node.ranges.back().last < first) throw Unknown();
    }
  }

  std::vector<char32_t> text_;
  size_t at_ = 0;
  bool any_case_ = false;
};

// Matches by going on: each item calls what follows it.
class Matcher {
 public:
  using Then = std::function<bool(size_t)>;
  explicit Matcher(const std::vector<char32_t>& text) : text_(text) {}

  bool node(const Node& n, size_t at, const Then& then) {
    if (++steps_ > kMostSteps) return false;
    switch (n.kind) {
      case Kind::Sequence: return parts(n, 0, at, then);
      case Kind::Choice:
        return std::any_of(n.parts.begin(), n.parts.end(),
                           [&](const NodePtr& part) { return node(*part, at, then); });
      case Kind::Set: return at < text_.size() && n.has(text_[at]) && then(at + 1);
      case Kind::Repeat: return repeat(n, at, then);
      case Kind::Ahead: return node(*n.parts[0], at, [](size_t) { return true; }) && then(at);
      case Kind::NotAhead: return !node(*n.parts[0], at, [](size_t) { return true; }) && then(at);
      case Kind::End: return at == text_.size() && then(at);
      case Kind::Begin: return at == 0 && then(at);
    }
    return false;
  }

 private:
  bool parts(const Node& n, size_t i, size_t at, const Then& then) {
    if (i == n.parts.size()) return then(at);
    return node(*n.parts[i], at, [&, i](size_t next) { return parts(n, i + 1, next, then); });
  }

  bool repeat(const Node& n, size_t at, const Then& then) {
    const Node& inner = *n.parts[0];
    if (inner.kind == Kind::Set) {  // nearly all: without going deeper for each code point
      size_t end = at;
      while (end < text_.size() && end - at < n.most && inner.has(text_[end])) end++;
      if (end - at < n.least) return false;
      for (size_t stop = end;; stop--) {
        if (then(stop)) return true;
        if (n.keeps || stop == at + n.least || ++steps_ > kMostSteps) return false;
      }
    }
    return again(n, 0, at, then);
  }
  bool again(const Node& n, size_t times, size_t at, const Then& then) {
    if (++steps_ > kMostSteps || times > 10000) return false;
    if (times < n.most && node(*n.parts[0], at, [&, times](size_t next) {
          return next != at && again(n, times + 1, next, then);
        }))
      return true;
    return times >= n.least && then(at);
  }

  const std::vector<char32_t>& text_;
  size_t steps_ = 0;
};

}  // namespace

std::optional<Pattern> Pattern::parse(std::string_view text) {
  Pattern pattern;
  try {
    pattern.root_ = Parser(code_points(text)).all();
  } catch (const Unknown&) {
    return {};
  }
  return pattern;
}

std::optional<size_t> Pattern::match(const std::vector<char32_t>& text, size_t at) const {
  std::optional<size_t> end;
  Matcher(text).node(*root_, at, [&](size_t stop) {
    end = stop;
    return true;
  });
  return end;
}

std::vector<Piece> cut(const Pattern& pattern, const std::vector<char32_t>& text, Piece piece) {
  std::vector<Piece> pieces;
  // What lies outside of the piece is not seen.
  const std::vector<char32_t> part(text.begin() + static_cast<std::ptrdiff_t>(piece.begin),
                                   text.begin() + static_cast<std::ptrdiff_t>(piece.end));
  size_t kept = 0;
  for (size_t at = 0; at < part.size();) {
    const auto end = pattern.match(part, at);
    if (!end || *end == at) {
      at++;
      continue;
    }
    if (at > kept) pieces.push_back({piece.begin + kept, piece.begin + at, false});
    pieces.push_back({piece.begin + at, piece.begin + *end, true});
    at = kept = *end;
  }
  if (part.size() > kept) pieces.push_back({piece.begin + kept, piece.end, false});
  return pieces;
}

}  // namespace hologram::llm
