// Lanes that go ways of their own: one after the other.
#include <cstddef>

#include "jit/compiler.hpp"

namespace hologram::jit {

void Compiler::scalarize(const Region& r) {
  const BaseReg frame = target_.argument(), end = target_.scalar();
  x_ = target_.scalar();
  target_.load_scalar(x_, field(frame, offsetof(Frame, x_begin)), 8, false);
  target_.load_scalar(end, field(frame, offsetof(Frame, x_end)), 8, false);
  unroll_ = 1;
  lane_done_ = label();
  const Label next = label();
  bind(next);
  chunk(r, {});
  bind(lane_done_);
  target_.scalar_op(Op::Add, DType::I64, x_, x_, asmjit::imm(1));
  target_.jump_if(Cond::Less, x_, end, true, next);
}

// A loop without a count, which only break and return end.
uint32_t Compiler::endless(uint32_t at) {
  bail_ = Label();  // a round may follow one that wrote
  const Label done = label(), round = label();
  bind(round);
  one_round(at, done);
  target_.jump(round);
  bind(done);
  return analysis_.close[at] + 1;
}

void Compiler::leave(const Inst& i) {
  if (i.op == Op::Return) target_.jump(lane_done_);
  else target_.jump(i.op == Op::Break ? loops_.back().out : loops_.back().on);
}

}  // namespace hologram::jit
