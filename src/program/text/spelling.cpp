#include "program/text/spelling.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/parse_real.hpp"
#include "program/text/lexer.hpp"

namespace hologram::program {
namespace {

struct Sign {
  Op op;
  std::string_view text;
  int level;
};

// The levels are those of the assembler. Or and And of bools are written || and &&.
constexpr auto kSigns = std::to_array<Sign>({
    {Op::Or, "|", 3},
    {Op::Xor, "^", 4},
    {Op::And, "&", 5},
    {Op::Eq, "==", 6},
    {Op::Ne, "!=", 6},
    {Op::Lt, "<", 7},
    {Op::Le, "<=", 7},
    {Op::Gt, ">", 7},
    {Op::Ge, ">=", 7},
    {Op::Shl, "<<", 8},
    {Op::Shr, ">>", 8},
    {Op::Add, "+", 9},
    {Op::Sub, "-", 9},
    {Op::Mul, "*", 10},
    {Op::Div, "/", 10},
    {Op::Rem, "%", 10},
});

Sign sign_of(const Inst& inst) {
  if (inst.type == DType::Bool && inst.op == Op::Or) return {inst.op, "||", 1};
  if (inst.type == DType::Bool && inst.op == Op::And) return {inst.op, "&&", 2};
  for (const Sign& sign : kSigns)
    if (sign.op == inst.op) return sign;
  return {inst.op, {}, 0};
}

// Where C's precedence surprises, parentheses are written though they are not needed: around other
// operators in those on bits, and where && and || meet.
bool surprises(int level, int other) {
  const auto bits = [](int l) { return (l >= 3 && l <= 5) || l == 8; };
  return level != other && (bits(level) || bits(other) || (level <= 2 && other <= 2));
}

// The shortest decimal that is read as exactly this number.
std::string real_text(double value, bool single) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text =
      single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  // The reader takes the decimal as a double first; in rare cases that rounds twice.
  double read = 0;
  if (single &&
      (!core::parse_real(text, read) || static_cast<float>(read) != static_cast<float>(value)))
    text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string wrap(const Phrase& phrase, int level, int parent) {
  const std::string text = weak_text(phrase);
  const bool unclear = phrase.level < Phrase::kUnary && surprises(phrase.level, parent);
  return phrase.level < level || unclear ? fmt::format("({})", text) : text;
}

}  // namespace

std::string weak_literal(DType type, uint64_t bits) {
  switch (type) {
    case DType::Bool: return bits != 0 ? "true" : "false";
    case DType::I32: return fmt::format("{}", static_cast<int32_t>(bits));
    case DType::I64: return fmt::format("{}", static_cast<int64_t>(bits));
    case DType::F32: return real_text(std::bit_cast<float>(static_cast<uint32_t>(bits)), true);
    case DType::F64: return real_text(std::bit_cast<double>(bits), false);
    default: return fmt::format("{}", bits);
  }
}

std::string typed_literal(DType type, uint64_t bits) {
  const std::string text = weak_literal(type, bits);
  const bool digits = text.find_first_of("0123456789") != std::string::npos;
  return digits ? fmt::format("{}{}", text, name_of(type))
                : fmt::format("{}({})", name_of(type), text);
}

std::string weak_text(const Phrase& phrase) {
  return phrase.constant ? weak_literal(phrase.constant->type, phrase.constant->imm) : phrase.text;
}

std::string typed_text(const Phrase& phrase) {
  return phrase.constant ? typed_literal(phrase.constant->type, phrase.constant->imm) : phrase.text;
}

Phrase operation(const Inst& inst, const std::array<Phrase, 3>& given) {
  const OpInfo& row = info(inst.op);
  const size_t n = row.arity;
  std::array<Phrase, 3> operands = given;
  // Numbers need no type where another operand shows it.
  const bool alone = row.typing == Typing::Shift || row.typing == Typing::Bytes;
  const size_t first = inst.op == Op::Select ? 1 : 0, end = alone ? 1 : n;
  bool shown = false;
  for (size_t i = first; i < end; i++) shown = shown || !operands[i].constant;
  const auto fix = [](Phrase& p) {
    p.text = typed_text(p);
    p.constant = nullptr;
  };
  for (size_t i = 0; i < n; i++) {
    const bool among = i >= first && i < end;
    const bool amount =
        alone && i > 0 && operands[i].constant && operands[i].constant->type == DType::I32;
    if (among ? !shown : !amount) fix(operands[i]);
  }

  Phrase out;
  if (const Sign sign = sign_of(inst); !sign.text.empty()) {
    out.level = sign.level;
    out.text = fmt::format("{} {} {}", wrap(operands[0], sign.level, sign.level), sign.text,
                           wrap(operands[1], sign.level + 1, sign.level));
    return out;
  }
  if ((inst.op == Op::Neg || inst.op == Op::Not) && !given[0].constant) {
    out.level = Phrase::kUnary;
    if (inst.op == Op::Not && inst.type == DType::Bool) out.negated = operands[0].text;
    out.text = fmt::format("{}{}",
                           inst.op == Op::Neg         ? "-"
                           : inst.type == DType::Bool ? "!"
                                                      : "~",
                           wrap(operands[0], Phrase::kOperand, Phrase::kUnary));
    return out;
  }
  if (inst.op == Op::Not) out.negated = operands[0].text;
  if (inst.op == Op::Cast) out.text = name_of(inst.type);
  else if (inst.op == Op::Bitcast) out.text = fmt::format("bits_{}", name_of(inst.type));
  else out.text = row.name;
  out.text += '(';
  for (size_t i = 0; i < n; i++) {
    if (i != 0) out.text += ", ";
    out.text += weak_text(operands[i]);
  }
  out.text += ')';
  return out;
}

}  // namespace hologram::program
