// Pure operations: on scalars where all lanes agree, on vectors where they differ.
#include <algorithm>
#include <optional>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

std::optional<Cond> condition_of(Op op, DType from) {
  const bool is_unsigned = is_unsigned_integer(from) || from == DType::Bool;
  switch (op) {
    case Op::Eq: return Cond::Equal;
    case Op::Ne: return Cond::NotEqual;
    case Op::Lt: return is_unsigned ? Cond::Below : Cond::Less;
    case Op::Le: return is_unsigned ? Cond::BelowEqual : Cond::LessEqual;
    case Op::Gt: return is_unsigned ? Cond::Above : Cond::Greater;
    case Op::Ge: return is_unsigned ? Cond::AboveEqual : Cond::GreaterEqual;
    default: return {};
  }
}

bool fits(int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; }

// Of a constant, as a signed number of its own width.
int64_t number(const Inst& i) {
  if (i.type == DType::I32) return static_cast<int32_t>(i.imm);
  if (i.type == DType::U32) return static_cast<uint32_t>(i.imm);
  return static_cast<int64_t>(i.imm);
}

}  // namespace

// ---- Operands -----------------------------------------------------------------------------------

Operand Compiler::operand(uint32_t value, uint32_t k) {
  const DType t = type(value);
  const Inst& d = definition(value);
  if (d.op == Op::Const) return target_.constant(t, d.imm);
  const Value& v = values_[value];
  switch (form(value)) {
    case Form::Varying: return v.later ? v.later(k) : v.vectors[k];
    case Form::Affine: {
      const BaseReg r = target_.vector(t);
      target_.affine(t, r, v.scalar, analysis_.steps[value], int64_t{k} * target_.width);
      return r;
    }
    case Form::Uniform: break;
  }
  if (is_float(t) || analysis_.as_vector[value]) return v.vectors[0];
  const BaseReg r = target_.vector(t);
  target_.broadcast(t, r, v.scalar);
  return r;
}

BaseReg Compiler::scalar_of(uint32_t value) {
  const Inst& d = definition(value);
  if (d.op != Op::Const) return values_[value].scalar;
  const BaseReg r = target_.scalar();
  target_.set(r, number(d));
  return r;
}

Operand Compiler::scalar_operand(uint32_t value) {
  const Inst& d = definition(value);
  if (d.op == Op::Const && d.type != DType::Bool) {
    const int64_t n = d.type == DType::U32 ? static_cast<int32_t>(d.imm) : number(d);
    if (fits(n)) return asmjit::imm(n);
  }
  return scalar_of(value);
}

BaseReg Compiler::extended(uint32_t value) {
  if (const auto known = tested_.first.find(value); known != tested_.first.end())
    return known->second;
  const BaseReg r = target_.scalar();
  if (is_constant(value)) target_.set(r, number(definition(value)));
  else target_.extend(r, values_[value].scalar, type(value));
  return r;
}

void Compiler::define_scalar(uint32_t id, BaseReg r) {
  Value& v = values_[id];
  v.scalar = r;
  if (!analysis_.as_vector[id] || form(id) != Form::Uniform) return;
  const BaseReg lanes = target_.vector(type(id));
  target_.broadcast(type(id), lanes, r);
  v.vectors[0] = lanes;
}

void Compiler::define_uniform(uint32_t id, const Operand& v) {
  if (is_float(type(id))) {
    values_[id].vectors[0] = v;
    return;
  }
  const BaseReg r = target_.scalar();
  target_.first_lane(type(id), r, v);
  define_scalar(id, r);
}

// ---- Operations ---------------------------------------------------------------------------------

void Compiler::pure(uint32_t at) {
  const Inst& i = inst(at);
  if (analysis_.uses[i.id].count == 0) return;
  switch (form(i.id)) {
    case Form::Uniform: return uniform(i);
    case Form::Affine: return affine(i);
    case Form::Varying: return varying(at);
  }
}

// The first lane's value; the analysis knows the step.
void Compiler::affine(const Inst& i) {
  const BaseReg r = target_.scalar();
  const BaseReg a = scalar_of(i.args[0]);
  switch (i.op) {
    case Op::Neg: {
      const BaseReg zero = target_.scalar();
      target_.set(zero, 0);
      target_.scalar_op(Op::Sub, i.type, r, zero, a);
      break;
    }
    case Op::Cast:
    case Op::Bitcast: target_.copy(r, a); break;
    default: target_.scalar_op(i.op, i.type, r, a, scalar_operand(i.args[1]));
  }
  values_[i.id].scalar = r;
}

void Compiler::uniform(const Inst& i) {
  if (!is_float(i.type) && !is_float(i.from) && uniform_integer(i)) return;
  if (i.type == DType::Bool && is_float(i.from) && program::arity(i) == 2) {
    const BaseReg r = target_.scalar();
    if (target_.compare_first(i.op, i.from, r, operand(i.args[0], 0), operand(i.args[1], 0)))
      return define_scalar(i.id, r);
  }
  if (i.op == Op::Select && i.type != DType::Bool) {
    const BaseReg condition = target_.vector(DType::Bool);
    target_.broadcast(DType::Bool, condition, scalar_of(i.args[0]));
    return define_uniform(
        i.id, target_.blend(i.type, condition, operand(i.args[1], 0), operand(i.args[2], 0)));
  }
  // A cast of a 64-bit integer has no vector to begin with where lanes have 32 bits.
  const bool too_wide = !analysis_.wide && (size_of(i.from) == 8 || size_of(i.type) == 8);
  if (!too_wide) {
    std::array<Operand, 3> in;
    const size_t n = program::arity(i);
    for (size_t k = 0; k < n; k++) in[k] = operand(i.args[k], 0);
    if ((i.op == Op::Shl || i.op == Op::Shr) && is_constant(i.args[1]))
      in[1] = scalar_operand(i.args[1]);
    if (const auto r = target_.pure(i.op, i.type, i.from, {in.data(), n}, 0))
      return define_uniform(i.id, *r);
  }
  call_kernel(i);
}

bool Compiler::uniform_integer(const Inst& i) {
  const BaseReg r = target_.scalar();
  const bool wide = size_of(i.from) == 8;
  if (const auto condition = condition_of(i.op, i.from)) {
    target_.scalar_compare(r, *condition, scalar_of(i.args[0]), scalar_operand(i.args[1]), wide);
  } else if (i.op == Op::Select) {
    target_.scalar_select(r, scalar_of(i.args[0]), scalar_of(i.args[1]), scalar_of(i.args[2]));
  } else if (i.op == Op::Not) {
    target_.scalar_not(r, scalar_of(i.args[0]), i.type);
  } else if (i.op == Op::Bitcast) {
    target_.copy(r, scalar_of(i.args[0]));
  } else if (i.op == Op::Neg) {
    const BaseReg zero = target_.scalar();
    target_.set(zero, 0);
    target_.scalar_op(Op::Sub, i.type, r, zero, scalar_of(i.args[0]));
  } else if (i.op == Op::Cast) {
    const BaseReg a = scalar_of(i.args[0]);
    if (i.type == DType::Bool) target_.scalar_compare(r, Cond::NotEqual, a, asmjit::imm(0), wide);
    else if (size_of(i.type) == 8 && i.from != DType::Bool) target_.extend(r, a, i.from);
    else target_.copy(r, a);
  } else if (i.op == Op::Wrap8 || i.op == Op::Wrap16) {
    const asmjit::Imm above = asmjit::imm(i.op == Op::Wrap8 ? 24 : 16);
    target_.scalar_op(Op::Shl, i.type, r, scalar_of(i.args[0]), above);
    target_.scalar_op(Op::Shr, i.type, r, r, above);
  } else if (program::arity(i) == 2) {
    const bool in_register = i.op == Op::Min || i.op == Op::Max;
    const Operand b = in_register ? Operand(scalar_of(i.args[1])) : scalar_operand(i.args[1]);
    if (!target_.scalar_op(i.op, i.type == DType::Bool ? DType::U32 : i.type, r,
                           scalar_of(i.args[0]), b))
      return false;
  } else {
    return false;
  }
  define_scalar(i.id, r);
  return true;
}

// Operands whose registers nobody looks at again, so that the result may take them.
uint32_t Compiler::dying(uint32_t at) const {
  const Inst& i = inst(at);
  uint32_t bits = 0;
  for (size_t k = 0; k < program::arity(i); k++) {
    const uint32_t value = i.args[k];
    const Use& use = analysis_.uses[value];
    if (form(value) == Form::Affine) {
      bits |= 1u << k;  // made for this operation
      continue;
    }
    if (form(value) != Form::Varying || use.last != at || use.in_loop) continue;
    const Inst& d = definition(value);
    bool twice = false;
    for (size_t j = 0; j < program::arity(i); j++) twice = twice || (j != k && i.args[j] == value);
    const uint32_t kept_before = std::max(recomputed_before_, bail_.isValid() ? bail_from_ : 0);
    if (twice || analysis_.definition[value] < kept_before) continue;
    // The register of a variable, of which the next thing that happens to it is that it takes this
    // result.
    if (d.op == Op::Get) {
      const Use& result = analysis_.uses[i.id];
      const bool next = result.count == 1 && result.first == at + 1 && inst(at + 1).op == Op::Set &&
                        inst(at + 1).slot == d.slot;
      const bool all = masks_.empty() || variables_[d.slot].level == level_;
      if (!next || !all) continue;
      return 1u << k;  // the best place for the result
    } else if (!program::is_pure(d.op) && d.op != Op::Load) {
      continue;
    }
    bits |= 1u << k;
  }
  return bits;
}

// A value that does not differ between lanes, for those that do and are divided or limited by it.
void Compiler::prepare(uint32_t value) {
  if (!is_float(type(value))) return;
  prepare_limits(value);
  const auto divides = [&](const Inst& i) {
    return i.op == Op::Div && i.args[1] == value && form(i.id) == Form::Varying;
  };
  const auto& all = module_.body.insts;
  if (std::none_of(all.begin(), all.end(), divides)) return;
  if (const auto known = target_.divisor(type(value), operand(value, 0)))
    divisors_.insert_or_assign(value, *known);
}

// ---- Operands that are computed along -----------------------------------------------------------

namespace {

// Of two floats the one that is less, or more, than the other; the second where neither is, which
// zeros of both signs are not, and NaN. That is what some processors call the minimum.
std::optional<Op> extreme(const Inst& compares, const Inst& select) {
  if ((compares.op != Op::Lt && compares.op != Op::Gt) || !is_float(compares.from)) return {};
  const bool first = select.args[1] == compares.args[0] && select.args[2] == compares.args[1];
  const bool second = select.args[1] == compares.args[1] && select.args[2] == compares.args[0];
  if (!first && !second) return {};
  return (compares.op == Op::Lt) == first ? Op::Min : Op::Max;
}

}  // namespace

// What the only one who uses it computes along with itself: a comparison of floats of which the
// opposite is asked for, or which chooses one of them, and bits that are combined with others.
bool Compiler::absorbed(uint32_t at) const {
  const Inst& i = inst(at);
  if (i.id == kNone || form(i.id) != Form::Varying) return false;
  const Use& use = analysis_.uses[i.id];
  if (use.count != 1) return false;
  const Inst& user = inst(use.first);
  const bool compares = i.op >= Op::Eq && i.op <= Op::Ge && is_float(i.from);
  if (compares && user.op == Op::Not) return use.first == at + 1;
  const bool chooses = compares && user.op == Op::Select && user.args[0] == i.id &&
                       target_.has_strict_extremes() && extreme(i, user).has_value();
  const bool combines = i.op == Op::And && i.type != DType::Bool &&
                        (user.op == Op::Xor || user.op == Op::Or) &&
                        target_.combines_three(i.type) &&
                        (user.args[1] == i.id || definition(user.args[1]).op != Op::And);
  if (!chooses && !combines) return false;
  // The operands must be there still.
  if (analysis_.waits_for[at] != kNone || analysis_.waits_for[use.first] != kNone ||
      form(user.id) != Form::Varying)
    return false;
  for (uint32_t k = at + 1; k < use.first; k++)
    if (!program::is_pure(inst(k).op)) return false;
  return true;
}

// Roots and quotients of which some are made by multiplications.
bool Compiler::root_or_quotient(uint32_t at) {
  const Inst& i = inst(at);
  const bool divides = i.op == Op::Div, is_root = i.op == Op::Sqrt;
  const uint32_t steps = divides ? by_steps_.quotients : is_root ? by_steps_.roots : 0;
  if (steps == 0 || i.type != DType::F32) return false;
  std::array<Operand, kMaxUnroll> a, b;
  for (uint32_t k = 0; k < unroll_; k++) {
    a[k] = operand(i.args[0], k);
    if (divides) b[k] = operand(i.args[1], k);
  }
  const uint32_t of_these = std::min(steps, unroll_);
  std::span<Operand> to = values_[i.id].vectors;
  if (divides) target_.quotients(of_these, {a.data(), unroll_}, {b.data(), unroll_}, to);
  else target_.roots(of_these, {a.data(), unroll_}, to);
  return true;
}

void Compiler::varying(uint32_t at) {
  const Inst& i = inst(at);
  if (absorbed(at)) return;
  if (const auto by = divisors_.find(i.args[1]); i.op == Op::Div && by != divisors_.end()) {
    std::array<Operand, kMaxUnroll> dividends;
    for (uint32_t k = 0; k < unroll_; k++) dividends[k] = operand(i.args[0], k);
    return target_.divide(by->second, {dividends.data(), unroll_}, values_[i.id].vectors);
  }
  if (root_or_quotient(at)) return;
  if (multiply_whole(at)) return;
  const uint32_t dies = dying(at);
  if (i.id != kNone && analysis_.waits_for[at] != kNone) {
    values_[i.id].later = [this, at, dies](uint32_t k) { return *compute(at, k, dies); };
    return;
  }
  for (uint32_t k = 0; k < unroll_; k++) {
    const auto r = compute(at, k, dies);
    if (!r) return call_kernel(i);
    values_[i.id].vectors[k] = *r;
  }
}

// The upper half of a product along with the lower one, which follows soon.
bool Compiler::multiply_whole(uint32_t at) {
  constexpr uint32_t kSoon = 8;
  const Inst& i = inst(at);
  if (i.op != Op::MulHi || size_of(i.type) != 4 || !target_.has_whole_products()) return false;
  uint32_t lower = kNone;
  for (uint32_t k = at + 1; k <= at + kSoon && program::is_pure(inst(k).op) && lower == kNone;
       k++) {
    const Inst& j = inst(k);
    const bool same = (j.args[0] == i.args[0] && j.args[1] == i.args[1]) ||
                      (j.args[0] == i.args[1] && j.args[1] == i.args[0]);
    if (j.op == Op::Mul && j.type == i.type && form(j.id) == Form::Varying && same) lower = k;
  }
  if (lower == kNone || analysis_.uses[inst(lower).id].count == 0) return false;
  const bool swap = form(i.args[0]) == Form::Uniform;
  const uint32_t a = i.args[swap ? 1 : 0], b = i.args[swap ? 0 : 1];
  for (uint32_t k = 0; k < unroll_; k++) {
    const auto [high, low] =
        target_.whole_products(i.type, operand(a, k), operand(b, k), form(b) == Form::Uniform);
    values_[i.id].vectors[k] = high;
    values_[inst(lower).id].vectors[k] = low;
  }
  done_.insert(lower);
  return true;
}

// One vector; none if that is left to a kernel.
std::optional<BaseReg> Compiler::compute(uint32_t at, uint32_t k, uint32_t dies) {
  const Inst& i = inst(at);
  if (auto by_one = limited(i, k)) return by_one;
  const size_t n = program::arity(i);
  for (size_t j = 0; j < n; j++)
    if (absorbed(analysis_.definition[i.args[j]])) return with_absorbed(i, j, k);
  std::array<Operand, 3> in;
  for (size_t j = 0; j < n; j++) {
    const auto known = std::find(i.args.begin(), i.args.begin() + j, i.args[j]);
    const auto same = static_cast<size_t>(known - i.args.begin());
    in[j] = same < j ? in[same] : operand(i.args[j], k);
  }
  if ((i.op == Op::Shl || i.op == Op::Shr) && is_constant(i.args[1]))
    in[1] = asmjit::imm(static_cast<int64_t>(definition(i.args[1]).imm));
  if (i.op == Op::Select) in[0] = target_.in_register(DType::Bool, in[0]);
  return target_.pure(i.op, i.type, i.from, {in.data(), n}, dies);
}

// The same, along with its operand `which`.
BaseReg Compiler::with_absorbed(const Inst& i, size_t which, uint32_t k) {
  const Inst& a = definition(i.args[which]);
  const Operand in[] = {operand(a.args[0], k), operand(a.args[1], k)};
  if (i.op == Op::Not) return target_.compare_not(a.op, a.from, in);
  if (i.op == Op::Select)
    return target_.strict_extreme(*extreme(a, i), i.type, operand(i.args[1], k),
                                  operand(i.args[2], k));
  return target_.combine_three(i.op, i.type, operand(i.args[1 - which], k), in[0], in[1]);
}

// ---- The interpreter's kernels, for the rest ----------------------------------------------------

interp::Kernel Compiler::kernel_of(const Inst& i) const {
  const interp::Kernel kernel = i.op == Op::Cast     ? kernels_.cast(i.from, i.type)
                                : i.op == Op::Select ? kernels_.at(i.op, i.type)
                                                     : kernels_.at(i.op, i.from);
  if (kernel == nullptr) throw Refused{"it has an operation that no kernel computes"};
  return kernel;
}

// Rows 1 to 3 are the operands, row 0 the result, row 4 the list of operands. A kernel works on
// groups of 16 lanes; what it makes of lanes behind the last is not looked at.
void Compiler::call_kernel(const Inst& i) {
  const interp::Kernel kernel = kernel_of(i);
  const bool one = form(i.id) == Form::Uniform;
  const uint32_t vectors = one ? 1 : unroll_, width = target_.width;
  const BaseReg list = target_.row(4);
  const size_t n = program::arity(i);
  for (size_t j = 0; j < n; j++) {
    const uint32_t value = i.args[j];
    const DType t = type(value);
    const BaseReg row = target_.row(static_cast<uint32_t>(j) + 1);
    const bool same = form(value) == Form::Uniform;
    if (same && !is_float(t) && one) {
      target_.store_scalar({row}, scalar_of(value), t == DType::Bool ? 1 : size_of(t));
    } else if (same) {
      for (uint32_t lane = 0; lane < interp::kGroup; lane += width)
        target_.to_row(t, row, lane, operand(value, 0));
    } else {
      for (uint32_t k = 0; k < vectors; k++) target_.to_row(t, row, k * width, operand(value, k));
    }
    constexpr auto kLanes = static_cast<int64_t>(interp::kGroup);
    const int64_t group = t == DType::Bool ? kLanes / 8 : kLanes * static_cast<int64_t>(size_of(t));
    const BaseReg step = target_.scalar();
    target_.set(step, same ? 0 : group);
    const auto at = static_cast<int32_t>(j * sizeof(interp::Operand));
    static_assert(sizeof(interp::Operand) == 16);
    target_.store_scalar({list, {}, at}, row, 8);
    target_.store_scalar({list, {}, at + 8}, step, 8);
  }
  const BaseReg out = target_.row(0), groups = target_.scalar();
  target_.set(groups, std::max<int64_t>(
                          1, int64_t{vectors} * width / static_cast<int64_t>(interp::kGroup)));
  const BaseReg arguments[] = {out, list, groups};
  target_.call(asmjit::imm(reinterpret_cast<uint64_t>(kernel)), arguments, {});
  const BaseReg result = target_.row(0);
  if (one && !is_float(i.type)) {
    const BaseReg r = target_.scalar();
    if (i.type == DType::Bool) {
      target_.load_scalar(r, {result}, 1, false);
      target_.scalar_op(Op::And, DType::U32, r, r, asmjit::imm(1));
    } else {
      target_.load_scalar(r, {result}, static_cast<uint32_t>(size_of(i.type)), true);
    }
    return define_scalar(i.id, r);
  }
  if (one) {
    // Only the first lane is right.
    const BaseReg r = target_.scalar(), lanes = target_.vector(i.type);
    target_.load_scalar(r, {result}, static_cast<uint32_t>(size_of(i.type)), true);
    target_.broadcast(i.type, lanes, r);
    values_[i.id].vectors[0] = lanes;
    return;
  }
  for (uint32_t k = 0; k < vectors; k++)
    values_[i.id].vectors[k] = target_.from_row(i.type, result, k * width);
}

}  // namespace hologram::jit
