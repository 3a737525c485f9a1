#include "oracle/naive_interpreter.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "oracle/scalar_model.hpp"

namespace hologram::oracle {
namespace {

using program::Combine;
using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

// Where each block of the body begins and ends, by the position of an instruction.
struct Blocks {
  std::vector<size_t> otherwise;  // of an If: its Else, or its End
  std::vector<size_t> end;        // of If, Else, For, Loop: the End
  std::vector<size_t> begin;      // of an End: the If, For or Loop
  std::vector<size_t> loop;       // of Break, Continue: the innermost loop

  explicit Blocks(const std::vector<Inst>& code)
      : otherwise(code.size()), end(code.size()), begin(code.size()), loop(code.size()) {
    std::vector<size_t> open;
    for (size_t at = 0; at < code.size(); at++) switch (code[at].op) {
        case Op::If:
        case Op::For:
        case Op::Loop: open.push_back(at); break;
        case Op::Else: otherwise[open.back()] = at; break;
        case Op::End: {
          const size_t head = open.back();
          open.pop_back();
          begin[at] = head;
          end[head] = at;
          if (otherwise[head] == 0) otherwise[head] = at;
          end[otherwise[head]] = at;
          break;
        }
        case Op::Break:
        case Op::Continue: {
          size_t depth = open.size() - 1;
          while (code[open[depth]].op == Op::If) depth--;
          loop[at] = open[depth];
          break;
        }
        default: break;
      }
  }
};

struct Lane {
  std::array<uint64_t, 3> id = {};
  size_t at = 0;
  bool done = false;
  std::vector<uint64_t> values;
  std::vector<uint64_t> variables;
  std::vector<unsigned __int128> rounds;  // left to do, of each open For; unused of a Loop
};

__int128 number(DType type, uint64_t bits) {
  if (type == DType::I32) return static_cast<int32_t>(bits);
  if (type == DType::I64) return static_cast<int64_t>(bits);
  return bits;
}

uint64_t as_bits(DType type, __int128 value) {
  return size_of(type) == 4 ? static_cast<uint32_t>(value) : static_cast<uint64_t>(value);
}

uint64_t compute(Op op, DType type, DType from, const std::array<uint64_t, 3>& args) {
  if (const auto bits = scalar_model(op, type, from, args)) return *bits;
  if (const auto bits = program::evaluate(op, type, from, args)) return *bits;
  throw std::logic_error("no meaning for " + std::string(program::info(op).name));
}

uint64_t combined(Combine combine, DType type, uint64_t a, uint64_t b) {
  static constexpr Op kOps[] = {Op::Add, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor};
  if (combine == Combine::Exchange) return b;
  return compute(kOps[static_cast<size_t>(combine)], type, type, {a, b, 0});
}

class Machine {
 public:
  Machine(const Module& module, const std::array<uint64_t, 3>& grid,
          std::span<const uint64_t> scalars, std::vector<Memory>& buffers,
          const NaiveOptions& options)
      : module_(module),
        code_(module.body.insts),
        blocks_(code_),
        grid_(grid),
        scalars_(scalars),
        buffers_(buffers),
        options_(options),
        budget_(options.budget) {}

  void run_group(const std::array<uint64_t, 3>& group) {
    group_ = group;
    shared_.clear();
    for (const program::SharedArray& array : module_.shared)
      shared_.emplace_back(array.count * size_of(array.type), options_.poison);
    const auto& w = module_.workgroup;
    lanes_.assign(module_.lanes(), {});
    for (size_t n = 0; n < lanes_.size(); n++) {
      lanes_[n].id = {n % w[0], n / w[0] % w[1], n / w[0] / w[1]};
      lanes_[n].values.resize(module_.body.values.size());
      lanes_[n].variables.resize(module_.variables.size());
    }
    std::vector<size_t> order(lanes_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (options_.order == LaneOrder::Reverse) std::reverse(order.begin(), order.end());
    while (true) {
      if (options_.order == LaneOrder::Shuffled) shuffle(order);
      for (const size_t n : order) run_to_meeting(lanes_[n]);
      if (!meet()) break;
    }
  }

 private:
  void shuffle(std::vector<size_t>& order) {
    for (size_t i = order.size(); i > 1; i--) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u + options_.seed;
      std::swap(order[i - 1], order[(random_ >> 33) % i]);
    }
  }

  // Runs on until the lane ends or waits for the others.
  void run_to_meeting(Lane& lane) {
    while (!lane.done) {
      if (lane.at >= code_.size()) {
        lane.done = true;
        return;
      }
      const Op op = code_[lane.at].op;
      if (op == Op::Barrier || op == Op::GroupReduce || op == Op::GroupScan ||
          op == Op::GroupUniform)
        return;
      if (budget_-- == 0) throw BudgetSpent("the budget of instructions is spent");
      step(lane);
    }
  }

  // What the lanes wait for, once all have come there. False when all are done.
  bool meet() {
    const size_t at = lanes_[0].at;
    const size_t rounds = lanes_[0].rounds.size();
    for (const Lane& lane : lanes_)
      if (lane.done != lanes_[0].done ||
          (!lane.done && (lane.at != at || lane.rounds.size() != rounds)))
        throw NotUniform("lanes wait in different places");
    if (lanes_[0].done) return false;
    const Inst& inst = code_[at];
    if (inst.op != Op::Barrier) {
      std::vector<uint64_t> v;
      for (const Lane& lane : lanes_) v.push_back(lane.values[inst.args[0]]);
      gather(inst, v);
      for (size_t n = 0; n < lanes_.size(); n++) lanes_[n].values[inst.id] = v[n];
    }
    for (Lane& lane : lanes_) lane.at++;
    return true;
  }

  static void gather(const Inst& inst, std::vector<uint64_t>& v) {
    const auto op = static_cast<Combine>(inst.aux);
    if (inst.op == Op::GroupReduce)
      for (size_t s = v.size() / 2; s > 0; s /= 2)
        for (size_t l = 0; l < s; l++) v[l] = combined(op, inst.type, v[l], v[l + s]);
    if (inst.op == Op::GroupScan) {
      for (size_t d = 1; d < v.size(); d *= 2)
        for (size_t l = v.size() - 1; l >= d; l--) v[l] = combined(op, inst.type, v[l - d], v[l]);
      return;
    }
    std::fill(v.begin(), v.end(), v[0]);
  }

  uint64_t argument(const Lane& lane, const Inst& inst, size_t n) const {
    return inst.args[n] == kNone ? 0 : lane.values[inst.args[n]];
  }

  // The place of an element; null outside.
  uint8_t* element(const Lane& lane, const Inst& inst, Memory& memory, DType storage) const {
    const __int128 index = number(module_.body.values[inst.args[0]], lane.values[inst.args[0]]);
    const auto length = static_cast<__int128>(memory.size() / size_of(storage));
    if (index < 0 || index >= length) return nullptr;
    return memory.data() + static_cast<size_t>(index) * size_of(storage);
  }

  void access(Lane& lane, const Inst& inst) {
    const bool in_group =
        inst.op == Op::SharedLoad || inst.op == Op::SharedStore || inst.op == Op::SharedAtomic;
    Memory& memory = in_group ? shared_[inst.slot] : buffers_[inst.slot];
    const DType storage =
        in_group ? module_.shared[inst.slot].type : module_.buffers[inst.slot].type;
    uint8_t* place = element(lane, inst, memory, storage);
    if (place == nullptr && inst.proved)
      throw WrongProof(std::string(program::info(inst.op).name) +
                       " is marked as proved, and lies outside");
    const uint64_t old = place == nullptr ? 0 : load_element(storage, place);
    const bool loads = inst.op == Op::Load || inst.op == Op::SharedLoad;
    const bool stores = inst.op == Op::Store || inst.op == Op::SharedStore;
    if (inst.id != kNone && !stores) lane.values[inst.id] = old;
    if (loads || place == nullptr) return;
    const uint64_t value = argument(lane, inst, 1);
    store_element(storage, place,
                  stores ? value : combined(static_cast<Combine>(inst.aux), inst.type, old, value));
  }

  void step(Lane& lane) {
    const size_t at = lane.at++;
    const Inst& inst = code_[at];
    const auto define = [&](uint64_t bits) { lane.values[inst.id] = bits; };
    switch (inst.op) {
      case Op::Const: return define(inst.imm);
      case Op::Scalar: return define(scalars_[inst.slot]);
      case Op::Length:
        return define(buffers_[inst.slot].size() / size_of(module_.buffers[inst.slot].type));
      case Op::LaneId: return define(as_bits(inst.type, lane.id[inst.aux]));
      case Op::GroupId: return define(as_bits(inst.type, group_[inst.aux]));
      case Op::GroupCount: return define(as_bits(inst.type, grid_[inst.aux]));
      case Op::GlobalId:
        return define(
            as_bits(inst.type, group_[inst.aux] * module_.workgroup[inst.aux] + lane.id[inst.aux]));
      case Op::Var:
      case Op::Set: lane.variables[inst.slot] = argument(lane, inst, 0); return;
      case Op::Get: return define(lane.variables[inst.slot]);
      case Op::Load:
      case Op::Store:
      case Op::SharedLoad:
      case Op::SharedStore:
      case Op::Atomic:
      case Op::SharedAtomic: return access(lane, inst);
      case Op::If:
        if (argument(lane, inst, 0) == 0) lane.at = blocks_.otherwise[at] + 1;
        return;
      case Op::Else: lane.at = blocks_.end[at] + 1; return;
      case Op::For: return enter_for(lane, inst, at);
      case Op::Loop: lane.rounds.push_back(0); return;
      case Op::End: return next_round(lane, blocks_.begin[at]);
      case Op::Break:
        lane.rounds.pop_back();
        lane.at = blocks_.end[blocks_.loop[at]] + 1;
        return;
      case Op::Continue: return next_round(lane, blocks_.loop[at]);
      case Op::Return: lane.done = true; return;
      default:
        return define(
            compute(inst.op, inst.type, inst.from,
                    {argument(lane, inst, 0), argument(lane, inst, 1), argument(lane, inst, 2)}));
    }
  }

  void enter_for(Lane& lane, const Inst& inst, size_t at) {
    const __int128 begin = number(inst.type, argument(lane, inst, 0));
    const __int128 end = number(inst.type, argument(lane, inst, 1));
    const __int128 rounds = end > begin ? (end - begin + inst.imm - 1) / inst.imm : 0;
    lane.values[inst.id] = argument(lane, inst, 0);
    lane.rounds.push_back(static_cast<unsigned __int128>(rounds));
    if (rounds == 0) {
      lane.rounds.pop_back();
      lane.at = blocks_.end[at] + 1;
    }
  }

  // At the end of a round of a loop, or of an If, whose head is given.
  void next_round(Lane& lane, size_t head) {
    const Inst& inst = code_[head];
    if (inst.op == Op::If) return;
    if (inst.op == Op::For) {
      if (--lane.rounds.back() == 0) {
        lane.rounds.pop_back();
        lane.at = blocks_.end[head] + 1;
        return;
      }
      lane.values[inst.id] = as_bits(inst.type, number(inst.type, lane.values[inst.id]) + inst.imm);
    }
    lane.at = head + 1;
  }

  const Module& module_;
  const std::vector<Inst>& code_;
  const Blocks blocks_;
  const std::array<uint64_t, 3> grid_;
  const std::span<const uint64_t> scalars_;
  std::vector<Memory>& buffers_;
  const NaiveOptions& options_;
  uint64_t budget_;
  uint64_t random_ = 0;
  std::array<uint64_t, 3> group_ = {};
  std::vector<Memory> shared_;
  std::vector<Lane> lanes_;
};

}  // namespace

void run_naively(const Module& module, const std::array<uint64_t, 3>& grid,
                 std::span<const uint64_t> scalars, std::vector<Memory>& buffers,
                 const NaiveOptions& options) {
  Machine machine(module, grid, scalars, buffers, options);
  for (uint64_t z = 0; z < grid[2]; z++)
    for (uint64_t y = 0; y < grid[1]; y++)
      for (uint64_t x = 0; x < grid[0]; x++) machine.run_group({x, y, z});
}

}  // namespace hologram::oracle
