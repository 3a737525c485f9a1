#include "program/proofs/intervals.hpp"

#include <algorithm>
#include <bit>

namespace hologram::program {
namespace {

constexpr Wide kUnbounded = Wide{1} << 120;

Wide number(DType type, uint64_t bits) {
  if (type == DType::I32) return static_cast<int32_t>(bits);
  if (type == DType::I64) return static_cast<int64_t>(bits);
  return bits;
}

Wide product(Wide a, Wide b) {
  Wide result = 0;
  if (!__builtin_mul_overflow(a, b, &result) && result < kUnbounded && result > -kUnbounded)
    return result;
  return (a < 0) == (b < 0) ? kUnbounded : -kUnbounded;
}

class Intervals {
 public:
  Intervals(const Module& module, const Code& code) : m_(module), values_(code.values.size()) {}

  std::vector<Interval> run(const Code& code) {
    for (const Inst& inst : code.insts) {
      if (inst.id == kNone || (!is_integer(inst.type) && inst.type != DType::Bool)) continue;
      const Interval full = range_of(inst.type);
      const Interval found = of(inst, full);
      // What may wrap may be anything.
      values_[inst.id] = found.low <= found.high && contains(full, found) ? found : full;
    }
    return std::move(values_);
  }

 private:
  const Interval& operand(const Inst& inst, size_t k) const { return values_[inst.args[k]]; }

  Interval of(const Inst& inst, const Interval& full) const {
    switch (inst.op) {
      case Op::Const: {
        const Wide n = number(inst.type, inst.imm);
        return {n, n};
      }
      case Op::Scalar: return {m_.scalars[inst.slot].dimension ? 0 : full.low, full.high};
      case Op::Length: return length(m_.buffers[inst.slot], full);
      case Op::LaneId: return {0, Wide{m_.workgroup[inst.aux]} - 1};
      case Op::GroupId:
      case Op::GlobalId:
      case Op::GroupCount: return {0, full.high};
      case Op::Load: return stored(m_.buffers[inst.slot].type, full);
      case Op::GroupUniform: return operand(inst, 0);
      case Op::For:
        return {operand(inst, 0).low, std::max(operand(inst, 0).low, operand(inst, 1).high - 1)};
      default: return is_pure(inst.op) && !is_float(inst.from) ? pure(inst, full) : full;
    }
  }

  static Interval length(const BufferParam& buffer, const Interval& full) {
    if (buffer.dims.empty()) return {0, full.high};
    Wide count = 1;
    for (const Dim& dim : buffer.dims) {
      if (!dim.name.empty()) return {0, full.high};
      count = product(count, dim.length);
    }
    return {count, count};
  }

  static Interval stored(DType type, const Interval& full) {
    return is_integer(type) || type == DType::Bool ? range_of(type) : full;
  }

  Interval pure(const Inst& inst, const Interval& full) const {
    const Interval& a = operand(inst, 0);
    const Interval b = arity(inst) > 1 ? operand(inst, 1) : Interval{};
    switch (inst.op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul: return exact_interval(inst.op, a, b);
      case Op::Fma:
      case Op::Mad: return exact_interval(Op::Add, exact_interval(Op::Mul, a, b), operand(inst, 2));
      case Op::Neg: return {-a.high, -a.low};
      case Op::Abs: return {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, std::max(-a.low, a.high)};
      case Op::Sign: return {-1, 1};
      case Op::Min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
      case Op::Max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
      case Op::Div:
        if (b.low == b.high && b.low > 0) return {a.low / b.low, a.high / b.low};
        return a.low >= 0 && b.low >= 0 ? Interval{0, a.high} : full;
      case Op::Rem: {
        const Wide most = std::max<Wide>(0, std::max(-b.low, b.high) - 1);
        return {a.low >= 0 ? 0 : -most, std::min(most, std::max<Wide>(a.high, 0))};
      }
      case Op::And:
        if (inst.type == DType::Bool || (a.low < 0 && b.low < 0)) return full;
        return {0, a.low < 0 ? b.high : b.low < 0 ? a.high : std::min(a.high, b.high)};
      case Op::Or:
      case Op::Xor: {
        if (inst.type == DType::Bool || a.low < 0 || b.low < 0) return full;
        const auto most = static_cast<uint64_t>(std::max(a.high, b.high));
        return {0, (Wide{1} << std::bit_width(most)) - 1};
      }
      case Op::Shl: return is_count(inst, b) ? exact_interval(Op::Mul, a, power(b.low)) : full;
      case Op::Shr:
        if (a.low < 0) return full;
        return is_count(inst, b) ? Interval{a.low >> b.low, a.high >> b.low} : Interval{0, a.high};
      case Op::PopCount:
      case Op::Clz: return {0, 8 * static_cast<Wide>(size_of(inst.type))};
      case Op::Select:
        return {std::min(b.low, operand(inst, 2).low), std::max(b.high, operand(inst, 2).high)};
      case Op::Cast:
      case Op::Bitcast: return inst.type == DType::Bool ? full : a;
      case Op::Wrap8: return wrapped(a, inst.type == DType::I32 ? DType::I8 : DType::U8);
      case Op::Wrap16: return wrapped(a, inst.type == DType::I32 ? DType::I16 : DType::U16);
      default: return full;
    }
  }

  static Interval power(Wide count) { return {Wide{1} << count, Wide{1} << count}; }

  // One known number of bits, below the width.
  static bool is_count(const Inst& inst, const Interval& b) {
    return b.low == b.high && b.low >= 0 && b.low < 8 * static_cast<Wide>(size_of(inst.type));
  }

  static Interval wrapped(const Interval& a, DType narrow) {
    const Interval range = range_of(narrow);
    return contains(range, a) ? a : range;
  }

  const Module& m_;
  std::vector<Interval> values_;
};

}  // namespace

Interval range_of(DType type) {
  if (type == DType::Bool) return {0, 1};
  const auto bits = static_cast<int>(8 * size_of(type));
  if (is_signed_integer(type)) return {-(Wide{1} << (bits - 1)), (Wide{1} << (bits - 1)) - 1};
  return {0, (Wide{1} << bits) - 1};
}

Interval exact_interval(Op op, const Interval& a, const Interval& b) {
  switch (op) {
    case Op::Add: return {a.low + b.low, a.high + b.high};
    case Op::Sub: return {a.low - b.high, a.high - b.low};
    default: {
      const Wide corners[] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low),
                              product(a.high, b.high)};
      return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
    }
  }
}

std::vector<Interval> find_intervals(const Module& module, const Code& code) {
  return Intervals(module, code).run(code);
}

}  // namespace hologram::program
