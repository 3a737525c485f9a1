// Lowering: from the values of a program to registers that are reused when their value is dead.
#include <algorithm>
#include <array>

#include "core/messages.hpp"
#include "interp/bytecode.hpp"

namespace hologram::interp {

using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

Width width_of(DType type) {
  if (type == DType::Bool) return Width::Bits;
  return size_of(type) == 8 ? Width::Eight : Width::Four;
}

namespace {

constexpr uint32_t kL1Bytes = 24 << 10;  // of rows: what is left of the first-level cache
constexpr uint32_t kLeastLanes = 128;
constexpr uint32_t kMostLanes = 2048;

struct Interval {
  uint32_t begin = kNone;
  uint32_t end = 0;  // the last position that uses it
};

class Lowering {
 public:
  Lowering(const Module& module, const KernelTable& kernels)
      : module_(module), kernels_(kernels), insts_(module.body.insts) {}

  Bytecode run() {
    find_blocks();
    find_launch_uniform();
    find_block_uniform();
    find_aliases();
    find_intervals();
    out_.name = module_.name;
    out_.kernels = &kernels_;
    out_.buffers = module_.buffers;
    out_.index = module_.index;
    out_.workgroup = module_.workgroup;
    lay_out_shared();
    allocate();
    emit();
    mark_fused_stores();
    choose_block();
    return std::move(out_);
  }

 private:
  // The position of the End of each block, of the Else of each If, and the innermost loop.
  void find_blocks() {
    close_.assign(insts_.size(), kNone);
    other_.assign(insts_.size(), kNone);
    around_.assign(insts_.size(), kNone);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      around_[i] = open.empty() ? kNone : open.back();
      switch (insts_[i].op) {
        case Op::If:
        case Op::For:
        case Op::Loop: open.push_back(i); break;
        case Op::Else:
          other_[open.back()] = i;
          around_[i] = open.back();
          break;
        case Op::End:
          close_[open.back()] = i;
          around_[i] = open.back();
          open.pop_back();
          break;
        default: break;
      }
      out_.frames = std::max(out_.frames, static_cast<uint32_t>(open.size()));
    }
  }

  static bool is_prelude_source(Op op) {
    return op == Op::Const || op == Op::Scalar || op == Op::Length || op == Op::GroupCount;
  }

  void find_launch_uniform() {
    launch_uniform_.assign(module_.body.values.size(), false);
    for (const Inst& inst : insts_) {
      if (inst.id == kNone) continue;
      bool uniform = is_prelude_source(inst.op);
      if (program::is_pure(inst.op)) {
        uniform = true;
        for (size_t k = 0; k < program::arity(inst); k++)
          uniform = uniform && launch_uniform_[inst.args[k]];
      }
      launch_uniform_[inst.id] = uniform;
    }
  }

  // What is the same in all lanes of a block that is not one workgroup, whichever lanes they are:
  // the machine keeps one number of it, and leaves the row of its register alone.
  void find_block_uniform() {
    block_uniform_ = launch_uniform_;
    for (const Inst& inst : insts_) {
      if (inst.id == kNone || block_uniform_[inst.id]) continue;
      const bool axis_id =
          inst.op == Op::GlobalId || inst.op == Op::GroupId || inst.op == Op::LaneId;
      bool uniform = axis_id && inst.aux != 0;
      if (program::is_pure(inst.op) || inst.op == Op::For || inst.op == Op::Load) {
        uniform = true;
        for (size_t k = 0; k < program::arity(inst); k++)
          uniform = uniform && block_uniform_[inst.args[k]];
      }
      block_uniform_[inst.id] = uniform;
    }
  }

  // A Get is its variable's register itself where nothing is set while the value is needed.
  void find_aliases() {
    last_use_.assign(module_.body.values.size(), 0);
    std::vector<uint32_t> defined(module_.body.values.size(), 0);
    for (uint32_t i = 0; i < insts_.size(); i++)
      if (insts_[i].id != kNone) defined[insts_[i].id] = i;
    for (uint32_t i = 0; i < insts_.size(); i++)
      for (size_t k = 0; k < program::arity(insts_[i]); k++) {
        const uint32_t v = insts_[i].args[k];
        last_use_[v] = std::max(last_use_[v], live_until(i, defined[v]));
      }
    defined_ = std::move(defined);

    std::vector<std::vector<uint32_t>> sets(module_.variables.size());
    for (uint32_t i = 0; i < insts_.size(); i++)
      if (insts_[i].op == Op::Set || insts_[i].op == Op::Var) sets[insts_[i].slot].push_back(i);
    alias_.assign(module_.body.values.size(), false);
    for (const Inst& inst : insts_) {
      if (inst.op != Op::Get) continue;
      const auto& at = sets[inst.slot];
      const auto next = std::upper_bound(at.begin(), at.end(), defined_[inst.id]);
      // The Set that is itself the last use reads before it writes.
      alias_[inst.id] = next == at.end() || *next >= last_use_[inst.id];
    }
  }

  // A use at `position` of what was defined at `definition`: a loop around the one and not the
  // other comes back to the use until it ends.
  uint32_t live_until(uint32_t position, uint32_t definition) const {
    uint32_t until = position;
    for (uint32_t block = around_[position]; block != kNone && block > definition;
         block = around_[block])
      if (insts_[block].op != Op::If) until = close_[block];
    return until;
  }

  void find_intervals() {
    values_.assign(module_.body.values.size(), {});
    variables_.assign(module_.variables.size(), {});
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      if (inst.id != kNone) values_[inst.id] = {i, std::max(i, last_use_[inst.id])};
      if (inst.op == Op::For)  // the counter lives as long as the loop
        values_[inst.id].end = std::max(values_[inst.id].end, close_[i]);
      if (inst.op == Op::Var) {
        const uint32_t block = around_[i];
        uint32_t end = static_cast<uint32_t>(insts_.size());
        if (block != kNone)
          end = insts_[block].op == Op::If && other_[block] != kNone && i < other_[block]
                    ? other_[block]
                    : close_[block];
        variables_[inst.slot] = {i, end};
      }
    }
    // An alias keeps nothing alive of its own; the variable outlives it by scoping.
  }

  void lay_out_shared() {
    for (const auto& array : module_.shared) {
      out_.shared_bytes = (out_.shared_bytes + 63) / 64 * 64;
      out_.shared.push_back({array.name, out_.shared_bytes, array.count, array.type});
      out_.shared_bytes += array.count * static_cast<uint32_t>(size_of(array.type));
    }
  }

  // Registers whose rows are never touched stay apart: they take no room in the cache.
  std::vector<uint32_t>& pool(Width width, bool has_row) {
    return free_[has_row][static_cast<size_t>(width)];
  }

  uint32_t take(Width width, bool has_row) {
    auto& free = pool(width, has_row);
    if (!free.empty()) {
      const uint32_t r = free.back();
      free.pop_back();
      return r;
    }
    out_.registers.push_back(width);
    has_row_.push_back(has_row);
    return static_cast<uint32_t>(out_.registers.size() - 1);
  }

  bool needs_row(const Inst& inst) const {
    return inst.id != kNone && !launch_uniform_[inst.id] &&
           !(inst.op == Op::Get && alias_[inst.id]);
  }

  // Linear scan in program order. What ends at an instruction is free for its result: kernels may
  // write over an operand.
  void allocate() {
    value_register_.assign(module_.body.values.size(), kNone);
    variable_register_.assign(module_.variables.size(), kNone);
    std::vector<std::vector<uint32_t>> ends(insts_.size() + 1);
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      for (const uint32_t r : ends[i]) pool(out_.registers[r], has_row_[r]).push_back(r);
      if (needs_row(inst)) {
        const uint32_t r = take(width_of(inst.type), !block_uniform_[inst.id]);
        value_register_[inst.id] = r;
        const uint32_t end = values_[inst.id].end;
        // A value nobody uses still needs its register while it is made.
        ends[end > i ? end : i + 1].push_back(r);
      }
      if (inst.op == Op::Get && alias_[inst.id])
        value_register_[inst.id] = variable_register_[inst.slot];
      if (inst.op == Op::Var) {
        const uint32_t r = take(width_of(inst.type), true);
        variable_register_[inst.slot] = r;
        ends[variables_[inst.slot].end].push_back(r);
      }
    }
    uint32_t next = static_cast<uint32_t>(out_.registers.size());
    for (const Inst& inst : insts_)
      if (inst.id != kNone && launch_uniform_[inst.id]) {
        value_register_[inst.id] = next++;
        out_.uniform_registers++;
      }
  }

  void emit() {
    std::vector<uint32_t> position(insts_.size() + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      position[i] = n;
      if (!is_hidden(insts_[i])) n++;
    }
    position[insts_.size()] = n;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      if (inst.id != kNone && launch_uniform_[inst.id]) {
        out_.prelude.push_back(step_of(inst));
        continue;
      }
      if (is_hidden(inst)) continue;
      Step step = step_of(inst);
      const auto end_around = [&](uint32_t at) {
        const uint32_t block = around_[at];
        if (block == kNone) return n;
        const bool in_then =
            insts_[block].op == Op::If && other_[block] != kNone && at < other_[block];
        return position[in_then ? other_[block] : close_[block]];
      };
      switch (inst.op) {
        case Op::If:
          step.target = position[other_[i] != kNone ? other_[i] : close_[i]];
          step.depth = depth++;
          break;
        case Op::For:
        case Op::Loop:
          step.target = position[close_[i]];
          step.depth = depth++;
          break;
        case Op::Else:
          step.target = position[close_[around_[i]]];
          step.depth = depth - 1;
          break;
        case Op::End:
          step.partner = position[around_[i]];
          step.depth = --depth;
          step.target = end_around(around_[i]);
          break;
        case Op::Break:
        case Op::Continue:
        case Op::Return: step.target = end_around(i); break;
        case Op::Set:
        case Op::Var: step.steals = may_steal(i); break;
        default: break;
      }
      step.loop = innermost_loop_depth(inst.op == Op::End || inst.op == Op::Else ? around_[i] : i);
      out_.steps.push_back(step);
      source_.push_back(i);
    }
  }

  bool is_hidden(const Inst& inst) const {
    return (inst.id != kNone && launch_uniform_[inst.id]) ||
           (inst.op == Op::Get && alias_[inst.id]);
  }

  // How many blocks are open around the innermost loop around `at`: the index of its frame.
  uint32_t innermost_loop_depth(uint32_t at) const {
    for (uint32_t block = around_[at]; block != kNone; block = around_[block])
      if (insts_[block].op != Op::If) {
        uint32_t depth = 0;
        for (uint32_t b = around_[block]; b != kNone; b = around_[b]) depth++;
        return depth;
      }
    return kNone;
  }

  // The value of a Set or Var may give up its row if it is a temporary that ends here.
  bool may_steal(uint32_t i) const {
    const uint32_t v = insts_[i].args[0];
    const Inst& source = insts_[defined_[v]];
    if (launch_uniform_[v] || source.op == Op::Get) return false;
    return values_[v].end == i;
  }

  static bool accesses_memory(Op op) {
    return op == Op::Load || op == Op::Store || op == Op::SharedLoad || op == Op::SharedStore ||
           op == Op::Atomic || op == Op::SharedAtomic;
  }

  static Op operation(program::Combine combine) {
    using enum program::Combine;
    switch (combine) {
      case Mul: return Op::Mul;
      case Min: return Op::Min;
      case Max: return Op::Max;
      case And: return Op::And;
      case Or: return Op::Or;
      case Xor: return Op::Xor;
      default: return Op::Add;
    }
  }

  Step step_of(const Inst& inst) const {
    Step step;
    step.op = inst.op;
    step.type = inst.type;
    step.from = inst.from;
    step.aux = inst.aux;
    step.arity = static_cast<uint8_t>(program::arity(inst));
    step.slot = inst.slot;
    step.imm = inst.imm;
    step.line = inst.line;
    if (inst.id != kNone) step.out = value_register_[inst.id];
    if (inst.op == Op::Var || inst.op == Op::Set) step.out = variable_register_[inst.slot];
    if (inst.op == Op::Get) step.in[0] = variable_register_[inst.slot];
    for (size_t k = 0; k < step.arity; k++) step.in[k] = value_register_[inst.args[k]];
    if (accesses_memory(inst.op)) step.from = module_.body.values[inst.args[0]];
    if (inst.op == Op::Set) step.kernel = kernels_.at(Op::Select, inst.type);
    if (inst.op == Op::GroupReduce || inst.op == Op::GroupScan)
      step.kernel = kernels_.at(operation(static_cast<program::Combine>(inst.aux)), inst.type);
    if (program::is_pure(inst.op)) {
      step.kernel = inst.op == Op::Cast ? kernels_.cast(inst.from, inst.type)
                                        : kernels_.at(inst.op, inst.from);
      if (step.kernel == nullptr && !(inst.op == Op::Cast && inst.from == inst.type))
        throw core::error(core::Text::InternalError, std::string("no kernel for ") +
                                                         std::string(info(inst.op).name) + " of " +
                                                         std::string(name_of(inst.from)));
    }
    return step;
  }

  // A value that is computed, stored, and used nowhere else is computed into the buffer itself.
  void mark_fused_stores() {
    for (uint32_t i = 0; i + 1 < out_.steps.size(); i++) {
      Step& step = out_.steps[i];
      const Step& next = out_.steps[i + 1];
      if (!program::is_pure(step.op) || step.kernel == nullptr || next.op != Op::Store) continue;
      const Inst& store = insts_[source_[i + 1]];
      const uint32_t v = insts_[source_[i]].id;
      step.fuses_store = store.args[1] == v && store.args[0] != v &&
                         values_[v].end == source_[i + 1] && step.type != DType::Bool &&
                         module_.buffers[next.slot].type == step.type;
    }
  }

  void choose_block() {
    const auto& m = module_;
    out_.cooperative = m.shared.size() > 0;
    for (const Inst& inst : insts_)
      out_.cooperative = out_.cooperative || inst.op == Op::Barrier || inst.op == Op::GroupReduce ||
                         inst.op == Op::GroupScan || inst.op == Op::GroupUniform;
    if (out_.cooperative) {
      out_.block_lanes = (m.lanes() + 15) / 16 * 16;
      return;
    }
    uint32_t bytes = 0;
    for (size_t r = 0; r < out_.registers.size(); r++) {
      const Width w = out_.registers[r];
      if (has_row_[r]) bytes += w == Width::Eight ? 8 : w == Width::Four ? 4 : 1;
    }
    const uint32_t fit = kL1Bytes / std::max(bytes, 1u) / 64 * 64;
    out_.block_lanes = std::clamp(fit, kLeastLanes, kMostLanes);
  }

  const Module& module_;
  const KernelTable& kernels_;
  const std::vector<Inst>& insts_;
  Bytecode out_;
  std::vector<uint32_t> close_, other_, around_, defined_, last_use_;
  std::vector<bool> launch_uniform_, block_uniform_, alias_;
  std::vector<bool> has_row_;     // of registers
  std::vector<uint32_t> source_;  // of each step: its instruction
  std::vector<Interval> values_, variables_;
  std::vector<uint32_t> value_register_, variable_register_;
  std::array<std::array<std::vector<uint32_t>, 3>, 2> free_;
};

}  // namespace

Bytecode lower(const Module& module, const KernelTable& kernels) {
  return Lowering(module, kernels).run();
}

}  // namespace hologram::interp
