#include "program/ir.hpp"

namespace hologram::program {

Needs needs_of(const Module& module) {
  Needs needs;
  needs.buffers = static_cast<uint32_t>(module.buffers.size());
  needs.lanes = module.lanes();
  for (const BufferParam& buffer : module.buffers) needs.storage.add(buffer.type);
  for (const SharedArray& array : module.shared) {
    needs.shared_bytes += array.count * static_cast<uint32_t>(size_of(array.type));
    needs.compute.add(array.type);
  }
  needs.compute.add(module.index);
  needs.cooperative = !module.shared.empty();
  for (const Inst& inst : module.body.insts) {
    if (inst.id != kNone) needs.compute.add(inst.type);
    switch (inst.op) {
      case Op::Atomic:
      case Op::SharedAtomic: needs.atomics = true; break;
      case Op::Barrier:
      case Op::GroupReduce:
      case Op::GroupScan:
      case Op::GroupUniform: needs.cooperative = true; break;
      default: break;
    }
  }
  return needs;
}

}  // namespace hologram::program
