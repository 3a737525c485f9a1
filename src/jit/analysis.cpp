#include "jit/analysis.hpp"

#include <algorithm>
#include <optional>

#include "jit/divergence.hpp"

namespace hologram::jit {

namespace {

constexpr int64_t kMaxStep = 1 << 16;  // so that the lanes of a vector do not reach around 2^32
constexpr uint32_t kFarthest = 16;     // instructions that a value waits

class Analyser {
 public:
  Analyser(const Module& module, std::set<uint32_t>& differing)
      : module_(module),
        insts_(module.body.insts),
        types_(module.body.values),
        differing_(differing) {}

  Analysis run(bool scalarized) {
    out_.scalarized = scalarized;
    refuse_instructions();
    structure();
    out_.values.assign(types_.size(), Form::Uniform);
    out_.steps.assign(types_.size(), 0);
    out_.variables.assign(module_.variables.size(), Form::Uniform);
    while (!scalarized && visit_all()) {
    }
    check_loops();
    consumers();
    postpone();
    return std::move(out_);
  }

 private:
  Form form(uint32_t value) const { return out_.values[value]; }

  void refuse_instructions() {
    bool atomic = false;
    for (const Inst& inst : insts_) {
      switch (inst.op) {
        case Op::Barrier:
        case Op::SharedLoad:
        case Op::SharedStore:
        case Op::SharedAtomic: throw Refused{"its lanes share memory"};
        case Op::Atomic: atomic = true; break;
        case Op::GroupScan:
        case Op::GroupUniform: throw Refused{"it has a scan or a broadcast over the workgroup"};
        case Op::GroupReduce: out_.grouped = true; break;
        case Op::LaneId:
        case Op::GroupId:
          // Along y and z a workgroup of one lane is a row of the grid.
          if (inst.aux == 0 || inst.op == Op::LaneId || module_.workgroup[inst.aux] != 1)
            out_.grouped = true;
          break;
        default: break;
      }
    }
    if (out_.grouped && atomic) throw Refused{"it has atomic operations"};
    if (out_.grouped && out_.scalarized) throw Refused{"its lanes work together"};
    if (out_.grouped && (module_.workgroup[1] != 1 || module_.workgroup[2] != 1))
      throw Refused{"its workgroups have several axes"};
  }

  void structure() {
    const size_t n = insts_.size();
    out_.close.assign(n, kNone);
    out_.otherwise.assign(n, kNone);
    out_.around.assign(n, kNone);
    out_.loop.assign(n, kNone);
    out_.uses.assign(types_.size(), {});
    out_.definition.assign(types_.size(), kNone);
    declared_.assign(module_.variables.size(), kNone);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < n; i++) {
      const Inst& inst = insts_[i];
      if (inst.op == Op::End) {
        out_.close[open.back()] = i;
        open.pop_back();
      } else if (inst.op == Op::Else) {
        out_.otherwise[open.back()] = i;
      }
      out_.around[i] = open.empty() ? kNone : open.back();
      for (size_t k = open.size(); k-- > 0 && out_.loop[i] == kNone;)
        if (is_loop(insts_[open[k]])) out_.loop[i] = open[k];
      if (opens_block(inst)) open.push_back(i);
      if (inst.op == Op::Var) declared_[inst.slot] = i;
      if (inst.op == Op::GroupReduce && !open.empty()) {
        if (open.size() > 1 || insts_[open.front()].op != Op::For)
          throw Refused{"it combines the lanes of a workgroup inside control flow"};
        out_.group_loops.insert(open.front());
      }
      if (inst.id != kNone) out_.definition[inst.id] = i;
      for (size_t k = 0; k < program::arity(inst); k++) {
        Use& use = out_.uses[inst.args[k]];
        if (use.count++ == 0) use.first = i;
        use.last = i;
        const uint32_t from = out_.definition[inst.args[k]];
        // The counter of a For stands in the loop that it opens.
        const uint32_t home = insts_[from].op == Op::For ? from : out_.loop[from];
        if (out_.loop[i] != home) use.in_loop = true;
      }
    }
  }

  void lower(Form& was, Form now) {
    if (now <= was) return;
    was = now;
    changed_ = true;
  }

  // A block that only some lanes run.
  bool diverges(uint32_t block) const {
    const Inst& inst = insts_[block];
    if (inst.op == Op::If) return form(inst.args[0]) != Form::Uniform;
    return inst.slot != kNone && out_.variables[inst.slot] != Form::Uniform;
  }

  bool visit_all() {
    changed_ = false;
    for (uint32_t i = 0; i < insts_.size(); i++) visit(i);
    return changed_;
  }

  void visit(uint32_t i) {
    const Inst& inst = insts_[i];
    switch (inst.op) {
      case Op::GlobalId:
      case Op::LaneId:
        if (inst.aux == 0) {
          lower(out_.values[inst.id], Form::Affine);
          out_.steps[inst.id] = 1;
        }
        return;
      case Op::Get: return lower(out_.values[inst.id], out_.variables[inst.slot]);
      case Op::Var:
      case Op::Set: {
        bool differs = form(inst.args[0]) != Form::Uniform;
        const bool all = inst.op == Op::Set && inst.aux == kOfThisBlock;
        for (uint32_t b = out_.around[i]; !all && b != kNone && b > declared_[inst.slot];
             b = out_.around[b])
          differs = differs || diverges(b);
        if (differs) lower(out_.variables[inst.slot], Form::Varying);
        return;
      }
      case Op::Load: {
        const bool constant = module_.buffers[inst.slot].access == program::Access::In;
        if (!constant || form(inst.args[0]) != Form::Uniform)
          lower(out_.values[inst.id], Form::Varying);
        return;
      }
      case Op::Atomic: return lower(out_.values[inst.id], Form::Varying);
      case Op::For: return counter(inst);
      default:
        if (program::is_pure(inst.op)) pure(inst);
    }
  }

  // The same number of rounds in all lanes: checked at the end.
  void counter(const Inst& inst) {
    const Form begin = form(inst.args[0]);
    if (begin == Form::Uniform) return;
    lower(out_.values[inst.id], begin);
    out_.steps[inst.id] = out_.steps[inst.args[0]];
  }

  void pure(const Inst& inst) {
    Form worst = Form::Uniform;
    for (size_t k = 0; k < program::arity(inst); k++) worst = std::max(worst, form(inst.args[k]));
    if (worst == Form::Affine) {
      const std::optional<int64_t> step = affine_step(inst);
      if (step && (*step <= kMaxStep && *step >= -kMaxStep)) {
        // Not zero: x - x is left to the folding pass.
        if (*step == 0) worst = Form::Varying;
        else out_.steps[inst.id] = *step;
      } else {
        worst = Form::Varying;
      }
    }
    lower(out_.values[inst.id], worst);
  }

  std::optional<int64_t> constant_of(uint32_t value) const {
    const uint32_t at = out_.definition[value];
    if (insts_[at].op != Op::Const) return {};
    return static_cast<int64_t>(size_of(types_[value]) == 4 ? static_cast<int32_t>(insts_[at].imm)
                                                            : static_cast<int64_t>(insts_[at].imm));
  }

  std::optional<int64_t> affine_step(const Inst& inst) const {
    if (!is_integer(inst.type)) return {};
    const auto step = [&](size_t k) {
      return form(inst.args[k]) == Form::Affine ? out_.steps[inst.args[k]] : 0;
    };
    switch (inst.op) {
      case Op::Add: return step(0) + step(1);
      case Op::Sub: return step(0) - step(1);
      case Op::Neg: return -step(0);
      case Op::Mul: {
        const auto left = constant_of(inst.args[0]), right = constant_of(inst.args[1]);
        if (left && *left <= kMaxStep && *left >= -kMaxStep) return *left * step(1);
        if (right && *right <= kMaxStep && *right >= -kMaxStep) return step(0) * *right;
        return {};
      }
      case Op::Shl: {
        const auto count = constant_of(inst.args[1]);
        if (!count || *count < 0 || *count > 16) return {};
        return step(0) * (int64_t{1} << *count);
      }
      // The bits of a 32-bit integer as another.
      case Op::Bitcast: return step(0);
      case Op::Cast:
        if (is_integer(inst.from) && size_of(inst.from) == size_of(inst.type)) return step(0);
        return {};
      default: return {};
    }
  }

  // Whether nothing was written when a loop begins, so that its chunk may start again.
  bool may_start_again(uint32_t at) const {
    uint32_t until = at;
    for (uint32_t loop = out_.loop[at]; loop != kNone; loop = out_.loop[loop])
      until = out_.close[loop];
    return std::none_of(insts_.begin(), insts_.begin() + until, [](const Inst& inst) {
      return inst.op == Op::Store || inst.op == Op::Atomic;
    });
  }

  void check_loops() {
    for (uint32_t at = 0; at < insts_.size(); at++) {
      const Inst& inst = insts_[at];
      if (inst.op != Op::For) continue;
      const Form begin = form(inst.args[0]), end = form(inst.args[1]);
      const bool same = begin == Form::Uniform && end == Form::Uniform;
      // Unsigned numbers wrap around below 0, in some lanes only: u32(i) - 2..u32(i) + 3.
      const bool along = begin == Form::Affine && end == Form::Affine && inst.type == DType::I32 &&
                         !out_.grouped && may_start_again(at) &&
                         out_.steps[inst.args[0]] == out_.steps[inst.args[1]];
      if (!same && out_.group_loops.contains(at))
        throw Refused{"it combines the lanes of a workgroup in rounds that are not all theirs"};
      if (!same && !along) differing_.insert(inst.id);
    }
  }

  void consumers() {
    out_.as_vector.assign(types_.size(), false);
    out_.by_row.assign(types_.size(), false);
    for (const Inst& inst : insts_) {
      if (inst.id != kNone) {
        const DType t = types_[inst.id];
        const bool eight = size_of(t) == 8;
        if (eight && (form(inst.id) != Form::Uniform || is_float(t))) out_.wide = true;
        bool row = inst.op == Op::GroupId || inst.op == Op::GlobalId || inst.op == Op::LaneId ||
                   inst.op == Op::Load || inst.op == Op::Get || inst.op == Op::For ||
                   inst.op == Op::GroupReduce;
        for (size_t k = 0; k < program::arity(inst); k++) row = row || out_.by_row[inst.args[k]];
        out_.by_row[inst.id] = row;
      }
      const bool vector = (program::is_pure(inst.op) && form(inst.id) == Form::Varying) ||
                          (inst.op == Op::Store && form(inst.args[0]) != Form::Uniform) ||
                          ((inst.op == Op::Var || inst.op == Op::Set) &&
                           out_.variables[inst.slot] == Form::Varying) ||
                          inst.op == Op::GroupReduce;
      // An index that is the same in all lanes, of an access that differs.
      const bool far = (inst.op == Op::Store || inst.op == Op::Atomic ||
                        (inst.op == Op::Load && form(inst.id) == Form::Varying)) &&
                       size_of(types_[inst.args[0]]) == 8;
      out_.wide = out_.wide || far;
      if (!vector) continue;
      for (size_t k = inst.op == Op::Store ? 1 : 0; k < program::arity(inst); k++) {
        if (form(inst.args[k]) != Form::Uniform) continue;
        out_.as_vector[inst.args[k]] = true;
        out_.wide = out_.wide || size_of(types_[inst.args[k]]) == 8;
      }
    }
  }

  // Sums, products and extremes on their way into a variable of a loop, and the neighbours that
  // they are made of, wait for the Set, which computes them vector by vector: so they take a
  // register at a time, and not one for each vector that goes through the loop.
  void postpone() {
    out_.waits_for.assign(insts_.size(), kNone);
    for (uint32_t at = static_cast<uint32_t>(insts_.size()); at-- > 0;)
      if (insts_[at].id != kNone) out_.waits_for[at] = set_to_wait_for(at);
  }

  uint32_t set_to_wait_for(uint32_t at) const {
    const Inst& inst = insts_[at];
    const Use& use = out_.uses[inst.id];
    const bool sums = inst.op == Op::Add || inst.op == Op::Sub || inst.op == Op::Mul ||
                      inst.op == Op::Fma || inst.op == Op::Mad || inst.op == Op::Min ||
                      inst.op == Op::Max;
    const bool neighbours =
        inst.op == Op::Load && form(inst.args[0]) == Form::Affine && out_.steps[inst.args[0]] == 1;
    if (out_.loop[at] == kNone || !is_float(inst.type) || form(inst.id) != Form::Varying ||
        (!sums && !neighbours) || use.first != use.last || use.in_loop ||
        out_.around[use.first] != out_.around[at])
      return kNone;
    const bool is_set = insts_[use.first].op == Op::Set;
    const uint32_t set = is_set ? use.first : out_.waits_for[use.first];
    if (set == kNone || set - at > kFarthest) return kNone;
    for (uint32_t k = at + 1; k < set; k++)
      if (!program::is_pure(insts_[k].op) && insts_[k].op != Op::Load && insts_[k].op != Op::Get)
        return kNone;
    // What it is made of has to keep its register so long.
    for (size_t k = 0; sums && k < program::arity(inst); k++) {
      const uint32_t last = out_.uses[inst.args[k]].last;
      if (last > at && last < set) return kNone;
    }
    return set;
  }

  const Module& module_;
  const std::vector<Inst>& insts_;
  const std::vector<DType>& types_;
  std::set<uint32_t>& differing_;
  std::vector<uint32_t> declared_;
  Analysis out_;
  bool changed_ = false;
};

}  // namespace

Analysis analyse(const Module& module, std::set<uint32_t>& differing) {
  return Analyser(module, differing).run(false);
}

Analysis analyse_one_by_one(const Module& module) {
  std::set<uint32_t> none;
  return Analyser(module, none).run(true);
}

}  // namespace hologram::jit
