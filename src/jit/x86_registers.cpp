#include "jit/x86_registers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "jit/x86_folding.hpp"
#include "jit/x86_operands.hpp"

namespace hologram::jit {

namespace {

namespace x86 = asmjit::x86;
namespace I = x86::Inst;
using asmjit::BaseNode;
using asmjit::BaseReg;
using asmjit::InstNode;
using asmjit::InvokeNode;
using asmjit::NodeType;
using asmjit::Operand;
using asmjit::RegGroup;

constexpr uint32_t kNowhere = UINT32_MAX;
constexpr uint32_t kGroups = 3;  // RegGroup::kGp, kVec, kX86_K
// Those that a function may overwrite first, so that few have to be saved.
constexpr uint8_t kGeneral[] = {0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 5, 12, 13, 14, 15};
constexpr asmjit::InstId kMoves[kGroups] = {I::kIdMov, I::kIdVmovaps, I::kIdKmovq};
constexpr uint32_t kOverwritten = 0xfc7;  // by calls, of these
constexpr uint8_t kArguments[] = {7, 6, 2, 1, 8, 9};
constexpr uint32_t kRax = 0, kRbp = 5;
// What stands on the stack is brought into one of so many registers of its group: few at first.
constexpr uint32_t kFewBrought = 2, kMostBrought = 4;

// From where a virtual register is used first to where it is used last, with all of the loops that
// it lives through.
struct Life {
  uint32_t id = 0;
  uint32_t begin = kNowhere, end = 0;  // instructions by number
  uint64_t weight = 0;                 // how often it is used, more in loops
  uint32_t group = 0;
  uint32_t place = kNowhere;  // a register
  uint32_t slot = kNowhere;   // or bytes on the stack
  double density = 0;         // how much a register for it spares
};

struct Loop {
  uint32_t begin, end;
};

class Registers {
 public:
  Registers(x86::Compiler& code, asmjit::FuncNode& function, const Parts& parts, bool avx512)
      : code_(code),
        function_(function),
        parts_(parts),
        vector_bytes_(avx512 ? 64 : 32),
        avx512_(avx512) {}

  bool run() {
    put_in_order();
    if (!look()) return false;
    lengthen();
    life_of_.assign(code_.virtRegs().size(), nullptr);
    for (const Life& life : lives_) life_of_[Operand::virtIdToIndex(life.id)] = &life;
    constexpr uint32_t kMostTries = kGroups * (kMostBrought - kFewBrought + 2);
    for (uint32_t tries = 0; !give() || !can_bring(); tries++)
      if (tries == kMostTries) return false;
    place_on_stack();
    rewrite();
    return true;
  }

 private:
  // Those of a group, as they are given; k0 says that there is no mask.
  uint32_t count_of(uint32_t group) const {
    if (group == 0) return std::size(kGeneral);
    return group == 2 ? 7 : avx512_ ? 32 : 16;
  }
  static uint32_t nth(uint32_t group, uint32_t k) {
    return group == 0 ? kGeneral[k] : group == 2 ? k + 1 : k;
  }
  const Life& life(uint32_t id) const { return *life_of_[Operand::virtIdToIndex(id)]; }

  // Instructions as they run: what stands aside comes where it goes back to.
  void put_in_order() {
    // Where it goes back to, its label.
    std::pmr::vector<std::pair<const BaseNode*, BaseNode*>> asides(&memory_);
    for (const auto& [out, back] : parts_.asides) asides.emplace_back(label(back), label(out));
    const auto last_of = [](BaseNode* aside) {
      while (!aside->isInst() || aside->as<InstNode>()->id() != I::kIdJmp) aside = aside->next();
      return aside;
    };
    size_t count = 0;
    for (const BaseNode* node = &function_; node != function_.endNode(); node = node->next())
      count++;
    order_.reserve(count);
    for (BaseNode* node = &function_; node != function_.endNode(); node = node->next()) {
      for (const auto& [back, out] : asides) {
        if (node == out) node = last_of(out)->next();
        if (node != back) continue;
        BaseNode* const end = last_of(out)->next();
        for (BaseNode* each = out; each != end; each = each->next()) order_.push_back(each);
      }
      order_.push_back(node);
    }
  }

  asmjit::LabelNode* label(const asmjit::Label& of) const {
    asmjit::LabelNode* node = nullptr;
    code_.labelNodeOf(&node, of);
    return node;
  }

  // False where an instruction has no encoding for all registers.
  bool look() {
    labels_.assign(code_.labelNodes().size(), kNowhere);
    known_.assign(code_.virtRegs().size(), kNowhere);
    lives_.reserve(code_.virtRegs().size());
    note(function_.argPack(0)[0].id(), 0, 0);
    constexpr size_t kUses = 3;  // of an instruction, about
    // Lives, instructions.
    std::pmr::vector<std::pair<uint32_t, uint32_t>> uses(&memory_);
    uses.reserve(kUses * order_.size());
    for (uint32_t at = 1; at < order_.size(); at++) {
      BaseNode* const node = order_[at];
      if (node->isLabel()) labels_[node->as<asmjit::LabelNode>()->labelId()] = at;
      if (!node->isInst()) continue;
      auto& inst = *node->as<InstNode>();
      for (const Operand& operand : std::span(inst.operands(), inst.opCount())) {
        if (operand.isReg() && operand.as<BaseReg>().group() == RegGroup::kVec && avx512_ &&
            !x86::InstDB::infoById(inst.id()).isEvex())
          return false;
        if (operand.isLabel() && labels_[operand.id()] != kNowhere)
          loops_.push_back({labels_[operand.id()], at});
      }
      each_register(inst, [&](uint32_t id, uint32_t group) {
        uses.emplace_back(note(id, group, at), at);
        return id;
      });
    }
    std::pmr::vector<uint32_t> depths(order_.size(), 0, &memory_);
    for (const Loop& loop : loops_)
      for (uint32_t at = loop.begin; at <= loop.end; at++) depths[at]++;
    constexpr uint32_t kSeldom = 3;  // as if so many loops less stood around it
    for (uint32_t& depth : depths) depth = std::min(depth + kSeldom, 10 + kSeldom);
    for (const auto& [from, to] : parts_.seldom)
      for (uint32_t at = labels_[from.id()]; at < labels_[to.id()]; at++)
        depths[at] -= std::min(depths[at], kSeldom);
    for (const auto& [life, at] : uses) lives_[life].weight += uint64_t{1} << 3 * depths[at];
    return true;
  }

  uint32_t note(uint32_t id, uint32_t group, uint32_t at) {
    uint32_t& known = known_[Operand::virtIdToIndex(id)];
    if (known == kNowhere) {
      known = static_cast<uint32_t>(lives_.size());
      lives_.push_back({.id = id, .begin = at, .group = group});
    }
    lives_[known].end = at;
    return known;
  }

  void lengthen() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Life& life : lives_)
        for (const Loop& loop : loops_)
          if (life.begin < loop.begin && life.end >= loop.begin && life.end < loop.end) {
            life.end = loop.end;
            changed = true;
          }
    }
    for (Life& life : lives_)
      life.density = static_cast<double>(life.weight) / (life.end - life.begin + 1);
  }

  // False where a group has too few: next time, what it has least need of goes on the stack.
  bool give() {
    stack_ = 0;
    alignment_ = 8;
    std::array<uint32_t, kGroups> free{};
    for (uint32_t g = 0; g < kGroups; g++) {
      dirty_[g] = 0;
      const uint32_t count = count_of(g) - (spills_[g] ? brought_[g] : 0);
      for (uint32_t k = 0; k < count; k++) free[g] |= 1u << nth(g, k);
      for (uint32_t k = count; k < count_of(g); k++) dirty_[g] |= 1u << nth(g, k);
    }
    std::pmr::vector<Life*> active(&memory_);
    active.reserve(count_of(0) + count_of(1) + count_of(2));
    uint32_t next_end = kNowhere;
    for (Life& life : lives_) {
      if (next_end <= life.begin) {
        next_end = kNowhere;
        std::erase_if(active, [&](const Life* old) {
          if (old->end > life.begin) next_end = std::min(next_end, old->end);
          else free[old->group] |= 1u << old->place;
          return old->end <= life.begin;
        });
      }
      life.place = life.slot = kNowhere;
      if (free[life.group] == 0) {
        if (!spills_[life.group]) {
          spills_[life.group] = true;
          return false;
        }
        Life* least = &life;
        for (Life* other : active)
          if (other->group == life.group && other->density < least->density) least = other;
        least->slot = reserve(bytes_of(life.group), bytes_of(life.group));
        if (least == &life) continue;
        next_end = std::min(next_end, life.end);
        life.place = std::exchange(least->place, kNowhere);
        *std::find(active.begin(), active.end(), least) = &life;
        continue;
      }
      life.place = choose(life, free[life.group]);
      free[life.group] &= ~(1u << life.place);
      dirty_[life.group] |= 1u << life.place;
      next_end = std::min(next_end, life.end);
      active.push_back(&life);
    }
    return true;
  }

  uint32_t choose(const Life& life, uint32_t free) const {
    if (life.begin == 0 && (free >> kArguments[0] & 1) != 0) return kArguments[0];
    for (uint32_t k = 0; k < count_of(life.group); k++)
      if (const uint32_t r = nth(life.group, k); (free >> r & 1) != 0) return r;
    return kNowhere;
  }

  uint32_t bytes_of(uint32_t group) const { return group == 1 ? vector_bytes_ : 8; }

  uint32_t reserve(uint32_t bytes, uint32_t alignment) {
    alignment_ = std::max(alignment_, alignment);
    const uint32_t at = (stack_ + alignment - 1) / alignment * alignment;
    stack_ = at + bytes;
    return at;
  }

  // Whether no instruction needs more of a group than can be brought at a time; if not, more can be
  // from now on.
  bool can_bring() {
    bool can = true;
    for (BaseNode* node : order_) {
      if (!node->isInst() || node->type() == NodeType::kInvoke) continue;
      std::array<std::array<uint32_t, kMostBrought>, kGroups> ids{};
      each_register(*node->as<InstNode>(), [&](uint32_t id, uint32_t group) {
        if (life(id).slot == kNowhere) return id;
        auto& of_group = ids[group];
        const auto place = std::find_if(of_group.begin(), of_group.end(),
                                        [&](uint32_t other) { return other == id || other == 0; });
        *place = id;
        const auto needed = static_cast<uint32_t>(place - of_group.begin()) + 1;
        can = can && needed <= brought_[group];
        brought_[group] = std::max(brought_[group], needed);
        return id;
      });
    }
    return can;
  }

  // Arrays of the function, and what has to outlive calls.
  void place_on_stack() {
    homes_.assign(code_.virtRegs().size(), kNowhere);
    for (auto& of_group : saved_) of_group.fill(kNowhere);
    for (uint32_t at = 0; at < order_.size(); at++) {
      if (!order_[at]->isInst()) continue;
      auto& inst = *order_[at]->as<InstNode>();
      for (const Operand& operand : std::span(inst.operands(), inst.opCount()))
        if (operand.isMem() && operand.as<x86::Mem>().isRegHome()) {
          const auto& home = *code_.virtRegById(operand.as<x86::Mem>().baseId());
          auto& place = homes_[Operand::virtIdToIndex(home.id())];
          if (place == kNowhere) place = reserve(home.virtSize(), home.alignment());
        }
      if (inst.type() != NodeType::kInvoke) continue;
      if (!calls_) arguments_ = reserve(8 * (std::size(kArguments) + 1), 8);
      calls_ = true;
      each_across(at, [&](const Life& life) {
        uint32_t& place = saved_[life.group][life.place];
        if (place == kNowhere) place = reserve(bytes_of(life.group), bytes_of(life.group));
      });
    }
  }

  // fn(life) for each that a call would overwrite.
  template <class Fn>
  void each_across(uint32_t at, Fn fn) const {
    for (const Life& life : lives_) {
      if (life.begin >= at || life.end <= at || life.place == kNowhere) continue;
      if (life.group != 0 || (kOverwritten >> life.place & 1) != 0) fn(life);
    }
  }

  x86::Mem on_stack(uint32_t place, uint32_t bytes) const {
    const uint32_t offset = function_.frame().localStackOffset() + place;
    return x86::Mem(x86::rsp, static_cast<int32_t>(offset), bytes);
  }

  Operand in_register(uint32_t group, uint32_t place) const {
    if (group == 0) return x86::gpq(place);
    if (group == 2) return x86::k(place);
    if (vector_bytes_ == 64) return x86::zmm(place);
    return x86::ymm(place);
  }
  void load(uint32_t group, uint32_t place, uint32_t from) {
    code_.emit(kMoves[group], in_register(group, place), on_stack(from, bytes_of(group)));
  }
  void save(uint32_t group, uint32_t place, uint32_t to) {
    code_.emit(kMoves[group], on_stack(to, bytes_of(group)), in_register(group, place));
  }

  void rewrite() {
    asmjit::FuncFrame& frame = function_.frame();
    frame.setLocalStackSize(stack_);
    frame.setLocalStackAlignment(alignment_);
    if (calls_) {
      frame.addAttributes(asmjit::FuncAttributes::kHasFuncCalls);
      frame.updateCallStackAlignment(16);
    }
    if (frame.hasDynamicAlignment()) {
      frame.setSARegId(kRbp);
      dirty_[0] |= 1u << kRbp;
    }
    for (uint32_t g = 0; g < kGroups; g++) frame.addDirtyRegs(static_cast<RegGroup>(g), dirty_[g]);
    frame.finalize();
    for (uint32_t at = 1; at < order_.size(); at++) {
      if (!order_[at]->isInst()) continue;
      if (order_[at]->type() == NodeType::kInvoke) call(*order_[at]->as<InvokeNode>(), at);
      else rewrite(*order_[at]->as<InstNode>(), at);
    }
    // The first life is that of the argument.
    code_.setCursor(&function_);
    code_.emitProlog(frame);
    const Life& argument = lives_.front();
    if (argument.slot != kNowhere) save(0, kArguments[0], argument.slot);
    else if (argument.place != kArguments[0])
      code_.mov(x86::gpq(argument.place), x86::gpq(kArguments[0]));
    code_.setCursor(function_.exitNode());
    code_.emitEpilog(frame);
    code_.setCursor(code_.lastNode());
  }

  void rewrite(InstNode& node, uint32_t at) {
    for (Operand& operand : std::span(node.operands(), node.opCount()))
      if (operand.isMem() && operand.as<x86::Mem>().isRegHome()) {
        auto& m = operand.as<x86::Mem>();
        const uint32_t place = homes_[Operand::virtIdToIndex(m.baseId())];
        x86::Mem there = on_stack(place, m.size());
        there.addOffset(m.offset());
        m = there;
      }
    if (!any_on_stack(node))
      each_register(node, [this](uint32_t id, uint32_t) { return life(id).place; });
    else from_stack(node, at);
    if (node.type() == NodeType::kFuncRet) {
      const uint32_t status = node.op(0).id();
      code_.setCursor(node.prev());
      if (status != 0) code_.mov(x86::eax, x86::gpd(status));
      code_.removeNode(&node);
    } else if (moves_nothing(node)) {
      code_.removeNode(&node);
    }
  }

  bool any_on_stack(InstNode& node) const {
    bool any = false;
    each_register(node, [&](uint32_t id, uint32_t) {
      any = any || life(id).slot != kNowhere;
      return id;
    });
    return any;
  }

  // What stands on the stack is an operand there, or brought before the instruction and back after.
  void from_stack(InstNode& node, uint32_t at) {
    const auto spilled = [this](const Operand& o) -> std::optional<Spilled> {
      if (!is_virtual(o.id()) || life(o.id()).slot == kNowhere) return {};
      return Spilled{code_.virtRegById(o.id())->virtSize(), on_stack(life(o.id()).slot, 0)};
    };
    fold_general(node, spilled);
    const uint32_t only_written = fold_vectors(node, spilled);
    std::array<std::vector<const Life*>, kGroups> here;
    code_.setCursor(node.prev());
    each_register(node, [&](uint32_t id, uint32_t group) {
      const Life& of = life(id);
      if (of.slot == kNowhere) return of.place;
      auto& brought = here[group];
      const auto known = std::find(brought.begin(), brought.end(), &of);
      const uint32_t place = brought_to(group, static_cast<uint32_t>(known - brought.begin()));
      if (known != brought.end()) return place;
      if (of.begin < at && id != only_written) load(group, place, of.slot);
      brought.push_back(&of);
      return place;
    });
    if (node.type() == NodeType::kFuncRet || moves_nothing(node)) return;
    if (node.opCount() == 0 || !node.op(0).isReg()) return;
    const auto group = static_cast<uint32_t>(node.op(0).as<BaseReg>().group());
    code_.setCursor(&node);
    for (uint32_t k = 0; k < here[group].size(); k++)
      if (node.op(0).id() == brought_to(group, k))
        save(group, brought_to(group, k), here[group][k]->slot);
  }

  // Of a value that has got the register of what it is a copy of. To move a part of a register is
  // more than that: the rest becomes 0.
  bool moves_nothing(const InstNode& node) const {
    if ((node.id() != I::kIdMov && node.id() != I::kIdVmovaps) || node.hasExtraReg()) return false;
    const Operand &to = node.op(0), &from = node.op(1);
    if (!to.isReg() || !from.isReg() || to.signature() != from.signature()) return false;
    const uint32_t whole = to.as<BaseReg>().isGp() ? 8 : vector_bytes_;
    return to.id() == from.id() && to.as<BaseReg>().size() == whole;
  }

  uint32_t brought_to(uint32_t group, uint32_t k) const {
    return nth(group, count_of(group) - brought_[group] + k);
  }

  // The function's address and its arguments go by way of the stack, as they may stand in each
  // other's registers.
  void call(InvokeNode& node, uint32_t at) {
    code_.setCursor(node.prev());
    each_across(at, [&](const Life& of) { save(of.group, of.place, saved_[of.group][of.place]); });
    uint32_t count = 0;
    const auto hand_over = [&](const Operand& value) {
      const Life& of = life(value.id());
      const uint32_t from = of.slot == kNowhere ? of.place : brought_to(0, 0);
      if (of.slot != kNowhere) load(0, from, of.slot);
      save(0, from, arguments_ + 8 * count++);
    };
    for (uint32_t k = 0; k < node.argCount(); k++) hand_over(node.arg(k, 0));
    if (node.target().isReg()) {
      hand_over(node.target());
      load(0, kRax, arguments_ + 8 * (count - 1));
    } else {
      code_.mov(x86::rax, node.target().as<asmjit::Imm>());
    }
    for (uint32_t k = 0; k < node.argCount(); k++) load(0, kArguments[k], arguments_ + 8 * k);
    code_.call(x86::rax);
    const uint32_t result = node.hasRet() ? node.ret().id() : kNowhere;
    if (node.hasRet()) {
      const Life& of = life(result);
      if (of.slot != kNowhere) save(0, kRax, of.slot);
      else code_.mov(x86::gpq(of.place), x86::rax);
    }
    each_across(at, [&](const Life& of) {
      if (of.id != result) load(of.group, of.place, saved_[of.group][of.place]);
    });
    code_.removeNode(&node);
  }

  x86::Compiler& code_;
  asmjit::FuncNode& function_;
  const Parts& parts_;
  uint32_t vector_bytes_;
  bool avx512_;
  // Freed as a whole: what the heap gets back at its end it gives back to the system, and asks it
  // for again.
  std::array<std::byte, 1 << 16> first_memory_;
  std::pmr::monotonic_buffer_resource memory_{first_memory_.data(), first_memory_.size()};
  std::pmr::vector<BaseNode*> order_{&memory_};
  // By id: the instruction, the life.
  std::pmr::vector<uint32_t> labels_{&memory_}, known_{&memory_};
  std::pmr::vector<Loop> loops_{&memory_};
  std::pmr::vector<Life> lives_{&memory_};           // by their beginnings
  std::pmr::vector<const Life*> life_of_{&memory_};  // by id
  std::array<bool, kGroups> spills_{};
  std::array<uint32_t, kGroups> brought_ = {kFewBrought, kFewBrought, kFewBrought};
  std::array<uint32_t, kGroups> dirty_{};
  uint32_t stack_ = 0, alignment_ = 8;
  bool calls_ = false;
  uint32_t arguments_ = 0;  // of calls, on the stack
  std::array<std::array<uint32_t, 32>, kGroups> saved_{};
  std::pmr::vector<uint32_t> homes_{&memory_};  // by id: arrays of the function
};

}  // namespace

bool give_registers(x86::Compiler& code, asmjit::FuncNode& function, const Parts& parts,
                    bool avx512) {
  if (!Registers(code, function, parts, avx512).run()) return false;
  while (!code.passes().empty()) code.deletePass(code.passes()[0]);
  return true;
}

}  // namespace hologram::jit
