// Walks the body with what is known at each place, and marks what is shown to be safe.
#include "program/proofs/facts.hpp"

namespace hologram::program {
namespace {

bool is_jump(Op op) { return op == Op::Break || op == Op::Continue || op == Op::Return; }

class Bounds {
 public:
  explicit Bounds(const Module& module)
      : m_(module), facts_(module), next_(static_cast<uint32_t>(module.body.values.size())) {}

  // The instructions with `proved` set, and with conditions replaced that are known.
  Code run() {
    out_.values = m_.body.values;
    for (const Inst& original : m_.body.insts) {
      Inst inst = original;
      replace_conditions(inst);
      switch (inst.op) {
        case Op::Load:
        case Op::Store:
        case Op::Atomic:
          inst.proved = inst.trusted || is_inside(facts_, node(inst.args[0]), inst.slot);
          break;
        case Op::SharedLoad:
        case Op::SharedStore:
        case Op::SharedAtomic:
          inst.proved =
              inst.trusted || is_below(facts_, node(inst.args[0]), m_.shared[inst.slot].count);
          break;
        case Op::If:
        case Op::For:
        case Op::Loop: open(original); break;
        case Op::Else:
          blocks_.back().jumps = is_jump(last_);
          facts_.forget(blocks_.back().mark);
          facts_.assume(node(blocks_.back().opening->args[0]), false);
          blocks_.back().otherwise = true;
          break;
        case Op::End: close(); break;
        default: break;
      }
      last_ = inst.op;
      out_.insts.push_back(inst);
    }
    if (!constants_.empty())
      out_.insts.insert(out_.insts.begin(), constants_.begin(), constants_.end());
    return std::move(out_);
  }

 private:
  struct Block {
    const Inst* opening;
    size_t mark;
    bool otherwise;  // past its Else
    bool jumps;      // the block before Else ends with a jump
  };

  uint32_t node(uint32_t value) const { return facts_.node_of(value); }

  // true or false as a value, at the top of the program.
  uint32_t constant(bool value) {
    uint32_t& id = truth_[value];
    if (id == kNone) {
      id = next_++;
      out_.values.push_back(DType::Bool);
      constants_.push_back({.op = Op::Const, .type = DType::Bool, .id = id, .imm = value});
    }
    return id;
  }

  void replace_conditions(Inst& inst) {
    const auto replace = [&](size_t k) {
      const auto known = facts_.truth(node(inst.args[k]));
      if (known) inst.args[k] = constant(*known);
      return known;
    };
    if (inst.op == Op::If) {
      replace(0);
    } else if (inst.op == Op::Select) {
      const uint32_t yes = inst.args[1], no = inst.args[2];
      if (const auto known = replace(0)) facts_.set_same(node(inst.id), node(*known ? yes : no));
    } else if ((inst.op == Op::And || inst.op == Op::Or) && inst.type == DType::Bool) {
      replace(0);
      replace(1);
    }
    if (inst.type == DType::Bool && is_pure(inst.op))
      if (const auto known = facts_.truth(node(inst.id))) {
        facts_.set_truth(node(inst.id), *known);
        inst = {.op = Op::Const, .type = DType::Bool, .id = inst.id, .imm = *known};
      }
  }

  void open(const Inst& inst) {
    blocks_.push_back({&inst, facts_.mark(), false, false});
    if (inst.op == Op::If) facts_.assume(node(inst.args[0]), true);
    if (inst.op == Op::For) facts_.assume_at_most(node(inst.args[0]), node(inst.args[1]), -1);
  }

  // Where one way out of an If jumps away, what follows was reached by the other.
  void close() {
    const Block block = blocks_.back();
    blocks_.pop_back();
    facts_.forget(block.mark);
    if (block.opening->op != Op::If) return;
    const bool then_jumps = block.otherwise ? block.jumps : is_jump(last_);
    const bool else_jumps = block.otherwise && is_jump(last_);
    if (then_jumps != else_jumps) facts_.assume(node(block.opening->args[0]), else_jumps);
  }

  const Module& m_;
  Facts facts_;
  uint32_t next_;
  Code out_;
  std::vector<Inst> constants_;
  std::array<uint32_t, 2> truth_ = {kNone, kNone};
  std::vector<Block> blocks_;
  Op last_ = Op::End;
};

}  // namespace

void prove_bounds(Module& module) { module.body = Bounds(module).run(); }

}  // namespace hologram::program
