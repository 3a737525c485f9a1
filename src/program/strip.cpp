#include "program/strip.hpp"

#include <string>

namespace hologram::program {
namespace {

class Cutter {
 public:
  Cutter(const Module& module, int axis) : from_(module), axis_(static_cast<uint8_t>(axis)) {}

  Module run() {
    to_ = from_;
    to_.host = {};
    to_.require_texts.clear();
    to_.body.insts.clear();
    first_ = add_scalar("first");
    groups_ = add_scalar("groups");
    for (const BufferParam& b : from_.buffers) lengths_.push_back(add_scalar("len_" + b.name));
    for (const BufferParam& b : from_.buffers)
      bases_.push_back(b.access == Access::Out ? add_scalar("base_" + b.name) : kNone);
    for (BufferParam& b : to_.buffers) b.dims.clear();
    for (ScalarParam& s : to_.scalars) s.dimension = false;
    to_.buffers.push_back({unused_name("missed"), DType::U32, Access::Atomic, {}});
    for (const Inst& inst : from_.body.insts) rewrite(inst);
    return std::move(to_);
  }

 private:
  std::string unused_name(std::string name) const {
    const auto taken = [&] {
      for (const auto& b : to_.buffers)
        if (b.name == name) return true;
      for (const auto& s : to_.scalars)
        if (s.name == name) return true;
      return false;
    };
    while (taken()) name += "_";
    return name;
  }

  uint32_t add_scalar(const std::string& name) {
    to_.scalars.push_back({unused_name(name), from_.index, false, {}});
    return static_cast<uint32_t>(to_.scalars.size() - 1);
  }

  uint32_t emit(Inst inst) {
    inst.id = static_cast<uint32_t>(to_.body.values.size());
    to_.body.values.push_back(inst.type);
    to_.body.insts.push_back(inst);
    return inst.id;
  }
  uint32_t scalar(uint32_t slot) {
    return emit({.op = Op::Scalar, .type = from_.index, .slot = slot});
  }
  uint32_t constant(DType type, uint64_t bits) {
    return emit({.op = Op::Const, .type = type, .imm = bits});
  }
  uint32_t binary(Op op, uint32_t a, uint32_t b) {
    const DType t = to_.body.values[a];
    const bool test = info(op).typing == Typing::Compare;
    return emit({.op = op, .type = test ? DType::Bool : t, .from = t, .args = {a, b, kNone}});
  }

  void rewrite(const Inst& inst) {
    if (inst.op == Op::Length) {
      Inst length = inst;
      length.op = Op::Scalar;
      length.slot = lengths_[inst.slot];
      to_.body.insts.push_back(length);
    } else if (inst.op == Op::GroupCount && inst.aux == axis_) {
      Inst count = inst;
      count.op = Op::Scalar;
      count.slot = groups_;
      count.aux = 0;
      to_.body.insts.push_back(count);
    } else if ((inst.op == Op::GlobalId || inst.op == Op::GroupId) && inst.aux == axis_) {
      shift_id(inst);
    } else if (inst.op == Op::Store) {
      shift_store(inst);
    } else {
      to_.body.insts.push_back(inst);
    }
  }

  // The id within the strip, plus that of the strip's first; the sum takes the id's place.
  void shift_id(const Inst& inst) {
    Inst local = inst;
    const uint32_t id = emit(local);
    uint32_t offset = scalar(first_);
    if (inst.op == Op::GlobalId)
      offset = binary(Op::Mul, offset, constant(from_.index, from_.workgroup[axis_]));
    to_.body.insts.push_back({.op = Op::Add,
                              .type = inst.type,
                              .from = inst.type,
                              .id = inst.id,
                              .args = {id, offset, kNone},
                              .line = inst.line});
  }

  // The index counts from the strip's first element; one outside of the output stays outside, and
  // so does not wrap around. A store that the output would have taken but the strip does not is
  // counted.
  void shift_store(const Inst& inst) {
    const uint32_t index = inst.args[0];
    const uint32_t zero = constant(from_.index, 0);
    const uint32_t wanted = binary(Op::And, binary(Op::Ge, index, zero),
                                   binary(Op::Lt, index, scalar(lengths_[inst.slot])));
    const uint32_t nowhere =
        constant(from_.index, from_.index == DType::I32 ? UINT32_MAX : UINT64_MAX);
    const uint32_t local =
        emit({.op = Op::Select,
              .type = from_.index,
              .from = from_.index,
              .args = {wanted, binary(Op::Sub, index, scalar(bases_[inst.slot])), nowhere}});
    const uint32_t held = emit({.op = Op::Length, .type = from_.index, .slot = inst.slot});
    const uint32_t outside =
        binary(Op::Or, binary(Op::Lt, local, zero), binary(Op::Ge, local, held));
    const uint32_t missed = binary(Op::And, wanted, outside);
    Inst store = inst;
    store.args[0] = local;
    store.proved = store.trusted = false;
    to_.body.insts.push_back(store);
    to_.body.insts.push_back({.op = Op::If, .args = {missed, kNone, kNone}});
    const uint32_t first = constant(from_.index, 0), one = constant(DType::U32, 1);
    emit({.op = Op::Atomic,
          .type = DType::U32,
          .aux = static_cast<uint8_t>(Combine::Max),
          .slot = static_cast<uint32_t>(to_.buffers.size() - 1),
          .args = {first, one, kNone}});
    to_.body.insts.push_back({.op = Op::End});
  }

  const Module& from_;
  const uint8_t axis_;
  Module to_;
  uint32_t first_ = 0, groups_ = 0;
  std::vector<uint32_t> lengths_, bases_;
};

}  // namespace

Module strip(const Module& module, int axis) { return Cutter(module, axis).run(); }

}  // namespace hologram::program
