#include "dialects/uses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hologram::dialects {

using program::Inst;
using program::Module;
using program::Op;

namespace {

// Whether its lanes reduce, and nothing is written to a buffer in a loop: then most of what it
// reads is read before that.
bool find_writes_late(const Module& module) {
  bool reduces = false;
  std::vector<bool> loops;  // of the blocks that are open
  for (const Inst& inst : module.body.insts) {
    switch (inst.op) {
      case Op::GroupReduce: reduces = true; break;
      case Op::If: loops.push_back(false); break;
      case Op::For:
      case Op::Loop: loops.push_back(true); break;
      case Op::End: loops.pop_back(); break;
      case Op::Atomic: return false;
      case Op::Store:
        if (std::find(loops.begin(), loops.end(), true) != loops.end()) return false;
        break;
      default: break;
    }
  }
  return reduces;
}

}  // namespace

Uses::Uses(const Module& module, Stop stop)
    : lengths(module.buffers.size()),
      scalars(module.scalars.size()),
      cooperative(!module.shared.empty()),
      writes_late(stop == Stop::None && find_writes_late(module)) {
  for (const Inst& inst : module.body.insts) {
    switch (inst.op) {
      case Op::Scalar: scalars[inst.slot] = true; break;
      case Op::Length: lengths[inst.slot] = true; break;
      case Op::Load:
      case Op::Store:
      case Op::Atomic:
        if (!inst.proved) lengths[inst.slot] = true;
        break;
      case Op::LaneId: lane_ids[inst.aux] = true; break;
      case Op::GroupId: group_ids[inst.aux] = true; break;
      case Op::GlobalId: group_ids[inst.aux] = lane_ids[inst.aux] = true; break;
      case Op::GroupCount: group_counts[inst.aux] = true; break;
      case Op::GroupReduce:
      case Op::GroupScan:
      case Op::GroupUniform: (size_of(inst.type) == 8 ? scratch64 : scratch32) = true; break;
      case Op::Barrier: cooperative = true; break;
      default: break;
    }
  }
  cooperative = cooperative || scratch32 || scratch64;
  poll = stop == Stop::None ? std::vector<Poll>(module.body.insts.size(), Poll::None)
                            : find_polls(module, cooperative);
}

bool Uses::polls(Poll how) const { return std::find(poll.begin(), poll.end(), how) != poll.end(); }

namespace {

std::string named(std::string_view name, char what, uint32_t slot) {
  return fmt::format("{}_{}{}", name, what, slot);
}

}  // namespace

std::string buffer_name(const Module& module, uint32_t slot) {
  return named(module.buffers[slot].name, 'b', slot);
}
std::string length_name(const Module& module, uint32_t slot) {
  return named(module.buffers[slot].name, 'n', slot);
}
std::string offset_name(const Module& module, uint32_t slot) {
  return named(module.buffers[slot].name, 'o', slot);
}
std::string scalar_name(const Module& module, uint32_t slot) {
  return named(module.scalars[slot].name, 's', slot);
}
std::string shared_name(const Module& module, uint32_t slot) {
  return named(module.shared[slot].name, 'w', slot);
}
std::string variable_name(const Module& module, uint32_t slot) {
  return named(module.variables[slot].name, 'v', slot);
}

}  // namespace hologram::dialects
