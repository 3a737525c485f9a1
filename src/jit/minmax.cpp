// Extremes: by one number, and of all elements of a loop.
#include <algorithm>
#include <utility>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

// A loop that is longer is not compiled twice.
constexpr uint32_t kShort = 200;

DType bits_of(DType type) { return size_of(type) == 8 ? DType::U64 : DType::U32; }
uint64_t sign_of(DType type) { return uint64_t{1} << (size_of(type) * 8 - 1); }
bool is_extreme(const Inst& i) { return (i.op == Op::Min || i.op == Op::Max) && is_float(i.type); }

}  // namespace

// ---- By one number ------------------------------------------------------------------------------

// strict_extreme(limit, x) is the minimum or maximum of x and the limit unless the limit is NaN,
// which it loses, or a zero that is to win against the other one. Both are known of the limit
// beforehand:
//
//   max(limit, x + mending), where mending is 0 for the limit 0, which -0 becomes, NaN for NaN, and
//     else -0, which changes nothing;
//   -0 - (mending - min(limit, x)), where mending is 0 for the limit -0, and else as before.
//
// All of that keeps the sign of a NaN.

Operand Compiler::mending(Op op, DType type, const Operand& limit) {
  const DType bits = bits_of(type);
  const uint64_t sign = sign_of(type);
  const Operand same[] = {limit, limit};
  const Operand zero[] = {limit, target_.constant(bits, op == Op::Max ? 0 : sign)};
  const BaseReg is_nan = *target_.pure(Op::Ne, DType::Bool, type, same, 0);
  const BaseReg is_zero = *target_.pure(Op::Eq, DType::Bool, bits, zero, 0);
  const Operand none = target_.constant(bits, sign), plus = target_.constant(bits, 0);
  return target_.blend(type, is_nan, limit, target_.blend(type, is_zero, plus, none));
}

void Compiler::prepare_limits(uint32_t value) {
  if (!target_.has_strict_extremes()) return;
  const auto& all = module_.body.insts;
  for (const Op op : {Op::Min, Op::Max}) {
    const auto limits = [&](const Inst& i) {
      return i.op == op && form(i.id) == Form::Varying &&
             (i.args[0] == value || i.args[1] == value);
    };
    if (std::any_of(all.begin(), all.end(), limits))
      limits_.insert_or_assign({value, op}, mending(op, type(value), operand(value, 0)));
  }
}

Operand Compiler::extreme_by(Op op, DType type, const Operand& limit, const Operand& x,
                             const std::optional<Operand>& mend) {
  if (!mend) return target_.strict_extreme(op, type, limit, x);
  const auto combined = [&](Op with, const Operand& a, const Operand& b) -> Operand {
    const Operand in[] = {a, b};
    return *target_.pure(with, type, type, in, 0);
  };
  if (op == Op::Max) return target_.strict_extreme(op, type, limit, combined(Op::Add, x, *mend));
  const Operand least = target_.strict_extreme(op, type, limit, x);
  const Operand minus_zero = target_.constant(bits_of(type), sign_of(type));
  return combined(Op::Sub, minus_zero, combined(Op::Sub, *mend, least));
}

// An extreme by one number: a vector of it, if this is one.
std::optional<BaseReg> Compiler::limited(const Inst& i, uint32_t k) {
  if (!is_extreme(i)) return {};
  for (size_t which = 0; which < 2; which++) {
    const uint32_t value = i.args[which];
    const auto known = limits_.find({value, i.op});
    std::optional<Operand> mend;  // none: there is nothing to mend
    if (known != limits_.end()) {
      mend = known->second;
    } else if (target_.has_strict_extremes() && is_constant(value)) {
      const DType bits = bits_of(i.type);
      const uint64_t number = definition(value).imm, sign = sign_of(i.type);
      const uint64_t infinite = bits == DType::U64 ? 0x7ff0000000000000 : 0x7f800000;
      if ((number & (sign - 1)) > infinite) continue;
      if (number == (i.op == Op::Max ? 0 : sign)) mend = target_.constant(bits, 0);
    } else {
      continue;
    }
    const Operand limit = operand(value, 0), x = operand(i.args[1 - which], k);
    return target_.in_register(i.type, extreme_by(i.op, i.type, limit, x, mend));
  }
  return {};
}

// ---- Of all elements of a loop ------------------------------------------------------------------

// Which Get the extremes begin with that `value` is made of and the Set `set` waits for, and what
// else they are made of.
uint32_t Compiler::gathers(uint32_t set, uint32_t value, std::vector<uint32_t>& others) const {
  const uint32_t made = analysis_.definition[value];
  const Inst& extreme = inst(made);
  if (extreme.op == Op::Get)
    return extreme.slot == inst(set).slot && analysis_.uses[value].count == 1 ? made : kNone;
  if (!is_extreme(extreme) || analysis_.waits_for[made] != set ||
      !target_.gathers_extremes(extreme.op) || extreme.op != definition(inst(set).args[0]).op)
    return kNone;
  for (size_t which = 0; which < 2; which++) {
    if (form(extreme.args[1 - which]) != Form::Varying) continue;
    if (const uint32_t get = gathers(set, extreme.args[which], others); get != kNone) {
      others.push_back(extreme.args[1 - which]);
      return get;
    }
  }
  return kNone;
}

// Variables that begin as constants, and that a loop does nothing with but to set them, `gathered`
// to the extreme of what they are and of something else: then the loop may start again, and what is
// rare, a NaN or a zero of the wrong sign, need not be looked out for at every step.
std::optional<Compiler::Gathering> Compiler::gathering_of(uint32_t at) const {
  const uint32_t close = analysis_.close[at];
  if (close - at > kShort || !masks_.empty() || inst(at).slot != kNone) return {};
  Gathering g;
  std::map<uint32_t, uint32_t> gets;  // of the slots that are gathered
  for (uint32_t k = at + 1; k < close; k++) {
    const Inst& i = inst(k);
    if (i.op == Op::Store || i.op == Op::Var) return {};
    if (i.op != Op::Set) continue;
    if (std::any_of(g.sets.begin(), g.sets.end(),
                    [&](uint32_t set) { return inst(set).slot == i.slot; }))
      return {};
    g.sets.push_back(k);
    std::vector<uint32_t> others;
    const uint32_t get = gathers(k, i.args[0], others);
    if (others.empty() || (g.type != DType::Bool && g.type != i.type)) continue;
    g.type = i.type;
    g.others[k] = std::move(others);
    gets[i.slot] = get;
  }
  if (g.others.empty()) return {};
  for (uint32_t k = at + 1; k < close; k++) {
    const auto known = inst(k).op == Op::Get ? gets.find(inst(k).slot) : gets.end();
    if (known != gets.end() && known->second != k) return {};
  }
  // What they are before the loop.
  for (const uint32_t set : g.sets) {
    const uint32_t slot = inst(set).slot;
    uint32_t declared = kNone;
    for (uint32_t k = 0; k < at; k++) {
      const Inst& i = inst(k);
      if (i.op == Op::Var && i.slot == slot) declared = k;
      if (i.op == Op::Set && i.slot == slot) return {};
    }
    if (declared == kNone || !is_constant(inst(declared).args[0]) ||
        analysis_.loop[declared] != analysis_.loop[at])
      return {};
    g.declared.push_back(declared);
  }
  return g;
}

uint32_t Compiler::loop(uint32_t at) {
  if (!gathering_)
    if (auto g = gathering_of(at)) return gather(at, std::move(*g));
  return rounds(at);
}

uint32_t Compiler::gather(uint32_t at, Gathering gathering) {
  gathering.retry = target_.no_retry(gathering.type);
  gathering_ = std::move(gathering);
  const uint32_t after = rounds(at);
  const Gathering done = *std::exchange(gathering_, {});
  for (const auto& [set, other] : done.others)
    for (uint32_t k = 0; k < unroll_; k++)
      target_.retry_if_unsure(definition(inst(set).args[0]).op, done.type, done.retry,
                              variables_[inst(set).slot].vectors[k]);
  const Label again = label(), end = label();
  target_.jump_if_retry(done.type, done.retry, again);
  target_.jump(end);
  target_.seldom(again, end);
  bind(again);
  for (const uint32_t declared : done.declared) put_in_variable(inst(declared));
  rounds(at);
  bind(end);
  return after;
}

const std::vector<uint32_t>* Compiler::gathered_by(uint32_t at) const {
  if (!gathering_) return nullptr;
  const auto found = gathering_->others.find(at);
  return found == gathering_->others.end() ? nullptr : &found->second;
}

// What a loop gathers into a variable of this chunk, if all of its lanes take part.
bool Compiler::gathered(uint32_t at) {
  const auto* const others = gathered_by(at);
  if (others == nullptr || !masks_.empty()) return false;
  const Inst& i = inst(at);
  const Op op = definition(i.args[0]).op;
  const Value& v = variables_[i.slot];
  for (const uint32_t other : *others)
    for (uint32_t k = 0; k < unroll_;) {
      std::array<BaseReg, 2> x;
      const uint32_t n = std::min(2u, unroll_ - k);
      for (uint32_t j = 0; j < n; j++) x[j] = target_.in_register(i.type, operand(other, k + j));
      target_.retry_if_nan(i.type, gathering_->retry, x[0], x[n - 1]);
      for (uint32_t j = 0; j < n; j++, k++)
        put_in_vector(i, k, target_.gather_extreme(op, i.type, x[j], v.vectors[k]));
    }
  return true;
}

// Of one vector, of which lanes may take no part: what the variable has there is gathered once
// more.
bool Compiler::gathered_vector(uint32_t at, uint32_t k) {
  const auto* const others = gathered_by(at);
  if (others == nullptr) return false;
  const Inst& i = inst(at);
  for (const uint32_t other : *others) {
    const Operand of_all = variables_[i.slot].vectors[k];
    BaseReg x = target_.in_register(i.type, operand(other, k));
    if (!masks_.empty()) x = target_.blend(i.type, masks_[k], x, of_all);
    target_.retry_if_nan(i.type, gathering_->retry, x, x);
    put_in_vector(i, k, target_.gather_extreme(definition(i.args[0]).op, i.type, x, of_all));
  }
  return true;
}

}  // namespace hologram::jit
