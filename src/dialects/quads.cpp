#include "dialects/quads.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace hologram::dialects {
namespace {

using program::Inst;
using program::kNone;
using program::Module;
using program::Op;

constexpr int64_t kFour = 4;

bool is_access(const Inst& inst) { return inst.op == Op::SharedLoad || inst.op == Op::SharedStore; }

// An integer as a sum: of values that are no sums, in order, and a number.
struct Sum {
  std::vector<uint32_t> values;
  int64_t number = 0;
};

// What is known of integers. In the order of definitions, once each: they may be used often.
class Integers {
 public:
  explicit Integers(const Module& module)
      : sums_(module.body.values.size()), multiples_(module.body.values.size()) {
    std::vector<const Inst*> definitions(module.body.values.size());
    for (const Inst& inst : module.body.insts) {
      if (inst.id == kNone) continue;
      definitions[inst.id] = &inst;
      if (inst.type != module.index) continue;
      sums_[inst.id] = sum_of(inst);
      multiples_[inst.id] = is_multiple(inst, definitions);
    }
  }

  const Sum& sum(uint32_t value) const { return sums_[value]; }
  bool is_multiple(uint32_t value) const { return multiples_[value]; }

 private:
  Sum sum_of(const Inst& inst) const {
    constexpr size_t kMostValues = 8;  // otherwise it is taken for one
    if (inst.op == Op::Const) return {{}, static_cast<int32_t>(inst.imm)};
    if (inst.op != Op::Add) return {{inst.id}, 0};
    Sum a = sums_[inst.args[0]];
    const Sum& b = sums_[inst.args[1]];
    if (a.values.size() + b.values.size() > kMostValues) return {{inst.id}, 0};
    a.values.insert(a.values.end(), b.values.begin(), b.values.end());
    std::sort(a.values.begin(), a.values.end());
    a.number += b.number;
    return a;
  }

  bool is_multiple(const Inst& inst, const std::vector<const Inst*>& definitions) const {
    const auto is = [&](size_t k) { return multiples_[inst.args[k]]; };
    switch (inst.op) {
      case Op::Const: return inst.imm % kFour == 0;
      case Op::Mul: return is(0) || is(1);
      case Op::Shl: {
        const Inst& by = *definitions[inst.args[1]];
        return is(0) || (by.op == Op::Const && by.imm >= 2 && by.imm < 32);
      }
      case Op::Add:
      case Op::Sub: return is(0) && is(1);
      case Op::For: return inst.imm % kFour == 0 && is(0);
      default: return false;
    }
  }

  std::vector<Sum> sums_;
  std::vector<bool> multiples_;
};

}  // namespace

Quads::Quads(const Module& module)
    : arrays(module.shared.size()),
      place(module.body.insts.size(), -1),
      fours(module.body.insts.size()) {
  if (size_of(module.index) != sizeof(int32_t)) return;
  for (size_t slot = 0; slot < arrays.size(); slot++) {
    const program::SharedArray& array = module.shared[slot];
    arrays[slot] =
        size_of(array.type) == sizeof(float) && array.count % kFour == 0 && !array.atomic;
  }
  const Integers integers(module);
  using Key = std::tuple<uint32_t, std::vector<uint32_t>, int64_t>;  // slot, values, quad
  struct Open {
    std::vector<size_t> accesses = std::vector<size_t>(kFour, SIZE_MAX);
    int count = 0;
  };
  std::map<Key, Open> open;
  std::vector<Op> kind(arrays.size(), Op::End);  // of the accesses that are open
  const auto close = [&](uint32_t slot) {
    std::erase_if(open, [&](const auto& entry) {
      if (std::get<0>(entry.first) != slot) return false;
      arrays[slot] = false;  // of which some are missing
      return true;
    });
  };
  const auto& insts = module.body.insts;
  for (size_t i = 0; i <= insts.size(); i++) {
    const bool ends = i == insts.size() ||
                      program::info(insts[i].op).category == program::Category::Control ||
                      program::info(insts[i].op).category == program::Category::Group;
    if (ends)
      for (uint32_t slot = 0; slot < arrays.size(); slot++) close(slot);
    if (i == insts.size() || !is_access(insts[i])) continue;
    const Inst& inst = insts[i];
    if (kind[inst.slot] != inst.op) close(inst.slot);
    kind[inst.slot] = inst.op;
    Sum index = integers.sum(inst.args[0]);
    const bool whole = std::all_of(index.values.begin(), index.values.end(),
                                   [&](uint32_t value) { return integers.is_multiple(value); });
    if (!inst.proved || !whole || index.number < 0) {
      arrays[inst.slot] = false;
      continue;
    }
    place[i] = static_cast<int>(index.number % kFour);
    const auto [found, _] =
        open.try_emplace({inst.slot, std::move(index.values), index.number / kFour});
    size_t& mine = found->second.accesses[static_cast<size_t>(place[i])];
    if (mine != SIZE_MAX) {
      arrays[inst.slot] = false;
      continue;
    }
    mine = i;
    if (++found->second.count < kFour) continue;
    for (const size_t access : found->second.accesses) fours[access] = found->second.accesses;
    open.erase(found);
  }
}

}  // namespace hologram::dialects
