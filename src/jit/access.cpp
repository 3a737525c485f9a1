// Loads and stores.
#include <algorithm>

#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

constexpr int32_t kLinesAhead = 16;  // of loads and stores that follow each other

// Where an index below 0 is no index either, one comparison of unsigned numbers tells all.
DType unsigned_of(DType index) { return size_of(index) == 8 ? DType::U64 : DType::U32; }

}  // namespace

// Of the first of a chunk's elements; those of its other vectors follow it.
Address Compiler::run_address(uint32_t slot, BaseReg index) {
  const auto element = static_cast<uint8_t>(size_of(module_.buffers[slot].type));
  Address whole{data_[slot], index, 0, element};
  if (unroll_ == 1 || target_.takes_whole_addresses()) return whole;
  const BaseReg sum = target_.scalar();
  target_.address_of(sum, whole);
  return {sum, {}, 0, element};
}

// The first lane's, of 64 bits. If all lanes take part and theirs are proved to lie inside, it is
// not below 0, and what computes 32 bits leaves zeros above them.
BaseReg Compiler::index_of(const Inst& i) {
  const uint32_t index = i.args[0];
  const bool is_there = masks_.empty() && i.proved && form(index) == Form::Affine &&
                        size_of(type(index)) == 4 && has_zeros_above(index);
  return is_there ? values_[index].scalar : extended(index);
}

// Whether the register of the first lane's value, if that is not below 0, is that of 64 bits.
bool Compiler::has_zeros_above(uint32_t value) const {
  const Inst& i = definition(value);
  switch (i.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::LaneId: return true;
    case Op::GlobalId: return x_is_guarded_;
    case Op::Cast:
    case Op::Bitcast: return size_of(i.from) == 4 && has_zeros_above(i.args[0]);
    default: return false;
  }
}

bool Compiler::neighbours(uint32_t index) const {
  return form(index) == Form::Affine && analysis_.steps[index] == 1;
}

// Lanes of vector k that take part and whose index lies inside the buffer; none if that is all.
BaseReg Compiler::inside(const Inst& i, uint32_t k) {
  if (i.proved || tested_.inside.contains({i.slot, i.args[0]})) return mask(k);
  const DType t = type(i.args[0]);
  const DType bits = unsigned_of(t);
  const BaseReg length = target_.vector(bits);
  target_.broadcast(bits, length, lengths_[i.slot]);
  const Operand in[] = {target_.in_register(t, operand(i.args[0], k)), length};
  const BaseReg is_inside = *target_.pure(Op::Lt, DType::Bool, bits, in, 0);
  return masks_.empty() ? is_inside : target_.mask_and(masks_[k], is_inside);
}

void Compiler::measure_rooms() {
  for (size_t slot = 0; slot < lengths_.size(); slot++) {
    if (!lengths_[slot].isValid()) continue;
    const BaseReg none = target_.scalar();
    target_.set(none, 0);
    rooms_[slot] = target_.scalar();
    target_.scalar_op(Op::Sub, DType::I64, rooms_[slot], lengths_[slot],
                      asmjit::imm(static_cast<int64_t>(lanes()) - 1));
    target_.scalar_op(Op::Max, DType::I64, rooms_[slot], rooms_[slot], none);
  }
}

// Whether all lanes are known to be inside from here on: what was not proved is tested, and a chunk
// with an index outside starts again where lanes have masks. That can be only while it has not
// written anything.
bool Compiler::inside_or_bail(const Inst& i, BaseReg index) {
  if (i.proved || tested_.inside.contains({i.slot, i.args[0]})) return true;
  if (!masks_.empty() || !bail_.isValid()) return false;
  target_.jump_if(Cond::AboveEqual, index, rooms_[i.slot], true, bail_);
  return true;
}

// Tests what instructions [begin, end) access by neighbours, before they do: of all lanes, or of
// the first `lanes`. If one is outside, on to `outside`; from here on they count as inside.
void Compiler::test_accesses(uint32_t begin, uint32_t end, BaseReg lanes, Label outside) {
  for (uint32_t at = begin; at < end; at++) {
    const Inst& i = inst(at);
    if (opens_block(i)) {
      at = analysis_.close[at];
      continue;
    }
    if ((i.op != Op::Load && i.op != Op::Store) || i.proved || !neighbours(i.args[0])) continue;
    if (tested_.inside.contains({i.slot, i.args[0]}) || !compute_early(i.args[0], begin)) continue;
    const BaseReg index = extended(i.args[0]);
    if (lanes.isValid()) {
      // The first index, which is not below 0 then, and the one after the last.
      target_.jump_if(Cond::AboveEqual, index, lengths_[i.slot], true, outside);
      const BaseReg last = target_.scalar();
      target_.scalar_op(Op::Add, DType::I64, last, index, lanes);
      target_.jump_if(Cond::Above, last, lengths_[i.slot], true, outside);
    } else {
      target_.jump_if(Cond::AboveEqual, index, rooms_[i.slot], true, outside);
    }
    tested_.inside.insert({i.slot, i.args[0]});
    tested_.first[i.args[0]] = index;
  }
}

// Whether the first lane's value of an index is known at `begin` or can be computed there.
bool Compiler::compute_early(uint32_t value, uint32_t begin) {
  const uint32_t at = analysis_.definition[value];
  const Inst& i = inst(at);
  if (at < begin || i.op == Op::Const) return true;
  if (form(value) == Form::Varying || (i.op != Op::Add && i.op != Op::Sub && i.op != Op::Mul))
    return false;
  for (size_t k = 0; k < program::arity(i); k++)
    if (!compute_early(i.args[k], begin)) return false;
  if (!tested_.computed.contains(at)) pure(at);
  tested_.computed.insert(at);
  return true;
}

// ---- Load ---------------------------------------------------------------------------------------

void Compiler::load(uint32_t at) {
  const Inst& i = inst(at);
  if (analysis_.uses[i.id].count == 0) return;
  const auto tuple = tuples_.find(at);
  if (form(i.id) == Form::Uniform) load_uniform(i);
  else if (tuple != tuples_.end()) load_tuple(at, tuple->second);
  else if (neighbours(i.args[0])) load_neighbours(at);
  else if (is_backward(i)) load_backward(i);
  else load_any(i);
}

// Neighbours, the last one first, of lanes that are all known to be inside.
bool Compiler::is_backward(const Inst& i) const {
  return i.proved && masks_.empty() && form(i.args[0]) == Form::Affine &&
         analysis_.steps[i.args[0]] == -1 && target_.turns(i.type);
}

void Compiler::load_backward(const Inst& i) {
  const Address first = run_address(i.slot, index_of(i));
  for (uint32_t k = 0; k < unroll_; k++) {
    Address at = first;
    at.bytes = -static_cast<int32_t>(((k + 1) * target_.width - 1) * at.element);
    values_[i.id].vectors[k] =
        target_.reversed(i.type, target_.load_run(module_.buffers[i.slot].type, at, {}));
  }
}

// Numbers that all lanes need stand in a vector at once. Whoever is trusted with an index has not
// wrapped it: what is added to it may as well be added to the address.
bool Compiler::broadcast_from_memory(const Inst& i, uint32_t element) {
  if (!i.trusted || module_.buffers[i.slot].type != i.type || i.type != DType::F32) return false;
  constexpr uint64_t kSmall = 1 << 16;
  uint32_t index = i.args[0];
  int32_t bytes = 0;
  const Inst& sum = inst(analysis_.definition[index]);
  if (sum.op == Op::Add && form(sum.args[0]) == Form::Uniform) {
    const Inst& added = inst(analysis_.definition[sum.args[1]]);
    if (added.op == Op::Const && added.imm < kSmall) {
      index = sum.args[0];
      bytes = static_cast<int32_t>(added.imm * element);
    }
  }
  const BaseReg lanes = target_.vector(i.type);
  if (!target_.broadcast_load(
          lanes, {data_[i.slot], extended(index), bytes, static_cast<uint8_t>(element)}))
    return false;
  values_[i.id].vectors[0] = lanes;
  return true;
}

void Compiler::load_uniform(const Inst& i) {
  const DType stored = module_.buffers[i.slot].type;
  const auto element = static_cast<uint32_t>(size_of(stored));
  if (broadcast_from_memory(i, element)) return;
  const BaseReg index = extended(i.args[0]), r = target_.scalar();
  const Label outside = label();
  target_.set(r, 0);
  if (!i.proved) target_.jump_if(Cond::AboveEqual, index, lengths_[i.slot], true, outside);
  target_.load_scalar(r, {data_[i.slot], index, 0, static_cast<uint8_t>(element)}, element,
                      is_signed_integer(stored));
  bind(outside);
  if (stored == DType::Bool) target_.scalar_compare(r, Cond::NotEqual, r, asmjit::imm(0), false);
  if (!is_float(stored)) return define_scalar(i.id, r);
  const BaseReg lanes = target_.vector(i.type);
  if (stored == i.type) {
    target_.broadcast(i.type, lanes, r);
  } else if (stored == DType::BF16) {
    target_.scalar_op(Op::Shl, DType::U32, r, r, asmjit::imm(16));
    target_.broadcast(i.type, lanes, r);
  } else if (!target_.broadcast_f16(lanes, r)) {
    // It goes the way that vectors go.
    const BaseReg row = target_.row(0), first = target_.scalar();
    target_.store_scalar({row}, r, element);
    target_.first_lane(i.type, first, target_.load_run(stored, {row}, {}));
    target_.broadcast(i.type, lanes, first);
  }
  values_[i.id].vectors[0] = lanes;
}

// A value that is used once, before anything is written, needs no register of its own.
bool Compiler::stays_in_memory(uint32_t at) const {
  const Inst& i = inst(at);
  const Use& use = analysis_.uses[i.id];
  if (!masks_.empty() || use.count != 1 || use.in_loop) return false;
  if (analysis_.around[use.first] != analysis_.around[at] || !program::is_pure(inst(use.first).op))
    return false;
  for (uint32_t k = at + 1; k < use.first; k++)
    if (!program::is_pure(inst(k).op) && inst(k).op != Op::Load && inst(k).op != Op::Get)
      return false;
  return true;
}

void Compiler::load_neighbours(uint32_t at) {
  const Inst& i = inst(at);
  const DType stored = module_.buffers[i.slot].type;
  Value& v = values_[i.id];
  v.later = {};
  const BaseReg index = index_of(i);
  const auto address = [this, first = run_address(i.slot, index)](uint32_t k) {
    Address at = first;
    at.bytes = static_cast<int32_t>(k * target_.width * at.element);
    return at;
  };
  const bool all_inside = masks_.empty() && inside_or_bail(i, index);
  if (all_inside && prefetch_distance_[i.slot] > 0)
    prefetch(address(0), unroll_ * target_.width, prefetch_distance_[i.slot], false);
  if (all_inside && stays_in_memory(at)) {
    bool all = true;
    for (uint32_t k = 0; k < unroll_ && all; k++) {
      const auto m = target_.in_memory(stored, address(k));
      all = m.has_value();
      if (all) v.vectors[k] = *m;
    }
    if (all) return;
  }
  if (!masks_.empty() && analysis_.waits_for[at] != kNone) {
    v.later = [this, &i, stored, address](uint32_t k) {
      return target_.load_run(stored, address(k), inside(i, k));
    };
    return;
  }
  if (all_inside || !masks_.empty()) {
    for (uint32_t k = 0; k < unroll_; k++)
      v.vectors[k] = target_.load_run(stored, address(k), all_inside ? BaseReg() : inside(i, k));
    return;
  }
  const Label some = label(), end = label();
  for (uint32_t k = 0; k < unroll_; k++) v.vectors[k] = target_.vector(i.type);
  target_.jump_if(Cond::AboveEqual, index, rooms_[i.slot], true, some);
  for (uint32_t k = 0; k < unroll_; k++)
    target_.copy_vector(i.type, v.vectors[k].as<BaseReg>(),
                        target_.load_run(stored, address(k), {}));
  target_.jump(end);
  bind(some);
  for (uint32_t k = 0; k < unroll_; k++)
    target_.copy_vector(i.type, v.vectors[k].as<BaseReg>(),
                        target_.load_run(stored, address(k), inside(i, k)));
  bind(end);
}

void Compiler::load_any(const Inst& i) {
  const DType stored = module_.buffers[i.slot].type, t = type(i.args[0]);
  for (uint32_t k = 0; k < unroll_; k++) {
    const BaseReg index = target_.in_register(t, operand(i.args[0], k));
    values_[i.id].vectors[k] = target_.gather(stored, data_[i.slot], index, t, inside(i, k));
  }
}

// ---- Store --------------------------------------------------------------------------------------

void Compiler::store(uint32_t at) {
  const Inst& i = inst(at);
  if (!neighbours(i.args[0])) bail_ = Label();
  if (masks_.empty() && stored_tuples_.contains(at)) return store_tuple(at);
  if (store_uniform(i)) return;
  if (neighbours(i.args[0])) store_neighbours(i);
  else store_any(i);
}

// One value at one place, as it stands in a register.
bool Compiler::is_stored_once(const Inst& i) const {
  const DType stored = module_.buffers[i.slot].type;
  const bool narrow_float = is_float(stored) && stored != i.type;
  return form(i.args[0]) == Form::Uniform && form(i.args[1]) == Form::Uniform && !narrow_float;
}

// Some lane is there to write it, or this block would have been left out.
bool Compiler::store_uniform(const Inst& i) {
  if (!is_stored_once(i)) return false;
  const DType stored = module_.buffers[i.slot].type;
  const auto element = static_cast<uint32_t>(size_of(stored));
  const BaseReg index = extended(i.args[0]);
  BaseReg r;
  if (is_float(i.type)) {
    r = target_.scalar();
    target_.first_lane(i.type, r, operand(i.args[1], 0));
  } else {
    r = scalar_of(i.args[1]);
  }
  const Label outside = label();
  if (!i.proved) target_.jump_if(Cond::AboveEqual, index, lengths_[i.slot], true, outside);
  target_.store_scalar({data_[i.slot], index, 0, static_cast<uint8_t>(element)}, r, element);
  bind(outside);
  return true;
}

// Lines that this chunk is so far ahead of.
void Compiler::prefetch(const Address& first, uint32_t elements, int32_t lines_ahead, bool stores) {
  constexpr int32_t kLine = 64;
  const auto bytes = static_cast<int32_t>(elements * first.element);
  for (int32_t at = 0; at < bytes; at += kLine) {
    Address line = first;
    line.bytes += lines_ahead * kLine + at;
    if (stores) target_.prefetch_store(line);
    else target_.prefetch_load(line, lines_ahead > kLinesAhead);
  }
}

// A processor looks for loads that may begin only so many instructions ahead; where each is
// followed by long calculations, that is not far enough for memory, and where it is not, as in
// sums, more instructions would only be in the way. Of rows that a workgroup reads several times,
// what is calculated between the first time and the last is when the next row can come, or while
// results are written.
void Compiler::find_lines_ahead(const Region& r) {
  constexpr uint32_t kFunction = 8, kLong = 2;
  const auto size = static_cast<uint32_t>(module_.body.insts.size());
  uint32_t last = size;  // region
  while (last > 0 && inst(last - 1).op != Op::GroupReduce) last--;
  const auto reads = [&](uint32_t slot, uint32_t begin, uint32_t end) {
    for (uint32_t at = begin; at < end; at++)
      if (inst(at).op == Op::Load && inst(at).slot == slot) return true;
    return false;
  };
  uint32_t work = 0, loads = 0;
  bool loops = false;
  for (uint32_t at = r.begin; at < r.end; at++) {
    const Inst& i = inst(at);
    loops = loops || is_loop(i);
    if (i.id == kNone || form(i.id) != Form::Varying) continue;
    if (i.op == Op::Load) loads++;
    else if (program::info(i.op).category == program::Category::Function) work += kFunction;
    else if (program::is_pure(i.op)) work++;
  }
  const bool is_long = work >= kLong * loads;
  for (uint32_t slot = 0; slot < prefetch_distance_.size(); slot++) {
    int32_t& lines = prefetch_distance_[slot] = 0;
    if (!loops) {
      if (is_long) lines = kLinesAhead;
    } else if (analysis_.grouped && r.begin > 0) {
      const Target::NextRow next = target_.next_row();
      const bool to_the_last =
          next.lines_of_last > 0 && reads(slot, 0, last) && reads(slot, last, size);
      if (r.begin == last) lines = to_the_last ? next.lines_of_last : 0;
      else if (is_long && !to_the_last) lines = next.lines_between;
    }
  }
}

void Compiler::store_neighbours(const Inst& i) {
  const DType stored = module_.buffers[i.slot].type;
  const BaseReg index = index_of(i);
  const auto address = [&, first = run_address(i.slot, index)](uint32_t k) {
    Address at = first;
    at.bytes = static_cast<int32_t>(k * target_.width * at.element);
    return at;
  };
  const bool all_inside = masks_.empty() && inside_or_bail(i, index);
  bail_ = Label();
  const bool checked = !all_inside && masks_.empty();
  const Label some = label(), end = label();
  if (checked) {
    target_.jump_if(Cond::AboveEqual, index, rooms_[i.slot], true, some);
    for (uint32_t k = 0; k < unroll_; k++)
      target_.store_run(stored, address(k), operand(i.args[1], k), {});
    target_.jump(end);
    bind(some);
  }
  if (all_inside) {
    std::array<Operand, kMaxUnroll> values;
    for (uint32_t k = 0; k < unroll_; k++) values[k] = operand(i.args[1], k);
    store_non_temporal(i.slot, address(0), {values.data(), unroll_}, end);
    // A processor that is to write a line without having it stops when a few of them are on their
    // way, and stores that follow each other closely get there at once.
    prefetch(address(0), unroll_ * target_.width, kLinesAhead, true);
    for (uint32_t k = 0; k < unroll_; k++) target_.store_run(stored, address(k), values[k], {});
  } else {
    for (uint32_t k = 0; k < unroll_; k++) store_masked(stored, address(k), i, k);
  }
  bind(end);
}

// A vector of which all lanes or the first ones take part is stored without the mask where that is
// faster.
void Compiler::store_masked(DType stored, const Address& to, const Inst& i, uint32_t k) {
  const Operand value = operand(i.args[1], k);
  const BaseReg lanes = inside(i, k);
  const bool first = masked_first_.isValid() && lanes.id() == masks_[k].id();
  if (!first || !target_.masks_are_slow()) return target_.store_run(stored, to, value, lanes);
  const Label some = label(), end = label();
  const auto all = asmjit::imm(int64_t{k + 1} * target_.width);
  target_.jump_if(Cond::Less, masked_first_, all, true, some);
  target_.store_run(stored, to, value, {});
  target_.jump(end);
  bind(some);
  if (k == 0) target_.store_first(stored, to, value, masked_first_, lanes);
  else target_.store_run(stored, to, value, lanes);
  bind(end);
}

void Compiler::store_any(const Inst& i) {
  const DType stored = module_.buffers[i.slot].type, t = type(i.args[0]);
  const uint32_t apart = step_of_lanes(i);
  const BaseReg step = apart == kNone ? BaseReg() : extended(apart);
  for (uint32_t k = 0; k < unroll_; k++) {
    const BaseReg index = target_.in_register(t, operand(i.args[0], k));
    target_.scatter(stored, data_[i.slot], index, t, step, operand(i.args[1], k), inside(i, k));
  }
}

}  // namespace hologram::jit
