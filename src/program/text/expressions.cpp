#include <fmt/format.h>

#include <array>
#include <cmath>

#include "program/text/assembler.hpp"
#include "program/typing.hpp"

namespace hologram::program {

using core::Text;

namespace {

struct Operator {
  Tok kind;
  Op op;
  int level;  // binds tighter the higher
};

constexpr auto kOperators = std::to_array<Operator>({
    {Tok::OrOr, Op::Or, 1},
    {Tok::AndAnd, Op::And, 2},
    {Tok::Or, Op::Or, 3},
    {Tok::Xor, Op::Xor, 4},
    {Tok::And, Op::And, 5},
    {Tok::Eq, Op::Eq, 6},
    {Tok::Ne, Op::Ne, 6},
    {Tok::Lt, Op::Lt, 7},
    {Tok::Le, Op::Le, 7},
    {Tok::Gt, Op::Gt, 7},
    {Tok::Ge, Op::Ge, 7},
    {Tok::Shl, Op::Shl, 8},
    {Tok::Shr, Op::Shr, 8},
    {Tok::Add, Op::Add, 9},
    {Tok::Sub, Op::Sub, 9},
    {Tok::Mul, Op::Mul, 10},
    {Tok::Div, Op::Div, 10},
    {Tok::Rem, Op::Rem, 10},
});

const Operator* find_operator(Tok kind) {
  for (const Operator& row : kOperators)
    if (row.kind == kind) return &row;
  return nullptr;
}

// Of two types the one to convert to.
DType wider(DType a, DType b) {
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  return size_of(a) != size_of(b) ? (size_of(a) > size_of(b) ? a : b) : std::max(a, b);
}

}  // namespace

Expr Assembler::made(Value value, uint32_t first) const {
  return {.value = value, .number = {}, .first = first, .last = at_ - 1};
}
Expr Assembler::made(const Number& number, uint32_t first) const {
  return {.value = {}, .number = number, .first = first, .last = at_ - 1};
}

DType Assembler::type_of(const Expr& e) const {
  return e.weak() ? default_type(*e.number) : e.value.type();
}

Value Assembler::strong(const Expr& e) { return as(e, type_of(e)); }

Value Assembler::as(const Expr& e, DType t) {
  if (e.weak())
    return placed(e.first, e.last,
                  [&] { return builder_->constant_bits(t, bits_of(*e.number, t)); });
  const DType is = e.value.type();
  if (is == t) return e.value;
  const std::string_view text = source(e.first, e.last);
  if (t == DType::Bool) fail(e, Text::AtlasNotBool, name_of(is), text);
  fail(e, Text::AtlasWrongType, name_of(is), name_of(t),
       text.size() <= 40 ? fmt::format("{}({})", name_of(t), text)
                         : fmt::format("{}(…)", name_of(t)));
}

Value Assembler::condition() { return as(expression(DType::Bool), DType::Bool); }

Expr Assembler::expression(DType hint) {
  const Nested nested(*this, nested_expressions_);
  const uint32_t first = at_;
  Expr e = binary(hint, 1);
  if (!at(Tok::Question)) return e;
  const uint32_t sign = at_++;
  const Expr then = expression(hint);
  expect(Tok::Colon, "`:`", "Write condition ? value : other.");
  const Expr otherwise = expression(then.weak() ? hint : type_of(then));
  Expr chosen = apply(Op::Select, sign, {e, then, otherwise}, hint);
  chosen.first = first;
  return chosen;
}

Expr Assembler::binary(DType hint, int level) {
  const uint32_t first = at_;
  Expr left = unary(hint);
  for (;;) {
    const Operator* row = find_operator(peek().kind);
    if (!row || row->level < level) return left;
    const uint32_t sign = at_++;
    step();
    const bool compares = row->level == 6 || row->level == 7;
    const bool shifts = row->level == 8;
    const DType wanted = shifts        ? DType::None
                         : left.weak() ? (compares ? DType::None : hint)
                                       : type_of(left);
    const Expr right = binary(wanted, row->level + 1);
    if (row->kind == Tok::AndAnd || row->kind == Tok::OrOr)
      for (const Expr* e : std::initializer_list<const Expr*>{&left, &right})
        if (type_of(*e) != DType::Bool)
          fail(*e, Text::AtlasNotBool, name_of(type_of(*e)), source(e->first, e->last));
    left = apply(row->op, sign, {left, right}, compares ? DType::None : hint);
    left.first = first;
  }
}

Expr Assembler::unary(DType hint) {
  const uint32_t sign = at_;
  Op op;
  switch (peek().kind) {
    case Tok::Sub: op = Op::Neg; break;
    case Tok::Bang:
    case Tok::Tilde: op = Op::Not; break;
    case Tok::Add: fail(at_, Text::AtlasPlus);
    default: return primary(hint);
  }
  const Nested nested(*this, nested_expressions_);
  at_++;
  if (op == Op::Neg && at(Tok::Number)) return literal(true);
  const Expr e = unary(hint);
  if (op == Op::Not && (type_of(e) == DType::Bool) != (tokens_[sign].kind == Tok::Bang))
    fail(sign, tokens_[sign].kind == Tok::Bang ? Text::AtlasLogicalNot : Text::AtlasBitwiseNot,
         name_of(type_of(e)));
  Expr result = apply(op, sign, {e}, hint);
  result.first = sign;
  return result;
}

Expr Assembler::primary(DType hint) {
  step();
  switch (peek().kind) {
    case Tok::Number: return literal(false);
    case Tok::Name: break;
    case Tok::LParen: {
      const uint32_t open = at_++;
      Expr e = expression(hint);
      expect(Tok::RParen, "`)`", "Close the parenthesis, or put an operator here.");
      e.first = open;
      e.last = at_ - 1;
      return e;
    }
    default:
      fail(at_, Text::AtlasExpected, "a value", found(),
           "Write a number, a name, an element x[i], a call f(x) or an expression in parentheses.");
  }
  if (peek(1).kind == Tok::LParen) return call(hint);
  return name();
}

// A number, with the minus before it: the smallest of a type has no positive counterpart.
Expr Assembler::literal(bool negative) {
  const uint32_t token = at_++, first = negative ? token - 1 : token;
  Literal literal;
  parse_literal(spelled(token), literal);
  Number n = literal.number;
  if (negative) {
    n.integer = -n.integer;
    n.real = -n.real;
  }
  if (literal.type == DType::None) return made(n, first);
  return placed(first, token, [&] {
    return made(builder_->constant_bits(literal.type, bits_of(n, literal.type)), first);
  });
}

Expr Assembler::name() {
  const std::string_view word = spelled(at_);
  const uint32_t token = at_;
  if (word == "true" || word == "false") return at_++, made(Number::of_bool(word == "true"), token);
  if (word == "inf" || word == "nan")
    return at_++, made(Number::of_real(word == "inf" ? HUGE_VAL : NAN), token);
  for (const Op op : {Op::LaneId, Op::GroupId, Op::GlobalId, Op::GroupCount})
    if (word == info(op).name) return id_source(op);
  const Symbol* symbol = find(word);
  if (!symbol) {
    if (is_reserved(word))
      fail(token, Text::AtlasExpected, "a value", found(),
           "A word of the language does not name a value.");
    unknown_name(token);
  }
  switch (symbol->kind) {
    case Symbol::Kind::Memory:
      if (peek(1).kind != Tok::LBracket) fail(token, Text::AtlasBareMemory, word);
      body_only(token);
      {
        const Place from = place();
        may_read(from);
        return made(load(from), token);
      }
    default: break;
  }
  at_++;
  if (at(Tok::LBracket)) fail(token, Text::AtlasNotMemory, word);
  switch (symbol->kind) {
    case Symbol::Kind::Number: return made(symbol->number, token);
    case Symbol::Kind::Scalar:
      if (host_ || symbol->value.builder() == nullptr)
        return made(builder_->dimension(word), token);
      return made(symbol->value, token);
    case Symbol::Kind::HostBinding:
      if (!host_) fail(token, Text::AtlasHostValue, word);
      return made(symbol->value, token);
    case Symbol::Kind::Binding:
      if (host_ && function_depth_ == 0) fail(token, Text::AtlasHostOnly, word);
      return made(symbol->value, token);
    default: body_only(token); return made(builder_->get({symbol->id}), token);
  }
}

// global_id.x and its kin.
Expr Assembler::id_source(Op op) {
  const uint32_t token = at_++;
  if (host_) fail(token, Text::AtlasHostOnly, spelled(token));
  constexpr std::string_view kForm = "Name the axis: global_id.x, .y or .z.";
  expect(Tok::Dot, "`.x`, `.y` or `.z`", kForm);
  constexpr std::string_view kAxes = "xyz";
  constexpr size_t kNoAxis = std::string_view::npos;
  const size_t axis = at(Tok::Name) && peek().length == 1 ? kAxes.find(spelled(at_)) : kNoAxis;
  if (axis == kNoAxis) fail(at_, Text::AtlasExpected, "`x`, `y` or `z`", found(), kForm);
  at_++;
  const int a = static_cast<int>(axis);
  switch (op) {
    case Op::LaneId: return made(builder_->lane_id(a), token);
    case Op::GroupId: return made(builder_->group_id(a), token);
    case Op::GlobalId: return made(builder_->global_id(a), token);
    default: return made(builder_->group_count(a), token);
  }
}

// The type that numbers among the operands take.
DType Assembler::common_type(Op op, uint32_t where, const std::vector<Expr>& operands, DType hint) {
  const Typing typing = info(op).typing;
  const size_t first = typing == Typing::Select ? 1 : 0;
  const bool alone = typing == Typing::Shift || typing == Typing::Bytes;  // the first says the type
  const size_t end = alone ? 1 : operands.size();
  const Expr* typed = nullptr;
  DType t = DType::None;
  for (size_t i = first; i < end; i++) {
    if (operands[i].weak()) continue;
    if (typed && type_of(operands[i]) != t) mixed_types(where, *typed, operands[i]);
    if (!typed) typed = &operands[i], t = type_of(operands[i]);
  }
  if (typed) return t;
  const auto suits = [&](DType type) {
    for (size_t i = first; i < end; i++) {
      const Number::Kind kind = operands[i].number->kind;
      if ((type == DType::Bool) != (kind == Number::Kind::Bool) ||
          (is_integer(type) && kind == Number::Kind::Real))
        return false;
    }
    return accepts(typing, type);
  };
  if (hint != DType::None && suits(hint)) return hint;
  for (const DType type : {DType::I32, DType::F32, DType::Bool})
    if (suits(type)) return type;
  wrong_type(op, where, operands[first], type_of(operands[first]));
}

Expr Assembler::apply(Op op, uint32_t where, std::vector<Expr> operands, DType hint) {
  std::vector<Number> numbers;
  for (const Expr& e : operands)
    if (e.weak()) numbers.push_back(*e.number);
  const auto whole = [&](Expr e) {
    e.first = operands.front().first;
    e.last = std::max(where, operands.back().last);
    return e;
  };
  if (numbers.size() == operands.size())
    if (const auto n = placed(where, where, [&] { return fold(op, numbers); }))
      return whole(made(*n, where));

  const Typing typing = info(op).typing;
  const DType t = common_type(op, where, operands, hint);
  if (!accepts(typing, t) ||
      (t == DType::Bool && typing == Typing::Compare && op != Op::Eq && op != Op::Ne))
    wrong_type(op, where, operands[typing == Typing::Select], t);
  std::array<Value, 3> values;
  for (size_t i = 0; i < operands.size(); i++) {
    DType wanted = t;
    if (typing == Typing::Select && i == 0) wanted = DType::Bool;
    if (typing == Typing::Shift && i == 1)
      wanted = type_of(operands[1]) == DType::U32 ? DType::U32 : DType::I32;
    if (typing == Typing::Bytes && i > 0) wanted = DType::I32;
    values[i] = as(operands[i], wanted);
  }
  return placed(where, where, [&] {
    const Value value = operands.size() == 1 ? builder_->emit(op, {values[0]})
                        : operands.size() == 2
                            ? builder_->emit(op, {values[0], values[1]})
                            : builder_->emit(op, {values[0], values[1], values[2]});
    return whole(made(value, where));
  });
}

void Assembler::mixed_types(uint32_t where, const Expr& a, const Expr& b) const {
  const DType ta = type_of(a), tb = type_of(b), to = wider(ta, tb);
  const Expr& narrow = ta == to ? b : a;
  const std::string_view text = source(narrow.first, narrow.last);
  fail(where, Text::AtlasMixedTypes, name_of(ta), name_of(tb), name_of(to),
       text.size() <= 40 ? text : std::string_view("…"));
}

void Assembler::wrong_type(Op op, uint32_t where, const Expr& e, DType t) const {
  std::vector<std::string_view> types;
  for (const DType other :
       {DType::Bool, DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64})
    if (accepts(info(op).typing, other) &&
        !(other == DType::Bool && info(op).typing == Typing::Compare && op != Op::Eq &&
          op != Op::Ne))
      types.push_back(name_of(other));
  const std::string_view text = source(e.first, e.last);
  const DType to =
      accepts(info(op).typing, DType::I32) && t != DType::I32 ? DType::I32 : DType::F32;
  fail(where, Text::AtlasOperandType, spelled(where), name_of(t), fmt::join(types, ", "),
       text.size() <= 40 ? text : std::string_view("…"), name_of(to));
}

}  // namespace hologram::program
