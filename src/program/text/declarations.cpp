// Constants, functions, the program with its parameters and clauses.
#include <fmt/format.h>

#include <algorithm>

#include "program/ir.hpp"
#include "program/text/assembler.hpp"

namespace hologram::program {

using core::Text;

// Everything but the program's own parameters and statements, so that the order of declarations
// does not matter.
void Assembler::scan() {
  for (skip_lines(); !at(Tok::End); skip_lines()) {
    if (accept_word("const")) {
      constant();
      end_statement();
    } else if (accept_word("fn")) {
      function();
    } else if (accept_word("program")) {
      const uint32_t name = new_name("the program");
      if (program_ != 0) fail(name, Text::AtlasSecondProgram, spelled(program_));
      program_ = name;
      if (!at(Tok::LParen)) expect(Tok::LParen, "`(`", "Write program name(parameters) { … }.");
      while (!at(Tok::LBrace)) {
        if (at(Tok::End) || at(Tok::RBrace))
          expect(Tok::LBrace, "`{`", "Write program name(parameters) { … }.");
        at_ = peek().match > at_ ? peek().match + 1 : at_ + 1;
      }
      at_ = peek().match + 1;
    } else {
      fail(at_, Text::AtlasExpected, "`program`, `fn` or `const`", found(),
           "A file holds one program, and functions and constants outside it.");
    }
  }
  if (program_ == 0) fail(at_, Text::AtlasNoProgram);
}

Number Assembler::constant_expression(std::string_view what) {
  const Expr e = expression(DType::None);
  if (!e.weak()) fail(e, Text::AtlasNotConstant, what);
  return *e.number;
}

int64_t Assembler::constant_integer(std::string_view what, int64_t low, int64_t high) {
  const uint32_t first = at_;
  const Number n = constant_expression(what);
  if (!n.is_integer() || n.integer < low || n.integer > high)
    throw located(core::error(Text::AtlasConstantRange, what, to_string(n), low, high), first,
                  at_ - 1);
  return static_cast<int64_t>(n.integer);
}

void Assembler::constant() {
  const uint32_t name = new_name("the constant");
  expect(Tok::Assign, "`=`", "Write const NAME = number.");
  Symbol symbol{.kind = Symbol::Kind::Number};
  symbol.number = constant_expression("a constant");
  declare(name, symbol);
}

DType Assembler::type() {
  const uint32_t token = expect(Tok::Name, "a type", "Write a type, as in f32.");
  if (const auto t = parse_dtype(spelled(token))) return *t;
  std::vector<std::string_view> known;
  for (size_t i = 1; i < kDTypeCount; i++) known.push_back(name_of(static_cast<DType>(i)));
  fail(token, Text::AtlasUnknownType, spelled(token), fmt::join(known, ", "));
}

DType Assembler::compute(uint32_t token, DType t) {
  if (is_compute_type(t)) return t;
  fail(token, Text::AtlasStorageType, name_of(t), name_of(compute_type(t)));
}

void Assembler::function() {
  Function f;
  f.token = new_name("the function");
  const std::string_view name = spelled(f.token);
  if (is_builtin(name)) fail(f.token, Text::AtlasBuiltinName, name);
  if (const auto it = functions_.find(name); it != functions_.end())
    fail(f.token, Text::AtlasDeclared, name, tokens_[it->second.token].line);
  constexpr std::string_view kForm = "Write fn name(a: f32, b: i32) -> f32 { … }.";
  expect(Tok::LParen, "`(`", kForm);
  while (!at(Tok::RParen)) {
    f.parameters.push_back(new_name("a parameter"));
    expect(Tok::Colon, "`:` and a type", kForm);
    f.types.push_back(compute(at_, type()));
    if (!at(Tok::RParen)) expect(Tok::Comma, "`,` or `)`", kForm);
  }
  at_++;
  skip_lines();
  expect(Tok::Arrow, "`->` and the type of the result", kForm);
  const bool several = accept(Tok::LParen);
  do f.results.push_back(compute(at_, type()));
  while (several && accept(Tok::Comma));
  if (several) expect(Tok::RParen, "`)`", kForm);
  skip_lines();
  f.body = expect(Tok::LBrace, "`{`", kForm);
  at_ = tokens_[f.body].match + 1;
  functions_.emplace(name, std::move(f));
}

// The clauses come after the parameters but say what those need to know.
void Assembler::clauses(uint32_t& lanes) {
  std::array<uint32_t, 3> workgroup = {256, 1, 1};
  at_ = tokens_[program_ + 1].match + 1;
  std::vector<std::string_view> seen;
  for (skip_lines(); !at(Tok::LBrace); skip_lines()) {
    const uint32_t clause = expect(Tok::Name, "a clause or `{`",
                                   "The clauses are workgroup(…), index(…) and lanes(…).");
    if (std::find(seen.begin(), seen.end(), spelled(clause)) != seen.end())
      fail(clause, Text::AtlasTwice, spelled(clause));
    seen.push_back(spelled(clause));
    const uint32_t open = expect(Tok::LParen, "`(`", "Write the clause as in workgroup(256).");
    if (spelled(clause) == "workgroup") {
      workgroup = {1, 1, 1};
      uint64_t total = 1;
      for (size_t axis = 0; axis == 0 || accept(Tok::Comma); axis++) {
        if (axis == 3) fail(at_, Text::AtlasAxes, "workgroup");
        workgroup[axis] = static_cast<uint32_t>(constant_integer("a workgroup size", 1, 1024));
        total *= workgroup[axis];
      }
      if (total > 1024) fail(clause, Text::AtlasWorkgroup, total);
    } else if (spelled(clause) == "index") {
      const uint32_t token = at_;
      index_ = type();
      if (index_ != DType::I32 && index_ != DType::I64)
        fail(token, Text::AtlasIndexClause, name_of(index_));
    } else if (spelled(clause) == "lanes") {
      lanes = open;
      at_ = tokens_[open].match;
    } else {
      fail(clause, Text::AtlasUnknownClause, spelled(clause));
    }
    expect(Tok::RParen, "`)`", "Close the clause.");
  }
  builder_ = std::make_unique<Builder>(
      std::string(spelled(program_)),
      std::initializer_list<uint32_t>{workgroup[0], workgroup[1], workgroup[2]}, index_);
}

void Assembler::program() {
  uint32_t lanes_clause = 0;
  clauses(lanes_clause);
  const uint32_t body = at_;
  scopes_.emplace_back();
  at_ = program_ + 2;
  while (!at(Tok::RParen)) {
    parameter();
    if (!at(Tok::RParen)) expect(Tok::Comma, "`,` or `)`", "Separate parameters with commas.");
  }
  if (lanes_clause != 0) {
    at_ = lanes_clause;
    lanes();
  }
  at_ = body;
  block();
}

void Assembler::parameter() {
  step();
  builder_->set_line(peek().line);
  std::optional<Access> access;
  if (peek(1).kind == Tok::Name) {
    for (const Access a : {Access::In, Access::Out, Access::InOut, Access::Atomic})
      if (spelled(at_) == name_of(a)) access = a;
    if (!access) fail(at_, Text::AtlasAccess, spelled(at_));
    at_++;
  }
  const uint32_t name = new_name("a parameter");
  expect(Tok::Colon, "`:` and a type", "Write in x: f32[n] for a buffer, a: f32 for a scalar.");
  const uint32_t type_token = at_;
  const DType t = type();
  if (at(Tok::LBracket)) {
    if (!access) fail(name, Text::AtlasNoAccess, spelled(name), name_of(t));
    if (*access == Access::Atomic && t != DType::I32 && t != DType::U32)
      fail(type_token, Text::AtlasAtomicType, name_of(t));
    return buffer(name, t, *access);
  }
  if (access) fail(name, Text::AtlasScalarAccess, spelled(name), name_of(*access), name_of(t));
  scalar(name, compute(type_token, t));
}

void Assembler::buffer(uint32_t name, DType t, Access access) {
  std::vector<Dim> dims = dimensions(true);
  const Buf buf = builder_->buffer(std::string(spelled(name)), t, access, dims);
  declare(name, {.kind = Symbol::Kind::Memory, .id = static_cast<uint32_t>(memories_.size())});
  memories_.push_back({.name = spelled(name),
                       .type = t,
                       .access = access,
                       .atomic = access == Access::Atomic,
                       .dims = std::move(dims),
                       .id = buf.id});
}

void Assembler::scalar(uint32_t name, DType t) {
  std::optional<uint64_t> otherwise;
  if (accept(Tok::Assign)) {
    const uint32_t first = at_;
    const Number n = constant_expression("a default value");
    otherwise = placed(first, at_ - 1, [&] { return bits_of(n, t); });
  }
  const Value value = builder_->scalar_with_bits(std::string(spelled(name)), t, otherwise);
  declare(name, {.kind = Symbol::Kind::Scalar, .value = value});
}

// [names and numbers] after the type of a buffer or workgroup array.
std::vector<Dim> Assembler::dimensions(bool names) {
  std::vector<Dim> dims;
  const int64_t most = names && index_ == DType::I64 ? int64_t{1} << 59 : INT32_MAX;
  expect(Tok::LBracket, "`[`", "Write the dimensions, as in f32[16, 16].");
  while (!at(Tok::RBracket)) {
    const bool alone = peek(1).kind == Tok::Comma || peek(1).kind == Tok::RBracket;
    const Symbol* known = at(Tok::Name) ? find(spelled(at_)) : nullptr;
    if (dims.size() == kMaxRank) fail(at_, Text::AtlasRank, kMaxRank);
    if (names && at(Tok::Name) && alone && !(known && known->kind == Symbol::Kind::Number)) {
      const uint32_t token = new_name("a dimension");
      const std::string_view name = spelled(token);
      const bool dimension =
          known && known->kind == Symbol::Kind::Scalar && known->value.id() == UINT32_MAX;
      if (known && !dimension) {
        if (known->kind == Symbol::Kind::Scalar) fail(token, Text::AtlasDimensionScalar, name);
        fail(token, Text::AtlasDeclared, name, tokens_[known->token].line);
      }
      // Its value is taken once the buffer is known to the builder.
      if (!known) declare(token, {.kind = Symbol::Kind::Scalar});
      dims.push_back({std::string(name), 0});
    } else {
      dims.push_back({{}, constant_integer("a dimension", names ? 0 : 1, most)});
    }
    if (!at(Tok::RBracket)) expect(Tok::Comma, "`,` or `]`", "Separate dimensions with commas.");
  }
  at_++;
  return dims;
}

// (x, y, z) of a lanes clause.
void Assembler::lanes() {
  expect(Tok::LParen, "`(`", "Write lanes(count along x, along y, along z).");
  builder_->begin_host();
  host_ = true;
  for (int axis = 0; axis == 0 || accept(Tok::Comma); axis++) {
    if (axis == 3) fail(at_, Text::AtlasAxes, "lanes");
    builder_->set_line(peek().line);
    builder_->lanes(axis, as(expression(index_), index_));
  }
  host_ = false;
  builder_->end_host();
  expect(Tok::RParen, "`)`", "Write lanes(count along x, along y, along z).");
}

// A function that nothing calls is checked too, in a program that is thrown away.
void Assembler::check_unused_functions() {
  for (auto& [name, f] : functions_) {
    if (f.used) continue;
    builder_ =
        std::make_unique<Builder>(std::string(name), std::initializer_list<uint32_t>{256}, index_);
    std::vector<Value> arguments;
    for (const DType t : f.types)
      arguments.push_back(builder_->scalar_with_bits("argument", t, {}));
    inline_body(f, arguments, f.token);
  }
}

}  // namespace hologram::program
