// Wrap8 and Wrap16 that nobody can tell from what they wrap: because only low bits are looked at,
// as a store of narrow elements does, or because the number is small enough.
#include <algorithm>
#include <limits>

#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

bool is_wrap(Op op) { return op == Op::Wrap8 || op == Op::Wrap16; }
uint8_t bits_kept(Op wrap) { return wrap == Op::Wrap8 ? 8 : 16; }

class Wraps {
 public:
  explicit Wraps(Module& module)
      : module_(module),
        looked_at_(module.body.values.size(), 0),
        ranges_(module.body.values.size()),
        same_(module.body.values.size(), kNone) {}

  void run() {
    auto& insts = module_.body.insts;
    for (size_t i = insts.size(); i-- > 0;) look(insts[i]);
    for (Inst& inst : insts) replace(inst);
  }

 private:
  static constexpr uint8_t kAll = 64;

  // Numbers from the least to the most.
  struct Range {
    int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
    static Range of(bool is_signed, int bits) {
      const int64_t all = int64_t{1} << bits;
      return is_signed ? Range{-all / 2, all / 2 - 1} : Range{0, all - 1};
    }
    bool within(const Range& other) const { return least >= other.least && most <= other.most; }
  };

  // How many of the lowest bits of its operands an instruction looks at.
  void look(const Inst& inst) {
    const auto at = [&](size_t k, uint8_t bits) {
      uint8_t& all = looked_at_[inst.args[k]];
      all = std::max(all, bits);
    };
    const uint8_t of_result = inst.id == kNone ? kAll : looked_at_[inst.id];
    const bool integer = is_integer(inst.from) && is_integer(inst.type);
    const size_t count = arity(inst);
    for (size_t k = 0; k < count; k++) at(k, bits_of(inst, k, integer, of_result));
  }

  uint8_t bits_of(const Inst& inst, size_t operand, bool integer, uint8_t of_result) const {
    switch (inst.op) {
      case Op::Store: {
        const DType stored = module_.buffers[inst.slot].type;
        return operand == 1 && is_integer(stored) ? static_cast<uint8_t>(8 * size_of(stored))
                                                  : kAll;
      }
      case Op::Wrap8:
      case Op::Wrap16: return std::min(of_result, bits_kept(inst.op));
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Neg:
      case Op::And:
      case Op::Or:
      case Op::Xor:
      case Op::Not:
      case Op::Cast:
      case Op::Bitcast: return integer ? of_result : kAll;
      case Op::Shl: return operand == 0 ? of_result : kAll;
      case Op::Select: return operand == 0 ? kAll : of_result;
      default: return kAll;
    }
  }

  void replace(Inst& inst) {
    const size_t count = arity(inst);
    for (size_t k = 0; k < count; k++)
      if (const uint32_t other = same_[inst.args[k]]; other != kNone) inst.args[k] = other;
    if (inst.id == kNone) return;
    ranges_[inst.id] = range_of(inst);
    if (!is_wrap(inst.op)) return;
    const uint8_t bits = bits_kept(inst.op);
    const Range kept = Range::of(inst.type == DType::I32, bits), &wrapped = ranges_[inst.args[0]];
    if (looked_at_[inst.id] <= bits || wrapped.within(kept)) same_[inst.id] = inst.args[0];
    else ranges_[inst.id] = kept;
  }

  Range range_of(const Inst& inst) const {
    const auto of = [&](size_t k) -> const Range& { return ranges_[inst.args[k]]; };
    switch (inst.op) {
      case Op::Const:
        if (inst.type == DType::I32) return only(static_cast<int32_t>(inst.imm));
        if (inst.type == DType::U32) return only(static_cast<uint32_t>(inst.imm));
        return {};
      case Op::Load: {
        const DType stored = module_.buffers[inst.slot].type;
        if (!is_integer(stored) || size_of(stored) > 2) return {};
        return Range::of(is_signed_integer(stored), static_cast<int>(8 * size_of(stored)));
      }
      case Op::Min: return {std::min(of(0).least, of(1).least), std::min(of(0).most, of(1).most)};
      case Op::Max: return {std::max(of(0).least, of(1).least), std::max(of(0).most, of(1).most)};
      case Op::Select:
        return {std::min(of(1).least, of(2).least), std::max(of(1).most, of(2).most)};
      case Op::Cast: return inst.from == DType::Bool ? Range{0, 1} : Range{};
      default: return {};
    }
  }
  static Range only(int64_t number) { return {number, number}; }

  Module& module_;
  std::vector<uint8_t> looked_at_;  // by value
  std::vector<Range> ranges_;
  std::vector<uint32_t> same_;  // what a value is replaced by
};

}  // namespace

void drop_wraps(Module& module) {
  const auto& insts = module.body.insts;
  if (std::any_of(insts.begin(), insts.end(), [](const Inst& i) { return is_wrap(i.op); }))
    Wraps(module).run();
}

}  // namespace hologram::program
