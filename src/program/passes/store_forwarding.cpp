// Variables: a Get becomes the value that is known to stand in its variable, and a Set that another
// one follows before anybody looks is left out.
#include <algorithm>
#include <numeric>

#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

class Forwarding {
 public:
  explicit Forwarding(Module& module)
      : m_(module),
        known_(module.variables.size(), kNone),
        unseen_(module.variables.size(), kNone) {
    replacement_.resize(m_.body.values.size());
    std::iota(replacement_.begin(), replacement_.end(), 0u);
  }

  void run() {
    find_sets();
    std::vector<Inst> out;
    out.reserve(m_.body.insts.size());
    for (uint32_t i = 0; i < m_.body.insts.size(); i++) {
      Inst inst = m_.body.insts[i];
      for (size_t k = 0; k < arity(inst); k++) inst.args[k] = replacement_[inst.args[k]];
      if (info(inst.op).category == Category::Control)  // others may look
        std::fill(unseen_.begin(), unseen_.end(), kNone);
      switch (inst.op) {
        case Op::Var: know(inst.slot, inst.args[0]); break;
        case Op::Set:
          know(inst.slot, inst.args[0]);
          overwrite(inst.slot, static_cast<uint32_t>(out.size()));
          break;
        case Op::Get:
          if (known_[inst.slot] != kNone) {
            replacement_[inst.id] = known_[inst.slot];
            continue;
          }
          know(inst.slot, inst.id);
          unseen_[inst.slot] = kNone;
          break;
        case Op::If: open(i); break;
        case Op::For:
        case Op::Loop:
          open(i);
          for (const uint32_t slot : sets_[i]) know(slot, kNone);  // by the round before
          break;
        case Op::Else: forget_block(); break;
        case Op::End: close(); break;
        default: break;
      }
      out.push_back(inst);
    }
    std::sort(overwritten_.begin(), overwritten_.end());
    size_t n = 0, o = 0;
    for (uint32_t i = 0; i < out.size(); i++)
      if (o < overwritten_.size() && overwritten_[o] == i) o++;
      else out[n++] = out[i];
    out.resize(n);
    m_.body.insts = std::move(out);
  }

 private:
  struct Change {
    uint32_t slot, before;
  };
  struct Block {
    uint32_t opening;
    size_t changes;
  };

  // For each block, the variables that are set in it.
  void find_sets() {
    sets_.resize(m_.body.insts.size());
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < m_.body.insts.size(); i++) {
      const Inst& inst = m_.body.insts[i];
      if (inst.op == Op::If || inst.op == Op::For || inst.op == Op::Loop) open.push_back(i);
      if (inst.op == Op::End) open.pop_back();
      if (inst.op == Op::Set)
        for (const uint32_t block : open)
          if (sets_[block].empty() || sets_[block].back() != inst.slot)
            sets_[block].push_back(inst.slot);
    }
  }

  void overwrite(uint32_t slot, uint32_t set) {
    if (unseen_[slot] != kNone) overwritten_.push_back(unseen_[slot]);
    unseen_[slot] = set;
  }

  void know(uint32_t slot, uint32_t value) {
    changes_.push_back({slot, known_[slot]});
    known_[slot] = value;
  }

  void open(uint32_t opening) { blocks_.push_back({opening, changes_.size()}); }

  // Values known in a block may not be in scope outside.
  void forget_block() {
    for (; changes_.size() > blocks_.back().changes; changes_.pop_back())
      known_[changes_.back().slot] = changes_.back().before;
  }

  void close() {
    forget_block();
    const uint32_t opening = blocks_.back().opening;
    blocks_.pop_back();
    for (const uint32_t slot : sets_[opening]) know(slot, kNone);
  }

  Module& m_;
  std::vector<std::vector<uint32_t>> sets_;
  std::vector<uint32_t> known_;   // by variable
  std::vector<uint32_t> unseen_;  // by variable: its last Set, as long as nobody may have looked
  std::vector<uint32_t> overwritten_;
  std::vector<uint32_t> replacement_;
  std::vector<Change> changes_;
  std::vector<Block> blocks_;
};

}  // namespace

void forward_variables(Module& module) { Forwarding(module).run(); }

}  // namespace hologram::program
