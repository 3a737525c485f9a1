// The statements of a random program that touch memory and other lanes.
#include <bit>

#include "oracle/program_writer.hpp"

namespace hologram::oracle {

using program::Access;
using program::Combine;
using program::Op;
using program::Value;

namespace {

constexpr Combine kAnyOrder[] = {Combine::Add, Combine::Min, Combine::Max,
                                 Combine::And, Combine::Or,  Combine::Xor};

}  // namespace

Value ProgramWriter::slot_number(int64_t per_lane) {
  if (per_lane == 1 || choose_.percent(50))
    return index_constant(choose_.below(static_cast<uint32_t>(per_lane)));
  const Value any = leaf(plan_.index).value;
  return choose_.percent(50) ? min(max(any, 0), per_lane - 1) : any & (per_lane - 1);
}

Value ProgramWriter::own_index(int64_t per_lane, Value lane, int64_t lanes, bool reversed,
                               int64_t offset) {
  Value index = reversed ? index_constant(lanes - 1) - lane : lane;
  if (per_lane > 1) index = index * per_lane + slot_number(per_lane);
  return offset == 0 ? index : index + offset;
}
Value ProgramWriter::own_index(const BufferPlan& b) {
  return own_index(b.per_lane, lane_in_grid_, plan_.all_lanes(), b.reversed, b.offset);
}
Value ProgramWriter::own_index(const SharedPlan& s) {
  return own_index(s.per_lane, lane_in_group_, plan_.lanes(), false, 0);
}

// Near the lane's own, at the ends, or anywhere.
Known ProgramWriter::any_index(Value length, int64_t known_length) {
  const auto count = static_cast<uint32_t>(known_length) + 3;
  constexpr int64_t kSteps[] = {2, 3, -1, -2, 7};
  switch (choose_.below(15)) {
    case 12: return {leaf(plan_.index).value + (static_cast<int64_t>(choose_.below(5)) - 2), false};
    case 13: return {leaf(plan_.index).value + constant(plan_.index).value, false};
    case 14: {  // a number with a lower bound, and one added that may be too much
      const int64_t high = plan_.index == DType::I32 ? INT32_MAX : INT64_MAX;
      return {max(leaf(plan_.index).value, 0) + (high - choose_.below(3)), false};
    }
    case 10:
    case 11: {
      const int64_t step = choose_.of(kSteps);
      const int64_t first = step < 0 ? known_length : 0;
      const Value row = choose_.percent(50) ? lane_in_grid_ : b_.global_id(0);
      return {row * step + (first + static_cast<int64_t>(choose_.below(9)) - 4), false};
    }
    case 0: return {lane_in_grid_, false};
    case 1: return {lane_in_grid_ + (static_cast<int64_t>(choose_.below(9)) - 4), false};
    case 2: return {b_.global_id(0), false};
    case 3: return {index_constant(static_cast<int64_t>(choose_.below(count)) - 1), true};
    case 4: return {length - choose_.below(3), true};
    case 5: return {length - 1 - lane_in_grid_, false};
    case 6: {
      const Known any = expression(plan_.index, 2);
      return {b_.emit(Op::Rem, {any.value, length}), any.uniform};
    }
    case 7: {
      const Known any = expression(plan_.index, 1);
      return {min(max(any.value, 0), length - 1), any.uniform};
    }
    case 8: {
      const Known any = expression(plan_.index, 2);
      return {any.value & 31, any.uniform};
    }
    default: {
      const Known any = expression(plan_.index, 2);
      return {any.value, any.uniform};
    }
  }
}

Value ProgramWriter::index_along(Value length) {
  switch (choose_.below(6)) {
    case 0: return b_.global_id(choose_.below(2) == 0 ? 0 : 1);
    case 1: return b_.emit(Op::Rem, {lane_in_grid_, length});
    case 2: return b_.emit(Op::Div, {lane_in_grid_, length});
    case 3: return min(max(leaf(plan_.index).value, 0), length - 1);
    case 4: return b_.global_id(0) + (static_cast<int64_t>(choose_.below(3)) - 1);
    default: return leaf(plan_.index).value;
  }
}

// (y * w + x) * c + k, and whether each index lies in its dimension; not always asked from both
// sides, so that it may be in another row, or outside.
ProgramWriter::MultiIndex ProgramWriter::multi_index(const BufferPlan& buffer) {
  Value flat, inside;
  for (const program::Dim& dim : buffer.dims) {
    const Value length = dim.name.empty() ? index_constant(dim.length) : b_.dimension(dim.name);
    const Value index = index_along(length);
    Value holds = (index >= 0) & (index < length);
    if (choose_.percent(10)) holds = index < length;
    if (choose_.percent(10)) holds = index >= 0;
    const bool first = flat.builder() == nullptr;
    inside = first ? holds : inside & holds;
    if (first) flat = index;
    else if (choose_.percent(50)) flat = fma(flat, length, index);
    else flat = flat * length + index;
  }
  return {flat, inside};
}

// As the text form does it, -1 for outside, or under an `if`.
void ProgramWriter::load_by_dims(const BufferPlan& buffer) {
  const MultiIndex index = multi_index(buffer);
  const Value flat = index.flat, inside = index.inside;
  if (choose_.percent(40)) return add({b_.load(buffer.buffer, select(inside, flat, -1)), false});
  const DType type = compute_type(buffer.type);
  const program::Var result = b_.var(leaf(type).value);
  b_.if_(inside, [&] { b_.set(result, b_.load(buffer.buffer, flat)); });
  add_variable({result, type, false});
}

// The body, under a condition that promises something about the index, or as it is.
void ProgramWriter::guarded(Value index, Value length, const std::function<void()>& body) {
  const uint32_t kind = choose_.below(10);
  if (kind > 5) return body();
  const Value limit = choose_.percent(60) ? length : leaf(plan_.index).value;
  const Value below = choose_.percent(80) ? index < limit : index <= limit;
  const auto inside = [&] { block(false, body); };
  if (kind == 0) b_.if_(below, inside);
  if (kind == 1) b_.if_(below & (index >= 0), inside);
  if (kind == 2)
    b_.if_(
        index >= limit, [&] { block(false, [] {}); }, inside);
  if (kind == 4)
    b_.if_(
        index < 0, [] {}, [&] { b_.if_(below, inside); });
  if (kind == 5) b_.if_((index < 0) | (index >= limit), [] {}, inside);
  if (kind == 3) b_.if_(index >= 0, [&] { b_.if_(below, inside); });
}

void ProgramWriter::write_load() {
  const auto all = static_cast<uint32_t>(plan_.buffers.size() + plan_.shared.size());
  uint32_t which = choose_.below(all);
  if (choose_.percent(25))  // what changes is more telling
    for (uint32_t i = 0; i < plan_.buffers.size(); i++)
      if (plan_.buffers[i].access == Access::InOut) which = i;
  if (which < plan_.buffers.size()) {
    const BufferPlan& b = plan_.buffers[which];
    if (b.access == Access::Out || b.access == Access::Atomic) return write_store();
    const bool own = b.access == Access::InOut;
    if (!own && !b.dims.empty() && choose_.percent(50)) return load_by_dims(b);
    const Value length = b_.length(b.buffer);
    const Value index = own ? own_index(b) : any_index(length, b.length()).value;
    return finish_load(compute_type(b.type), index, length, own,
                       [&](Value at) { return b_.load(b.buffer, at); });
  }
  const SharedPlan& s = plan_.shared[which - plan_.buffers.size()];
  const Value length = index_constant(s.count);
  const bool own = section_ == 0;
  const Value index = own ? own_index(s) : any_index(length, s.count).value;
  // Of an atomic array the old value is what there is to see; nothing is combined into it.
  finish_load(s.type, index, length, own, [&](Value at) {
    return s.atomic ? b_.atomic(Combine::Or, s.array, at, b_.constant(s.type, int64_t{0}))
                    : b_.load(s.array, at);
  });
}

// What guards an index is not always the index itself.
void ProgramWriter::finish_load(DType type, Value index, Value length, bool own,
                                const std::function<Value(Value)>& load) {
  if (choose_.percent(40)) return add({load(index), false});
  const program::Var result = b_.var(leaf(type).value);
  guarded(index, length, [&] {
    if (own || !choose_.percent(30)) return b_.set(result, load(index));
    const Value by = choose_.percent(60) ? index_constant(choose_.percent(50) ? 1 : -1)
                                         : constant(plan_.index).value;
    const Value at = index + by;
    if (choose_.percent(50)) b_.if_(at >= 0, [&] { b_.set(result, load(at)); });
    else b_.set(result, load(at));
  });
  add_variable({result, type, false});
}

void ProgramWriter::write_store() {
  const auto all = static_cast<uint32_t>(plan_.buffers.size() + plan_.shared.size());
  for (int attempt = 0; attempt < 8; attempt++) {
    const uint32_t which = choose_.below(all);
    if (which >= plan_.buffers.size()) {
      const SharedPlan& s = plan_.shared[which - plan_.buffers.size()];
      if (section_ > 0 || s.atomic) continue;
      const Value index = own_index(s);
      const Value value = expression(s.type, 2).value;
      return guarded(index, index_constant(s.count), [&] { b_.store(s.array, index, value); });
    }
    const BufferPlan& b = plan_.buffers[which];
    if (b.access == Access::In || b.access == Access::Atomic) continue;
    Value index = own_index(b);
    // A store of no lane, or of some: the others are sent outside.
    if (choose_.percent(15))
      index = select(expression(DType::Bool, 1).value, index, choose_.percent(50) ? -1 : INT32_MAX);
    const Value value = expression(compute_type(b.type), 3).value;
    return guarded(index, b_.length(b.buffer), [&] { b_.store(b.buffer, index, value); });
  }
}

// As at the end of a reduction: one lane writes, at an index that is the same in all lanes.
void ProgramWriter::write_store_of_one_lane() {
  const auto lanes = static_cast<uint32_t>(plan_.all_lanes());
  for (const BufferPlan& b : plan_.buffers) {
    if (b.access == Access::In || b.access == Access::Atomic || choose_.percent(40)) continue;
    const int64_t lane = choose_.below(lanes);
    const int64_t slot = b.reversed ? lanes - 1 - lane : lane;
    const Value value = expression(compute_type(b.type), 2).value;
    const Value index = index_constant(slot * b.per_lane + b.offset);
    return b_.if_(lane_in_grid_ == lane, [&] { b_.store(b.buffer, index, value); });
  }
}

// y[i] = y[i] op v, always of the first slot, so that one sees what another wrote.
void ProgramWriter::write_update() {
  for (const BufferPlan& b : plan_.buffers) {
    if (b.access != Access::InOut) continue;
    const int64_t lanes = plan_.all_lanes();
    const Value lane = b.reversed ? index_constant(lanes - 1) - lane_in_grid_ : lane_in_grid_;
    const Value index = lane * b.per_lane + b.offset;
    const Value old = b_.load(b.buffer, index);
    const Value more = leaf(old.type()).value;
    const Op op = old.type() == DType::Bool ? Op::Xor : Op::Sub;
    add({old, false});
    return b_.store(b.buffer, index, b_.emit(op, {old, more}));
  }
}

void ProgramWriter::write_digest() {
  if (!plan_.digest) return;
  const DType type = plan_.narrow ? DType::U32 : DType::U64;
  Value mixture = b_.constant(type, int64_t{1});
  for (const Variable& v : variables()) {
    Value value = b_.get(v.var);
    if (is_float(v.type))
      value = b_.bitcast(without_nan(value), v.type == DType::F32 ? DType::U32 : DType::U64);
    mixture = (mixture * 31) ^ b_.cast(value, type);
  }
  b_.store(*plan_.digest, lane_in_grid_, mixture);
}

void ProgramWriter::write_atomic() {
  for (const BufferPlan& b : plan_.buffers) {
    if (b.access != Access::Atomic) continue;
    const Value value = expression(b.type, 2).value;
    const Value length = b_.length(b.buffer);
    if (b.free_for_all) {
      const Value index = any_index(length, b.length()).value;
      return guarded(index, length, [&] { b_.atomic(b.combine, b.buffer, index, value); });
    }
    const Combine combine = choose_.percent(40) ? Combine::Exchange : choose_.of(kAnyOrder);
    add({b_.atomic(combine, b.buffer, own_index(b), value), false});
    return;
  }
  write_load();
}

void ProgramWriter::write_group_operation() {
  if (!uniform_flow() || !plan_.cooperative) return write_store();
  uint32_t kind = choose_.below(5);
  const bool halves = std::has_single_bit(static_cast<uint64_t>(plan_.lanes()));
  if (plan_.plain) {
    if (!halves) return write_store();
    kind = 2;
  }
  DType type = some_type();
  const auto keep = [&](Value result, bool uniform) {
    add({result, uniform});
    if (choose_.percent(70)) add_variable({b_.var(result), result.type(), uniform});
  };
  if (kind == 0) return keep(b_.group_uniform(expression(type, 2).value), true);
  if (type == DType::Bool) type = DType::F32;
  constexpr Combine kNumbers[] = {Combine::Add, Combine::Max, Combine::Min, Combine::Mul};
  constexpr Combine kBits[] = {Combine::And, Combine::Or, Combine::Xor};
  const bool bits = is_integer(type) && choose_.percent(30);
  const Combine combine = bits ? choose_.of(kBits) : choose_.of(kNumbers);
  const Value value = (choose_.percent(50) ? affine(type) : expression(type, 2)).value;
  if (kind < 3 && halves) keep(b_.group_reduce(combine, value), true);
  else keep(b_.group_scan(combine, value), false);
}

// Lanes show each other what is in their slots: nobody writes between the two barriers. Before
// that, everybody may change the atomic arrays.
void ProgramWriter::write_exchange(int depth) {
  if (!uniform_flow() || !plan_.cooperative || section_ > 0) return write_load();
  for (const SharedPlan& s : plan_.shared) {
    if (!s.atomic || choose_.percent(30)) continue;
    b_.barrier();
    const Combine combine = choose_.of(kAnyOrder);
    for (uint32_t i = choose_.below(3); i > 0; i--) {
      const Value value = expression(s.type, 2).value;
      const Value length = index_constant(s.count);
      const Value index = any_index(length, s.count).value;
      guarded(index, length, [&] { b_.atomic(combine, s.array, index, value); });
    }
  }
  b_.barrier();
  const size_t outside = locked_loops_;
  locked_loops_ = loops_.size();
  section_++;
  write_load();
  statements(1 + static_cast<int>(choose_.below(3)), depth > 0 ? depth - 1 : 0);
  section_--;
  locked_loops_ = outside;
  b_.barrier();
}

}  // namespace hologram::oracle
