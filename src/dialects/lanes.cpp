#include "dialects/lanes.hpp"

#include <algorithm>

namespace hologram::dialects {
namespace {

using program::Access;
using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

constexpr uint32_t kAccessBytes = 16;
constexpr uint32_t kFewestThreads = 32;  // of a group whose lanes talk to each other

class Analysis {
 public:
  Analysis(const Module& module, bool cooperative)
      : module_(module), insts_(module.body.insts), cooperative_(cooperative) {
    out_.values.assign(module.body.values.size(), Form::Uniform);
    out_.variables.assign(module.variables.size(), false);
    out_.guards.assign(insts_.size(), false);
    out_.mostly_all.assign(insts_.size(), false);
    around_.assign(insts_.size(), kNone);
    declared_.assign(module.variables.size(), 0);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      if (insts_[i].op == Op::End) open.pop_back();
      around_[i] = open.empty() ? kNone : open.back();
      if (opens(insts_[i].op)) open.push_back(i);
      if (insts_[i].op == Op::Var) declared_[insts_[i].slot] = i;
    }
  }

  Lanes run(uint32_t most) {
    do {
      changed_ = false;
      bool stored = false;
      for (uint32_t i = 0; i < insts_.size(); i++) {
        visit(i);
        stored = stored || insts_[i].op == Op::Store;
        if (insts_[i].op == Op::If)
          out_.guards[i] =
              !cooperative_ && around_[i] == kNone && !stored && form(insts_[i]) == Form::Known;
      }
    } while (changed_);
    if (cooperative_)
      for (uint32_t i = 0; i < insts_.size(); i++) out_.mostly_all[i] = is_simple_if(i);
    if (suits()) out_.count = count(most);
    return std::move(out_);
  }

 private:
  static bool opens(Op op) { return op == Op::If || op == Op::For || op == Op::Loop; }
  Form form(const Inst& inst, size_t k = 0) const { return out_.values[inst.args[k]]; }

  // Lanes may run this block by themselves.
  bool diverges(uint32_t block) const {
    return insts_[block].op == Op::If && form(insts_[block]) != Form::Uniform &&
           !out_.guards[block];
  }

  // On the numbers of lanes, around accesses that may be one.
  bool is_simple_if(uint32_t block) const {
    if (insts_[block].op != Op::If || form(insts_[block]) != Form::Known) return false;
    bool gains = false;
    for (uint32_t i = block + 1;; i++) {
      const Inst& inst = insts_[i];
      if (inst.op == Op::End) return gains;
      if (info(inst.op).category == program::Category::Control) return false;
      if (inst.op == Op::Load || inst.op == Op::Store)
        gains = gains || form(inst) == Form::Consecutive;
    }
  }

  void lower(uint32_t value, Form now) {
    if (now <= out_.values[value]) return;
    out_.values[value] = now;
    changed_ = true;
  }

  void visit(uint32_t i) {
    const Inst& inst = insts_[i];
    switch (inst.op) {
      case Op::LaneId:
      case Op::GlobalId:
        if (inst.aux == 0) lower(inst.id, Form::Consecutive);
        return;
      case Op::Get:
        if (out_.variables[inst.slot]) lower(inst.id, Form::Varying);
        return;
      case Op::Var:
      case Op::Set: {
        bool differs = form(inst) != Form::Uniform;
        for (uint32_t b = around_[i]; b != kNone && b > declared_[inst.slot]; b = around_[b])
          differs = differs || diverges(b);
        if (!differs || out_.variables[inst.slot]) return;
        out_.variables[inst.slot] = changed_ = true;
        return;
      }
      case Op::Load:
        if (module_.buffers[inst.slot].access != Access::In || form(inst) != Form::Uniform)
          lower(inst.id, Form::Varying);
        return;
      case Op::SharedLoad:
        if (form(inst) != Form::Uniform) lower(inst.id, Form::Varying);
        return;
      case Op::For: return lower(inst.id, std::max(form(inst, 0), form(inst, 1)));
      default:
        if (is_pure(inst.op)) pure(inst);
    }
  }

  void pure(const Inst& inst) {
    Form worst = Form::Uniform;
    for (size_t k = 0; k < arity(inst); k++) worst = std::max(worst, form(inst, k));
    if (worst == Form::Consecutive && !stays_consecutive(inst)) worst = Form::Known;
    lower(inst.id, worst);
  }

  bool stays_consecutive(const Inst& inst) const {
    if (!is_integer(inst.type)) return false;
    switch (inst.op) {
      case Op::Add: return form(inst, 0) != form(inst, 1);
      case Op::Sub: return form(inst, 1) == Form::Uniform;
      case Op::Fma:
      case Op::Mad: return form(inst, 0) == Form::Uniform && form(inst, 1) == Form::Uniform;
      case Op::Bitcast: return true;
      case Op::Cast: return is_integer(inst.from) && size_of(inst.from) == size_of(inst.type);
      default: return false;
    }
  }

  // Nothing that ends some of the lanes, no rounds that differ, and something to gain.
  bool suits() const {
    bool gains = false;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      switch (inst.op) {
        case Op::Atomic:
        case Op::SharedAtomic:
        case Op::GroupScan:
        case Op::Return: return false;
        // Lanes that go one by one would wait for each other there.
        case Op::Loop:
          if (cooperative_) return false;
          break;
        case Op::For:
          if (out_.values[inst.id] != Form::Uniform) return false;
          break;
        case Op::Break:
        case Op::Continue:
          for (uint32_t b = around_[i]; insts_[b].op == Op::If; b = around_[b])
            if (diverges(b)) return false;
          break;
        case Op::Load:
        case Op::Store: gains = gains || form(inst) == Form::Consecutive; break;
        default: break;
      }
    }
    return gains && (cooperative_ || module_.lanes() == module_.workgroup[0]);
  }

  uint32_t count(uint32_t most) const {
    size_t largest = 1;
    for (const program::BufferParam& buffer : module_.buffers)
      largest = std::max(largest, size_of(buffer.type));
    uint32_t lanes = 1;
    while (lanes * 2 <= most && lanes * 2 * largest <= kAccessBytes &&
           module_.workgroup[0] % (lanes * 2) == 0 &&
           (!cooperative_ || module_.lanes() / (lanes * 2) >= kFewestThreads))
      lanes *= 2;
    return lanes;
  }

  const Module& module_;
  const std::vector<Inst>& insts_;
  const bool cooperative_;
  std::vector<uint32_t> around_, declared_;
  Lanes out_;
  bool changed_ = false;
};

}  // namespace

Lanes lanes_of(const Module& module, bool cooperative, uint32_t most) {
  if (most <= 1) {
    Lanes one;
    one.values.assign(module.body.values.size(), Form::Uniform);
    one.variables.assign(module.variables.size(), false);
    one.guards.assign(module.body.insts.size(), false);
    one.mostly_all = one.guards;
    return one;
  }
  return Analysis(module, cooperative).run(most);
}

}  // namespace hologram::dialects
