// The parser of a template's expressions, by recursive descent in Jinja's order of operators.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "llm/jinja/ast.hpp"
#include "llm/jinja/lexer.hpp"

namespace hologram::llm::jinja {

inline constexpr int kMostNested = 200;  // of nodes: evaluation recurses
inline constexpr size_t kMostArguments = 64;

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view source) : tokens_(tokens_of(source)) {}

 protected:
  using Words = std::vector<std::string_view>;

  // ---- tokens ----
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is_op(std::string_view op) const {
    return now().type == TokenType::Operator && now().text == op;
  }
  bool is_word(std::string_view word) const {
    return now().type == TokenType::Name && now().text == word;
  }
  bool is_word(const Words& words) const {
    return now().type == TokenType::Name &&
           std::find(words.begin(), words.end(), now().text) != words.end();
  }
  bool take_op(std::string_view op) {
    const bool there = is_op(op);
    if (there) at_++;
    return there;
  }
  bool take_word(std::string_view word) {
    const bool there = is_word(word);
    if (there) at_++;
    return there;
  }
  [[noreturn]] void fail(const std::string& what) const { throw Failure(what, now().line); }
  std::string seen() const {
    switch (now().type) {
      case TokenType::End: return "the end of the template";
      case TokenType::BlockEnd:
      case TokenType::VariableEnd: return "the end of the tag";
      default: return "'" + now().text + "'";
    }
  }
  void need_op(std::string_view op) {
    if (!take_op(op)) fail(fmt::format("'{}' is expected, not {}", op, seen()));
  }
  void need_word(std::string_view word) {
    if (!take_word(word)) fail(fmt::format("'{}' is expected, not {}", word, seen()));
  }
  std::string name() {
    if (now().type != TokenType::Name) fail(fmt::format("a name is expected, not {}", seen()));
    return tokens_[at_++].text;
  }
  void end_block() {
    if (now().type != TokenType::BlockEnd)
      fail(fmt::format("the end of the tag is expected, not {}", seen()));
    at_++;
  }

  // ---- nodes ----
  NodePtr node(Op op, std::vector<NodePtr> nodes = {}, std::string text = {}) const {
    auto made = std::make_unique<Node>(Node{op, now().line, 1, std::move(text), {}, {}, {}, false});
    for (NodePtr& child : nodes) add(*made, std::move(child));
    return made;
  }
  template <class... Nodes>
  NodePtr node_of(Op op, Nodes... children) const {
    NodePtr made = node(op);
    (add(*made, std::move(children)), ...);
    return made;
  }
  void add(Node& to, NodePtr child) const {
    if (child) to.depth = std::max(to.depth, child->depth + 1);
    if (to.depth > kMostNested) fail("the template is nested too deeply");
    to.nodes.push_back(std::move(child));
  }
  NodePtr constant(Value value) const {
    NodePtr made = node(Op::Constant);
    made->value = std::move(value);
    return made;
  }
  // Recursion of the parser itself.
  struct Deeper {
    explicit Deeper(ExpressionParser& p) : parser(p) {
      if (++parser.depth_ > kMostNested) parser.fail("the template is nested too deeply");
    }
    ~Deeper() { parser.depth_--; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ExpressionParser& parser;
  };

  // ---- expressions ----
  // One, or several with commas between: a tuple. `ends`: words that end it.
  NodePtr tuple(bool choices = true, const Words& ends = {}) {
    NodePtr first = choices ? expression() : or_();
    if (!is_op(",")) return first;
    NodePtr made = node_of(Op::MakeTuple, std::move(first));
    while (take_op(",")) {
      if (tuple_ends(ends)) break;
      add(*made, choices ? expression() : or_());
    }
    return made;
  }
  bool tuple_ends(const Words& ends) const {
    return now().type == TokenType::VariableEnd || now().type == TokenType::BlockEnd ||
           is_op(")") || is_word(ends);
  }

  NodePtr expression() {
    const Deeper deeper(*this);
    NodePtr value = or_();
    while (take_word("if")) {
      NodePtr condition = or_();
      NodePtr other = take_word("else") ? expression() : nullptr;
      value = node_of(Op::Choice, std::move(condition), std::move(value), std::move(other));
    }
    return value;
  }
  NodePtr or_() {
    NodePtr left = and_();
    while (take_word("or")) left = node_of(Op::Or, std::move(left), and_());
    return left;
  }
  NodePtr and_() {
    NodePtr left = not_();
    while (take_word("and")) left = node_of(Op::And, std::move(left), not_());
    return left;
  }
  NodePtr not_() {
    const Deeper deeper(*this);
    if (take_word("not")) return node_of(Op::Not, not_());
    return comparison();
  }
  NodePtr comparison() {
    NodePtr first = sum();
    NodePtr made;
    for (;;) {
      std::string op;
      if (now().type == TokenType::Operator) {
        constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
        if (std::find(std::begin(kComparisons), std::end(kComparisons), now().text) !=
            std::end(kComparisons))
          op = now().text;
      } else if (is_word("in")) {
        op = "in";
      } else if (is_word("not") && ahead().type == TokenType::Name && ahead().text == "in") {
        op = "not in";
        at_++;
      }
      if (op.empty()) return made ? std::move(made) : std::move(first);
      at_++;
      if (!made) made = node_of(Op::Compare, std::move(first));
      made->names.push_back(op);
      add(*made, sum());
    }
  }
  // Operators of one rank, from the left.
  NodePtr chain(std::initializer_list<std::string_view> ops,
                NodePtr (ExpressionParser::*operand)()) {
    NodePtr left = (this->*operand)();
    for (;;) {
      const auto op =
          std::find_if(ops.begin(), ops.end(), [&](std::string_view each) { return is_op(each); });
      if (op == ops.end()) return left;
      at_++;
      left = node_of(Op::Binary, std::move(left), (this->*operand)());
      left->text = *op;
    }
  }
  NodePtr sum() { return chain({"+", "-"}, &ExpressionParser::joined); }
  NodePtr joined() { return chain({"~"}, &ExpressionParser::product); }
  NodePtr product() { return chain({"*", "/", "//", "%"}, &ExpressionParser::power); }
  NodePtr power() { return chain({"**"}, &ExpressionParser::filtered); }
  NodePtr filtered() { return unary(true); }

  NodePtr unary(bool filters) {
    const Deeper deeper(*this);
    NodePtr value;
    if (take_op("-")) value = node_of(Op::Negative, unary(false));
    else if (take_op("+")) value = node_of(Op::Positive, unary(false));
    else value = primary();
    value = postfix(std::move(value));
    return filters ? filter_chain(std::move(value)) : std::move(value);
  }

  NodePtr primary() {
    const Token& token = now();
    switch (token.type) {
      case TokenType::Name: return word();
      case TokenType::String: {
        std::string text;
        while (now().type == TokenType::String) text += tokens_[at_++].text;
        return constant(Value::text(std::move(text)));
      }
      case TokenType::Int: {
        int64_t n = 0;
        const auto [end, error] =
            std::from_chars(token.text.data(), token.text.data() + token.text.size(), n);
        if (error != std::errc()) fail("a number is too large");
        at_++;
        return constant(Value::integer(n));
      }
      case TokenType::Float: {
        at_++;
        return constant(Value::real(std::strtod(token.text.c_str(), nullptr)));
      }
      default: break;
    }
    if (take_op("(")) {
      if (take_op(")")) return node(Op::MakeTuple);
      NodePtr inner = tuple();
      need_op(")");
      return inner;
    }
    if (take_op("[")) return elements("]", Op::MakeList);
    if (take_op("{")) return dictionary();
    fail(fmt::format("a value is expected, not {}", seen()));
  }
  NodePtr word() {
    const std::string text = name();
    if (text == "true" || text == "True") return constant(Value::boolean(true));
    if (text == "false" || text == "False") return constant(Value::boolean(false));
    if (text == "none" || text == "None") return constant(None{});
    return node(Op::Name, {}, text);
  }
  NodePtr elements(std::string_view end, Op op) {
    NodePtr made = node(op);
    while (!is_op(end)) {
      if (!made->nodes.empty()) need_op(",");
      if (is_op(end)) break;
      add(*made, expression());
    }
    need_op(end);
    return made;
  }
  NodePtr dictionary() {
    NodePtr made = node(Op::MakeDict);
    while (!is_op("}")) {
      if (!made->nodes.empty()) need_op(",");
      if (is_op("}")) break;
      add(*made, expression());
      need_op(":");
      add(*made, expression());
    }
    need_op("}");
    return made;
  }

  NodePtr postfix(NodePtr value) {
    for (;;) {
      if (take_op(".")) {
        if (now().type == TokenType::Int) {
          value = node_of(Op::Item, std::move(value), primary());
        } else {
          value = node_of(Op::Attribute, std::move(value));
          value->text = name();
        }
      } else if (take_op("[")) {
        value = subscript(std::move(value));
      } else if (is_op("(")) {
        value = call(std::move(value));
      } else {
        return value;
      }
    }
  }
  NodePtr subscript(NodePtr value) {
    NodePtr parts[3];
    size_t count = 0;
    for (; count < 3; count++) {
      if (!is_op(":") && !is_op("]")) parts[count] = tuple();
      if (!take_op(":")) break;
    }
    need_op("]");
    if (count > 0)
      return node_of(Op::Slice, std::move(value), std::move(parts[0]), std::move(parts[1]),
                     std::move(parts[2]));
    if (!parts[0]) fail("a subscript is expected");
    return node_of(Op::Item, std::move(value), std::move(parts[0]));
  }
  void arguments(Node& to) {
    need_op("(");
    for (bool first = true; !is_op(")"); first = false) {
      if (!first) need_op(",");
      if (is_op(")")) break;
      if (is_op("*") || is_op("**")) fail("unpacked arguments are not known");
      const bool named = now().type == TokenType::Name && ahead().type == TokenType::Operator &&
                         ahead().text == "=";
      std::string label;
      if (named) {
        label = name();
        need_op("=");
      }
      to.names.push_back(std::move(label));
      if (to.names.size() > kMostArguments) fail("there are too many arguments");
      add(to, expression());
    }
    need_op(")");
  }
  NodePtr call(NodePtr function) {
    NodePtr made = node_of(Op::Call, std::move(function));
    arguments(*made);
    return made;
  }
  NodePtr one_filter(NodePtr operand) {
    NodePtr made = node_of(Op::Filter, std::move(operand));
    made->text = name();
    while (take_op(".")) made->text += "." + name();
    if (is_op("(")) arguments(*made);
    return made;
  }
  NodePtr filter_chain(NodePtr value) {
    for (;;) {
      if (take_op("|")) value = one_filter(std::move(value));
      else if (value && take_word("is")) value = test(std::move(value));
      else if (value && is_op("(")) value = call(std::move(value));
      else return value;
    }
  }
  NodePtr test(NodePtr value) {
    NodePtr made = node_of(Op::Test, std::move(value));
    made->flag = take_word("not");
    made->text = name();
    if (is_op("(")) {
      arguments(*made);
      return made;
    }
    const bool operand =
        (now().type == TokenType::Name && !is_word({"else", "or", "and", "if", "is"})) ||
        now().type == TokenType::String || now().type == TokenType::Int ||
        now().type == TokenType::Float || is_op("[") || is_op("{");
    if (operand) {
      made->names.emplace_back();
      add(*made, postfix(primary()));
    }
    return made;
  }

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace hologram::llm::jinja
