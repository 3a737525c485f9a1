// How many vectors of lanes go through a part of a program side by side: enough to hide what loads
// and arithmetic wait for, as few as the registers hold.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

constexpr uint32_t kMostStraight = 8;  // one of so many registers
constexpr uint32_t kMostInLoops = 16;
constexpr uint32_t kScratch = 3;  // registers for what operations need on their way
// Of so many operations a processor has little more than one vector under way, and waits for each
// of them: in two it finds twice as many to do, even if some come from the stack.
constexpr uint32_t kLong = 24;

// Most values and variables of instructions [begin, end) that hold a vector at the same time, or
// those of them that hold a mask.
enum class Of : uint8_t { All, Bools };
uint32_t most_alive(const Module& module, const Analysis& analysis, uint32_t begin, uint32_t end,
                    Of what = Of::All) {
  const auto& insts = module.body.insts;
  struct Life {
    uint32_t from = kNone, to = 0;
    void touch(uint32_t at) {
      from = std::min(from, at);
      to = std::max(to, at);
    }
  };
  std::map<uint32_t, Life> values, variables;
  const auto counts = [what](Form form, DType type) {
    return form == Form::Varying && (what == Of::All || type == DType::Bool);
  };
  const auto is_vector = [&](uint32_t value) {
    return counts(analysis.values[value], module.body.values[value]);
  };
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = insts[at];
    const bool of_variable = i.op == Op::Get || i.op == Op::Set || i.op == Op::Var;
    if (of_variable && counts(analysis.variables[i.slot], module.variables[i.slot].type)) {
      Life& life = variables[i.slot];
      if (life.from == kNone && i.op != Op::Var) life = {begin, end - 1};  // from outside
      life.touch(at);
    }
    const uint32_t waits = i.id != kNone ? analysis.waits_for[at] : kNone;
    for (size_t k = 0; k < program::arity(i); k++) {
      const uint32_t value = i.args[k], from = analysis.definition[value];
      if (!is_vector(value) || i.op == Op::If) continue;
      if (analysis.waits_for[from] != kNone) continue;  // a register at a time
      // An operand in memory, which a mask never is.
      if (what == Of::All && insts[from].op == Op::Load && analysis.uses[value].count == 1 &&
          program::is_pure(i.op) && analysis.values[insts[from].args[0]] == Form::Affine)
        continue;
      if (insts[from].op == Op::Get) variables[insts[from].slot].touch(std::max(from, begin));
      else if (from < begin) values[value] = {begin, end - 1};  // needed in every round
      // What goes straight into a variable takes its register.
      else if (i.op != Op::Set || at != from + 1)
        values[value].touch(from), values[value].touch(waits != kNone ? waits : at);
    }
  }
  std::vector<int> change(end - begin + 1, 0);
  for (const auto& [value, life] : values) {
    change[life.from - begin]++;
    change[life.to - begin]--;  // the last use may write the result to its register
    if (life.to == end - 1) change[life.to - begin]++, change[end - begin]--;
  }
  for (const auto& [slot, life] : variables) {
    change[life.from - begin]++;
    change[life.to - begin + 1]--;
  }
  int now = 0, most = 0;
  for (const int c : change) most = std::max(most, now += c);
  return static_cast<uint32_t>(most);
}

uint32_t steps_of(const Module& module, const Analysis& analysis, uint32_t begin, uint32_t end) {
  const auto& insts = module.body.insts;
  return static_cast<uint32_t>(
      std::count_if(insts.begin() + begin, insts.begin() + end, [&](const Inst& i) {
        return program::is_pure(i.op) && analysis.values[i.id] == Form::Varying;
      }));
}

struct Demand {
  uint32_t vectors = 1, masks = 0;
  bool loops = false, divides = false;
  uint32_t steps = 0;        // of the longest innermost loop, or of all
  std::set<uint32_t> outer;  // variables that innermost loops leave alone
};

Demand demand_of(const Module& module, const Analysis& analysis, uint32_t begin, uint32_t end) {
  const auto& insts = module.body.insts;
  Demand d;
  std::set<uint32_t> inner;
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = insts[at];
    if (i.op == Op::Var && analysis.variables[i.slot] == Form::Varying && i.type != DType::Bool)
      d.outer.insert(i.slot);
    if (!is_loop(i)) continue;
    d.loops = true;
    bool innermost = true;
    for (uint32_t k = at + 1; k < analysis.close[at]; k++)
      innermost = innermost && !is_loop(insts[k]);
    if (!innermost) continue;
    d.vectors = std::max(d.vectors, most_alive(module, analysis, at + 1, analysis.close[at]));
    d.steps = std::max(d.steps, steps_of(module, analysis, at + 1, analysis.close[at]));
    for (uint32_t k = at + 1; k < analysis.close[at]; k++)
      if (insts[k].op == Op::Get || insts[k].op == Op::Set || insts[k].op == Op::Var)
        inner.insert(insts[k].slot);
  }
  for (const uint32_t slot : inner) d.outer.erase(slot);
  if (!d.loops) {
    d.vectors = std::max(1u, most_alive(module, analysis, begin, end));
    d.steps = steps_of(module, analysis, begin, end);
    d.masks = most_alive(module, analysis, begin, end, Of::Bools);
    d.divides = std::any_of(insts.begin() + begin, insts.begin() + end, [&](const Inst& i) {
      return (i.op == Op::Div || i.op == Op::Sqrt) && is_float(i.type) &&
             analysis.values[i.id] == Form::Varying;
    });
  }
  return d;
}

uint32_t unroll_for(const Demand& d, const RegisterCount& registers, uint32_t most_lanes,
                    uint32_t width) {
  const uint32_t most = std::min({d.loops ? kMostInLoops : registers.vectors / kMostStraight,
                                  kMaxUnroll, std::max(1u, most_lanes / width)});
  const auto fits = [&](uint32_t unroll) {
    return unroll * d.vectors + kScratch <= registers.vectors &&
           (registers.masks == 0 || unroll * d.masks <= registers.masks);
  };
  uint32_t unroll = 1;
  while (unroll * 2 <= most && fits(unroll * 2)) unroll *= 2;
  // Where many wait for the divider at the same time, the rest waits for them.
  if (d.divides && d.steps >= kLong) unroll = std::min(unroll, 2u);
  return unroll == 1 && d.steps >= kLong ? std::min(2u, most) : unroll;
}

// Lanes that a chunk may have: those of a workgroup, or as many as a row of the grid surely has.
uint32_t most_lanes_of(const Module& module, const Analysis& analysis) {
  return analysis.grouped ? module.workgroup[0] : 256;
}

}  // namespace

uint32_t Compiler::unroll_of(const Region& r) const {
  return unroll_for(demand_of(module_, analysis_, r.begin, r.end), target_.registers(),
                    most_lanes_of(module_, analysis_), target_.width);
}

// Of straight code: in loops, results are waited for.
void Compiler::find_steps(const Region& r) {
  by_steps_ = {};
  Target::Work work;
  for (uint32_t at = r.begin; at < r.end; at++) {
    const Inst& i = inst(at);
    if (is_loop(i)) return;
    if (i.op == Op::Load || i.op == Op::Store) work.accesses++;
    if (!program::is_pure(i.op) || form(i.id) != Form::Varying) continue;
    const bool divides = i.op == Op::Div && form(i.args[1]) == Form::Varying;
    (i.type != DType::F32 ? work.others
     : i.op == Op::Sqrt   ? work.roots
     : divides            ? work.quotients
                          : work.others)++;
  }
  by_steps_ = target_.by_steps(unroll_, work);
}

// Variables of outer loops stand in memory where the inner ones have no registers to spare.
void Compiler::find_outer(const Region& r) {
  outer_.clear();
  const auto& insts = module_.body.insts;
  const bool loops = std::any_of(insts.begin() + r.begin, insts.begin() + r.end, is_loop);
  if (!loops || !target_.has_spill_slots()) return;
  Demand d = demand_of(module_, analysis_, r.begin, r.end);
  const auto needed = unroll_ * (d.vectors + static_cast<uint32_t>(d.outer.size())) + kScratch;
  if (needed > target_.registers().vectors) outer_ = std::move(d.outer);
}

uint32_t Compiler::spare_registers(const Module& module, const Analysis& analysis,
                                   const RegisterCount& registers, uint32_t width) {
  uint32_t begin = 0, spare = registers.vectors;
  const auto n = static_cast<uint32_t>(module.body.insts.size());
  for (uint32_t at = 0; at <= n; at++) {
    const auto ends_loop = [&](uint32_t loop) { return analysis.close[loop] == at; };
    if (at < n && module.body.insts[at].op != Op::GroupReduce &&
        !analysis.group_loops.contains(at) &&
        std::none_of(analysis.group_loops.begin(), analysis.group_loops.end(), ends_loop))
      continue;
    const Demand d = demand_of(module, analysis, begin, at);
    const uint32_t used =
        d.vectors * unroll_for(d, registers, most_lanes_of(module, analysis), width) + kScratch;
    spare = std::min(spare, used < registers.vectors ? registers.vectors - used : 0);
    begin = at + 1;
  }
  return spare;
}

}  // namespace hologram::jit
