// What the lanes of a workgroup do together. A block is the whole group in lockstep, so that a
// barrier has nothing to wait for. The order of combination is the language's, not this machine's.
#include "interp/checker.hpp"
#include "interp/machine.hpp"

namespace hologram::interp {

void Machine::barrier() { epoch_++; }

// Every lane of a register whatever its form; that of a launch-uniform value has no row.
void Machine::copy_lanes(std::byte* to, Register& from, size_t size) {
  const Operand lanes = operand(from, size);
  for (uint32_t g = 0; g < groups_; g++)
    std::memcpy(to + g * kGroup * size, lanes.data + g * lanes.step, kGroup * size);
}

// v[l] = v[l] op v[l + d] for d = L/2, L/4, … 1; then v[0] is everyone's.
void Machine::reduce(const Step& s) {
  const size_t size = size_of(s.type), bytes = kGroup * size;
  std::byte* v = scratch_;
  copy_lanes(v, registers_[s.in[0]], size);
  std::byte other[kGroup * 8] = {};
  for (uint32_t d = lanes_ / 2; d >= 1; d /= 2) {
    if (d >= kGroup) {
      const Operand operands[2] = {{v, bytes}, {v + d * size, bytes}};
      s.kernel(v, operands, d / kGroup);
    } else {
      std::memcpy(other, v + d * size, d * size);
      const Operand operands[2] = {{v, bytes}, {other, bytes}};
      s.kernel(v, operands, 1);
    }
  }
  uint64_t result = 0;
  std::memcpy(&result, v, size);
  set_cell(registers_[s.out], s.type, result);
}

// v[l] = v[l - d] op v[l] for l >= d, all at once, for d = 1, 2, 4, …
void Machine::scan(const Step& s) {
  const size_t size = size_of(s.type), bytes = kGroup * size;
  std::byte* v = scratch_;
  std::byte* before = scratch_ + (code_.block_lanes + kGroup) * size;
  copy_lanes(v, registers_[s.in[0]], size);
  for (uint32_t d = 1; d < lanes_; d *= 2) {
    std::memcpy(before, v, groups_ * bytes);
    const Operand operands[2] = {{before, bytes}, {before + d * size, bytes}};
    std::byte* to = registers_[s.out].row;
    s.kernel(to, operands, (lanes_ - d + kGroup - 1) / kGroup);
    std::memcpy(v + d * size, to, (lanes_ - d) * size);
  }
  Register& out = registers_[s.out];
  std::memcpy(out.row, v, groups_ * bytes);
  out.set_row();
}

void Machine::take_first(const Step& s) {
  Register& from = registers_[s.in[0]];
  const Operand lanes = operand(from, s.type == DType::Bool ? 0 : size_of(s.type));
  uint64_t bits = 0;
  std::memcpy(&bits, lanes.data, s.type == DType::Bool ? 1 : size_of(s.type));
  set_cell(registers_[s.out], s.type, bits);
}

}  // namespace hologram::interp
