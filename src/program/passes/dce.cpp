// Dead code: everything is dead until something that is seen from outside needs it.
#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

class Liveness {
 public:
  explicit Liveness(Module& module)
      : insts_(module.body.insts),
        definition_(module.body.values.size(), kNone),
        writes_(module.variables.size()),
        around_(insts_.size(), kNone),
        end_(insts_.size(), kNone),
        otherwise_(insts_.size(), kNone),
        live_(insts_.size(), false),
        variable_live_(module.variables.size(), false) {}

  void run() {
    read_structure();
    for (uint32_t i = 0; i < insts_.size(); i++)
      if (is_root(insts_[i].op)) mark(i);
    while (!work_.empty()) {
      const uint32_t i = work_.back();
      work_.pop_back();
      spread(i);
    }
    size_t n = 0;
    for (uint32_t i = 0; i < insts_.size(); i++)
      if (live_[i] && !is_empty_else(i)) insts_[n++] = insts_[i];
    insts_.resize(n);
  }

 private:
  // A loop without a counter is one: it may be meant never to end.
  static bool is_root(Op op) {
    switch (op) {
      case Op::Store:
      case Op::SharedStore:
      case Op::Atomic:
      case Op::SharedAtomic:
      case Op::Barrier:
      case Op::Loop:
      case Op::Break:
      case Op::Continue:
      case Op::Return: return true;
      default: return false;
    }
  }

  void read_structure() {
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      if (inst.op == Op::End) {
        end_[open.back()] = i;
        open.pop_back();
        continue;
      }
      if (inst.op == Op::Else) {
        otherwise_[open.back()] = i;
        continue;
      }
      if (!open.empty()) around_[i] = open.back();
      if (inst.op == Op::If || inst.op == Op::For || inst.op == Op::Loop) open.push_back(i);
      if (inst.id != kNone) definition_[inst.id] = i;
      if (inst.op == Op::Var || inst.op == Op::Set) writes_[inst.slot].push_back(i);
    }
  }

  void mark(uint32_t i) {
    if (live_[i]) return;
    live_[i] = true;
    work_.push_back(i);
  }

  void spread(uint32_t i) {
    const Inst& inst = insts_[i];
    for (size_t k = 0; k < arity(inst); k++) mark(definition_[inst.args[k]]);
    if (around_[i] != kNone) mark(around_[i]);
    if (end_[i] != kNone) live_[end_[i]] = true;
    if (otherwise_[i] != kNone) live_[otherwise_[i]] = true;
    if (inst.op == Op::Get && !variable_live_[inst.slot]) {
      variable_live_[inst.slot] = true;
      for (const uint32_t write : writes_[inst.slot]) mark(write);
    }
  }

  // Nothing live stands between the Else and its End.
  bool is_empty_else(uint32_t i) const {
    if (insts_[i].op != Op::Else) return false;
    for (uint32_t j = i + 1; j < insts_.size(); j++)
      if (live_[j]) return insts_[j].op == Op::End;
    return false;
  }

  std::vector<Inst>& insts_;
  std::vector<uint32_t> definition_;           // by value
  std::vector<std::vector<uint32_t>> writes_;  // by variable
  std::vector<uint32_t> around_, end_, otherwise_;
  std::vector<bool> live_, variable_live_;
  std::vector<uint32_t> work_;
};

}  // namespace

void remove_dead(Module& module) { Liveness(module).run(); }

}  // namespace hologram::program
