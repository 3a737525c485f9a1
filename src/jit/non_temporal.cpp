// Results that are more than caches hold: they are written to memory in whole lines, which need not
// be read before.
#include <algorithm>
#include <bit>
#include <utility>

#include "jit/compiler.hpp"

namespace hologram::jit {

// Of a vector that is written so; 0 if what a buffer holds is not. One that is read, too, is in the
// caches.
uint32_t Compiler::bytes_past_caches(uint32_t slot) const {
  const auto is_read = [slot](const Inst& i) { return i.op == Op::Load && i.slot == slot; };
  const auto& insts = module_.body.insts;
  if (std::any_of(insts.begin(), insts.end(), is_read)) return 0;
  return target_.vector_bytes(module_.buffers[slot].type);
}

// How far behind a place where such a vector may begin an address lies, in bytes.
BaseReg Compiler::within_a_vector(const Address& address, uint32_t bytes) {
  const BaseReg within = target_.scalar();
  target_.address_of(within, address);
  target_.scalar_op(Op::And, DType::U64, within, within, asmjit::imm(bytes - 1));
  return within;
}

// The vectors of a chunk, and on to `done`, if they begin where a vector may.
void Compiler::store_non_temporal(uint32_t slot, const Address& first,
                                  std::span<const Operand> values, Label done) {
  const uint32_t bytes = bytes_past_caches(slot);
  if (bytes == 0) return;
  const Label cached = label();
  target_.jump_if(Cond::NotEqual, cached_, asmjit::imm(0), true, cached);
  target_.jump_if(Cond::NotEqual, within_a_vector(first, bytes), asmjit::imm(0), true, cached);
  const DType stored = module_.buffers[slot].type;
  Address at = first;
  for (const Operand& value : values) {
    target_.store_non_temporal(stored, at, value);
    at.bytes += static_cast<int32_t>(target_.width * at.element);
  }
  target_.jump(done);
  bind(cached);
}

// ---- Rows ---------------------------------------------------------------------------------------

// What a loop of a workgroup over the elements of a row stores, if its lanes may as well begin
// further on: for (k = …; k < n; k += lanes) if (k + lane < n) …, where nothing else is made of k
// or of the lane, and lanes keep nothing.
std::optional<uint32_t> Compiler::store_of_row(uint32_t loop) const {
  const Inst& counts = inst(loop);
  const uint32_t close = analysis_.close[loop], branch = branch_of(loop);
  if (!analysis_.grouped || !masks_.empty() || counts.type != DType::I32 || !splits(branch) ||
      analysis_.otherwise[branch] != kNone || analysis_.close[branch] + 1 != close ||
      !is_by_vector(branch + 1, close - 1))
    return {};
  const Inst& condition = definition(inst(branch).args[0]);
  const Inst& element = definition(condition.args[0]);
  const auto is_lane = [&](uint32_t value) {
    return definition(value).op == Op::LaneId && definition(value).aux == 0;
  };
  const auto [a, b, c] = element.args;
  if (condition.args[1] != counts.args[1] || element.op != Op::Add ||
      !((a == counts.id && is_lane(b)) || (b == counts.id && is_lane(a))))
    return {};
  std::optional<uint32_t> store;
  for (uint32_t at = loop + 1; at < close; at++) {
    const Inst& i = inst(at);
    if (i.op == Op::LaneId || i.op == Op::GlobalId) return {};
    for (size_t k = 0; k < program::arity(i); k++) {
      const uint32_t value = i.args[k];
      const bool counts_lanes =
          value == counts.id || (analysis_.definition[value] < loop && form(value) == Form::Affine);
      if (counts_lanes && i.id != element.id) return {};
    }
    if (i.op == Op::Store && neighbours(i.args[0]) && bytes_past_caches(i.slot) > 0) store = at;
  }
  return store;
}

// Of a loop, behind what is computed for it.
uint32_t Compiler::branch_of(uint32_t loop) const {
  uint32_t at = loop + 1;
  while (at < analysis_.close[loop] && program::is_pure(inst(at).op)) at++;
  return at;
}

// Vectors of a row that begins within a line would lie in two each: the elements before the first
// whole vector are stored by themselves, and the lanes begin behind them.
void Compiler::begin_with_a_line(uint32_t loop, uint32_t store, BaseReg counter) {
  const uint32_t branch = branch_of(loop), slot = inst(store).slot;
  const Inst& condition = definition(inst(branch).args[0]);
  const uint32_t index = inst(store).args[0], bytes = bytes_past_caches(slot);
  const auto element = static_cast<uint32_t>(size_of(module_.buffers[slot].type));
  const Label whole = label(), shared = label();
  const Tested outer = tested_;
  target_.jump_if(Cond::NotEqual, cached_, asmjit::imm(0), true, whole);
  emit(loop + 1, branch);
  if (compute_early(index, branch + 1)) {
    const BaseReg left = target_.scalar(), some = target_.scalar();
    const BaseReg before =
        within_a_vector({data_[slot], extended(index), 0, static_cast<uint8_t>(element)}, bytes);
    target_.jump_if(Cond::Equal, before, asmjit::imm(0), true, whole);
    target_.set(left, bytes);
    target_.scalar_op(Op::Sub, DType::U64, left, left, before);
    target_.scalar_op(Op::Shr, DType::U64, left, left, asmjit::imm(std::countr_zero(element)));
    if (group_lanes_ > lanes()) target_.jump_if(Cond::NotEqual, x_, asmjit::imm(0), true, shared);
    target_.scalar_op(Op::Sub, DType::I64, some, extended(condition.args[1]),
                      extended(condition.args[0]));
    target_.scalar_op(Op::Min, DType::I64, some, some, left);
    const uint32_t unroll = std::exchange(unroll_, 1);
    emit_masked({target_.first_of(some)}, branch + 1, analysis_.close[branch]);
    unroll_ = unroll;
    bind(shared);
    target_.scalar_op(Op::Add, DType::I64, counter, counter, left);
  }
  tested_ = outer;
  bind(whole);
}

}  // namespace hologram::jit
