// Following facts and definitions from a question to the answer.
#include <algorithm>

#include "program/proofs/facts.hpp"

namespace hologram::program {
namespace {

constexpr int kSteps = 120;  // a question
constexpr int kDepth = 8;

}  // namespace

bool Facts::at_most(uint32_t a, uint32_t b, Wide offset) {
  steps_ = kSteps;
  return prove(a, b, offset, kDepth);
}

bool Facts::prove(uint32_t a, uint32_t b, Wide offset, int depth) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return offset >= 0;
  const Interval &ia = intervals_[a], &ib = intervals_[b];
  if (ia.high <= ib.low + offset) return true;
  if (depth == 0 || steps_ == 0) return false;
  steps_--;
  // A constant is the number 0, moved.
  if (ia.low == ia.high && a != kZero) return prove(kZero, b, offset - ia.low, depth);
  if (ib.low == ib.high && b != kZero) return prove(a, kZero, offset + ib.low, depth);
  if (a != kZero)
    for (size_t i = 0; i < above_[a].size() && steps_ > 0; i++) {
      const Edge& edge = above_[a][i];
      if (prove(edge.node, b, offset - edge.offset, depth - 1)) return true;
    }
  if (b != kZero)
    for (size_t i = 0; i < below_[b].size() && steps_ > 0; i++) {
      const Edge& edge = below_[b][i];
      if (prove(a, edge.node, offset + edge.offset, depth - 1)) return true;
    }
  return prove_from_above(a, b, offset, depth - 1) || prove_from_below(a, b, offset, depth - 1);
}

// Whether x op y does not wrap, for add and sub.
bool Facts::is_exact(const Inst& inst, uint32_t x, uint32_t y, int depth) {
  const Interval range = range_of(inst.type);
  const Interval ix = intervals_[resolve(x)], iy = intervals_[resolve(y)];
  const Interval sum = exact_interval(inst.op, ix, iy);
  const auto below = [&](uint32_t node, Wide most) { return prove(node, kZero, most, depth); };
  const auto above = [&](uint32_t node, Wide least) { return prove(kZero, node, -least, depth); };
  if (inst.op == Op::Add) {
    return (sum.high <= range.high || below(x, range.high - iy.high) ||
            below(y, range.high - ix.high)) &&
           (sum.low >= range.low || above(x, range.low - iy.low) || above(y, range.low - ix.low));
  }
  return (sum.high <= range.high || below(x, range.high + iy.low)) &&
         (sum.low >= range.low || above(x, range.low + iy.high) || prove(y, x, -range.low, depth));
}

// a <= b + offset by what a is made of.
bool Facts::prove_from_above(uint32_t a, uint32_t b, Wide offset, int depth) {
  const Inst* inst = definitions_[a];
  if (inst == nullptr || depth <= 0 || !is_integer(inst->type)) return false;
  const size_t operands = arity(*inst);
  const uint32_t x = operands > 0 ? operand(a, 0) : kNone;
  const uint32_t y = operands > 1 ? operand(a, 1) : kNone;
  const auto through = [&](uint32_t node, Wide more) {
    return prove(node, b, offset - more, depth);
  };
  switch (inst->op) {
    case Op::Add: {
      const Wide hx = intervals_[resolve(x)].high, hy = intervals_[resolve(y)].high;
      return (through(x, hy) || through(y, hx)) && is_exact(*inst, x, y, depth);
    }
    case Op::Sub: {
      const bool shown =
          through(x, -intervals_[resolve(y)].low) || (b == kZero && prove(x, y, offset, depth));
      return shown && is_exact(*inst, x, y, depth);
    }
    case Op::Min: return through(x, 0) || through(y, 0);
    case Op::Max: return through(x, 0) && through(y, 0);
    case Op::Select: return through(y, 0) && through(operand(a, 2), 0);
    case Op::Div: return through(x, 0) && not_negative(x, depth) && not_negative(y, depth);
    case Op::Rem:
      return (through(y, -1) && prove(kZero, y, -1, depth)) ||
             (through(x, 0) && not_negative(x, depth));
    case Op::And:
      return (through(x, 0) && not_negative(x, depth)) || (through(y, 0) && not_negative(y, depth));
    case Op::Shr: return through(x, 0) && not_negative(x, depth);
    case Op::For: return through(y, -1);
    default: return false;
  }
}

// a <= b + offset by what b is made of.
bool Facts::prove_from_below(uint32_t a, uint32_t b, Wide offset, int depth) {
  if (depth <= 0) return false;
  if (a == kZero && offset == -1 && b >= first_length_) return prove_length(b, depth);
  const Inst* inst = definitions_[b];
  if (inst == nullptr || !is_integer(inst->type)) return false;
  const size_t operands = arity(*inst);
  const uint32_t x = operands > 0 ? operand(b, 0) : kNone;
  const uint32_t y = operands > 1 ? operand(b, 1) : kNone;
  const auto through = [&](uint32_t node, Wide more) {
    return prove(a, node, offset + more, depth);
  };
  switch (inst->op) {
    case Op::Add: {
      const Wide lx = intervals_[resolve(x)].low, ly = intervals_[resolve(y)].low;
      return (through(x, ly) || through(y, lx)) && is_exact(*inst, x, y, depth);
    }
    case Op::Sub: {
      const bool shown =
          through(x, -intervals_[resolve(y)].high) || (a == kZero && prove(y, x, offset, depth));
      return shown && is_exact(*inst, x, y, depth);
    }
    case Op::Min: return through(x, 0) && through(y, 0);
    case Op::Max: return through(x, 0) || through(y, 0);
    case Op::Select: return through(y, 0) && through(operand(b, 2), 0);
    case Op::Div: return through(kZero, 0) && not_negative(x, depth) && not_negative(y, depth);
    case Op::Rem:
    case Op::Shr: return through(kZero, 0) && not_negative(x, depth);
    case Op::And: return through(kZero, 0) && (not_negative(x, depth) || not_negative(y, depth));
    case Op::For: return through(x, 0);
    default: return false;
  }
}

// Whether a length or dimension is at least 1: a buffer with an element has no dimension of 0.
bool Facts::prove_length(uint32_t b, int depth) {
  if (b >= first_scalar_) {
    const auto& buffers = buffers_with_[b - first_scalar_];
    return std::any_of(buffers.begin(), buffers.end(), [&](uint32_t buffer) {
      return lengths_[buffer] != b && prove(kZero, lengths_[buffer], -1, depth);
    });
  }
  const Factors& factors = factors_[b - first_length_];
  return !factors.empty() && std::all_of(factors.begin(), factors.end(), [&](const Factor& f) {
    return f.node == kNone ? f.number >= 1 : prove(kZero, f.node, -1, depth);
  });
}

}  // namespace hologram::program
