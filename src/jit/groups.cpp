// Workgroups whose lanes work together: the regions between their reductions, and those.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

constexpr uint32_t kMostReduces = 8, kGroupRow = 5;  // of a region; the first row of lanes
constexpr Op kCombineOps[] = {Op::Add, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor};

}  // namespace

// The last region of a workgroup waits for what the others have combined, and nothing that it
// computes is waited for: it comes behind the first region of the next workgroup, which the
// processor goes on with meanwhile.
void Compiler::groups() {
  const BaseReg frame = target_.argument(), end = target_.scalar();
  group_ = target_.scalar();
  group_start_ = target_.scalar();
  target_.load_scalar(group_, Address{frame, {}, offsetof(Frame, x_begin)}, 8, false);
  target_.load_scalar(end, Address{frame, {}, offsetof(Frame, x_end)}, 8, false);
  const auto go_to_group = [&] {
    target_.scalar_op(Op::Mul, DType::I64, group_start_, group_, asmjit::imm(module_.workgroup[0]));
  };
  const auto n = static_cast<uint32_t>(module_.body.insts.size());
  const auto one_after_the_other = [&](const auto& parts) {
    const Label next = label();
    bind(next);
    go_to_group();
    parts();
    target_.scalar_op(Op::Add, DType::I64, group_, group_, asmjit::imm(1));
    target_.jump_if(Cond::Less, group_, end, true, next);
  };
  if (!analysis_.group_loops.empty()) return one_after_the_other([&] { group_parts(0, n); });
  const std::vector<Region> all = regions(0, n);
  const Region &first = all.front(), &last = all.back();
  const Label next = label(), done = label();
  if (all.size() == 1 || lanes_at_work(last) < module_.workgroup[0])
    return one_after_the_other([&] {
      for (const Region& r : all) group_region(r);
    });
  go_to_group();
  group_region(first);
  bind(next);
  for (size_t k = 1; k + 1 < all.size(); k++) group_region(all[k]);
  hoist(last.begin, last.end, true);
  const BaseReg ahead = group_start_, here = target_.scalar();
  target_.copy(here, ahead);
  target_.scalar_op(Op::Add, DType::I64, group_, group_, asmjit::imm(1));
  target_.jump_if(Cond::GreaterEqual, group_, end, true, done);
  go_to_group();
  const std::vector<Value> values = values_;
  const auto divisors = divisors_;
  const auto limits = limits_;
  group_region(first);
  const std::vector<Value> values_ahead = std::exchange(values_, values);
  const auto divisors_ahead = std::exchange(divisors_, divisors);
  const auto limits_ahead = std::exchange(limits_, limits);
  group_start_ = here;
  region(last);
  const auto is_of_first = [&](uint32_t id) {
    const uint32_t at = analysis_.definition[id];
    return at < first.after && form(id) == Form::Uniform && analysis_.by_row[id] &&
           analysis_.uses[id].count > 0 && analysis_.uses[id].last >= first.after;
  };
  const auto copy = [&](uint32_t id, const Operand& to, const Operand& from) {
    if (to.isReg()) target_.copy_vector(type(id), to.as<BaseReg>(), from);
  };
  for (uint32_t id = 0; id < values.size(); id++) {
    if (!is_of_first(id)) continue;
    if (values[id].scalar.isValid()) target_.copy(values[id].scalar, values_ahead[id].scalar);
    copy(id, values[id].vectors[0], values_ahead[id].vectors[0]);
  }
  for (const auto& [id, now] : divisors_ahead) {
    if (!is_of_first(id)) continue;
    const Target::Divisor& to = divisors.at(id);
    copy(id, to.value, now.value);
    copy(id, to.reciprocal, now.reciprocal);
    copy(id, to.limit, now.limit);
  }
  for (const auto& [limit, now] : limits_ahead)
    if (is_of_first(limit.first)) copy(limit.first, limits.at(limit), now);
  target_.jump(next);
  bind(done);
  region(last);
  group_start_ = ahead;
}

// One, with what is combined at its end.
void Compiler::group_region(const Region& r) {
  hoist(r.begin, r.end, true);
  region(r);
  uint32_t number = 0;
  for (uint32_t at = r.end; at < r.after; at++) {
    if (inst(at).op == Op::GroupReduce) {
      reduce(inst(at), number++);
    } else {
      if (!hoisted_[at] || !analysis_.by_row[inst(at).id]) continue;
      unroll_ = 1;
      instruction(at);
    }
    prepare(inst(at).id);
  }
}

// ---- Loops in which lanes are combined ----------------------------------------------------------

// The body, or that of a loop: regions, loops of them, and what comes between.
void Compiler::group_parts(uint32_t begin, uint32_t end) {
  const auto until = [&](uint32_t to) {
    std::vector<Region> parts = regions(begin, to);
    const uint32_t rest = parts.back().begin;
    parts.pop_back();
    for (const Region& r : parts) group_region(r);
    if (const uint32_t from = same_for_all(rest, to); from < to) region({from, to, to});
  };
  for (uint32_t at = begin; at < end; at++) {
    if (!analysis_.group_loops.contains(at)) continue;
    until(at);
    group_loop(at);
    at = analysis_.close[at];
    begin = at + 1;
  }
  until(end);
}

void Compiler::group_loop(uint32_t at) {
  count_rounds(
      at, [](BaseReg, BaseReg, Label) {},
      [&](Label) {
        group_parts(at + 1, analysis_.close[at]);
        take_fuel();
      });
}

// Once, and not for each chunk of lanes: variables that all of them share may be set here. What
// differs between lanes is computed where they need it; the first instruction for which that will
// not do is where the lanes' work begins.
uint32_t Compiler::same_for_all(uint32_t begin, uint32_t end) {
  hoist(begin, end, true);
  unroll_ = 1;
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = inst(at);
    if (hoisted_[at]) continue;
    if (opens_block(i)) {
      const uint32_t close = analysis_.close[at];
      for (uint32_t k = at; k < close; k++)
        if (!is_same_for_all(k)) return at;
      emit(at, close + 1);
      at = close;
    } else if (is_same_for_all(at)) {
      instruction(at);
      if (i.id != kNone) prepare(i.id);
    } else if (!gives_the_same_again(i)) {
      return at;
    }
  }
  return end;
}

// Whether it has to do with no lane of its own.
bool Compiler::is_same_for_all(uint32_t at) const {
  const Inst& i = inst(at);
  switch (i.op) {
    case Op::Var:
    case Op::Set: return analysis_.variables[i.slot] == Form::Uniform;
    case Op::If: return form(i.args[0]) == Form::Uniform;
    case Op::Loop: return false;
    case Op::Else:
    case Op::End: return true;
    default: return i.id != kNone && i.op != Op::Atomic && form(i.id) == Form::Uniform;
  }
}

// ---- Regions ------------------------------------------------------------------------------------

std::vector<Compiler::Region> Compiler::regions(uint32_t begin, uint32_t end) const {
  std::vector<Region> out;
  for (uint32_t at = begin; at < end; at++) {
    if (inst(at).op != Op::GroupReduce) continue;
    Region r = {begin, at, at + 1};
    uint32_t reduces = 1;
    for (uint32_t next = at + 1; reduces < kMostReduces && follows_reduce(next, end, at); next++) {
      if (inst(next).op != Op::GroupReduce) continue;
      reduces++;
      r.after = next + 1;
    }
    out.push_back(r);
    begin = r.after;
    at = begin - 1;
  }
  out.push_back({begin, end, end});
  return out;
}

// Whether this may stand between reductions of one region, of which `first` is the first: another
// one unless it combines what they give, and what has nothing to do with lanes but to read their
// variables.
bool Compiler::follows_reduce(uint32_t at, uint32_t end, uint32_t first) const {
  if (at >= end) return false;
  const Inst& i = inst(at);
  if (i.op != Op::GroupReduce) return i.op == Op::Get || i.op == Op::Const || hoisted_[at];
  const uint32_t combined = analysis_.definition[i.args[0]];
  return combined < first || inst(combined).op == Op::Get || inst(combined).op == Op::Const;
}

// ---- Reductions of a workgroup ------------------------------------------------------------------

// The last chunk of a workgroup leaves its lanes in their registers.
void Compiler::keep_lanes(const Inst& reduce, uint32_t number) {
  auto& kept = kept_.emplace_back();
  for (uint32_t k = 0; k < unroll_; k++) kept.push_back(operand(reduce.args[0], k));
  if (lanes() == module_.workgroup[0]) return;
  const BaseReg at = target_.row(kGroupRow + number);
  target_.address_of(at, {at, x_, 0, static_cast<uint8_t>(size_of(reduce.type))});
  for (uint32_t k = 0; k < unroll_; k++)
    target_.to_row(reduce.type, at, k * target_.width, kept[k]);
  const auto is_register = [](const Operand& lane) { return lane.isReg(); };
  if (!std::all_of(kept.begin(), kept.end(), is_register)) kept.clear();
}

// A vector of the lanes that a workgroup combines.
Operand Compiler::lanes_of_group(const Inst& reduce, uint32_t number, uint32_t k) {
  const std::vector<Operand>& kept = kept_[number];
  const uint32_t before = module_.workgroup[0] / target_.width - static_cast<uint32_t>(kept.size());
  if (k >= before) return kept[k - before];
  const BaseReg row = target_.row(kGroupRow + number);
  const auto element = static_cast<uint8_t>(size_of(reduce.type));
  const auto bytes = static_cast<int32_t>(k * target_.width * element);
  if (auto there = target_.in_memory(reduce.type, {row, {}, bytes, element})) return *there;
  return target_.from_row(reduce.type, row, k * target_.width);
}

// The tree of the language: lanes half a workgroup apart first.
void Compiler::reduce(const Inst& i, uint32_t number) {
  const uint32_t n = module_.workgroup[0] / target_.width;
  if (i.type == DType::Bool || i.aux >= std::size(kCombineOps))
    throw Refused{"it combines bools over a workgroup"};
  const Op op = kCombineOps[i.aux];
  std::vector<Operand> lanes;  // each where it is used, or before if all are looked at first
  const auto lane = [&](uint32_t k) {
    return lanes.empty() ? lanes_of_group(i, number, k) : lanes[k];
  };
  const BaseReg result = target_.vector(i.type);
  const auto tree = [&](const auto& combine) {
    // Vector k of `left` that are left: of few registers, as one branch comes after the other.
    const auto vector = [&](const auto& self, uint32_t k, uint32_t left) -> Operand {
      if (left == n) return lane(k);
      const Operand a = self(self, k, 2 * left);
      return combine(a, self(self, k + left, 2 * left));
    };
    Operand v = vector(vector, 0, 1);
    const auto element = static_cast<uint32_t>(size_of(i.type));
    for (uint32_t half = target_.width * element / 2; half >= element; half /= 2)
      v = combine(v, target_.upper_half(i.type, target_.in_register(i.type, v), half));
    target_.copy_vector(i.type, result, v);
  };
  const Label done = label(), careful = label();
  // NaN is rare, and so are zeros of both signs: to look out for them at every step takes most of
  // the time.
  const bool extreme = is_float(i.type) && (op == Op::Min || op == Op::Max);
  if (extreme)
    for (uint32_t k = 0; k < n; k++) lanes.push_back(lanes_of_group(i, number, k));
  if (extreme && target_.jump_if_nan(i.type, lanes, careful)) {
    const bool mixes = target_.mixes_zeros();
    tree([&](const Operand& a, const Operand& b) {
      return mixes ? target_.strict_extreme(op, i.type, a, b)
                   : target_.extreme_of_numbers(op, i.type, a, b);
    });
    if (mixes) target_.jump_if_zero(i.type, result, careful);
    target_.jump(done);
  }
  bind(careful);
  tree([&](const Operand& a, const Operand& b) {
    const Operand in[] = {a, b};
    const auto r = target_.pure(op, i.type, i.type, in, 0);
    if (!r) throw Refused{"it combines lanes by an operation that is not compiled"};
    return *r;
  });
  bind(done);
  if (is_float(i.type)) {
    const BaseReg all = target_.vector(i.type);
    target_.broadcast_first(i.type, all, result);
    values_[i.id].vectors[0] = all;
    return;
  }
  const BaseReg r = target_.scalar();
  target_.first_lane(i.type, r, result);
  define_scalar(i.id, r);
}

}  // namespace hologram::jit
