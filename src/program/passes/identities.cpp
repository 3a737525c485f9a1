// Identities that hold for every bit of every operand. Floats keep their signed zeros: x + 0 is not
// x for -0, but x - 0, x * 1 and x / 1 are.
#include <bit>
#include <cmath>
#include <utility>

#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

class Identities {
 public:
  Identities(Inst& inst, Definitions& definitions)
      : inst_(inst),
        definitions_(definitions),
        a_(inst.args[0]),
        b_(inst.args[1]),
        float_(is_float(inst.from)) {}

  std::optional<uint32_t> run() {
    order_operands();
    switch (inst_.op) {
      case Op::Add: return add();
      case Op::Sub: return sub();
      case Op::Mul: return mul();
      case Op::Div: return div();
      case Op::Rem: return is(b_, 1) ? zero() : std::nullopt;
      case Op::Min:
      case Op::Max: return a_ == b_ ? same(a_) : std::nullopt;
      case Op::Fma:
      case Op::Mad: return multiply_add();
      case Op::Neg: return undo(Op::Neg);
      case Op::Abs:
        if (made_by(a_, Op::Neg)) inst_.args[0] = definitions_.of(a_).args[0];
        return made_by(a_, Op::Abs) ? same(a_) : std::nullopt;
      case Op::And: return is_ones(b_) || a_ == b_ ? same(a_) : is(b_, 0) ? same(b_) : std::nullopt;
      case Op::Or: return is(b_, 0) || a_ == b_ ? same(a_) : is_ones(b_) ? same(b_) : std::nullopt;
      case Op::Xor: return is(b_, 0) ? same(a_) : a_ == b_ ? zero() : std::nullopt;
      case Op::Not: return complement();
      case Op::Shl:
      case Op::Shr: return is(b_, 0) ? same(a_) : std::nullopt;
      case Op::Eq:
      case Op::Le:
      case Op::Ge: return a_ == b_ && !float_ ? truth(true) : std::nullopt;
      case Op::Ne: return a_ == b_ && !float_ ? truth(false) : std::nullopt;
      case Op::Lt:
      case Op::Gt: return a_ == b_ ? truth(false) : std::nullopt;
      case Op::Select: return select();
      case Op::Cast: return inst_.type == inst_.from ? same(a_) : std::nullopt;
      case Op::Bitcast: return bitcast();
      default: return std::nullopt;
    }
  }

 private:
  using Result = std::optional<uint32_t>;

  static Result same(uint32_t value) { return value; }
  Result zero() { return definitions_.constant(inst_.type, 0); }
  Result truth(bool value) { return definitions_.constant(DType::Bool, value); }

  bool made_by(uint32_t value, Op op) const { return definitions_.of(value).op == op; }

  // The constant's bits.
  std::optional<uint64_t> bits(uint32_t value) const {
    const Inst& inst = definitions_.of(value);
    return inst.op == Op::Const ? std::optional(inst.imm) : std::nullopt;
  }
  std::optional<double> real(uint32_t value) const {
    const auto b = bits(value);
    if (!b) return std::nullopt;
    return inst_.from == DType::F32 ? std::bit_cast<float>(static_cast<uint32_t>(*b))
                                    : std::bit_cast<double>(*b);
  }
  // Whether the value is the number; 0 is the positive zero.
  bool is(uint32_t value, int number) const {
    if (!float_) return bits(value) == static_cast<uint64_t>(number);
    const auto r = real(value);
    return r && *r == number && !std::signbit(*r);
  }
  bool is_ones(uint32_t value) const {
    const uint64_t ones = inst_.from == DType::Bool  ? 1
                          : size_of(inst_.from) == 4 ? UINT32_MAX
                                                     : UINT64_MAX;
    return bits(value) == ones;
  }

  // Constants last, then by number, so that equal expressions look equal.
  void order_operands() {
    const bool product = inst_.op == Op::Fma || inst_.op == Op::Mad;
    if (!product && !info(inst_.op).commutative) return;
    const bool first = bits(a_).has_value(), second = bits(b_).has_value();
    if (first == second ? a_ <= b_ : second) return;
    std::swap(inst_.args[0], inst_.args[1]);
    std::swap(a_, b_);
  }

  Result add() {
    if (float_) {
      const auto r = real(b_);
      return r && *r == 0 && std::signbit(*r) ? same(a_) : std::nullopt;
    }
    if (is(b_, 0)) return same(a_);
    // (x + 1) + 2 = x + 3: integers wrap alike.
    const Inst inner = definitions_.of(a_);
    const auto outer_bits = bits(b_);
    if (inner.op != Op::Add || !outer_bits) return std::nullopt;
    const auto inner_bits = bits(inner.args[1]);
    if (!inner_bits) return std::nullopt;
    const auto sum = evaluate(Op::Add, inst_.type, inst_.from, {*inner_bits, *outer_bits, 0});
    inst_.args = {inner.args[0], definitions_.constant(inst_.type, *sum), kNone};
    return std::nullopt;
  }

  Result sub() {
    if (is(b_, 0)) return same(a_);
    return a_ == b_ && !float_ ? zero() : std::nullopt;
  }

  Result mul() {
    if (is(b_, 1)) return same(a_);
    return is(b_, 0) && !float_ ? zero() : std::nullopt;
  }

  Result div() {
    if (is(b_, 1)) return same(a_);
    if (!float_) return std::nullopt;
    // By a power of two whose reciprocal is a normal number: the product rounds alike.
    const auto r = real(b_);
    if (!r) return std::nullopt;
    int exponent = 0;
    const int most = inst_.from == DType::F32 ? 120 : 1000;
    if (std::abs(std::frexp(*r, &exponent)) != 0.5 || std::abs(exponent) > most)
      return std::nullopt;
    const double reciprocal = 1 / *r;
    const uint64_t reciprocal_bits = inst_.from == DType::F32
                                         ? std::bit_cast<uint32_t>(static_cast<float>(reciprocal))
                                         : std::bit_cast<uint64_t>(reciprocal);
    inst_.op = Op::Mul;
    inst_.args[1] = definitions_.constant(inst_.type, reciprocal_bits);
    return std::nullopt;
  }

  Result multiply_add() {
    if (is(b_, 1)) {
      inst_.op = Op::Add;
      inst_.args = {a_, inst_.args[2], kNone};
    } else if (!float_ && is(b_, 0)) {
      return same(inst_.args[2]);
    } else if (!float_ && is(inst_.args[2], 0)) {
      inst_.op = Op::Mul;
      inst_.args[2] = kNone;
    }
    return std::nullopt;
  }

  Result undo(Op op) const {
    return made_by(a_, op) ? same(definitions_.of(a_).args[0]) : std::nullopt;
  }

  Result complement() {
    if (const auto inner = undo(Op::Not)) return inner;
    // The opposite comparison; with NaN only equality has one.
    static constexpr std::pair<Op, Op> kOpposites[] = {{Op::Eq, Op::Ne}, {Op::Ne, Op::Eq},
                                                       {Op::Lt, Op::Ge}, {Op::Ge, Op::Lt},
                                                       {Op::Gt, Op::Le}, {Op::Le, Op::Gt}};
    const Inst inner = definitions_.of(a_);
    for (const auto& [op, opposite] : kOpposites) {
      if (inner.op != op || (is_float(inner.from) && op != Op::Eq && op != Op::Ne)) continue;
      inst_.op = opposite;
      inst_.from = inner.from;
      inst_.args = inner.args;
      break;
    }
    return std::nullopt;
  }

  Result select() {
    uint32_t& yes = inst_.args[1];
    uint32_t& no = inst_.args[2];
    if (yes == no) return same(yes);
    if (const auto condition = bits(a_)) return same(*condition ? yes : no);
    if (made_by(a_, Op::Not)) {
      inst_.args[0] = definitions_.of(a_).args[0];
      std::swap(yes, no);
    }
    if (inst_.type == DType::Bool && bits(yes) == 1 && bits(no) == 0) return same(inst_.args[0]);
    return std::nullopt;
  }

  Result bitcast() {
    if (inst_.type == inst_.from) return same(a_);
    const Inst inner = definitions_.of(a_);
    if (inner.op != Op::Bitcast) return std::nullopt;
    if (inner.from == inst_.type) return same(inner.args[0]);
    inst_.from = inner.from;
    inst_.args[0] = inner.args[0];
    return std::nullopt;
  }

  Inst& inst_;
  Definitions& definitions_;
  uint32_t a_, b_;
  const bool float_;
};

}  // namespace

std::optional<uint32_t> simplify_identity(Inst& inst, Definitions& definitions) {
  return Identities(inst, definitions).run();
}

}  // namespace hologram::program
