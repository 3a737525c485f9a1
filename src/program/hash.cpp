// The hash of what a program does: XXH3 over a canonical encoding, in which values are numbered by
// definition and nothing has a name.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <unordered_map>

#include "program/ir.hpp"

namespace hologram::program {
namespace {

class Encoding {
 public:
  // Little-endian and of fixed width, so that the bytes are the same everywhere.
  void add(uint64_t number, int bytes = 4) {
    for (int i = 0; i < bytes; i++) bytes_.push_back(static_cast<uint8_t>(number >> (8 * i)));
  }
  void add(DType type) { add(static_cast<uint64_t>(type), 1); }

  void add(const Code& code) {
    std::vector<uint32_t> number(code.values.size(), kNone);
    uint32_t next = 0;
    add(code.insts.size());
    for (const Inst& inst : code.insts) {
      add(static_cast<uint64_t>(inst.op), 1);
      add(inst.type);
      add(inst.from);
      add(inst.aux, 1);
      add(inst.proved, 1);
      // The text of a require clause is for messages only.
      add(inst.op == Op::Require ? kNone : inst.slot);
      const size_t operands = arity(inst);
      for (size_t k = 0; k < operands; k++) add(number[inst.args[k]]);
      add(inst.imm, 8);
      if (inst.id != kNone) number[inst.id] = next++;
    }
  }

  Hash128 hash() const {
    const XXH128_hash_t h = XXH3_128bits(bytes_.data(), bytes_.size());
    return {h.high64, h.low64};
  }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace

Hash128 hash_of(const Module& module) {
  Encoding e;
  for (const uint32_t lanes : module.workgroup) e.add(lanes);
  e.add(module.index);

  std::unordered_map<std::string_view, uint32_t> dimensions;
  e.add(module.scalars.size());
  for (const ScalarParam& scalar : module.scalars) {
    dimensions.emplace(scalar.name, static_cast<uint32_t>(dimensions.size()));
    e.add(scalar.type);
    e.add(scalar.dimension, 1);
  }
  e.add(module.buffers.size());
  for (const BufferParam& buffer : module.buffers) {
    e.add(buffer.type);
    e.add(static_cast<uint64_t>(buffer.access), 1);
    e.add(buffer.dims.size());
    for (const Dim& dim : buffer.dims) {
      e.add(dim.name.empty() ? kNone : dimensions.at(dim.name));
      e.add(static_cast<uint64_t>(dim.length), 8);
    }
  }
  e.add(module.shared.size());
  for (const SharedArray& array : module.shared) {
    e.add(array.type);
    e.add(array.count);
    e.add(array.atomic, 1);
  }
  e.add(module.variables.size());
  for (const Variable& variable : module.variables) e.add(variable.type);
  e.add(module.host);
  e.add(module.body);
  return e.hash();
}

}  // namespace hologram::program
