#include "interp/machine.hpp"

#include <new>

#include "interp/checker.hpp"

namespace hologram::interp {

using program::Op;

namespace {

constexpr size_t kAlign = 64;
constexpr size_t kPad = kGroup;  // lanes behind a row that kernels may read or write
constexpr size_t kCellBytes = kGroup * 8;

size_t row_bytes(Width width, uint32_t lanes) {
  const size_t n = lanes + kPad;
  const size_t bytes = width == Width::Eight ? n * 8 : width == Width::Four ? n * 4 : n / 8;
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

size_t element_of(DType type) { return type == DType::Bool ? 0 : size_of(type); }
size_t group_bytes(size_t element) { return element == 0 ? kGroup / 8 : kGroup * element; }

std::byte* allocate(size_t bytes) {
  auto* p = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kAlign)));
  std::memset(p, 0, bytes);
  return p;
}
void release(std::byte* p) { ::operator delete(p, std::align_val_t(kAlign)); }

}  // namespace

Machine::Machine(const Bytecode& code) : code_(code), memory_(nullptr, release) {
  const size_t scratch = code_.cooperative ? 2 * row_bytes(Width::Eight, code_.block_lanes) : 0;
  size_t bytes = scratch;
  for (const Width w : code_.registers) bytes += row_bytes(w, code_.block_lanes);
  const size_t count = code_.registers.size() + code_.uniform_registers;
  bytes += count * kCellBytes + (code_.shared_bytes + kAlign) / kAlign * kAlign;
  memory_.reset(allocate(bytes));
  std::byte* next = memory_.get();
  const auto take = [&](size_t n) {
    std::byte* p = next;
    next += (n + kAlign - 1) / kAlign * kAlign;
    return p;
  };
  scratch_ = take(scratch);
  registers_.resize(count);
  for (size_t i = 0; i < code_.registers.size(); i++)
    registers_[i].row = take(row_bytes(code_.registers[i], code_.block_lanes));
  for (Register& r : registers_) r.cell = take(kCellBytes);
  shared_ = take(code_.shared_bytes);
  variable_mask_.resize(count);
  frames_.resize(code_.frames);
  // All that a block may come to need: it must not end halfway because memory is short.
  for (const Step& s : code_.steps)
    if (s.op == Op::For && std::min(s.in[0], s.in[1]) < code_.registers.size()) {
      frames_[s.depth].lane_rounds.reserve(code_.block_lanes);
      frames_[s.depth].lane_begin.reserve(code_.block_lanes);
    }
  if (code_.cooperative && code_.workgroup[1] * code_.workgroup[2] > 1)
    lane_rows_.reserve(3 * lane_row_bytes());
}

Machine::~Machine() = default;

void Machine::begin(LaunchState& state) {
  state_ = &state;
  std::fill(variable_mask_.begin(), variable_mask_.end(), 0);
  mask_id_ = next_mask_id_ = full_id_ = 0;
  // The prelude sees no lanes: every operand is uniform.
  lanes_ = groups_ = 1;
  for (const Step& s : code_.prelude) position(s);
}

void Machine::run_lanes(int64_t x, uint32_t count, int64_t y, int64_t z) {
  first_[0] = x;
  first_[1] = y;
  first_[2] = z;
  run(count);
}

void Machine::run_group(int64_t x, int64_t y, int64_t z) {
  const int64_t at[3] = {x, y, z};
  for (int axis = 0; axis < 3; axis++) {
    group_[axis] = at[axis];
    first_[axis] = at[axis] * code_.workgroup[axis];
  }
  epoch_ = 0;
  if (code_.shared_bytes > 0) std::memset(shared_, 0, code_.shared_bytes);
  if (state_->checker != nullptr) state_->checker->begin_group(group_);
  run(code_.workgroup[0] * code_.workgroup[1] * code_.workgroup[2]);
}

void Machine::run(uint32_t lanes) {
  block_ = lanes_ = lanes;
  groups_ = (lanes + kGroup - 1) / kGroup;
  words_ = (lanes + 63) / 64;
  mask_.set_first(lanes, words_);
  returned_.clear(words_);
  any_returned_ = false;
  rounds_ = 0;
  full_id_ = mask_id_ = ++next_mask_id_;
  check_stop();
  const auto n = static_cast<uint32_t>(code_.steps.size());
  for (uint32_t pc = 0; pc < n;) pc = step(code_.steps[pc], pc);
}

uint32_t Machine::step(const Step& s, uint32_t pc) {
  if (program::is_pure(s.op)) return pc + (pure(s) ? 2 : 1);
  switch (s.op) {
    case Op::Load:
    case Op::SharedLoad: load(s); break;
    case Op::Store:
    case Op::SharedStore: store(s); break;
    case Op::Atomic:
    case Op::SharedAtomic: atomic(s); break;
    case Op::Get: copy_register(registers_[s.out], registers_[s.in[0]], s.type); break;
    case Op::Var:
    case Op::Set: assign(s); break;
    case Op::If: return begin_if(s, pc);
    case Op::Else: return begin_else(s, pc);
    case Op::For:
    case Op::Loop: return begin_loop(s, pc);
    case Op::End: return end_block(s, pc);
    case Op::Break:
    case Op::Continue:
    case Op::Return: return leave(s);
    case Op::Barrier: barrier(); break;
    case Op::GroupReduce: reduce(s); break;
    case Op::GroupScan: scan(s); break;
    case Op::GroupUniform: take_first(s); break;
    default: position(s);
  }
  return pc + 1;
}

bool Machine::pure(const Step& s) {
  Register& out = registers_[s.out];
  Register* in[3] = {};
  bool uniform = true, affine = false;
  for (size_t k = 0; k < s.arity; k++) {
    in[k] = &registers_[s.in[k]];
    uniform = uniform && in[k]->form == Form::Uniform;
    affine = affine || in[k]->form == Form::Affine;
  }
  if (affine && affine_step(s, in, lanes_, out)) return false;
  if (s.kernel == nullptr) {  // a cast to the same type
    copy_register(out, *in[0], s.type);
    return false;
  }
  if (s.op == Op::Select && in[0]->form == Form::Uniform && !uniform) {
    const size_t chosen = first_value(registers_[s.in[0]], DType::Bool) ? 1 : 2;
    copy_register(out, registers_[s.in[chosen]], s.type);
    return false;
  }
  Operand operands[3];
  for (size_t k = 0; k < s.arity; k++) {
    size_t element = element_of(s.from);
    if (s.op == Op::Select && k == 0) element = 0;
    if ((s.op == Op::Shl || s.op == Op::Shr) && k == 1) element = 4;
    operands[k] = operand(*in[k], element);
  }
  if (uniform) {
    s.kernel(out.cell, operands, 1);
    out.set_uniform();
    return false;
  }
  if (s.fuses_store && fused_store(s, (&s)[1], operands)) return true;
  s.kernel(out.row, operands, groups_);
  out.set_row();
  return false;
}

// Values that are there from the start, and the whole prelude.
void Machine::position(const Step& s) {
  Register& out = registers_[s.out];
  const int axis = s.aux;
  const Grid& grid = state_->launch.grid;
  switch (s.op) {
    case Op::Const: set_cell(out, s.type, s.imm); return;
    case Op::Scalar: set_cell(out, s.type, state_->launch.scalars[s.slot]); return;
    case Op::Length: set_cell(out, s.type, state_->launch.buffers[s.slot].length); return;
    case Op::GroupCount: set_cell(out, s.type, grid[static_cast<size_t>(axis)]); return;
    case Op::GlobalId:
      if (axis == 0 && !code_.cooperative) return out.set_affine(first_[0], 1);
      if (!code_.cooperative) return set_cell(out, s.type, static_cast<uint64_t>(first_[axis]));
      break;
    case Op::GroupId:
      if (code_.cooperative) return set_cell(out, s.type, static_cast<uint64_t>(group_[axis]));
      break;
    case Op::LaneId: break;
    default: pure(s); return;
  }

  const bool wide = s.type == DType::I64;
  const uint32_t size = code_.workgroup[axis];
  if (code_.cooperative) {
    // Lanes count along x first. With one axis they are a run of numbers.
    const bool one_axis = axis == 0 && size == lanes_;
    const int64_t base = s.op == Op::GlobalId ? first_[axis] : 0;
    if (one_axis) return out.set_affine(base, 1);
    if (size == 1) return set_cell(out, s.type, static_cast<uint64_t>(base));
    const std::byte* ids = lane_row(axis, wide);
    for (uint32_t l = 0; l < lanes_; l++) {
      if (wide)
        reinterpret_cast<int64_t*>(out.row)[l] = base + reinterpret_cast<const int64_t*>(ids)[l];
      else
        reinterpret_cast<int32_t*>(out.row)[l] =
            static_cast<int32_t>(base) + reinterpret_cast<const int32_t*>(ids)[l];
    }
    return out.set_row();
  }
  // Lanes of one row that belong to any workgroups: the id along y and z is the row's.
  const auto id_at = [&](uint32_t lane) {
    const int64_t global = first_[axis] + (axis == 0 ? lane : 0);
    return s.op == Op::GroupId ? global / size : global % size;
  };
  if (axis != 0) return set_cell(out, s.type, static_cast<uint64_t>(id_at(0)));
  for (uint32_t l = 0; l < lanes_; l++) {
    if (wide) reinterpret_cast<int64_t*>(out.row)[l] = id_at(l);
    else reinterpret_cast<int32_t*>(out.row)[l] = static_cast<int32_t>(id_at(l));
  }
  out.set_row();
}

// Lane ids along an axis of a workgroup, filled at the first use.
std::byte* Machine::lane_row(int axis, bool wide) {
  const size_t stride = lane_row_bytes();
  if (lane_rows_.empty()) {
    lane_rows_.resize(stride * 3);
    const auto& w = code_.workgroup;
    for (uint32_t l = 0; l < lanes_; l++) {
      const uint32_t ids[3] = {l % w[0], l / w[0] % w[1], l / w[0] / w[1]};
      for (size_t a = 0; a < 3; a++) {
        std::byte* row = lane_rows_.data() + a * stride;
        if (wide) reinterpret_cast<int64_t*>(row)[l] = ids[a];
        else reinterpret_cast<int32_t*>(row)[l] = static_cast<int32_t>(ids[a]);
      }
    }
  }
  return lane_rows_.data() + static_cast<size_t>(axis) * stride;
}

void Machine::set_cell(Register& r, DType type, uint64_t bits) {
  fill_cell(r.cell, type, bits);
  r.set_uniform();
}

void Machine::expand(Register& r, size_t element) {
  if (r.expanded) return;
  if (element == 8) {
    auto* row = reinterpret_cast<int64_t*>(r.row);
    for (uint32_t l = 0; l < groups_ * kGroup; l++)
      row[l] =
          static_cast<int64_t>(static_cast<uint64_t>(r.base) + static_cast<uint64_t>(r.step) * l);
  } else {
    auto* row = reinterpret_cast<uint32_t*>(r.row);
    const auto base = static_cast<uint32_t>(r.base), by = static_cast<uint32_t>(r.step);
    for (uint32_t l = 0; l < groups_ * kGroup; l++) row[l] = base + by * l;
  }
  r.data = r.row;
  r.expanded = true;
}

Operand Machine::operand(Register& r, size_t element) {
  if (r.form == Form::Affine) expand(r, element);
  return r.operand(group_bytes(element));
}

void Machine::own_row(Register& r, DType type) {
  const size_t bytes = group_bytes(element_of(type));
  if (r.form == Form::Affine) {
    expand(r, element_of(type));
  } else if (r.form == Form::Uniform) {
    for (uint32_t g = 0; g < groups_; g++) std::memcpy(r.row + g * bytes, r.cell, bytes);
  } else if (r.data != r.row) {
    std::memcpy(r.row, r.data, groups_ * bytes);
  }
  r.set_row();
}

void Machine::copy_register(Register& to, const Register& from, DType type) {
  if (&to == &from) return;
  const size_t bytes = group_bytes(element_of(type));
  switch (from.form) {
    case Form::Uniform:
      std::memcpy(to.cell, from.cell, bytes);
      to.set_uniform();
      return;
    case Form::Affine: to.set_affine(from.base, from.step); return;
    case Form::Row:
      if (to.row != from.data) std::memcpy(to.row, from.data, groups_ * bytes);
      to.set_row();
  }
}

void Machine::assign(const Step& s) {
  Register& to = registers_[s.out];
  Register& from = registers_[s.in[0]];
  if (s.op == Op::Var) variable_mask_[s.out] = mask_id_;
  if (mask_id_ != variable_mask_[s.out]) return blend(to, from, s);
  if (s.steals) std::swap(to, from);
  else copy_register(to, from, s.type);
}

// Sets a variable in some of the lanes that know it.
void Machine::blend(Register& to, Register& from, const Step& s) {
  const size_t element = element_of(s.type);
  if (to.form == Form::Uniform && from.form == Form::Uniform &&
      std::memcmp(to.cell, from.cell, group_bytes(element)) == 0)
    return;
  own_row(to, s.type);
  const Operand operands[3] = {
      {mask_.bytes(), kGroup / 8}, operand(from, element), {to.row, group_bytes(element)}};
  s.kernel(to.row, operands, groups_);
}

void Machine::check_stop() {
  if (state_->stop.load(std::memory_order_relaxed)) throw Stopped{};
  const Launch& launch = state_->launch;
  if (launch.progress != nullptr && launch.progress->cancel.load(std::memory_order_relaxed))
    stop(Outcome::Cancelled);
  if (launch.deadline && std::chrono::steady_clock::now() > *launch.deadline)
    stop(Outcome::TimedOut);
}

void Machine::stop(Outcome outcome) {
  Outcome none = Outcome::Done;
  state_->outcome.compare_exchange_strong(none, outcome);
  throw Stopped{};
}

}  // namespace hologram::interp
