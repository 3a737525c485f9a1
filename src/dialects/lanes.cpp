#include "dialects/lanes.hpp"

#include <algorithm>
#include <set>

namespace hologram::dialects {
namespace {

using program::Access;
using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

constexpr uint32_t kAccessBytes = 16;
constexpr uint32_t kFewestThreads = 32;  // of a group whose lanes talk to each other

// Which integers are multiples of a power of two in the first lane of each thread, given that some
// scalars are.
class Multiples {
 public:
  Multiples(const Module& module, uint32_t of) : module_(module), of_(of) {
    known_.resize(module.body.values.size());
    for (const Inst& inst : module.body.insts)
      if (inst.id != kNone && (inst.op == Op::For || is_integer(inst.type)))
        known_[inst.id] = rule(inst);
  }

  bool is(uint32_t value) const { return known_[value].has_value(); }
  // Adds the scalars that it hangs on.
  void add_scalars(uint32_t value, std::set<uint32_t>& scalars) const {
    scalars.insert(known_[value]->begin(), known_[value]->end());
  }

 private:
  using Scalars = std::optional<std::set<uint32_t>>;  // those that make it one

  Scalars both(const Inst& inst, size_t a, size_t b) const {
    const Scalars &x = known_[inst.args[a]], &y = known_[inst.args[b]];
    if (!x || !y) return std::nullopt;
    Scalars all = x;
    all->insert(y->begin(), y->end());
    return all;
  }

  Scalars rule(const Inst& inst) const {
    const Scalars always{std::in_place};
    switch (inst.op) {
      case Op::Const: return inst.imm % of_ == 0 ? always : std::nullopt;
      case Op::Scalar: return inst.type == module_.index ? Scalars({inst.slot}) : std::nullopt;
      case Op::LaneId:
      case Op::GlobalId: return inst.aux == 0 ? always : std::nullopt;
      case Op::Add:
      case Op::Sub:
      case Op::Min:
      case Op::Max: return both(inst, 0, 1);
      case Op::Mul: {
        const Scalars &x = known_[inst.args[0]], &y = known_[inst.args[1]];
        if (x && y) return x->size() <= y->size() ? x : y;
        return x ? x : y;
      }
      case Op::Select: return both(inst, 1, 2);
      case Op::For: return inst.imm % of_ == 0 ? known_[inst.args[0]] : std::nullopt;
      default: return std::nullopt;
    }
  }

  const Module& module_;
  const uint32_t of_;
  std::vector<Scalars> known_;  // by value
};

class Analysis {
 public:
  // `multiples`: of the lanes of a thread; none if nothing is known of the scalars.
  Analysis(const Module& module, bool cooperative, const Multiples* multiples = nullptr)
      : module_(module),
        insts_(module.body.insts),
        cooperative_(cooperative),
        multiples_(multiples) {
    out_.aligned.assign(insts_.size(), false);
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

  EvenLanes run_even(uint32_t lanes) {
    EvenLanes even{run(lanes), {}, {}};
    std::set<uint32_t> buffers;
    for (uint32_t i = 0; i < insts_.size(); i++) {
      const Inst& inst = insts_[i];
      if ((inst.op != Op::Load && inst.op != Op::Store) || !multiples_->is(inst.args[0]) ||
          even.lanes.values[inst.args[0]] != Form::Consecutive)
        continue;
      even.lanes.aligned[i] = true;
      buffers.insert(inst.slot);
      multiples_->add_scalars(inst.args[0], scalars_);
    }
    even.buffers.assign(buffers.begin(), buffers.end());
    even.scalars.assign(scalars_.begin(), scalars_.end());
    return even;
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

  // x < y where both are multiples of the lanes of a thread, and x counts along with them.
  bool same_for_all(const Inst& inst) {
    if (multiples_ == nullptr || !is_integer(inst.from)) return false;
    const bool turned = inst.op == Op::Gt || inst.op == Op::Le;
    if (!turned && inst.op != Op::Lt && inst.op != Op::Ge) return false;
    const uint32_t x = inst.args[turned], y = inst.args[!turned];
    if (out_.values[x] != Form::Consecutive || out_.values[y] != Form::Uniform) return false;
    if (!multiples_->is(x) || !multiples_->is(y)) return false;
    multiples_->add_scalars(x, scalars_);
    multiples_->add_scalars(y, scalars_);
    return true;
  }

  void pure(const Inst& inst) {
    if (same_for_all(inst)) return;
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
      case Op::Select: return form(inst, 0) == Form::Uniform && form(inst, 1) == form(inst, 2);
      case Op::Bitcast: return true;
      case Op::Cast: return is_integer(inst.from) && size_of(inst.from) == size_of(inst.type);
      default: return false;
    }
  }

  // Nothing that ends some of the lanes, no rounds that differ, and something to gain: lanes of a
  // thread that each read here and there touch more lines of memory than lanes side by side.
  bool suits() const {
    constexpr size_t kMostApart = 4;  // reads beside one of neighbours
    size_t together = 0, apart = 0;
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
        case Op::Store:
          together += form(inst) == Form::Consecutive ? 1 : 0;
          apart += form(inst) == Form::Known || form(inst) == Form::Varying ? 1 : 0;
          break;
        default: break;
      }
    }
    if (!cooperative_ && apart > kMostApart * together) return false;
    return together > 0 && (cooperative_ || module_.lanes() == module_.workgroup[0]);
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
  const Multiples* const multiples_;
  std::set<uint32_t> scalars_;  // that have to be multiples
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
    one.mostly_all = one.aligned = one.guards;
    return one;
  }
  return Analysis(module, cooperative).run(most);
}

std::optional<EvenLanes> even_lanes(const Module& module, bool cooperative, const Lanes& lanes) {
  if (lanes.count == 1) return std::nullopt;
  const Multiples multiples(module, lanes.count);
  EvenLanes even = Analysis(module, cooperative, &multiples).run_even(lanes.count);
  std::vector<Op> open;
  const auto in_loop = [&] { return std::find(open.begin(), open.end(), Op::For) != open.end(); };
  bool gains = false;
  for (size_t i = 0; i < module.body.insts.size(); i++) {
    const Op op = module.body.insts[i].op;
    if (op == Op::For || op == Op::Loop || op == Op::If) open.push_back(op);
    if (op == Op::End) open.pop_back();
    gains = gains || (even.lanes.aligned[i] && (cooperative || in_loop()));
  }
  if (!gains || even.lanes.count != lanes.count) return std::nullopt;
  return even;
}

namespace {

// Which stores of threads with several lanes are to words that no other thread stores to.
class OwnStores {
 public:
  OwnStores(const Module& module, const Lanes& lanes, const Multiples& multiples)
      : module_(module), lanes_(lanes), multiples_(multiples) {
    definitions_.resize(module.body.values.size());
    for (const Inst& inst : module.body.insts) {
      if (inst.id != kNone) definitions_[inst.id] = &inst;
      if ((inst.op == Op::GroupId || inst.op == Op::GlobalId) && inst.aux != 0) one_axis_ = false;
    }
  }

  // The lanes of a thread access a whole word.
  bool is_word(const Inst& inst) const {
    return lanes_.values[inst.args[0]] == Form::Consecutive && multiples_.is(inst.args[0]) &&
           lanes_.count * size_of(module_.buffers[inst.slot].type) >= 4;
  }

  // Another thread with the same word could store what this one leaves out, unless each word has
  // one thread, or lanes are left out from one on, as at the end of a row: rows that overlap would
  // store to the same elements.
  bool is_own(const Inst& store, const std::vector<uint32_t>& around) const {
    if (!is_word(store)) return false;
    if (one_axis_ && is_number_of_lane(store.args[0])) return true;
    return std::all_of(around.begin(), around.end(), [&](uint32_t block) {
      const Inst& inst = module_.body.insts[block];
      if (inst.op != Op::If || lanes_.values[inst.args[0]] == Form::Uniform) return true;
      const Inst& test = *definitions_[inst.args[0]];
      return lanes_.guards[block] && test.op == Op::Lt && is_integer(test.from) &&
             lanes_.values[test.args[0]] == Form::Consecutive &&
             lanes_.values[test.args[1]] == Form::Uniform;
    });
  }

 private:
  // Another number in each lane of the launch.
  bool is_number_of_lane(uint32_t value) const {
    const Inst& inst = *definitions_[value];
    if (inst.op == Op::GlobalId) return inst.aux == 0;
    const auto same = [&](uint32_t other) {
      const Op op = definitions_[other]->op;
      return op == Op::Const || op == Op::Scalar || op == Op::Length;
    };
    if (inst.op != Op::Add && inst.op != Op::Sub) return false;
    const uint32_t x = inst.args[0], y = inst.args[1];
    return (is_number_of_lane(x) && same(y)) ||
           (inst.op == Op::Add && same(x) && is_number_of_lane(y));
  }

  const Module& module_;
  const Lanes& lanes_;
  const Multiples& multiples_;
  std::vector<const Inst*> definitions_;  // by id
  bool one_axis_ = true;
};

}  // namespace

std::optional<OwnLanes> own_lanes(const Module& module, uint32_t most) {
  if (most <= 1) return std::nullopt;
  OwnLanes own{Analysis(module, false).run(most), {}, {}};
  if (own.lanes.count == 1) return std::nullopt;
  const Multiples multiples(module, own.lanes.count);
  const OwnStores stores(module, own.lanes, multiples);
  const auto& insts = module.body.insts;
  std::vector<bool> gains(module.buffers.size()), foreign(module.buffers.size());
  std::vector<uint32_t> around;
  const auto is_loop = [](const Inst& inst) { return inst.op == Op::For || inst.op == Op::Loop; };
  const bool loops = std::any_of(insts.begin(), insts.end(), is_loop);
  // What comes once a lane is little beside what its loops do, whose text would be there for each
  // lane of a thread; but elements of less than a word are stored as one or by an atomic operation.
  const auto gain = [&](const Inst& inst) {
    if (!loops || size_of(module.buffers[inst.slot].type) < 4 ||
        std::any_of(around.begin(), around.end(), [&](uint32_t b) { return is_loop(insts[b]); }))
      gains[inst.slot] = true;
  };
  for (uint32_t i = 0; i < insts.size(); i++) {
    const Inst& inst = insts[i];
    if (inst.op == Op::If || is_loop(inst)) around.push_back(i);
    if (inst.op == Op::End) around.pop_back();
    if (inst.op == Op::Load && stores.is_word(inst)) gain(inst);
    if (inst.op != Op::Store) continue;
    if (stores.is_own(inst, around)) gain(inst);
    else foreign[inst.slot] = true;
  }
  own.words.resize(module.buffers.size());
  for (size_t b = 0; b < own.words.size(); b++)
    own.words[b] = gains[b] && !foreign[b] && module.buffers[b].access != Access::Atomic;
  if (std::find(own.words.begin(), own.words.end(), true) == own.words.end()) return std::nullopt;
  std::set<uint32_t> scalars;
  for (size_t i = 0; i < insts.size(); i++) {
    const Inst& inst = insts[i];
    if ((inst.op != Op::Load && inst.op != Op::Store) || !own.words[inst.slot] ||
        !stores.is_word(inst))
      continue;
    own.lanes.aligned[i] = true;
    multiples.add_scalars(inst.args[0], scalars);
  }
  own.scalars.assign(scalars.begin(), scalars.end());
  return own;
}

size_t end_of_block(const program::Code& body, size_t opening) {
  size_t depth = 0;
  for (size_t i = opening;; i++) {
    const Op op = body.insts[i].op;
    if (op == Op::If || op == Op::For || op == Op::Loop) depth++;
    if (op == Op::End && --depth == 0) return i;
  }
}

bool stands_in(const program::Code& body, size_t opening, size_t at) {
  size_t depth = 0;
  for (size_t i = opening; i < at; i++) {
    const Op op = body.insts[i].op;
    if (op == Op::If || op == Op::For || op == Op::Loop) depth++;
    if (op == Op::End) depth--;
  }
  return depth == 1;
}

}  // namespace hologram::dialects
