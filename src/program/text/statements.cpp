#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "program/text/assembler.hpp"

namespace hologram::program {

using core::Text;

// The brace of a block, which may stand on a line of its own; it is not consumed.
uint32_t Assembler::opening() {
  uint32_t brace = at_;
  while (tokens_[brace].kind == Tok::Line) brace++;
  if (tokens_[brace].kind != Tok::LBrace)
    fail(at_, Text::AtlasExpected, "`{`", found(), "Blocks stand in braces, as in if c { … }.");
  return at_ = brace;
}

// { statements }
void Assembler::block() {
  const Nested nested(*this, nested_blocks_);
  const uint32_t open = opening();
  at_++;
  scopes_.emplace_back();
  for (skip_lines(); !at(Tok::RBrace); skip_lines()) statement();
  scopes_.pop_back();
  at_ = tokens_[open].match + 1;
}

void Assembler::statement() {
  step();
  builder_->set_line(peek().line);
  if (!at(Tok::Name))
    fail(at_, Text::AtlasExpected, "a statement", found(),
         "An expression goes on after an operator or a comma at the line end, or inside brackets.");
  if (keyword_statement()) return;
  switch (peek(1).kind) {
    case Tok::LParen: call_statement(); break;
    case Tok::LBracket: element_statement(); break;
    default: assignment(); break;
  }
  end_statement();
}

bool Assembler::keyword_statement() {
  struct Row {
    std::string_view word;
    void (Assembler::*read)();
    bool block;  // ends with its brace
  };
  static constexpr auto kRows = std::to_array<Row>({
      {"var", &Assembler::variable_statement, false},
      {"const", &Assembler::constant, false},
      {"shared", &Assembler::shared_statement, false},
      {"require", &Assembler::require_statement, false},
      {"if", &Assembler::if_statement, true},
      {"for", &Assembler::for_statement, true},
      {"unroll", &Assembler::unroll_statement, true},
      {"while", &Assembler::while_statement, true},
      {"loop", &Assembler::loop_statement, true},
      {"break", &Assembler::jump_statement, false},
      {"continue", &Assembler::jump_statement, false},
      {"return", &Assembler::return_statement, false},
  });
  const std::string_view word = spelled(at_);
  const uint32_t token = at_;
  for (const Row& row : kRows) {
    if (row.word != word) continue;
    // In an expression of the host only what the host can do is left of a function.
    if (host_ && word != "const") fail(token, Text::AtlasHostStatement, word);
    at_++;
    (this->*row.read)();
    if (row.block) accept(Tok::Line);
    else end_statement();
    return true;
  }
  if (word == "else") fail(token, Text::AtlasElse);
  const bool on_top = function_depth_ == 0 && block_depth_ == 0;
  if (word == "host" && peek(1).kind == Tok::Name && on_top) {
    at_++;
    host_statement();
    end_statement();
    return true;
  }
  if (word == "lanes" && peek(1).kind == Tok::LParen && on_top) {
    at_++;
    lanes();
    end_statement();
    return true;
  }
  return false;
}

// var name [: type] = expression
void Assembler::variable_statement() {
  const uint32_t name = new_name("the variable");
  DType t = DType::None;
  if (accept(Tok::Colon)) t = compute(at_, type());
  expect(Tok::Assign, "`=` and the first value",
         "A variable has a value from the start: var s = 0.0.");
  const Expr e = expression(t);
  const Value initial = t == DType::None ? strong(e) : as(e, t);
  const Var variable = builder_->var(initial, std::string(spelled(name)));
  declare(name, {.kind = Symbol::Kind::Variable, .value = initial, .id = variable.id});
}

// shared name: [atomic] type[dimensions]
void Assembler::shared_statement() {
  if (function_depth_ != 0 || block_depth_ != 0) fail(at_ - 1, Text::AtlasTopLevel, "shared");
  const uint32_t name = new_name("the workgroup array");
  expect(Tok::Colon, "`:` and a type", "Write shared tile: f32[16, 16].");
  const bool atomic = accept_word("atomic");
  const uint32_t token = at_;
  const DType t = compute(token, type());
  if (t == DType::Bool) fail(token, Text::AtlasSharedBool);
  if (atomic && t != DType::I32 && t != DType::U32) fail(token, Text::AtlasAtomicType, name_of(t));
  std::vector<Dim> dims = dimensions(false);
  if (dims.empty()) fail(at_ - 1, Text::AtlasSharedSize, spelled(name));
  int64_t count = 1;
  for (const Dim& dim : dims)
    if (__builtin_mul_overflow(count, dim.length, &count) || count > INT32_MAX)
      fail(name, Text::AtlasSharedLarge, spelled(name));
  const Shared array =
      builder_->shared(std::string(spelled(name)), t, static_cast<uint32_t>(count), atomic);
  declare(name, {.kind = Symbol::Kind::Memory, .id = static_cast<uint32_t>(memories_.size())});
  memories_.push_back({.name = spelled(name),
                       .type = t,
                       .atomic = atomic,
                       .dims = std::move(dims),
                       .shared = true,
                       .id = array.id});
}

// require condition
void Assembler::require_statement() {
  if (function_depth_ != 0 || block_depth_ != 0) fail(at_ - 1, Text::AtlasTopLevel, "require");
  builder_->begin_host();
  host_ = true;
  const uint32_t first = at_;
  const Value holds = condition();
  builder_->require(holds, std::string(source(first, at_ - 1)));
  host_ = false;
  builder_->end_host();
}

// host name = expression: a value of the host for the statements require and lanes.
void Assembler::host_statement() {
  const uint32_t name = new_name("the host value");
  expect(Tok::Assign, "`=`", "Write host name = expression.");
  builder_->begin_host();
  host_ = true;
  const Value value = strong(expression(DType::None));
  host_ = false;
  builder_->end_host();
  declare(name, {.kind = Symbol::Kind::HostBinding, .value = value});
}

// A call for its effect.
void Assembler::call_statement() {
  const std::string_view name = spelled(at_);
  const uint32_t first = at_;
  if (name == "barrier") {
    body_only(first);
    at_++;
    expect(Tok::LParen, "`(`", "Write barrier().");
    expect(Tok::RParen, "`)`", "A barrier has no arguments: barrier().");
    builder_->barrier();
    return;
  }
  const Expr e = expression(DType::None);
  if (!name.starts_with("atomic_") || tokens_[first + 1].match != e.last)
    throw located(core::error(Text::AtlasUnused, source(first, e.last)), first, e.last);
}

std::optional<Op> Assembler::compound_operator() {
  constexpr auto kOps = std::to_array<Op>(
      {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr});
  if (peek().kind < Tok::AddAssign) return std::nullopt;
  const auto op = kOps[static_cast<size_t>(peek().kind) - static_cast<size_t>(Tok::AddAssign)];
  at_++;
  return op;
}

// x[i] = expression, x[i] += expression
void Assembler::element_statement() {
  body_only(at_);
  const Place target = place();
  const uint32_t last = at_ - 1, sign = at_;
  may_write(target);
  const DType t = compute_type(target.memory->type);
  if (const auto op = compound_operator()) {
    may_read(target);
    Expr old = made(load(target), target.first);
    old.last = last;
    return store(target, apply(*op, sign, {old, expression(t)}, t));
  }
  expect(Tok::Assign, "`=`", "Write x[i] = value.");
  store(target, expression(t));
}

// name = expression, name += expression, a, b = f(…)
void Assembler::assignment() {
  std::vector<uint32_t> names = {at_++};
  while (accept(Tok::Comma)) names.push_back(expect(Tok::Name, "a name", "Write a, b = f(x)."));
  const Symbol* symbol = find(spelled(names[0]));
  const uint32_t sign = at_;
  if (names.size() == 1 && peek().kind >= Tok::AddAssign) {
    if (!symbol) unknown_name(names[0]);
    if (symbol->kind != Symbol::Kind::Variable) assign(names[0], {});
    const Op op = *compound_operator();
    const Value old = builder_->get({symbol->id});
    Expr left = made(old, names[0]);
    left.last = names[0];
    return assign(names[0], apply(op, sign, {left, expression(old.type())}, old.type()));
  }
  if (!at(Tok::Assign)) {
    if (at(Tok::Colon)) fail(names[0], Text::AtlasTypedBinding, spelled(names[0]));
    if (peek().kind != Tok::Comma && !symbol && (at(Tok::Name) || at(Tok::Number)))
      unknown_name(names[0]);
    fail(at_, Text::AtlasExpected, "`=`", found(), "Write name = value.");
  }
  at_++;
  if (names.size() == 1) {
    const bool variable = symbol && symbol->kind == Symbol::Kind::Variable;
    return assign(names[0], expression(variable ? symbol->value.type() : DType::None));
  }
  const uint32_t first = at_;
  const std::vector<Expr> values = inline_call();
  if (values.size() != names.size())
    throw located(core::error(Text::AtlasResultCount, spelled(first), values.size(), names.size()),
                  names.front(), names.back());
  for (size_t i = 0; i < names.size(); i++) assign(names[i], values[i]);
}

void Assembler::assign(uint32_t name, const Expr& e) {
  if (is_reserved(spelled(name))) fail(name, Text::AtlasReserved, spelled(name));
  const Symbol* symbol = find(spelled(name));
  if (!symbol) return declare(name, {.kind = Symbol::Kind::Binding, .value = strong(e)});
  const auto line = tokens_[symbol->token].line;
  switch (symbol->kind) {
    case Symbol::Kind::Variable:
      body_only(name);
      return builder_->set({symbol->id}, as(e, symbol->value.type()));
    case Symbol::Kind::Binding: fail(name, Text::AtlasBinding, spelled(name), line);
    case Symbol::Kind::Memory: fail(name, Text::AtlasAssignMemory, spelled(name));
    default: fail(name, Text::AtlasAssignFixed, spelled(name), line);
  }
}

void Assembler::body_only(uint32_t token) const {
  if (host_) fail(token, Text::AtlasHostStatement, spelled(token));
}

}  // namespace hologram::program
