// Branches, loops and jumps.
#include <utility>

#include "program/text/assembler.hpp"

namespace hologram::program {

using core::Text;

void Assembler::if_statement() {
  const Value c = condition();
  // Whether an else follows shows only behind the block.
  size_t behind = tokens_[opening()].match + 1;
  while (tokens_[behind].kind == Tok::Line) behind++;
  const bool otherwise =
      tokens_[behind].kind == Tok::Name && spelled(static_cast<uint32_t>(behind)) == "else";
  block_depth_++;
  const auto else_block = [&] {
    skip_lines();
    at_++;
    if (!accept_word("if")) return block();
    const Nested nested(*this, nested_blocks_);
    if_statement();
  };
  builder_->if_(
      c, [&] { block(); }, otherwise ? Builder::Block(else_block) : Builder::Block());
  block_depth_--;
}

// for i in begin..end [step n]
void Assembler::for_statement() {
  constexpr std::string_view kForm = "Write for i in 0..n { … }, or with `step 2`.";
  const uint32_t name = new_name("the counter");
  if (!accept_word("in")) fail(at_, Text::AtlasExpected, "`in`", found(), kForm);
  const Expr begin = expression(DType::None);
  expect(Tok::DotDot, "`..`", kForm);
  const Expr end = expression(begin.weak() ? DType::None : type_of(begin));
  if (!begin.weak() && !end.weak() && type_of(begin) != type_of(end))
    mixed_types(begin.last + 1, begin, end);
  const DType t = !begin.weak() ? type_of(begin) : !end.weak() ? type_of(end) : index_;
  if (!is_integer(t)) fail(begin.weak() ? end : begin, Text::AtlasCounterType, name_of(t));
  const int64_t step_by =
      accept_word("step") ? constant_integer("a step", 1, size_of(t) == 4 ? INT32_MAX : INT64_MAX)
                          : 1;
  const Value low = as(begin, t), high = as(end, t);
  block_depth_++;
  loops_++;
  builder_->for_(low, high, static_cast<uint64_t>(step_by), [&](Value counter) {
    scopes_.emplace_back();
    declare(name, {.kind = Symbol::Kind::Binding, .value = counter});
    block();
    scopes_.pop_back();
  });
  loops_--;
  block_depth_--;
}

// unroll for k in 0..3: the block once for each number
void Assembler::unroll_statement() {
  constexpr std::string_view kForm = "Write unroll for k in 0..3 { … }.";
  if (!accept_word("for")) fail(at_, Text::AtlasExpected, "`for`", found(), kForm);
  const uint32_t name = new_name("the counter");
  if (!accept_word("in")) fail(at_, Text::AtlasExpected, "`in`", found(), kForm);
  const int64_t begin = constant_integer("a bound of unroll", INT32_MIN, INT32_MAX);
  expect(Tok::DotDot, "`..`", kForm);
  const int64_t end = constant_integer("a bound of unroll", INT32_MIN, INT32_MAX);
  const int64_t step_by = accept_word("step") ? constant_integer("a step", 1, INT32_MAX) : 1;
  const uint32_t body = opening(), behind = peek().match + 1;
  block_depth_++;
  const size_t loops = std::exchange(loops_, 0);
  for (int64_t k = begin; k < end; k += step_by) {
    step();
    scopes_.emplace_back();
    Symbol symbol{.kind = Symbol::Kind::Number};
    symbol.number = Number::of_integer(k);
    declare(name, symbol);
    at_ = body;
    block();
    scopes_.pop_back();
  }
  loops_ = loops;
  block_depth_--;
  at_ = behind;
}

void Assembler::while_statement() {
  const Nested nested(*this, nested_blocks_);  // it is a loop with an if
  block_depth_++;
  loops_++;
  builder_->while_([&] { return condition(); }, [&] { block(); });
  loops_--;
  block_depth_--;
}

void Assembler::loop_statement() {
  block_depth_++;
  loops_++;
  builder_->loop([&] { block(); });
  loops_--;
  block_depth_--;
}

void Assembler::jump_statement() {
  const std::string_view word = spelled(at_ - 1);
  if (loops_ == 0) fail(at_ - 1, Text::AtlasNoLoop, word);
  if (word == "break") builder_->break_();
  else builder_->continue_();
}

// Of the program: a function's own is read by inline_body.
void Assembler::return_statement() {
  if (function_depth_ != 0) fail(at_ - 1, Text::AtlasReturnLast);
  if (!at(Tok::Line) && !at(Tok::RBrace)) fail(at_, Text::AtlasReturnValue);
  builder_->return_();
}

}  // namespace hologram::program
