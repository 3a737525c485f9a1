#include <algorithm>
#include <cmath>

#include "program/ir.hpp"

namespace hologram::program {
namespace {

void add(Cost& to, const Cost& cost, double times) {
  to.flops += cost.flops * times;
  to.bytes_read += cost.bytes_read * times;
  to.bytes_written += cost.bytes_written * times;
  to.instructions += cost.instructions * times;
  to.has_unknown_loops |= cost.has_unknown_loops;
}

Cost larger(const Cost& a, const Cost& b) {
  return {std::max(a.flops, b.flops), std::max(a.bytes_read, b.bytes_read),
          std::max(a.bytes_written, b.bytes_written), std::max(a.instructions, b.instructions),
          a.has_unknown_loops || b.has_unknown_loops};
}

struct Frame {
  Op op;
  double rounds;
  Cost cost;
  Cost then;  // of the block before Else
};

class Counter {
 public:
  explicit Counter(const Module& module) : m_(module), constants_(module.body.values.size()) {}

  Cost run() {
    frames_.push_back({Op::If, 1, {}, {}});
    for (const Inst& inst : m_.body.insts) {
      switch (inst.op) {
        case Op::If: frames_.push_back({inst.op, 1, {}, {}}); break;
        case Op::Else: std::swap(frames_.back().cost, frames_.back().then); break;
        case Op::Loop:
        case Op::For: open_loop(inst); break;
        case Op::End: close(); break;
        default: count(inst);
      }
    }
    return frames_.back().cost;
  }

 private:
  void open_loop(const Inst& inst) {
    const auto rounds = inst.op == Op::For ? rounds_of(inst) : std::nullopt;
    frames_.push_back({inst.op, rounds.value_or(1), {}, {}});
    frames_.back().cost.has_unknown_loops = !rounds;
  }

  std::optional<double> rounds_of(const Inst& inst) const {
    const auto& begin = constants_[inst.args[0]];
    const auto& end = constants_[inst.args[1]];
    if (!begin || !end) return std::nullopt;
    const double length = number(inst.type, *end) - number(inst.type, *begin);
    return std::max(0.0, std::ceil(length / static_cast<double>(inst.imm)));
  }

  static double number(DType type, uint64_t bits) {
    if (type == DType::I32) return static_cast<int32_t>(bits);
    return is_signed_integer(type) ? static_cast<double>(static_cast<int64_t>(bits))
                                   : static_cast<double>(bits);
  }

  void close() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    add(frames_.back().cost, larger(frame.cost, frame.then), frame.rounds);
  }

  void count(const Inst& inst) {
    Cost& cost = frames_.back().cost;
    if (inst.op == Op::Const) constants_[inst.id] = inst.imm;
    if (inst.op <= Op::GroupCount) return;
    cost.instructions += 1;
    if (is_float(inst.type)) cost.flops += info(inst.op).flops;
    const auto bytes = [&] { return static_cast<double>(size_of(m_.buffers[inst.slot].type)); };
    if (inst.op == Op::Load || inst.op == Op::Atomic) cost.bytes_read += bytes();
    if (inst.op == Op::Store || inst.op == Op::Atomic) cost.bytes_written += bytes();
  }

  const Module& m_;
  std::vector<std::optional<uint64_t>> constants_;
  std::vector<Frame> frames_;
};

}  // namespace

Cost cost_of(const Module& module) { return Counter(module).run(); }

}  // namespace hologram::program
