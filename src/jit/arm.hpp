// AArch64 with Advanced SIMD, which every such processor has: 32 registers of 128 bits. A mask is a
// vector of 32-bit lanes, all bits of each 0 or 1.
#pragma once

#include <asmjit/arm.h>
#include <asmjit/arm/a64compiler.h>

#include <functional>
#include <map>
#include <utility>

#include "jit/target.hpp"

namespace hologram::jit {

class Arm final : public Target {
 public:
  // `wide`: the program has lanes of 64 bits. `held`: constants that may keep a register.
  Arm(asmjit::CodeHolder& code, bool wide, uint32_t held);

  RegisterCount registers() const override { return kNeonRegisters; }
  asmjit::BaseCompiler& compiler() override { return cc_; }
  void begin() override;
  BaseReg argument() override { return argument_; }
  void end(BaseReg status) override;

  BaseReg scalar() override { return cc_.newGpx(); }
  void load_scalar(BaseReg to, const Address& from, uint32_t size, bool is_signed) override;
  void store_scalar(const Address& to, BaseReg from, uint32_t size) override;
  void address_of(BaseReg to, const Address& from) override;
  bool takes_whole_addresses() const override { return false; }
  void set(BaseReg to, int64_t value) override;
  void copy(BaseReg to, BaseReg from) override;
  void extend(BaseReg to, BaseReg from, DType type) override;
  bool scalar_op(Op op, DType type, BaseReg to, BaseReg a, const Operand& b) override;
  void scalar_not(BaseReg to, BaseReg a, DType type) override;
  void scalar_compare(BaseReg to, Cond cond, BaseReg a, const Operand& b, bool wide) override;
  void scalar_select(BaseReg to, BaseReg cond, BaseReg a, BaseReg b) override;
  void jump(Label to) override { cc_.b(to); }
  void jump_if(Cond cond, BaseReg a, const Operand& b, bool wide, Label to) override;
  void count_down(BaseReg counter, Label at_zero) override;

  BaseReg vector(DType /*type*/) override { return cc_.newVecQ(); }
  Operand constant(DType type, uint64_t bits) override;
  BaseReg in_register(DType type, const Operand& v) override;
  void copy_vector(DType type, BaseReg to, const Operand& from) override;
  void broadcast(DType type, BaseReg to, BaseReg scalar) override;
  void first_lane(DType type, BaseReg scalar, const Operand& from) override;
  void broadcast_first(DType type, BaseReg to, BaseReg from) override;
  void affine(DType type, BaseReg to, BaseReg base, int64_t step, int64_t first) override;

  std::optional<BaseReg> pure(Op op, DType type, DType from, std::span<const Operand> in,
                              uint32_t dying) override;

  BaseReg compare_not(Op op, DType from, std::span<const Operand> in) override;
  BaseReg extreme_of_numbers(Op op, DType type, const Operand& a, const Operand& b) override;
  bool jump_if_nan(DType /*type*/, std::span<const Operand> /*in*/, Label /*to*/) override {
    return false;
  }

  BaseReg mask_and(BaseReg a, BaseReg b) override;
  BaseReg mask_and_not(BaseReg a, BaseReg b) override;
  void first_lanes(BaseReg lanes, std::span<BaseReg> masks) override;
  void jump_if_none(std::span<const BaseReg> masks, Label to) override;
  BaseReg blend(DType type, BaseReg mask, const Operand& yes, const Operand& no) override;
  void merge(DType type, BaseReg mask, BaseReg to, const Operand& from, bool dies) override;

  std::optional<Operand> in_memory(DType stored, const Address& from) override;
  BaseReg load_run(DType stored, const Address& from, BaseReg mask) override;
  void store_run(DType stored, const Address& to, const Operand& value, BaseReg mask) override;
  BaseReg gather(DType stored, BaseReg base, BaseReg index, DType index_type,
                 BaseReg mask) override;
  void scatter(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg step,
               const Operand& value, BaseReg mask) override;

  BaseReg row(uint32_t number) override;
  void to_row(DType type, BaseReg row, uint32_t first, const Operand& value) override;
  BaseReg from_row(DType type, BaseReg row, uint32_t first) override;
  BaseReg upper_half(DType type, BaseReg value, uint32_t half) override;

  void call(const Operand& function, std::span<const BaseReg> arguments, BaseReg result) override;

 private:
  using Vec = asmjit::a64::Vec;
  using Mem = asmjit::a64::Mem;
  using Gp = asmjit::a64::Gp;
  using Inst = asmjit::a64::Inst;
  using Id = asmjit::InstId;

  static Gp gp(const BaseReg& r) { return r.as<Gp>().x(); }
  static Gp gp32(const BaseReg& r) { return r.as<Gp>().w(); }
  static Gp gp(const BaseReg& r, bool wide) { return wide ? gp(r) : gp32(r); }
  Gp number(const Operand& v, bool wide);
  void compare_scalars(BaseReg a, const Operand& b, bool wide);
  void subtract(const Gp& to, const Gp& a, const Operand& b);
  Mem memory(const Address& a, uint32_t size);

  Vec new_vector() { return cc_.newVecQ(); }
  static Vec bits(const BaseReg& v) { return v.as<Vec>().b16(); }
  uint32_t bytes(DType type) const;                  // of a vector
  static Vec part(const BaseReg& v, uint32_t size);  // its lower bytes, to load and store
  Vec lanes(DType type, const BaseReg& v) const;     // seen as lanes of this type
  static Vec lane(DType type, const BaseReg& v, uint32_t number);
  Vec any(DType type, const Operand& v) { return in_register(type, v).as<Vec>(); }
  Vec lanes_of(DType type, const Operand& v) { return lanes(type, in_register(type, v)); }
  Mem literal(const void* data);  // 16 bytes in the constant pool
  Mem numbers(DType type, const std::function<uint64_t(uint32_t lane)>& of_lane);
  void load(const Vec& to, const Mem& from, uint32_t size);
  Vec zero();
  Vec result_in(const Operand& v, bool dies);

  // arm_arithmetic.cpp
  std::optional<BaseReg> floating(Op op, DType type, std::span<const Operand> in, uint32_t dying);
  BaseReg dot4(bool is_signed, std::span<const Operand> in);
  std::optional<BaseReg> integer(Op op, DType type, std::span<const Operand> in, uint32_t dying);
  std::optional<BaseReg> of_table(Op op, DType type, std::span<const Operand> in, uint32_t dying);
  BaseReg emit1(Id id, DType type, const Operand& a);
  BaseReg emit2(Id id, DType type, const Operand& a, const Operand& b);
  BaseReg multiply_add(Id id, DType type, std::span<const Operand> in, uint32_t dying);
  BaseReg upper_product(DType type, std::span<const Operand> in);
  BaseReg by_lane(Op op, DType type, std::span<const Operand> in);
  BaseReg shift(Op op, DType type, std::span<const Operand> in);
  std::optional<BaseReg> logic(Op op, std::span<const Operand> in);
  BaseReg same_bits(const Operand& v, DType type, bool dies);
  bool divide(Op op, DType type, const Gp& to, const Gp& a, const Gp& b);
  // arm_convert.cpp
  std::optional<BaseReg> compare(Op op, DType from, std::span<const Operand> in);
  BaseReg compare_lanes(Id id, DType from, const Operand& a, const Operand& b);
  BaseReg narrowed(DType from, const Vec& mask);
  Vec widened(DType type, BaseReg mask);
  BaseReg opposite(BaseReg mask);
  BaseReg cast(DType to, DType from, const Operand& v, bool dies);
  BaseReg float_to_integer(DType to, DType from, const Operand& v);
  BaseReg integer_to_float(DType to, DType from, const Operand& v);
  BaseReg widen_integer(DType from, const Operand& v);
  Vec bf16_bits(const Operand& v);
  // arm_memory.cpp
  BaseReg unpack(DType stored, const Vec& elements);
  Vec pack(DType stored, const Operand& value);
  BaseReg mask_bits(BaseReg mask, uint32_t shift);
  Mem weights(uint32_t shift);
  void each_lane(BaseReg mask, const std::function<void(uint32_t lane)>& emit);
  void put_lane(const Vec& to, uint32_t lane, uint32_t size, BaseReg from);
  void take_lane(BaseReg to, const Vec& from, uint32_t lane, uint32_t size);
  void take_index(BaseReg to, BaseReg index, uint32_t lane, DType type);

  asmjit::a64::Compiler cc_;
  bool wide_;
  uint32_t held_;
  Gp argument_;
  std::map<std::pair<DType, uint64_t>, Operand> constants_;
};

}  // namespace hologram::jit
