// Folding: constants, identities, and control flow whose way is known.
#include <numeric>

#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

class Folding : Definitions {
 public:
  explicit Folding(Module& module) : code_(module.body) {
    replacement_.resize(code_.values.size());
    std::iota(replacement_.begin(), replacement_.end(), 0u);
    definition_.assign(code_.values.size(), kNone);
    out_.reserve(code_.insts.size());
  }

  void run() {
    for (Inst inst : code_.insts) {
      if (skipped_ > 0 && !leave_skipped(inst)) continue;
      for (size_t k = 0, n = arity(inst); k < n; k++) inst.args[k] = replacement_[inst.args[k]];
      if (is_pure(inst.op)) fold_pure(inst);
      else fold_statement(inst);
    }
    code_.insts = std::move(out_);
  }

 private:
  enum class Block : uint8_t {
    Kept,
    Then,       // of an If that always holds: the block alone is kept
    Otherwise,  // of one that never does: what follows Else
  };

  const Inst& of(uint32_t value) const override { return out_[definition_[value]]; }

  uint32_t constant(DType type, uint64_t bits) override {
    const auto id = static_cast<uint32_t>(code_.values.size());
    code_.values.push_back(type);
    definition_.push_back(kNone);
    replacement_.push_back(id);
    emit({.op = Op::Const, .type = type, .id = id, .imm = bits, .line = line_});
    return id;
  }

  void emit(const Inst& inst) {
    if (inst.id != kNone) definition_[inst.id] = static_cast<uint32_t>(out_.size());
    out_.push_back(inst);
  }

  void fold_pure(Inst& inst) {
    std::array<uint64_t, 3> args = {};
    bool constants = true;
    for (size_t k = 0, n = arity(inst); k < n && constants; k++) {
      const Inst& operand = of(inst.args[k]);
      constants = operand.op == Op::Const;
      args[k] = operand.imm;
    }
    line_ = inst.line;
    // Which of its values mad has is the device's affair.
    if (constants && !(inst.op == Op::Mad && is_float(inst.type))) {
      if (const auto bits = evaluate(inst.op, inst.type, inst.from, args)) {
        emit({.op = Op::Const, .type = inst.type, .id = inst.id, .imm = *bits, .line = inst.line});
        return;
      }
    }
    if (const auto value = simplify_identity(inst, *this)) replacement_[inst.id] = *value;
    else emit(inst);
  }

  void fold_statement(const Inst& inst) {
    switch (inst.op) {
      case Op::If: {
        const Inst& condition = of(inst.args[0]);
        if (condition.op != Op::Const) return open(inst);
        blocks_.push_back(condition.imm != 0 ? Block::Then : Block::Otherwise);
        if (condition.imm == 0) skipped_ = 1;
        return;
      }
      case Op::For:
        if (never_runs(inst)) {
          blocks_.push_back(Block::Then);
          skipped_ = 1;
          return;
        }
        return open(inst);
      case Op::Loop: return open(inst);
      case Op::Else:
        if (blocks_.back() == Block::Then) skipped_ = 1;
        if (blocks_.back() == Block::Kept) emit(inst);
        return;
      case Op::End:
        if (blocks_.back() == Block::Kept) emit(inst);
        blocks_.pop_back();
        return;
      case Op::Break:
      case Op::Continue:
      case Op::Return:
        emit(inst);
        skipped_ = 1;
        return;
      default: emit(inst);
    }
  }

  void open(const Inst& inst) {
    blocks_.push_back(Block::Kept);
    emit(inst);
  }

  bool never_runs(const Inst& loop) const {
    const Inst& begin = of(loop.args[0]);
    const Inst& end = of(loop.args[1]);
    if (loop.args[0] == loop.args[1]) return true;
    return begin.op == Op::Const && end.op == Op::Const &&
           evaluate(Op::Lt, DType::Bool, loop.type, {begin.imm, end.imm, 0}) == uint64_t{0};
  }

  // What is skipped ends with the Else or End of its block.
  bool leave_skipped(const Inst& inst) {
    if (inst.op == Op::If || inst.op == Op::For || inst.op == Op::Loop) skipped_++;
    if (inst.op == Op::End) skipped_--;
    if (skipped_ == 0) return true;
    if (inst.op == Op::Else && skipped_ == 1) {
      skipped_ = 0;
      return true;
    }
    return false;
  }

  Code& code_;
  std::vector<Inst> out_;
  std::vector<uint32_t> replacement_;
  std::vector<uint32_t> definition_;  // by value: where it stands in out_
  std::vector<Block> blocks_;
  uint32_t skipped_ = 0;  // depth in blocks that are left out; 0 where nothing is
  uint32_t line_ = 0;
};

}  // namespace

void fold(Module& module) { Folding(module).run(); }

}  // namespace hologram::program
