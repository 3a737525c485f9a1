#include "jit/divergence.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "jit/analysis.hpp"
#include "program/passes/passes.hpp"

namespace hologram::jit {

namespace {

class Parting final : program::Definitions {
 public:
  Parting(const Module& module, const std::set<uint32_t>& by_lane)
      : in_(module.body.insts), by_lane_(by_lane), out_(module) {
    out_.body.insts.clear();
    close_.assign(in_.size(), kNone);
    otherwise_.assign(in_.size(), kNone);
    definition_.assign(module.body.values.size(), kNone);
    std::vector<uint32_t> open;
    for (uint32_t at = 0; at < in_.size(); at++) {
      if (in_[at].id != kNone) definition_[in_[at].id] = at;
      if (in_[at].op == Op::Else) otherwise_[open.back()] = at;
      if (in_[at].op == Op::End) close_[open.back()] = at, open.pop_back();
      if (in_[at].op == Op::If && open.empty() && in_[at + 1].op == Op::Return) guards_.insert(at);
      if (opens_block(in_[at])) open.push_back(at);
    }
    const auto has_more = [&](uint32_t at) { return close_[at] != at + 2; };
    std::erase_if(guards_, has_more);
  }

  Module run() {
    const auto end = static_cast<uint32_t>(in_.size());
    for (uint32_t at = 0; at < end && !returns_; at++)
      returns_ = in_[at].op == Op::Return && (at == 0 || guards_.count(at - 1) == 0);
    if (returns_) alive_ = flag("alive");
    block(0, end, true);
    return std::move(out_);
  }

 private:
  // Masks of the lanes that are active in a loop, and of those that go on in this round, if that
  // differs.
  struct Around {
    uint32_t live = kNone, on = kNone;
  };

  // ---- What lanes leave

  // Whether some leave the block around [begin, end) there.
  bool leaves(uint32_t begin, uint32_t end) const {
    uint32_t loops_end = begin;
    for (uint32_t at = begin; at < end; at++) {
      const Op op = in_[at].op;
      if (op == Op::Return) return true;
      if (at < loops_end) continue;
      if (op == Op::Break || op == Op::Continue) return true;
      if (is_loop(in_[at])) loops_end = close_[at];
    }
    return false;
  }

  // Of the loop at `loop`, not of those inside; Return counts for all.
  bool has(Op what, uint32_t loop) const {
    uint32_t inner_end = 0;
    for (uint32_t at = loop + 1; at < close_[loop]; at++) {
      if (in_[at].op == what && (what == Op::Return || at >= inner_end)) return true;
      if (at >= inner_end && is_loop(in_[at])) inner_end = close_[at];
    }
    return false;
  }

  // ---- Instructions

  uint32_t value(Inst inst) {
    inst.id = static_cast<uint32_t>(out_.body.values.size());
    out_.body.values.push_back(inst.type);
    out_.body.insts.push_back(inst);
    return inst.id;
  }
  uint32_t constant(DType type, uint64_t bits) override {
    Inst inst{.op = Op::Const, .type = type};
    inst.imm = bits;
    return value(inst);
  }
  uint32_t operation(Op op, DType type, DType from, uint32_t a, uint32_t b = kNone) {
    return value({.op = op, .type = type, .from = from, .args = {a, b, kNone}});
  }
  uint32_t get(uint32_t slot) {
    return value({.op = Op::Get, .type = out_.variables[slot].type, .slot = slot});
  }
  void set(uint32_t slot, uint32_t to, uint8_t aux = 0) {
    out_.body.insts.push_back({.op = Op::Set,
                               .type = out_.variables[slot].type,
                               .aux = aux,
                               .slot = slot,
                               .args = {to, kNone, kNone}});
  }
  uint32_t variable(const char* name, DType type, uint32_t initial) {
    const auto slot = static_cast<uint32_t>(out_.variables.size());
    out_.variables.push_back({name, type});
    out_.body.insts.push_back({.op = Op::Var,
                               .type = type,
                               .aux = type == DType::Bool ? kOfThisBlock : uint8_t{0},
                               .slot = slot,
                               .args = {initial, kNone, kNone}});
    return slot;
  }
  uint32_t flag(const char* name) { return variable(name, DType::Bool, constant(DType::Bool, 1)); }
  void open_if(uint32_t condition, uint8_t aux = 0) {
    out_.body.insts.push_back({.op = Op::If, .aux = aux, .args = {condition, kNone, kNone}});
  }
  void close() { out_.body.insts.push_back({.op = Op::End}); }

  void leave(std::initializer_list<uint32_t> flags) {
    const uint32_t no = constant(DType::Bool, 0);
    for (const uint32_t flag : flags)
      if (flag != kNone) set(flag, no);
  }
  void stay(uint32_t flag, uint32_t condition, uint8_t aux) {
    if (flag != kNone)
      set(flag, operation(Op::And, DType::Bool, DType::Bool, get(flag), condition), aux);
  }

  uint32_t opposite_of(uint32_t condition) {
    Inst no{.op = Op::Not, .type = DType::Bool, .from = DType::Bool};
    no.args[0] = condition;
    const auto known = program::simplify_identity(no, *this);
    return known ? *known : value(no);
  }
  const Inst& of(uint32_t value) const override { return in_[definition_[value]]; }

  // ---- Blocks

  // Whether an If does nothing but to leave a loop, or a round of it.
  bool is_exit(uint32_t at) const {
    return in_[at].op == Op::If && close_[at] == at + 2 &&
           (in_[at + 1].op == Op::Break || in_[at + 1].op == Op::Continue);
  }

  // `straight`: the body of a loop or the program, or what is left of it, so that nobody but its
  // lanes is said to be there.
  void block(uint32_t begin, uint32_t end, bool straight) {
    for (uint32_t at = begin; at < end; at++) {
      const Inst& i = in_[at];
      if (i.op == Op::Break) return leave({loops_.back().live, loops_.back().on});
      if (i.op == Op::Continue) return leave({loops_.back().on});
      if (i.op == Op::Return) {
        leave({alive_});
        for (const Around& loop : loops_) leave({loop.live, loop.on});
        return;
      }
      if (!opens_block(i)) {
        out_.body.insts.push_back(i);
        continue;
      }
      const uint32_t after = close_[at] + 1;
      const bool parts = leaves(at, after), guard = guards_.count(at) > 0;
      if (guard) open_if(opposite_of(i.args[0]));
      else if (straight && is_exit(at)) exit(at);
      else if (i.op == Op::If) branch(at);
      else loop(at);
      if (parts && after < end) {
        if (!guard) {
          const Around here = loops_.empty() ? Around{alive_, kNone} : loops_.back();
          open_if(get(here.on != kNone ? here.on : here.live), straight ? kOfThisBlock : 0);
        }
        block(after, end, straight && !guard);
        return close();
      }
      if (guard) close();
      at = after - 1;
    }
  }

  // Of the lanes that are still in the loop some may not go on in this round.
  void exit(uint32_t at) {
    const uint32_t others = opposite_of(in_[at].args[0]);
    const Around& here = loops_.back();
    if (in_[at + 1].op == Op::Break) stay(here.live, others, here.on == kNone ? kOfThisBlock : 0);
    stay(here.on, others, kOfThisBlock);
  }

  void branch(uint32_t at) {
    out_.body.insts.push_back(in_[at]);
    const uint32_t otherwise = otherwise_[at], end = close_[at];
    block(at + 1, otherwise == kNone ? end : otherwise, false);
    if (otherwise != kNone) {
      out_.body.insts.push_back(in_[otherwise]);
      block(otherwise + 1, end, false);
    }
    close();
  }

  void loop(uint32_t at) {
    Inst i = in_[at];
    const bool by_lane = i.op == Op::For && by_lane_.count(i.id) > 0;
    const bool left = has(Op::Break, at) || has(Op::Return, at);
    Around here;
    if (by_lane) {
      const uint32_t some = operation(Op::Lt, DType::Bool, i.type, i.args[0], i.args[1]);
      here.live = variable("live", DType::Bool, some);
    } else if (left || i.op == Op::Loop) {
      here.live = flag("live");
    }
    uint32_t counter = kNone;
    if (by_lane) counter = variable("counter", i.type, i.args[0]);
    i.slot = here.live;
    if (by_lane) {
      out_.body.insts.push_back({.op = Op::Loop, .slot = here.live});
      out_.body.insts.push_back({.op = Op::Get, .type = i.type, .id = i.id, .slot = counter});
    } else {
      out_.body.insts.push_back(i);
    }
    if (has(Op::Continue, at)) here.on = flag("on");
    loops_.push_back(here);
    block(at + 1, close_[at], true);
    loops_.pop_back();
    if (by_lane) count(i, counter, here.live);
    close();
  }

  // What is left is compared as an unsigned number: the counter may end where its type does.
  void count(const Inst& loop, uint32_t counter, uint32_t live) {
    const DType type = loop.type, bits = size_of(type) == 8 ? DType::U64 : DType::U32;
    const uint32_t was = get(counter);
    uint32_t left = operation(Op::Sub, type, type, loop.args[1], was);
    if (type != bits) left = operation(Op::Bitcast, bits, type, left);
    const uint32_t more = operation(Op::Gt, DType::Bool, bits, left, constant(bits, loop.imm));
    // Also for those who have left: it is the same for all if it began so.
    set(counter, operation(Op::Add, type, type, was, constant(type, loop.imm)), kOfThisBlock);
    stay(live, more, kOfThisBlock);
  }

  const std::vector<Inst>& in_;
  const std::set<uint32_t>& by_lane_;
  Module out_;
  std::vector<uint32_t> close_, otherwise_, definition_;
  std::set<uint32_t> guards_;  // at the top, if c { return }: what follows is for the others
  std::vector<Around> loops_;
  uint32_t alive_ = kNone;
  bool returns_ = false;  // but for guards
};

}  // namespace

bool has_exits(const Module& module) {
  const auto& insts = module.body.insts;
  return std::any_of(insts.begin(), insts.end(), [](const Inst& i) {
    return i.op == Op::Loop || i.op == Op::Break || i.op == Op::Continue || i.op == Op::Return;
  });
}

Module predicated(const Module& module, const std::set<uint32_t>& by_lane) {
  return Parting(module, by_lane).run();
}

}  // namespace hologram::jit
