// Loop-invariant code: what depends on nothing that a loop changes moves before it.
#include <algorithm>

#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

class Hoisting {
 public:
  explicit Hoisting(Module& module) : m_(module), level_(module.body.values.size(), 0) {}

  void run() {
    blocks_.push_back({Op::End, {}});
    for (const Inst& inst : m_.body.insts) {
      const size_t here = blocks_.size() - 1;
      switch (inst.op) {
        case Op::If:
        case Op::Loop:
        case Op::For:
          blocks_.push_back({inst.op, {inst}});
          if (inst.id != kNone) level_[inst.id] = here + 1;
          break;
        case Op::End: close(inst); break;
        default:
          if (inst.id == kNone) blocks_[here].insts.push_back(inst);
          else place(inst, here);
      }
    }
    m_.body.insts = std::move(blocks_.front().insts);
  }

 private:
  // The instructions of an open block. While they are gathered, those of the blocks around it end
  // just before it, which is where they are moved to.
  struct Block {
    Op op;
    std::vector<Inst> insts;
  };

  void close(const Inst& end) {
    blocks_.back().insts.push_back(end);
    const std::vector<Inst> insts = std::move(blocks_.back().insts);
    blocks_.pop_back();
    auto& outer = blocks_.back().insts;
    outer.insert(outer.end(), insts.begin(), insts.end());
  }

  bool is_invariant(const Inst& inst) const {
    if (inst.op == Op::Load) return m_.buffers[inst.slot].access == Access::In;
    return is_pure(inst.op) || inst.op <= Op::GroupCount;
  }

  // Cheap enough to compute where it might not have been.
  static bool is_cheap(const Inst& inst) {
    return inst.op != Op::Load && inst.op != Op::Div && inst.op != Op::Rem &&
           info(inst.op).category != Category::Function;
  }

  void place(Inst inst, size_t here) {
    size_t to = here;
    if (is_invariant(inst)) {
      size_t needed = 0;
      for (size_t k = 0, n = arity(inst); k < n; k++)
        needed = std::max(needed, level_[inst.args[k]]);
      for (size_t at = here; at > needed; at--) {
        if (blocks_[at].op != Op::If) to = at - 1;
        else if (!is_cheap(inst)) break;
      }
    }
    // What guarded the access stays behind.
    if (to != here) inst.proved = inst.trusted = false;
    level_[inst.id] = to;
    blocks_[to].insts.push_back(inst);
  }

  Module& m_;
  std::vector<size_t> level_;  // by value: depth of the block that it stands in
  std::vector<Block> blocks_;
};

}  // namespace

void hoist(Module& module) { Hoisting(module).run(); }

}  // namespace hologram::program
