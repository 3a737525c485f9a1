#include "program/uniformity.hpp"

namespace hologram::program {
namespace {

// Everything starts as uniform and is marked as divergent once, from a worklist: values, variables,
// and blocks, which are numbered by the instruction that opens them.
class Analysis {
 public:
  explicit Analysis(const Module& module)
      : module_(module),
        insts_(module.body.insts),
        uses_(module.body.values.size()),
        gets_(module.variables.size()),
        declared_(module.variables.size()),
        around_(insts_.size(), kNone),
        loop_(insts_.size(), kNone),
        close_(insts_.size(), kNone),
        value_diverges_(module.body.values.size(), false),
        variable_diverges_(module.variables.size(), false),
        block_diverges_(insts_.size(), false) {}

  Uniformity run() {
    read_structure();
    for (const Inst& inst : insts_)
      if (is_divergent_source(inst)) mark_value(inst.id);
    while (!work_.empty()) {
      const Item item = work_.back();
      work_.pop_back();
      switch (item.kind) {
        case Item::Value: spread_value(item.number); break;
        case Item::Variable: spread_variable(item.number); break;
        case Item::Block: spread_block(item.number); break;
      }
    }
    return result();
  }

 private:
  struct Item {
    enum Kind { Value, Variable, Block } kind;
    uint32_t number;
  };

  // What nobody writes is the same for all lanes that read the same element.
  bool is_read_only(const Inst& inst) const {
    return inst.op == Op::Load && module_.buffers[inst.slot].access == Access::In;
  }

  bool is_divergent_source(const Inst& inst) const {
    switch (inst.op) {
      case Op::Load: return !is_read_only(inst);
      case Op::LaneId:
      case Op::GlobalId:
      case Op::SharedLoad:
      case Op::Atomic:
      case Op::SharedAtomic:
      case Op::GroupScan: return true;
      default: return false;
    }
  }

  void read_structure() {
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      if (inst.op == Op::End) {
        close_[open.back()] = i;
        open.pop_back();
      }
      around_[i] = open.empty() ? kNone : open.back();
      if (!open.empty())
        loop_[i] = insts_[open.back()].op == Op::If ? loop_[open.back()] : open.back();
      if (inst.op == Op::If || inst.op == Op::For || inst.op == Op::Loop) open.push_back(i);
      if (inst.op == Op::Var) declared_[inst.slot] = i;
      if (inst.op == Op::Get) gets_[inst.slot].push_back(inst.id);
      for (size_t k = 0; k < arity(inst); k++) uses_[inst.args[k]].push_back(i);
    }
  }

  void mark_value(uint32_t id) {
    if (value_diverges_[id]) return;
    value_diverges_[id] = true;
    work_.push_back({Item::Value, id});
  }
  void mark_variable(uint32_t slot) {
    if (variable_diverges_[slot]) return;
    variable_diverges_[slot] = true;
    work_.push_back({Item::Variable, slot});
  }
  void mark_block(uint32_t opening) {
    if (block_diverges_[opening]) return;
    block_diverges_[opening] = true;
    work_.push_back({Item::Block, opening});
  }

  void spread_value(uint32_t id) {
    for (const uint32_t user : uses_[id]) {
      const Inst& inst = insts_[user];
      if (is_pure(inst.op) || is_read_only(inst)) mark_value(inst.id);
      if (inst.op == Op::Var || inst.op == Op::Set) mark_variable(inst.slot);
      if (inst.op == Op::If) mark_block(user);
      if (inst.op == Op::For) {
        mark_block(user);
        mark_value(inst.id);
      }
    }
  }

  void spread_variable(uint32_t slot) {
    for (const uint32_t value : gets_[slot]) mark_value(value);
  }

  // Only some lanes run what is inside: a variable declared outside differs once it is set, and a
  // loop that is left from here is left by some lanes only. That holds for every loop around a
  // return; of the loops around a break, the innermost.
  void spread_block(uint32_t opening) {
    for (uint32_t i = opening + 1; i < close_[opening]; i++) {
      const Inst& inst = insts_[i];
      if (inst.op == Op::Set && declared_[inst.slot] < opening) mark_variable(inst.slot);
      if (inst.op != Op::Break && inst.op != Op::Continue && inst.op != Op::Return) continue;
      for (uint32_t loop = loop_[i]; loop != kNone; loop = loop_[loop]) {
        if (loop < opening) mark_block(loop);
        if (inst.op != Op::Return) break;
      }
    }
  }

  Uniformity result() const {
    Uniformity out;
    out.values = value_diverges_;
    out.values.flip();
    out.variables = variable_diverges_;
    out.variables.flip();
    out.flow.assign(insts_.size(), true);
    // A block diverges also where one around it does; after a divergent return everything does.
    std::vector<bool> diverges(insts_.size(), false);
    bool returned = false;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const uint32_t block = around_[i];
      const bool here = block != kNone && diverges[block];
      diverges[i] = here || block_diverges_[i];
      out.flow[i] = !here && !returned;
      if (insts_[i].op == Op::Return && here) returned = true;
    }
    return out;
  }

  const Module& module_;
  const std::vector<Inst>& insts_;
  std::vector<std::vector<uint32_t>> uses_;  // instructions by value
  std::vector<std::vector<uint32_t>> gets_;  // values by variable
  std::vector<uint32_t> declared_;           // by variable
  std::vector<uint32_t> around_, loop_;      // the innermost block and loop around each
  std::vector<uint32_t> close_;              // the End of each block
  std::vector<bool> value_diverges_, variable_diverges_, block_diverges_;
  std::vector<Item> work_;
};

}  // namespace

Uniformity find_uniformity(const Module& module) { return Analysis(module).run(); }

}  // namespace hologram::program
