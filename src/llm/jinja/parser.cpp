// Statements; expressions-inl.hpp has the rest.
#include <array>

#include "llm/jinja/expressions-inl.hpp"

namespace hologram::llm::jinja {
namespace {

class Parser : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  NodePtr run() { return statements({}); }

 private:
  // Up to a tag that begins with one of these words, which is left, or up to the end.
  NodePtr statements(const Words& ends) {
    const Deeper deeper(*this);
    NodePtr body = node(Op::Body);
    for (;;) {
      switch (now().type) {
        case TokenType::Data: {
          NodePtr text = node(Op::Text, {}, now().text);
          at_++;
          add(*body, std::move(text));
          break;
        }
        case TokenType::VariableBegin: {
          at_++;
          NodePtr print = node_of(Op::Print, tuple());
          if (now().type != TokenType::VariableEnd)
            fail(fmt::format("the end of the tag is expected, not {}", seen()));
          at_++;
          add(*body, std::move(print));
          break;
        }
        case TokenType::BlockBegin:
          at_++;
          if (is_word(ends)) return body;
          add(*body, statement());
          break;
        default:
          if (!ends.empty()) fail(fmt::format("'{}' is missing", ends.back()));
          return body;
      }
    }
  }
  // A body up to {% end… %}, with that.
  NodePtr body_until(std::string_view end) {
    NodePtr body = statements({end});
    need_word(end);
    end_block();
    return body;
  }

  NodePtr statement() {
    struct Statement {
      std::string_view word;
      NodePtr (Parser::*parse)();
    };
    constexpr std::array kStatements = {
        Statement{"if", &Parser::if_},       Statement{"for", &Parser::for_},
        Statement{"set", &Parser::set_},     Statement{"macro", &Parser::macro_},
        Statement{"call", &Parser::call_},   Statement{"filter", &Parser::filter_},
        Statement{"with", &Parser::with_},   Statement{"generation", &Parser::generation_},
        Statement{"break", &Parser::break_}, Statement{"continue", &Parser::continue_},
    };
    const std::string word = name();
    for (const Statement& s : kStatements)
      if (s.word == word) return (this->*s.parse)();
    at_--;
    fail(fmt::format("there is no tag '{}' in chat templates", word));
  }

  NodePtr if_() {
    NodePtr made = node(Op::If);
    add(*made, tuple(false));
    end_block();
    for (;;) {
      add(*made, statements({"elif", "else", "endif"}));
      if (take_word("elif")) {
        add(*made, tuple(false));
        end_block();
      } else if (take_word("else")) {
        end_block();
        add(*made, body_until("endif"));
        return made;
      } else {
        need_word("endif");
        end_block();
        return made;
      }
    }
  }

  std::vector<std::string> targets(bool dotted) {
    std::vector<std::string> names;
    const bool bracket = take_op("(");
    do {
      if (!names.empty() && now().type != TokenType::Name) break;  // a, = …
      names.push_back(name());
      if (dotted && take_op(".")) names.back() += "." + name();
    } while (take_op(","));
    if (bracket) need_op(")");
    if (names.size() == 1 && tokens_[at_ - 1].text == ",") names.emplace_back();  // a tuple of one
    return names;
  }

  NodePtr for_() {
    NodePtr made = node(Op::For);
    made->names = targets(false);
    need_word("in");
    loops_++;
    add(*made, tuple(false, {"recursive", "if"}));
    add(*made, take_word("if") ? expression() : nullptr);
    made->flag = take_word("recursive");
    end_block();
    add(*made, statements({"else", "endfor"}));
    loops_--;
    NodePtr other;
    if (take_word("else")) {
      end_block();
      other = body_until("endfor");
    } else {
      need_word("endfor");
      end_block();
    }
    add(*made, std::move(other));
    return made;
  }

  NodePtr set_() {
    NodePtr made = node(Op::Set);
    made->names = targets(true);
    if (take_op("=")) {
      add(*made, tuple());
      end_block();
      return made;
    }
    made->op = Op::SetBlock;
    // {% set x | trim %}: filters over what the body prints, which is their constant.
    NodePtr filters = filter_chain(nullptr);
    end_block();
    add(*made, body_until("endset"));
    add(*made, std::move(filters));
    return made;
  }

  // The names of a macro's parameters; their defaults, which may be null.
  std::vector<NodePtr> parameters(Node& macro) {
    std::vector<NodePtr> defaults;
    need_op("(");
    while (!is_op(")")) {
      if (!macro.names.empty()) need_op(",");
      if (is_op(")")) break;
      macro.names.push_back(name());
      defaults.push_back(take_op("=") ? expression() : nullptr);
    }
    need_op(")");
    return defaults;
  }
  NodePtr macro_() {
    NodePtr made = node(Op::Macro, {}, name());
    std::vector<NodePtr> defaults = parameters(*made);
    end_block();
    add(*made, without_loops("endmacro"));
    for (NodePtr& each : defaults) add(*made, std::move(each));
    return made;
  }
  NodePtr without_loops(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    NodePtr body = body_until(end);
    loops_ = loops;
    return body;
  }
  NodePtr call_() {
    NodePtr caller = node(Op::Macro, {}, "caller");
    NodePtr made = node(Op::CallBlock);
    std::vector<NodePtr> defaults;
    if (is_op("(")) defaults = parameters(*caller);
    NodePtr call = expression();
    if (call->op != Op::Call) fail("{% call %} needs a call");
    end_block();
    add(*caller, without_loops("endcall"));
    for (NodePtr& each : defaults) add(*caller, std::move(each));
    add(*made, std::move(call));
    add(*made, std::move(caller));
    return made;
  }
  NodePtr filter_() {
    NodePtr filters = one_filter(nullptr);
    filters = filter_chain(std::move(filters));
    end_block();
    NodePtr body = body_until("endfilter");
    return node_of(Op::FilterBlock, std::move(body), std::move(filters));
  }
  NodePtr with_() {
    NodePtr made = node(Op::With);
    while (now().type != TokenType::BlockEnd) {
      if (!made->names.empty()) need_op(",");
      made->names.push_back(name());
      need_op("=");
      add(*made, expression());
    }
    end_block();
    add(*made, body_until("endwith"));
    return made;
  }
  // Marks the assistant's part for training: nothing else.
  NodePtr generation_() {
    end_block();
    return body_until("endgeneration");
  }
  NodePtr jump(Op op, const char* word) {
    if (loops_ == 0) fail(fmt::format("'{}' stands outside of a loop", word));
    NodePtr made = node(op);
    end_block();
    return made;
  }
  NodePtr break_() { return jump(Op::Break, "break"); }
  NodePtr continue_() { return jump(Op::Continue, "continue"); }

  int loops_ = 0;
};

}  // namespace

NodePtr parse(std::string_view source) { return Parser(source).run(); }

}  // namespace hologram::llm::jinja
