// x86-64 with AVX2, FMA and F16C, or with AVX-512 (F, BW, DQ, VL).
#pragma once

#include <asmjit/x86.h>

#include <functional>

#include <map>
#include <vector>

#include "jit/target.hpp"
#include "jit/x86_registers.hpp"

namespace hologram::jit {

inline constexpr uint32_t kUnordered = 3;  // predicate of a comparison: one is NaN

// Where a register has no name AsmJit makes one up, which takes longer than all else about it.
class X86Compiler : public asmjit::x86::Compiler {
 public:
  using Compiler::Compiler;
  asmjit::x86::Gp newGpq() { return made<asmjit::x86::Gp>(asmjit::TypeId::kUInt64); }
  asmjit::x86::Xmm newXmm() { return made<asmjit::x86::Xmm>(asmjit::TypeId::kInt32x4); }
  asmjit::x86::Ymm newYmm() { return made<asmjit::x86::Ymm>(asmjit::TypeId::kInt32x8); }
  asmjit::x86::Zmm newZmm() { return made<asmjit::x86::Zmm>(asmjit::TypeId::kInt32x16); }
  asmjit::x86::KReg newKb() { return made<asmjit::x86::KReg>(asmjit::TypeId::kMask8); }
  asmjit::x86::KReg newKw() { return made<asmjit::x86::KReg>(asmjit::TypeId::kMask16); }

 private:
  template <class Register>
  Register made(asmjit::TypeId type) {
    Register r(asmjit::Globals::NoInit);
    _newReg(&r, type, "r");
    return r;
  }
};

class X86 final : public Target {
 public:
  // `wide`: the program has lanes of 64 bits. `held`: constants that may keep a register.
  X86(asmjit::CodeHolder& code, bool avx512, bool wide, uint32_t held);

  RegisterCount registers() const override { return avx512_ ? kAvx512Registers : kAvx2Registers; }
  asmjit::BaseCompiler& compiler() override { return cc_; }
  void begin() override;
  BaseReg argument() override { return argument_; }
  void aside(Label out, Label back) override { parts_.asides.emplace_back(out, back); }
  void seldom(Label from, Label to) override { parts_.seldom.emplace_back(from, to); }
  void end(BaseReg status) override;

  BaseReg scalar() override { return cc_.newGpq(); }
  void load_scalar(BaseReg to, const Address& from, uint32_t size, bool is_signed) override;
  void store_scalar(const Address& to, BaseReg from, uint32_t size) override;
  void address_of(BaseReg to, const Address& from) override;
  bool takes_whole_addresses() const override { return true; }
  void set(BaseReg to, int64_t value) override;
  void copy(BaseReg to, BaseReg from) override;
  void extend(BaseReg to, BaseReg from, DType type) override;
  bool scalar_op(Op op, DType type, BaseReg to, BaseReg a, const Operand& b) override;
  void scalar_not(BaseReg to, BaseReg a, DType type) override;
  void scalar_compare(BaseReg to, Cond cond, BaseReg a, const Operand& b, bool wide) override;
  bool compare_first(Op op, DType type, BaseReg to, const Operand& a, const Operand& b) override;
  void scalar_select(BaseReg to, BaseReg cond, BaseReg a, BaseReg b) override;
  void jump(Label to) override { cc_.jmp(to); }
  void jump_if(Cond cond, BaseReg a, const Operand& b, bool wide, Label to) override;
  void count_down(BaseReg counter, Label at_zero) override;

  BaseReg vector(DType type) override;
  Operand constant(DType type, uint64_t bits) override;
  BaseReg in_register(DType type, const Operand& v) override;
  void copy_vector(DType type, BaseReg to, const Operand& from) override;
  void broadcast(DType type, BaseReg to, BaseReg scalar) override;
  bool broadcast_load(BaseReg to, const Address& from) override;
  bool broadcast_f16(BaseReg to, BaseReg scalar) override;
  void first_lane(DType type, BaseReg scalar, const Operand& from) override;
  void broadcast_first(DType type, BaseReg to, BaseReg from) override;
  void affine(DType type, BaseReg to, BaseReg base, int64_t step, int64_t first) override;

  bool has_spill_slots() const override { return true; }
  Operand spill_slot(DType type) override;
  void to_spill_slot(DType type, const Operand& place, const Operand& value) override;

  std::optional<BaseReg> pure(Op op, DType type, DType from, std::span<const Operand> in,
                              uint32_t dying) override;

  std::optional<Divisor> divisor(DType type, const Operand& b) override;
  void divide(const Divisor& by, std::span<const Operand> a, std::span<Operand> quotients) override;
  Steps by_steps(uint32_t vectors, const Work& of_each) const override;
  void roots(uint32_t by_steps, std::span<const Operand> x, std::span<Operand> roots) override;
  void quotients(uint32_t by_steps, std::span<const Operand> a, std::span<const Operand> b,
                 std::span<Operand> quotients) override;

  BaseReg compare_not(Op op, DType from, std::span<const Operand> in) override;
  BaseReg extreme_of_numbers(Op op, DType type, const Operand& a, const Operand& b) override;
  bool gathers_extremes(Op op) const override;
  BaseReg gather_extreme(Op op, DType type, const Operand& x, const Operand& of_all) override;
  BaseReg no_retry(DType type) override;
  void retry_if_nan(DType type, BaseReg retry, BaseReg a, BaseReg b) override;
  void retry_if_unsure(Op op, DType type, BaseReg retry, const Operand& result) override;
  void jump_if_retry(DType type, BaseReg retry, Label to) override;
  bool has_strict_extremes() const override { return true; }
  BaseReg strict_extreme(Op op, DType type, const Operand& a, const Operand& b) override;
  bool mixes_zeros() const override { return !avx512_; }  // VRANGE tells them apart
  void jump_if_zero(DType type, BaseReg x, Label to) override;
  bool has_whole_products() const override { return true; }
  std::pair<BaseReg, BaseReg> whole_products(DType type, const Operand& a, const Operand& b,
                                             bool shared) override;
  bool combines_three(DType type) const override { return avx512_ && size_of(type) >= 4; }
  BaseReg combine_three(Op op, DType type, const Operand& a, const Operand& b,
                        const Operand& c) override;
  bool jump_if_nan(DType type, std::span<const Operand> in, Label to) override;

  BaseReg mask_and(BaseReg a, BaseReg b) override;
  BaseReg mask_and_not(BaseReg a, BaseReg b) override;
  void first_lanes(BaseReg lanes, std::span<BaseReg> masks) override;
  BaseReg first_of(BaseReg lanes) override;
  void jump_if_none(std::span<const BaseReg> masks, Label to) override;
  void jump_if_all_at_most(std::span<const BaseReg> values, const Operand& most, Label to) override;
  BaseReg blend(DType type, BaseReg mask, const Operand& yes, const Operand& no) override;
  void merge(DType type, BaseReg mask, BaseReg to, const Operand& from, bool dies) override;

  std::optional<Operand> in_memory(DType stored, const Address& from) override;
  BaseReg load_run(DType stored, const Address& from, BaseReg mask) override;
  bool turns(DType type) const override {
    constexpr uint32_t kLeast = 32;  // bytes that the instruction takes
    return type != DType::Bool && bytes(type) >= kLeast && (avx512_ || !is_wide(type));
  }
  BaseReg reversed(DType type, BaseReg lanes) override;
  void store_run(DType stored, const Address& to, const Operand& value, BaseReg mask) override;
  void store_first(DType stored, const Address& to, const Operand& value, BaseReg lanes,
                   BaseReg mask) override;
  bool masks_are_slow() const override { return !avx512_; }
  bool stores_past_caches() const override { return true; }
  uint32_t vector_bytes(DType stored) const override;
  void store_non_temporal(DType stored, const Address& to, const Operand& value) override;
  NextRow next_row() const override;
  void prefetch_load(const Address& from, bool far) override;
  void prefetch_store(const Address& to) override;
  BaseReg gather(DType stored, BaseReg base, BaseReg index, DType index_type,
                 BaseReg mask) override;
  uint32_t least_of_tuple() const override;
  void load_interleaved(DType stored, BaseReg base, BaseReg index, BaseReg step,
                        std::span<const BaseReg> to) override;
  void scatter_tuples(DType stored, BaseReg base, BaseReg index, BaseReg step,
                      std::span<const BaseReg> from) override;
  void scatter(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg step,
               const Operand& value, BaseReg mask) override;

  BaseReg row(uint32_t number) override;
  void to_row(DType type, BaseReg row, uint32_t first, const Operand& value) override;
  BaseReg from_row(DType type, BaseReg row, uint32_t first) override;
  BaseReg upper_half(DType type, BaseReg value, uint32_t half) override;

  void call(const Operand& function, std::span<const BaseReg> arguments, BaseReg result) override;

 private:
  using Vec = asmjit::x86::Vec;
  using Mem = asmjit::x86::Mem;
  using Gp = asmjit::x86::Gp;
  using KReg = asmjit::x86::KReg;
  using Id = asmjit::InstId;

  void each_tuple(BaseReg base, BaseReg index, BaseReg step, uint32_t element,
                  const std::function<void(uint32_t, uint32_t, const Mem&)>& body);
  void transpose_blocks(std::span<const Vec> from, std::span<const Vec> to);
  bool divide_scalars(Op op, DType type, const Gp& to, const Gp& a, const Operand& b);
  std::optional<BaseReg> divide_integers(Op op, DType type, std::span<const Operand> in);
  static Gp gp(const BaseReg& r) { return r.as<Gp>(); }
  static Gp gp32(const BaseReg& r) { return r.as<Gp>().r32(); }
  static Mem memory(const Address& a, uint32_t size);
  uint32_t bytes(DType type) const;                  // of a vector
  Vec sized(uint32_t size);                          // a new register
  static Vec part(const BaseReg& v, uint32_t size);  // its lower bytes
  Vec of(DType type) { return sized(bytes(type)); }
  Vec any(DType type, const Operand& v) { return in_register(type, v).as<Vec>(); }
  std::pair<Vec, Vec> products(DType type, const Operand& a, const Operand& b, bool shared);
  Vec half_of_products(const Vec& even, const Vec& odd, bool upper);
  Mem literal(const void* data, size_t size);  // in the constant pool
  Mem repeated(uint64_t bits, uint32_t element, uint32_t size);
  void move(Vec to, const Operand& from);
  void bitwise(Op op, Vec to, const Operand& a, const Operand& b);
  Vec result_in(DType type, const Operand& v, bool dies);

  // x86_arithmetic.cpp
  std::optional<BaseReg> floating(Op op, DType type, std::span<const Operand> in, uint32_t dying);
  BaseReg dot4(bool is_signed, std::span<const Operand> in);
  std::optional<BaseReg> integer(Op op, DType type, std::span<const Operand> in, uint32_t dying);
  BaseReg least_or_most(bool max, DType type, std::span<const Operand> in);
  BaseReg same_bits(DType type, const Operand& v, bool dies);
  BaseReg fused(DType type, std::span<const Operand> in, uint32_t dying);
  std::optional<BaseReg> shift(Op op, DType type, std::span<const Operand> in);
  // Of lanes of 64 bits, with AVX2 (x86_wide.cpp).
  BaseReg extreme_of_wide(bool most, DType type, const Operand& first, const Operand& second);
  BaseReg magnitude_of_wide(DType type, const Operand& v);
  BaseReg product_of_wide(DType type, const Operand& first, const Operand& second);
  BaseReg with_signs(DType type, Vec shifted, const Operand& sign);
  BaseReg wide_to_f64(DType from, const Operand& v);
  // x86_functions.cpp
  struct ExpArgument {
    Vec n, r;
  };
  Operand number(double value, DType type = DType::F32);
  template <int kBits>
  ExpArgument reduce_exp(Vec x);
  Vec near_identity(DType type, Vec r, std::span<const double> c);
  template <int kBits>
  BaseReg exponential(const Operand& v);
  BaseReg exponential(DType type, const Operand& v);
  BaseReg sigmoid(const Operand& v);
  // x86_division.cpp
  Vec far_dividend(Vec x);
  void add_farther(Vec& farthest, Vec far, bool first);
  void quotient(Vec to, Vec a, Vec b, Vec reciprocal);
  // x86_extremes.cpp
  void add_retry(BaseReg retry, BaseReg more);
  // x86_masks.cpp
  BaseReg numbers_below(Vec count, uint32_t first);
  std::optional<BaseReg> logic(Op op, std::span<const Operand> in);
  bool merge_as_computed(DType type, BaseReg mask, BaseReg to, const Operand& from);
  // x86_convert.cpp
  std::optional<BaseReg> compare(Op op, DType from, std::span<const Operand> in);
  BaseReg compare_floats(uint32_t predicate, DType from, Vec a, const Operand& b);
  Vec where_greater(DType type, Vec a, Vec b);
  std::optional<BaseReg> compare_integers(Op op, DType from, std::span<const Operand> in);
  std::optional<BaseReg> cast(DType to, DType from, const Operand& v, bool dies);
  BaseReg to_i32(DType from, const Operand& v);
  BaseReg u32_to_f32(const Operand& v);
  BaseReg u32_to_f64(const Operand& v);
  BaseReg narrowed(Vec mask64);  // AVX2: a mask of 64-bit lanes
  Vec widened(BaseReg mask);     // AVX2: for 64-bit lanes
  Vec bf16_bits(const Operand& v);
  // x86_memory.cpp
  // Whether elements are loaded and stored as they are computed with.
  static bool is_plain(DType stored) { return size_of(stored) >= 4 && stored != DType::Bool; }
  BaseReg load_bools(Mem from, BaseReg mask);
  void store_bools(Mem to, BaseReg value, BaseReg mask);
  static Id widening(DType stored);
  Vec widen(DType stored, const Mem& from, BaseReg mask);
  Vec lower_halves(const Vec& lanes);
  Vec narrow_bits(DType stored, const Operand& value);
  void narrow(DType stored, const Mem& to, const Operand& value, BaseReg mask);
  BaseReg mask_bits(BaseReg mask);
  bool masks_memory(DType stored) const;
  BaseReg all_lanes();
  void each_lane(BaseReg mask, const std::function<void(uint32_t)>& fn);
  // x86_gather.cpp
  Vec gather_whole(DType type, BaseReg base, const Vec& index, DType index_type, BaseReg mask);
  BaseReg gather_narrow(DType stored, BaseReg base, const Vec& index, DType index_type,
                        BaseReg mask);
  BaseReg gather_one_by_one(DType stored, BaseReg base, BaseReg index, DType index_type,
                            BaseReg mask);
  void scatter_by_step(DType stored, BaseReg base, BaseReg index, BaseReg step,
                       const Operand& value);

  X86Compiler cc_;
  bool avx512_, vnni_, wide_;
  uint32_t held_;
  bool fences_ = false;  // stores that went past the caches, at the end
  Mem rows_[kRows];
  asmjit::FuncNode* function_ = nullptr;
  Parts parts_;
  Gp argument_;
  std::map<std::pair<DType, uint64_t>, Operand> constants_;
};

}  // namespace hologram::jit
