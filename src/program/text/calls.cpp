// Instructions by name, conversions, and functions of the text, which are inlined.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "program/text/assembler.hpp"

namespace hologram::program {

using core::Text;

namespace {

constexpr std::string_view kAtomic = "atomic_", kReduce = "group_reduce_", kScan = "group_scan_",
                           kBits = "bits_";

std::optional<DType> compute_named(std::string_view name) {
  const auto t = parse_dtype(name);
  return t && is_compute_type(*t) ? t : std::nullopt;
}

// An instruction that is written as a call; cast and bitcast have forms of their own.
std::optional<Op> operation_named(std::string_view name) {
  const auto op = find_op(name);
  return op && is_pure(*op) && *op != Op::Cast && *op != Op::Bitcast ? op : std::nullopt;
}

}  // namespace

bool Assembler::is_builtin(std::string_view name) const {
  for (const std::string_view known : callable_names())
    if (known == name && !functions_.contains(name)) return true;
  return false;
}

std::vector<std::string_view> Assembler::callable_names() const {
  static const std::vector<std::string> builtins = [] {
    std::vector<std::string> names = {"len", "clamp", "barrier", "group_uniform"};
    for (const OpInfo& row : all_ops())
      if (operation_named(row.name)) names.emplace_back(row.name);
    for (const Combine c : {Combine::Add, Combine::Mul, Combine::Min, Combine::Max, Combine::And,
                            Combine::Or, Combine::Xor, Combine::Exchange}) {
      if (c != Combine::Mul) names.push_back(fmt::format("{}{}", kAtomic, name_of(c)));
      if (c == Combine::Exchange) continue;
      names.push_back(fmt::format("{}{}", kReduce, name_of(c)));
      names.push_back(fmt::format("{}{}", kScan, name_of(c)));
    }
    for (size_t i = 1; i < kDTypeCount; i++) {
      const auto t = static_cast<DType>(i);
      if (!is_compute_type(t)) continue;
      names.emplace_back(name_of(t));
      if (t != DType::Bool) names.push_back(fmt::format("{}{}", kBits, name_of(t)));
    }
    return names;
  }();
  std::vector<std::string_view> names(builtins.begin(), builtins.end());
  for (const auto& [name, f] : functions_) names.push_back(name);
  return names;
}

Expr Assembler::call(DType hint) {
  const uint32_t name = at_;
  const std::string_view word = spelled(name);
  if (functions_.contains(word)) {
    const std::vector<Expr> values = inline_call();
    if (values.size() != 1) fail(name, Text::AtlasSeveralResults, word, values.size());
    Expr e = values[0];
    e.first = name;
    e.last = at_ - 1;
    return e;
  }
  at_++;
  if (const auto t = compute_named(word)) return convert(name, *t);
  if (const auto t = parse_dtype(word))
    fail(name, Text::AtlasStorageType, word, name_of(compute_type(*t)));
  if (word.starts_with(kBits))
    if (const auto t = compute_named(word.substr(kBits.size())); t && *t != DType::Bool)
      return reinterpret(name, *t);
  if (word == "len") return length(name);
  if (word == "clamp") return clamp(name, hint);
  if (word == "barrier") fail(name, Text::AtlasNoResult, word);
  if (word == info(Op::GroupUniform).name) return group(name, Op::GroupUniform, {});
  if (word.starts_with(kReduce)) return group(name, Op::GroupReduce, word.substr(kReduce.size()));
  if (word.starts_with(kScan)) return group(name, Op::GroupScan, word.substr(kScan.size()));
  if (word.starts_with(kAtomic)) return atomic(name, word.substr(kAtomic.size()));
  if (const auto op = operation_named(word)) return operation(name, *op, hint);
  unknown_function(name);
}

// (a, b, …) after a name.
std::vector<Expr> Assembler::arguments(DType hint) {
  std::vector<Expr> out;
  expect(Tok::LParen, "`(`", "Write the arguments in parentheses.");
  DType wanted = hint;
  while (!at(Tok::RParen)) {
    out.push_back(expression(wanted));
    if (!at(Tok::RParen)) expect(Tok::Comma, "`,` or `)`", "Separate arguments with commas.");
  }
  at_++;
  return out;
}

Expr Assembler::operation(uint32_t name, Op op, DType hint) {
  const OpInfo& row = info(op);
  // What a comparison or test is of does not follow from where its result goes.
  const bool same = row.typing != Typing::Compare && row.typing != Typing::FloatTest;
  std::vector<Expr> operands = arguments(same && hint != DType::Bool ? hint : DType::None);
  if (operands.size() != row.arity)
    throw located(core::error(Text::AtlasArgumentCount, row.name, row.arity, operands.size()), name,
                  at_ - 1);
  Expr e = apply(op, name, std::move(operands), same ? hint : DType::None);
  e.first = name;
  e.last = at_ - 1;
  return e;
}

// min(max(x, low), high)
Expr Assembler::clamp(uint32_t name, DType hint) {
  const std::vector<Expr> a = arguments(hint);
  if (a.size() != 3)
    throw located(core::error(Text::AtlasArgumentCount, "clamp", 3, a.size()), name, at_ - 1);
  DType t = hint;
  for (const Expr& e : a)
    if (!e.weak()) t = type_of(e);
  Expr e = apply(Op::Min, name, {apply(Op::Max, name, {a[0], a[1]}, t), a[2]}, t);
  e.first = name;
  e.last = at_ - 1;
  return e;
}

Expr Assembler::convert(uint32_t name, DType to) {
  const std::vector<Expr> a = arguments(DType::None);
  if (a.size() != 1)
    throw located(core::error(Text::AtlasArgumentCount, name_of(to), 1, a.size()), name, at_ - 1);
  if (a[0].weak()) return made(builder_->constant_bits(to, converted_bits(*a[0].number, to)), name);
  return made(builder_->cast(a[0].value, to), name);
}

Expr Assembler::reinterpret(uint32_t name, DType to) {
  const std::vector<Expr> a = arguments(DType::None);
  if (a.size() != 1)
    throw located(core::error(Text::AtlasArgumentCount, spelled(name), 1, a.size()), name, at_ - 1);
  const bool wide = size_of(to) == 8;
  Value value = a[0].value;
  if (a[0].weak()) {
    const bool real = a[0].number->kind == Number::Kind::Real;
    value = as(a[0], real ? (wide ? DType::F64 : DType::F32) : (wide ? DType::U64 : DType::U32));
  }
  const DType from = value.type();
  if (from == DType::Bool || size_of(from) != size_of(to))
    fail(a[0], Text::AtlasBitcast, name_of(from), name_of(to), size_of(from), size_of(to));
  return made(builder_->bitcast(value, to), name);
}

Expr Assembler::length(uint32_t name) {
  expect(Tok::LParen, "`(`", "Write len(x).");
  const uint32_t token = expect(Tok::Name, "the name of a buffer", "Write len(x).");
  const Symbol* symbol = find(spelled(token));
  if (!symbol) unknown_name(token);
  if (symbol->kind != Symbol::Kind::Memory || memories_[symbol->id].shared)
    fail(token, Text::AtlasLength, spelled(token));
  expect(Tok::RParen, "`)`", "Write len(x).");
  return made(builder_->length(Buf{memories_[symbol->id].id}), name);
}

// atomic_add(x[i], v)
Expr Assembler::atomic(uint32_t name, std::string_view word) {
  const auto combine = find_combine(word);
  if (!combine || *combine == Combine::Mul)
    fail(name, Text::AtlasCombine, spelled(name), "add, min, max, and, or, xor, exchange");
  body_only(name);
  const std::string form = fmt::format("Write {}(x[i], value).", spelled(name));
  expect(Tok::LParen, "`(`", form);
  if (!at(Tok::Name) || peek(1).kind != Tok::LBracket)
    fail(at_, Text::AtlasExpected, "an element x[i]", found(), form);
  const Place target = place();
  const Memory& m = *target.memory;
  if (!m.atomic) fail(target.first, Text::AtlasNotAtomic, m.name, name_of(m.type));
  expect(Tok::Comma, "`,`", form);
  const Value value = as(expression(m.type), m.type);
  expect(Tok::RParen, "`)`", form);
  return made(m.shared ? builder_->atomic(*combine, Shared{m.id}, target.index, value)
                       : builder_->atomic(*combine, Buf{m.id}, target.index, value),
              name);
}

Expr Assembler::group(uint32_t name, Op op, std::string_view word) {
  body_only(name);
  std::optional<Combine> combine = Combine::Add;
  if (op != Op::GroupUniform) combine = find_combine(word);
  if (!combine || *combine == Combine::Exchange)
    fail(name, Text::AtlasCombine, spelled(name), "add, mul, min, max, and, or, xor");
  const std::vector<Expr> a = arguments(DType::None);
  if (a.size() != 1)
    throw located(core::error(Text::AtlasArgumentCount, spelled(name), 1, a.size()), name, at_ - 1);
  const Value value = strong(a[0]);
  if (op == Op::GroupUniform) return made(builder_->group_uniform(value), name);
  const bool bits = *combine == Combine::And || *combine == Combine::Or || *combine == Combine::Xor;
  const DType t = value.type();
  if (bits ? is_float(t) : t == DType::Bool)
    fail(a[0], Text::AtlasGroupType, spelled(name), name_of(t));
  return made(op == Op::GroupReduce ? builder_->group_reduce(*combine, value)
                                    : builder_->group_scan(*combine, value),
              name);
}

std::vector<Expr> Assembler::inline_call() {
  const uint32_t name = at_;
  const auto it = at(Tok::Name) ? functions_.find(spelled(name)) : functions_.end();
  if (it == functions_.end()) {
    if (at(Tok::Name) && peek(1).kind == Tok::LParen && !is_builtin(spelled(name)))
      unknown_function(name);
    fail(name, Text::AtlasExpected, "a call of a function with several results", found(),
         "Write one name before the `=`.");
  }
  Function& f = it->second;
  at_++;
  std::vector<Value> values;
  expect(Tok::LParen, "`(`", fmt::format("Write {}(…).", it->first));
  size_t count = 0;
  for (; !at(Tok::RParen); count++) {
    const DType t = count < f.types.size() ? f.types[count] : DType::None;
    const Expr e = expression(t);
    if (t != DType::None) values.push_back(as(e, t));
    if (!at(Tok::RParen)) expect(Tok::Comma, "`,` or `)`", "Separate arguments with commas.");
  }
  at_++;
  if (count != f.types.size())
    throw located(core::error(Text::AtlasArgumentCount, it->first, f.types.size(), count), name,
                  at_ - 1);
  return inline_body(f, std::move(values), name);
}

// Reads the function's block with its parameters bound to the arguments.
std::vector<Expr> Assembler::inline_body(Function& f, std::vector<Value> arguments, uint32_t call) {
  if (f.active) fail(call, Text::AtlasRecursion, spelled(f.token));
  const Nested nested(*this, nested_blocks_);
  step();
  const uint32_t behind = at_;
  const size_t visible = std::exchange(visible_from_, scopes_.size());
  const size_t loops = std::exchange(loops_, 0);
  f.active = f.used = true;
  function_depth_++;
  scopes_.emplace_back();
  for (size_t i = 0; i < arguments.size(); i++)
    declare(f.parameters[i], {.kind = Symbol::Kind::Binding, .value = arguments[i]});

  at_ = f.body + 1;
  for (skip_lines(); !at_word("return"); skip_lines()) {
    if (at(Tok::RBrace)) fail(at_, Text::AtlasNoReturn, spelled(f.token));
    statement();
  }
  std::vector<Expr> values = results(f);
  if (!at(Tok::RBrace)) fail(at_, Text::AtlasReturnLast);

  scopes_.pop_back();
  function_depth_--;
  f.active = false;
  loops_ = loops;
  visible_from_ = visible;
  at_ = behind;
  builder_->set_line(tokens_[call].line);
  return values;
}

// return a, b
std::vector<Expr> Assembler::results(const Function& f) {
  const uint32_t token = at_++;
  builder_->set_line(tokens_[token].line);
  std::vector<Expr> values;
  do {
    const DType t = values.size() < f.results.size() ? f.results[values.size()] : DType::None;
    Expr e = expression(t);
    if (t != DType::None) e = {.value = as(e, t), .number = {}, .first = e.first, .last = e.last};
    values.push_back(e);
  } while (accept(Tok::Comma));
  if (values.size() != f.results.size())
    throw located(
        core::error(Text::AtlasReturnCount, spelled(f.token), f.results.size(), values.size()),
        token, at_ - 1);
  skip_lines();
  return values;
}

}  // namespace hologram::program
