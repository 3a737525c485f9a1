// Atomic operations: calls, as they take much longer than a call.
#include <bit>

#include "interp/interpreter.hpp"
#include "jit/compiler.hpp"

namespace hologram::jit {

namespace {

// What an operation does, in one number.
struct How {
  program::Combine combine;
  bool is_signed, wide;  // the values are, and indices have 64 bits
  uint8_t lanes;
};
static_assert(sizeof(How) == 4);

How how_of(uint64_t bits) { return std::bit_cast<How>(static_cast<uint32_t>(bits)); }

// The old value.
uint64_t combine_one(uint64_t how, uint32_t* where, uint64_t value) {
  const How h = how_of(how);
  return interp::combine_atomically(h.combine, h.is_signed, *where, static_cast<uint32_t>(value));
}

// Lanes one after the other: those of the mask whose index lies inside. The old values go to the
// place of the new ones.
void combine_lanes(uint64_t how, uint32_t* data, uint64_t length, const std::byte* indices,
                   uint32_t* values, const std::byte* mask) {
  const How h = how_of(how);
  for (uint32_t lane = 0; lane < h.lanes; lane++) {
    const uint64_t i =
        h.wide ? reinterpret_cast<const uint64_t*>(indices)[lane]
               : static_cast<uint64_t>(int64_t{reinterpret_cast<const int32_t*>(indices)[lane]});
    const bool takes_part = (static_cast<uint32_t>(mask[lane / 8]) >> lane % 8 & 1) != 0;
    values[lane] = takes_part && i < length
                       ? interp::combine_atomically(h.combine, h.is_signed, data[i], values[lane])
                       : 0;
  }
}

}  // namespace

void Compiler::atomic(const Inst& i) {
  bail_ = Label();  // what is done cannot be done again
  const DType index_type = type(i.args[0]);
  const How how{static_cast<program::Combine>(i.aux), i.type == DType::I32,
                size_of(index_type) == 8, static_cast<uint8_t>(target_.width)};
  const BaseReg bits = target_.scalar();
  target_.set(bits, std::bit_cast<uint32_t>(how));
  if (analysis_.scalarized) {
    const BaseReg index = extended(i.args[0]), old = target_.scalar(), where = target_.scalar();
    const Label outside = label();
    target_.set(old, 0);
    if (!i.proved) target_.jump_if(Cond::AboveEqual, index, lengths_[i.slot], true, outside);
    target_.address_of(where, {data_[i.slot], index, 0, sizeof(uint32_t)});
    const BaseReg arguments[] = {bits, where, scalar_of(i.args[1])};
    target_.call(asmjit::imm(reinterpret_cast<uint64_t>(&combine_one)), arguments, old);
    bind(outside);
    return define_scalar(i.id, old);
  }
  for (uint32_t k = 0; k < unroll_; k++) {
    const BaseReg indices = target_.row(1), values = target_.row(2), mask = target_.row(3);
    target_.to_row(index_type, indices, 0, operand(i.args[0], k));
    target_.to_row(i.type, values, 0, operand(i.args[1], k));
    target_.to_row(DType::Bool, mask, 0,
                   masks_.empty() ? target_.constant(DType::Bool, 1) : Operand(masks_[k]));
    const BaseReg arguments[] = {bits, data_[i.slot], lengths_[i.slot], indices, values, mask};
    target_.call(asmjit::imm(reinterpret_cast<uint64_t>(&combine_lanes)), arguments, {});
    values_[i.id].vectors[k] = target_.from_row(i.type, values, 0);
  }
}

}  // namespace hologram::jit
