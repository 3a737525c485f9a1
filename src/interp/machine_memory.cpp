// Loads, stores and atomics: runs of neighbours where the index is affine, element by element where
// it is not. Every access is checked here, whatever the verifier proved: a check a block is free.
#include <atomic>

#include "interp/access.hpp"
#include "interp/checker.hpp"
#include "interp/machine.hpp"

namespace hologram::interp {

using program::Op;

namespace {

// The lanes [first, last) whose index base + step * lane lies in [0, length).
struct Part {
  uint32_t first, last;
};

Part lanes_inside(int64_t base, int64_t step, uint64_t length, uint32_t lanes) {
  if (step == 1 && base >= 0 && static_cast<uint64_t>(base) < length &&
      lanes <= length - static_cast<uint64_t>(base))
    return {0, lanes};
  using Wide = __int128;
  const Wide end = base + static_cast<Wide>(step) * (lanes - 1);
  const auto n = static_cast<Wide>(length);
  if (base >= 0 && base < n && end >= 0 && end < n) return {0, lanes};
  const auto divide_up = [](Wide a, Wide b) { return (a + b - 1) / b; };
  Wide first = 0, last = 0;
  if (step > 0) {
    first = base < 0 ? divide_up(-static_cast<Wide>(base), step) : 0;
    last = base < n ? divide_up(n - base, step) : 0;
  } else if (step < 0) {
    first = base >= n ? divide_up(base - n + 1, -static_cast<Wide>(step)) : 0;
    last = base < 0 ? 0 : base / -static_cast<Wide>(step) + 1;
  }
  const Wide most = lanes;
  last = std::min(last, most);
  first = std::min(first, last);
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
}

size_t element_of(DType type) { return type == DType::Bool ? 0 : size_of(type); }
size_t group_bytes(DType type) { return type == DType::Bool ? kGroup / 8 : kGroup * size_of(type); }

}  // namespace

uint32_t combine_atomically(program::Combine how, bool is_signed, uint32_t& where, uint32_t value) {
  const std::atomic_ref<uint32_t> ref(where);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  switch (how) {
    case program::Combine::Add: return ref.fetch_add(value, kRelaxed);
    case program::Combine::And: return ref.fetch_and(value, kRelaxed);
    case program::Combine::Or: return ref.fetch_or(value, kRelaxed);
    case program::Combine::Xor: return ref.fetch_xor(value, kRelaxed);
    case program::Combine::Exchange: return ref.exchange(value, kRelaxed);
    default: break;
  }
  uint32_t old = ref.load(kRelaxed);
  for (;;) {
    const bool less =
        is_signed ? static_cast<int32_t>(value) < static_cast<int32_t>(old) : value < old;
    const bool replaces = how == program::Combine::Min ? less : !less;
    if (!replaces || ref.compare_exchange_weak(old, value, kRelaxed)) return old;
  }
}

Machine::Target Machine::target(const Step& s) const {
  if (s.op == Op::Load || s.op == Op::Store || s.op == Op::Atomic) {
    const auto& buffer = code_.buffers[s.slot];
    const BoundBuffer& bound = state_->launch.buffers[s.slot];
    return {bound.data, bound.length, buffer.type, buffer.access == program::Access::In};
  }
  const SharedLayout& array = code_.shared[s.slot];
  return {shared_ + array.offset, array.count, array.type, false};
}

void Machine::load(const Step& s) {
  if (state_->checker != nullptr) check_access(s, false, false);
  Register& out = registers_[s.out];
  Register& index = registers_[s.in[0]];
  const Target t = target(s);
  const Access& access = access_of(t.type);
  // Memory that others may write is touched only by the lanes that take part.
  const bool all = t.constant || mask_id_ == full_id_;

  if (index.form == Form::Uniform) {
    const auto i = static_cast<uint64_t>(first_value(index, s.from));
    return set_cell(out, s.type, i < t.length ? access.load_one(t.data, i) : 0);
  }
  if (index.form == Form::Affine && all) {
    const auto [first, last] = lanes_inside(index.base, index.step, t.length, lanes_);
    const size_t size = size_of(t.type);
    if (t.constant && index.step == 1 && first == 0 && last == lanes_ && t.type == s.type &&
        s.type != DType::Bool && static_cast<uint64_t>(index.base) + groups_ * kGroup <= t.length) {
      // Kernels read the buffer itself; they go by whole groups, hence the room behind.
      out.form = Form::Row;
      out.data = t.data + static_cast<uint64_t>(index.base) * size;
      return;
    }
    if (last - first < lanes_) std::memset(out.row, 0, groups_ * group_bytes(s.type));
    if (last == first) return out.set_row();
    const std::byte* origin =
        t.data + static_cast<ptrdiff_t>(index.base) * static_cast<ptrdiff_t>(size);
    uint32_t done = first;
    if (first == 0 && last == lanes_ && t.type == s.type && size == 4)
      done = load_strided(out, origin, index, t.length);
    access.load_run(out.row, origin, index.step, done, last);
    return out.set_row();
  }
  const size_t index_size = size_of(s.from);
  if (index.form == Form::Affine) expand(index, index_size);
  const uint64_t* mask = all ? nullptr : mask_.words;
  if (index_size == 8)
    access.gather64(out.row, t.data, t.length, reinterpret_cast<const int64_t*>(index.data), mask,
                    lanes_);
  else
    access.gather32(out.row, t.data, t.length, reinterpret_cast<const int32_t*>(index.data), mask,
                    lanes_);
  out.set_row();
}

// As many of the first lanes as go by whole groups; how many those are.
uint32_t Machine::load_strided(Register& out, const std::byte* origin, const Register& index,
                               uint64_t length) const {
  if (index.step < 2 || index.step >= static_cast<int64_t>(std::size(code_.kernels->strided)))
    return 0;
  const auto step = static_cast<uint64_t>(index.step);
  const uint64_t room = (length - static_cast<uint64_t>(index.base)) / (step * kGroup);
  const auto groups = static_cast<uint32_t>(std::min<uint64_t>(lanes_ / kGroup, room));
  code_.kernels->strided[step](out.row, origin, groups);
  return groups * kGroup;
}

void Machine::store(const Step& s) {
  if (state_->checker != nullptr) check_access(s, true, false);
  Register& index = registers_[s.in[0]];
  Register& from = registers_[s.in[1]];
  const Target t = target(s);
  const Access& access = access_of(t.type);
  const Operand value = operand(from, element_of(s.type));

  if (index.form == Form::Affine && mask_id_ == full_id_) {
    const auto [first, last] = lanes_inside(index.base, index.step, t.length, lanes_);
    if (last == first) return;
    std::byte* origin =
        t.data + static_cast<ptrdiff_t>(index.base) * static_cast<ptrdiff_t>(size_of(t.type));
    return access.store_run(origin, index.step, value, first, last);
  }
  if (index.form == Form::Uniform) {
    // The last lane that takes part; a program in which they differ is racy.
    const auto i = static_cast<uint64_t>(first_value(index, s.from));
    if (i >= t.length) return;
    uint32_t lane = lanes_ - 1;
    while (!mask_.test(lane)) lane--;
    const auto at = static_cast<int64_t>(i) - static_cast<int64_t>(lane);
    std::byte* origin = t.data + at * static_cast<int64_t>(size_of(t.type));
    return access.store_run(origin, 1, value, lane, lane + 1);
  }
  const size_t index_size = size_of(s.from);
  if (index.form == Form::Affine) expand(index, index_size);
  if (index_size == 8)
    access.scatter64(t.data, t.length, reinterpret_cast<const int64_t*>(index.data), value,
                     mask_.words, lanes_);
  else
    access.scatter32(t.data, t.length, reinterpret_cast<const int32_t*>(index.data), value,
                     mask_.words, lanes_);
}

// Computes straight into the buffer that the next step stores to.
bool Machine::fused_store(const Step& s, const Step& store, const Operand* operands) {
  if (state_->checker != nullptr || mask_id_ != full_id_) return false;
  const Register& index = registers_[store.in[0]];
  if (index.form != Form::Affine || index.step != 1) return false;
  const Target t = target(store);
  if (index.base < 0 || static_cast<uint64_t>(index.base) + lanes_ > t.length) return false;
  const size_t size = size_of(s.type);
  std::byte* to = t.data + static_cast<size_t>(index.base) * size;
  const uint32_t whole = lanes_ / kGroup, rest = lanes_ % kGroup;
  if (whole > 0) s.kernel(to, operands, whole);
  if (rest > 0) {
    Operand tail[3];
    for (size_t k = 0; k < s.arity; k++)
      tail[k] = {operands[k].data + whole * operands[k].step, operands[k].step};
    Register& out = registers_[s.out];
    s.kernel(out.row, tail, 1);
    std::memcpy(to + whole * kGroup * size, out.row, rest * size);
  }
  return true;
}

void Machine::atomic(const Step& s) {
  if (state_->checker != nullptr) check_access(s, true, true);
  Register& out = registers_[s.out];
  Register& index = registers_[s.in[0]];
  const Target t = target(s);
  const Operand value = operand(registers_[s.in[1]], 4);
  const Operand where = operand(index, size_of(s.from));
  const bool is_signed = s.type == DType::I32;
  const auto how = static_cast<program::Combine>(s.aux);
  auto* data = reinterpret_cast<uint32_t*>(t.data);
  auto* old = reinterpret_cast<uint32_t*>(out.row);
  const auto one = [&](uint32_t lane) {
    const uint32_t w = where.step == 0 ? 0 : lane;
    uint64_t i = 0;
    if (s.from == DType::I64) i = reinterpret_cast<const uint64_t*>(where.data)[w];
    else i = static_cast<uint64_t>(int64_t{reinterpret_cast<const int32_t*>(where.data)[w]});
    const uint32_t v = reinterpret_cast<const uint32_t*>(value.data)[value.step == 0 ? 0 : lane];
    old[lane] = i < t.length ? combine_atomically(how, is_signed, data[i], v) : 0;
  };
  // The result's row may be that of an operand: each lane reads its own before it writes.
  for (uint32_t n = 0; n < lanes_; n++) {
    const uint32_t lane = state_->checker != nullptr ? state_->checker->shuffled(n, lanes_) : n;
    if (mask_.test(lane)) one(lane);
  }
  out.set_row();
}

void Machine::check_access(const Step& s, bool write, bool is_atomic) {
  const Operand where = operand(registers_[s.in[0]], size_of(s.from));
  const Target t = target(s);
  const bool is_shared =
      s.op == Op::SharedLoad || s.op == Op::SharedStore || s.op == Op::SharedAtomic;
  for (uint32_t lane = 0; lane < lanes_; lane++) {
    if (!mask_.test(lane)) continue;
    const uint32_t w = where.step == 0 ? 0 : lane;
    uint64_t i = 0;
    if (s.from == DType::I64) i = reinterpret_cast<const uint64_t*>(where.data)[w];
    else i = static_cast<uint64_t>(int64_t{reinterpret_cast<const int32_t*>(where.data)[w]});
    if (i >= t.length) continue;
    state_->checker->access({.shared = is_shared,
                             .slot = s.slot,
                             .index = i,
                             .lane = lane,
                             .epoch = epoch_,
                             .write = write,
                             .atomic = is_atomic,
                             .constant = t.constant,
                             .line = s.line});
  }
}

}  // namespace hologram::interp
