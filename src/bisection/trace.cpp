#include "bisection/trace.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <unordered_map>

namespace hologram::bisection {

using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

namespace {

// Writes the instructions that tell a value behind the one that makes it.
class Tracer {
 public:
  explicit Tracer(const Module& module) : m_(module), index_(module.index) {}

  Module make() {
    const auto slot_of = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
    buffer_ = slot_of(m_.buffers);
    m_.buffers.push_back({kTraceBuffer, DType::U32, program::Access::Out, {}});
    first_ = slot_of(m_.scalars);
    m_.scalars.push_back({"trace_first__", index_, false, {}});
    events_ = slot_of(m_.scalars);
    m_.scalars.push_back({"trace_events__", index_, false, {}});
    count_ = slot_of(m_.variables);
    m_.variables.push_back({"trace_count__", index_});
    const std::vector<Inst> body = std::move(m_.body.insts);
    m_.body.insts.clear();
    begin();
    for (size_t i = 0; i < body.size(); i++) {
      m_.body.insts.push_back(body[i]);
      if (body[i].id != kNone) tell(body[i].id, static_cast<uint64_t>(i) + 1);
    }
    return std::move(m_);
  }

 private:
  uint32_t add(Op op, DType type, DType from, std::initializer_list<uint32_t> args, uint32_t slot,
               uint8_t aux, uint64_t imm, bool has_value) {
    Inst inst;
    inst.op = op;
    inst.type = type;
    inst.from = from;
    inst.aux = aux;
    inst.slot = slot;
    inst.imm = imm;
    std::copy(args.begin(), args.end(), inst.args.begin());
    if (has_value) {
      inst.id = static_cast<uint32_t>(m_.body.values.size());
      m_.body.values.push_back(type);
    }
    m_.body.insts.push_back(inst);
    return inst.id;
  }
  uint32_t constant(DType type, uint64_t bits) {
    return add(Op::Const, type, DType::None, {}, kNone, 0, bits, true);
  }
  uint32_t pure(Op op, DType type, DType from, std::initializer_list<uint32_t> args) {
    return add(op, type, from, args, kNone, 0, 0, true);
  }
  uint32_t source(Op op, uint8_t axis) {
    return add(op, index_, DType::None, {}, kNone, axis, 0, true);
  }
  uint32_t scalar(uint32_t slot) {
    return add(Op::Scalar, index_, DType::None, {}, slot, 0, 0, true);
  }
  uint32_t number(Op op, uint32_t a, uint32_t b) { return pure(op, index_, index_, {a, b}); }
  uint32_t times_plus(uint32_t a, uint32_t b, uint32_t c) {
    return number(Op::Add, number(Op::Mul, a, b), c);
  }

  // The number of the lane in the grid, and where its part of the buffer begins.
  void begin() {
    const auto size = [&](int axis) { return constant(index_, m_.workgroup[axis]); };
    const uint32_t group = times_plus(
        times_plus(source(Op::GroupId, 2), source(Op::GroupCount, 1), source(Op::GroupId, 1)),
        source(Op::GroupCount, 0), source(Op::GroupId, 0));
    const uint32_t in_group =
        times_plus(times_plus(source(Op::LaneId, 2), size(1), source(Op::LaneId, 1)), size(0),
                   source(Op::LaneId, 0));
    const uint32_t lane = times_plus(group, constant(index_, m_.lanes()), in_group);
    const uint32_t from = number(Op::Sub, lane, scalar(first_));
    zero_ = constant(index_, 0);
    one_ = constant(index_, 1);
    most_ = scalar(events_);
    const uint32_t words = number(Op::Mul, most_, constant(index_, kEventWords));
    const uint32_t length = add(Op::Length, index_, DType::None, {}, buffer_, 0, 0, true);
    const uint32_t room = number(Op::Div, length, words);
    const uint32_t after = pure(Op::Ge, DType::Bool, index_, {from, zero_});
    const uint32_t before = pure(Op::Lt, DType::Bool, index_, {from, room});
    tells_ = pure(Op::And, DType::Bool, DType::Bool, {after, before});
    base_ = number(Op::Mul, from, words);
    add(Op::Var, index_, DType::None, {zero_}, count_, 0, 0, false);
    three_ = constant(index_, kEventWords);
    two_ = constant(index_, 2);
    nowhere_ = number(Op::Sub, zero_, one_);
  }

  void store(uint32_t at, uint32_t word) {
    add(Op::Store, DType::U32, DType::None, {at, word}, buffer_, 0, 0, false);
  }

  void tell(uint32_t value, uint64_t inst) {
    const uint32_t count = add(Op::Get, index_, DType::None, {}, count_, 0, 0, true);
    const uint32_t fits = pure(Op::Lt, DType::Bool, index_, {count, most_});
    const uint32_t writes = pure(Op::And, DType::Bool, DType::Bool, {fits, tells_});
    const uint32_t at = times_plus(count, three_, base_);
    const uint32_t where = pure(Op::Select, index_, index_, {writes, at, nowhere_});
    // What does not lie in the buffer is not stored.
    const auto place = [&](uint32_t plus) {
      return pure(Op::Select, index_, index_, {writes, number(Op::Add, where, plus), nowhere_});
    };
    store(where, constant(DType::U32, inst));
    const DType type = m_.body.values[value];
    if (type == DType::Bool) {
      store(place(one_), pure(Op::Cast, DType::U32, DType::Bool, {value}));
    } else if (size_of(type) == 4) {
      store(place(one_), type == DType::U32 ? value : pure(Op::Bitcast, DType::U32, type, {value}));
    } else {
      const uint32_t bits =
          type == DType::U64 ? value : pure(Op::Bitcast, DType::U64, type, {value});
      store(place(one_), pure(Op::Cast, DType::U32, DType::U64, {bits}));
      const uint32_t by = constant(DType::U32, 32);
      const uint32_t high = pure(Op::Shr, DType::U64, DType::U64, {bits, by});
      store(place(two_), pure(Op::Cast, DType::U32, DType::U64, {high}));
    }
    add(Op::Set, index_, DType::None, {number(Op::Add, count, one_)}, count_, 0, 0, false);
  }

  Module m_;
  const DType index_;
  uint32_t buffer_ = 0, first_ = 0, events_ = 0, count_ = 0;
  uint32_t zero_ = 0, one_ = 0, two_ = 0, three_ = 0, most_ = 0, tells_ = 0, base_ = 0,
           nowhere_ = 0;
};

// A lane's part of a trace.
class LaneTrace {
 public:
  LaneTrace(std::span<const uint32_t> words, int64_t lane, int64_t events)
      : words_(words.subspan(static_cast<size_t>(lane * events * kEventWords),
                             static_cast<size_t>(events * kEventWords))) {}
  uint32_t inst(int64_t event) const { return words_[static_cast<size_t>(event * kEventWords)]; }
  uint64_t bits(int64_t event) const {
    const auto at = static_cast<size_t>(event * kEventWords);
    return words_[at + 1] | static_cast<uint64_t>(words_[at + 2]) << 32;
  }

 private:
  std::span<const uint32_t> words_;
};

// Of these two events, the one that is likelier to be the cause.
bool comes_before(const Module& module, const Event& a, const Event& b) {
  const auto reads = [&](const Event& e) {
    const Op op = module.body.insts[e.inst].op;
    return op == Op::Load || op == Op::SharedLoad || op == Op::GroupReduce || op == Op::GroupScan ||
           op == Op::GroupUniform;
  };
  if (a.number != b.number) return a.number < b.number;
  return !reads(a) && reads(b);
}

// What the operands of an instruction were when a lane came to it.
std::vector<uint64_t> operands_of(const Module& module, const LaneTrace& lane, const Event& event) {
  std::vector<uint64_t> bits;
  const Inst& inst = module.body.insts[event.inst];
  if (inst.op == Op::Load || inst.op == Op::SharedLoad) return bits;
  for (size_t k = 0; k < program::arity(inst); k++)
    for (int64_t i = event.number - 1; i >= 0; i--) {
      const Inst& made = module.body.insts[lane.inst(i) - 1];
      if (made.id != inst.args[k]) continue;
      bits.push_back(lane.bits(i));
      break;
    }
  return bits;
}

// Numbers of a float type in their order.
int64_t place_of(DType type, uint64_t bits) {
  if (type == DType::F64) {
    const auto value = static_cast<int64_t>(bits);
    return value < 0 ? std::numeric_limits<int64_t>::min() - value : value;
  }
  const int width = type == DType::F32 ? 32 : 16;
  const uint64_t sign = uint64_t{1} << (width - 1);
  const auto size = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -size : size;
}

struct FloatFormat {
  uint64_t magnitude, infinity, least_normal;
};
FloatFormat format_of(DType type) {
  switch (type) {
    case DType::F64: return {~uint64_t{0} >> 1, uint64_t{0x7ff} << 52, uint64_t{1} << 52};
    case DType::F16: return {0x7fff, 0x7c00, 0x400};
    case DType::BF16: return {0x7fff, 0x7f80, 0x80};
    default: return {0x7fffffff, 0x7f800000, 0x800000};
  }
}

}  // namespace

bool is_nan(DType type, uint64_t bits) {
  if (!is_float(type)) return false;
  const FloatFormat f = format_of(type);
  return (bits & f.magnitude) > f.infinity;
}

bool Equality::operator()(DType type, uint64_t a, uint64_t b) const {
  if (a == b) return true;
  if (!is_float(type)) return false;
  if (is_nan(type, a) || is_nan(type, b)) return is_nan(type, a) && is_nan(type, b);
  if (tolerance_ == 0) return false;
  const FloatFormat f = format_of(type);
  const auto flushed = [&](uint64_t bits) {
    return (bits & f.magnitude) < f.least_normal ? bits & ~f.magnitude : bits;
  };
  const int64_t x = place_of(type, flushed(a)), y = place_of(type, flushed(b));
  const uint64_t apart = x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
                               : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
  return apart <= tolerance_;
}

program::Program traced(const Module& module) {
  return program::Program::from(Tracer(module).make());
}

std::optional<Event> first_difference(const Module& module, std::span<const uint32_t> is,
                                      std::span<const uint32_t> ought, int64_t events,
                                      int64_t first, const Equality& equal) {
  std::optional<Event> found;
  const auto lanes = static_cast<int64_t>(is.size()) / (events * kEventWords);
  for (int64_t lane = 0; lane < lanes; lane++) {
    const LaneTrace a(is, lane, events), b(ought, lane, events);
    for (int64_t i = 0; i < events && (a.inst(i) != 0 || b.inst(i) != 0); i++) {
      Event event{first + lane, i, 0, b.bits(i), a.bits(i), a.inst(i) != b.inst(i), {}};
      if (event.other_way && b.inst(i) == 0 && i == 0) break;  // the lane does nothing
      const uint32_t which = b.inst(i) != 0 ? b.inst(i) : a.inst(i);
      if (which > module.body.insts.size()) break;
      event.inst = which - 1;
      const DType type = module.body.values[module.body.insts[event.inst].id];
      if (!event.other_way && equal(type, event.got, event.expected)) continue;
      if (!found || comes_before(module, event, *found)) {
        if (!event.other_way) event.operands = operands_of(module, b, event);
        found = std::move(event);
      }
      break;
    }
  }
  return found;
}

std::optional<Event> first_nan(const Module& module, std::span<const uint32_t> trace,
                               int64_t events, int64_t first) {
  std::optional<Event> found;
  const auto lanes = static_cast<int64_t>(trace.size()) / (events * kEventWords);
  for (int64_t lane = 0; lane < lanes; lane++) {
    const LaneTrace of(trace, lane, events);
    for (int64_t i = 0; i < events && of.inst(i) != 0; i++) {
      const Inst& inst = module.body.insts[of.inst(i) - 1];
      if (!is_nan(module.body.values[inst.id], of.bits(i))) continue;
      Event event{first + lane, i, of.inst(i) - 1, of.bits(i), of.bits(i), false, {}};
      event.operands = operands_of(module, of, event);
      if (!found || comes_before(module, event, *found)) found = std::move(event);
      break;
    }
  }
  return found;
}

}  // namespace hologram::bisection
