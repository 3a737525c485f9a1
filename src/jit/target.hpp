// What the compiler needs of an instruction set: operations on scalars and on vectors of lanes,
// over AsmJit's virtual registers. One class a processor implements it.
//
// A vector holds `width` lanes of any type, in as many bytes as the type takes: where a program
// computes with 64-bit lanes, 32-bit lanes fill half a register. A bool is a mask.
#pragma once

#include <asmjit/core.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"
#include "interp/kernels.hpp"
#include "jit/frame.hpp"
#include "program/ir.hpp"

namespace hologram::jit {

using asmjit::BaseReg;
using asmjit::Label;
using asmjit::Operand;
using program::Op;

inline constexpr uint32_t kMaxUnroll = 16;   // vectors that are worked on side by side
inline constexpr uint32_t kMostOfTuple = 4;  // elements that are loaded together

// Whether lanes of this type take 64 bits.
inline bool is_wide(DType t) { return size_of(t) == 8; }

// An element in memory: base + index * element bytes + bytes.
struct Address {
  BaseReg base;
  BaseReg index = {};  // 64 bits, or none
  int32_t bytes = 0;
  uint8_t element = 1;  // bytes of an element
};

enum class Cond : uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Below,  // unsigned
  BelowEqual,
  Above,
  AboveEqual
};

// How many there are: of vectors, and of masks, unless these stand in vectors.
struct RegisterCount {
  uint32_t vectors, masks = 0;
};
inline constexpr RegisterCount kAvx512Registers = {32, 7}, kAvx2Registers = {16},
                               kNeonRegisters = {32};

class Target {
 public:
  explicit Target(uint32_t width) : width(width) {}
  virtual ~Target() = default;

  const uint32_t width;  // lanes of a vector

  virtual RegisterCount registers() const = 0;
  virtual asmjit::BaseCompiler& compiler() = 0;
  virtual void begin() = 0;        // of a function uint32_t(const Frame*)
  virtual BaseReg argument() = 0;  // its argument
  // What stands between `out` and a jump to `back` is seldom run.
  virtual void aside(Label /*out*/, Label /*back*/) {}
  // So is what stands between two labels, as one of two ways.
  virtual void seldom(Label /*from*/, Label /*to*/) {}
  virtual void end(BaseReg status) = 0;

  // ---- Scalars: registers of 64 bits that hold an integer or a bool (0 or 1); 32-bit types live
  // in the lower half, what stands above is not defined.
  virtual BaseReg scalar() = 0;
  virtual void load_scalar(BaseReg to, const Address& from, uint32_t size, bool is_signed) = 0;
  virtual void store_scalar(const Address& to, BaseReg from, uint32_t size) = 0;
  virtual void address_of(BaseReg to, const Address& from) = 0;
  // Whether an access takes a base, an index and an offset at once.
  virtual bool takes_whole_addresses() const = 0;
  virtual void set(BaseReg to, int64_t value) = 0;
  virtual void copy(BaseReg to, BaseReg from) = 0;
  virtual void extend(BaseReg to, BaseReg from, DType type) = 0;  // to 64 bits
  // False where the processor has no such instruction; `b` may be an immediate of 32 bits.
  virtual bool scalar_op(Op op, DType type, BaseReg to, BaseReg a, const Operand& b) = 0;
  virtual void scalar_not(BaseReg to, BaseReg a, DType type) = 0;
  virtual void scalar_compare(BaseReg to, Cond cond, BaseReg a, const Operand& b, bool wide) = 0;
  // Of the first lanes of two floats; false where pure() does it.
  virtual bool compare_first(Op /*op*/, DType /*type*/, BaseReg /*to*/, const Operand& /*a*/,
                             const Operand& /*b*/) {
    return false;
  }
  virtual void scalar_select(BaseReg to, BaseReg cond, BaseReg a, BaseReg b) = 0;
  virtual void jump(Label to) = 0;
  virtual void jump_if(Cond cond, BaseReg a, const Operand& b, bool wide, Label to) = 0;
  virtual void count_down(BaseReg counter, Label at_zero) = 0;

  // ---- Vectors. Operands are registers, or memory that constant() and in_memory() gave.
  virtual BaseReg vector(DType type) = 0;  // a new register; of Bool: a mask
  virtual Operand constant(DType type, uint64_t bits) = 0;
  virtual BaseReg in_register(DType type, const Operand& v) = 0;
  virtual void copy_vector(DType type, BaseReg to, const Operand& from) = 0;
  virtual void broadcast(DType type, BaseReg to, BaseReg scalar) = 0;
  // An f32 of memory in all lanes; false where that takes a scalar on the way.
  virtual bool broadcast_load(BaseReg /*to*/, const Address& /*from*/) { return false; }
  // The bits of an f16 as lanes of f32; false where load_run() does it.
  virtual bool broadcast_f16(BaseReg /*to*/, BaseReg /*scalar*/) { return false; }
  virtual void first_lane(DType type, BaseReg scalar, const Operand& from) = 0;
  virtual void broadcast_first(DType type, BaseReg to, BaseReg from) = 0;  // not of bools
  // base + step * (lane + first)
  virtual void affine(DType type, BaseReg to, BaseReg base, int64_t step, int64_t first) = 0;

  // Memory for a vector that registers are needed for elsewhere, which is an operand of operations
  // like a register. Where it is not, nothing stays in memory but what the registers do not hold.
  virtual bool has_spill_slots() const { return false; }
  virtual Operand spill_slot(DType /*type*/) { return {}; }
  virtual void to_spill_slot(DType /*type*/, const Operand& /*place*/, const Operand& /*value*/) {}

  // The result of a pure operation; none if this target leaves it to the interpreter's kernels. The
  // count of a shift may be an immediate. Registers of `dying` (bit i: in[i]) may be overwritten.
  virtual std::optional<BaseReg> pure(Op op, DType type, DType from, std::span<const Operand> in,
                                      uint32_t dying) = 0;

  // Many numbers by one, where that can be done faster than by pure(): what is known of the one
  // beforehand, if so, and the quotients, bit for bit those of pure().
  struct Divisor {
    BaseReg value, reciprocal, limit;
  };
  virtual std::optional<Divisor> divisor(DType /*type*/, const Operand& /*b*/) { return {}; }
  virtual void divide(const Divisor& /*by*/, std::span<const Operand> /*a*/,
                      std::span<Operand> /*quotients*/) {}

  // Square roots and quotients of vectors side by side, bit for bit those of pure(), the first so
  // many by multiplications, beside which the instruction for the others takes its time; and how
  // many of them these should be, where all of this is done for each vector.
  struct Work {
    uint32_t roots = 0, quotients = 0, others = 0, accesses = 0;
  };
  struct Steps {
    uint32_t roots = 0, quotients = 0;
  };
  virtual Steps by_steps(uint32_t /*vectors*/, const Work& /*of_each*/) const { return {}; }
  virtual void roots(uint32_t /*by_steps*/, std::span<const Operand> /*x*/,
                     std::span<Operand> /*roots*/) {}
  virtual void quotients(uint32_t /*by_steps*/, std::span<const Operand> /*a*/,
                         std::span<const Operand> /*b*/, std::span<Operand> /*quotients*/) {}

  // Not a comparison of floats, in one instruction.
  virtual BaseReg compare_not(Op op, DType from, std::span<const Operand> in) = 0;
  // The least or most of two floats of which none is NaN, in less time than pure() takes.
  virtual BaseReg extreme_of_numbers(Op op, DType type, const Operand& a, const Operand& b) = 0;
  // a where it is less, or more, than b, and b elsewhere, in one instruction.
  virtual bool has_strict_extremes() const { return false; }
  virtual BaseReg strict_extreme(Op /*op*/, DType /*type*/, const Operand& /*a*/,
                                 const Operand& /*b*/) {
    return {};
  }
  // Whether that takes less time than extreme_of_numbers, and where of two zeros either may have
  // come of it: if the first lane is one.
  virtual bool mixes_zeros() const { return false; }
  virtual void jump_if_zero(DType /*type*/, BaseReg /*x*/, Label /*to*/) {}
  // Extremes of many floats, gathered in `of_all` faster than by pure(). The result may be wrong if
  // one of them was NaN, and some results may be: who gathers asks for both and does it again then.
  virtual bool gathers_extremes(Op /*op*/) const { return false; }
  virtual BaseReg gather_extreme(Op /*op*/, DType /*type*/, const Operand& /*x*/,
                                 const Operand& /*of_all*/) {
    return {};
  }
  virtual BaseReg no_retry(DType /*type*/) { return {}; }  // a new register
  virtual void retry_if_nan(DType /*type*/, BaseReg /*retry*/, BaseReg /*a*/, BaseReg /*b*/) {}
  virtual void retry_if_unsure(Op /*op*/, DType /*type*/, BaseReg /*retry*/,
                               const Operand& /*result*/) {}
  virtual void jump_if_retry(DType /*type*/, BaseReg /*retry*/, Label /*to*/) {}
  // a op (b & c), in one instruction.
  virtual bool combines_three(DType /*type*/) const { return false; }
  virtual BaseReg combine_three(Op /*op*/, DType /*type*/, const Operand& /*a*/,
                                const Operand& /*b*/, const Operand& /*c*/) {
    return {};
  }
  // Both halves of the products of 32-bit integers, the upper one first, where that takes less than
  // one after the other; `shared`: b is the same in all lanes.
  virtual bool has_whole_products() const { return false; }
  virtual std::pair<BaseReg, BaseReg> whole_products(DType /*type*/, const Operand& /*a*/,
                                                     const Operand& /*b*/, bool /*shared*/) {
    return {};
  }
  // False, and no jump, where pure() takes no longer.
  virtual bool jump_if_nan(DType type, std::span<const Operand> in, Label to) = 0;

  // Masks. and_not: a without b.
  virtual BaseReg mask_and(BaseReg a, BaseReg b) = 0;
  virtual BaseReg mask_and_not(BaseReg a, BaseReg b) = 0;
  // The first lanes of several vectors: a number of 64 bits, which may be below 0 or exceed them.
  virtual void first_lanes(BaseReg lanes, std::span<BaseReg> masks) = 0;
  // Of one vector, at least one lane and less than 256.
  virtual BaseReg first_of(BaseReg lanes) {
    BaseReg mask;
    first_lanes(lanes, {&mask, 1});
    return mask;
  }
  virtual void jump_if_none(std::span<const BaseReg> masks, Label to) = 0;
  // All lanes of vectors of u32; `most` stands in all of its lanes.
  virtual void jump_if_all_at_most(std::span<const BaseReg> /*values*/, const Operand& /*most*/,
                                   Label /*to*/) {}
  virtual BaseReg blend(DType type, BaseReg mask, const Operand& yes, const Operand& no) = 0;
  // to = from where the mask is; `dies`: nobody else looks at `from`.
  virtual void merge(DType type, BaseReg mask, BaseReg to, const Operand& from, bool dies) = 0;

  // Whether a branch around a mask takes less time than to use it.
  virtual bool masks_are_slow() const { return false; }

  // ---- Memory. `mask` may be none: all lanes. Lanes left out give 0, or are not written.
  // Neighbours, as an operand of the next operation; none if it has to be loaded.
  virtual std::optional<Operand> in_memory(DType stored, const Address& from) = 0;
  virtual BaseReg load_run(DType stored, const Address& from, BaseReg mask) = 0;
  // Lanes of a register of their own, the last one first.
  virtual bool turns(DType /*type*/) const { return false; }
  virtual BaseReg reversed(DType /*type*/, BaseReg /*lanes*/) { return {}; }
  virtual void store_run(DType stored, const Address& to, const Operand& value, BaseReg mask) = 0;
  // The first `lanes`, fewer than a vector has, which are those of the mask.
  virtual void store_first(DType stored, const Address& to, const Operand& value, BaseReg lanes,
                           BaseReg mask) {
    (void)lanes;
    store_run(stored, to, value, mask);
  }
  // Whole vectors, at an address that their size divides, to memory and not into the caches, where
  // a line would be read before it is written to.
  virtual bool stores_past_caches() const { return false; }
  virtual uint32_t vector_bytes(DType /*stored*/) const { return 0; }  // 0: not of this type
  virtual void store_non_temporal(DType /*stored*/, const Address& /*to*/,
                                  const Operand& /*value*/) {}
  // How many cache lines ahead a workgroup prefetches the rows that it reads next: before the last
  // time that it goes through one, or then, if it reads it once more.
  struct NextRow {
    int32_t lines_between, lines_of_last;
  };
  virtual NextRow next_row() const { return {64, 0}; }
  // The line there will be read or written soon; it need not be in any buffer.
  virtual void prefetch_load(const Address& /*from*/, bool /*far*/) {}
  virtual void prefetch_store(const Address& /*to*/) {}
  // Elements at base[index], each index an i32 or i64 lane.
  virtual BaseReg gather(DType stored, BaseReg base, BaseReg index, DType index_type,
                         BaseReg mask) = 0;
  // Elements of 4 bytes or less at base[index], base[index + 1] … to a vector each, of i32 lanes;
  // kMostOfTuple of them are read. `step`: what lanes' indices go up by, of 64 bits, if that is the
  // same for all of them. Who does, for so many or more, has jump_if_all_at_most; 0: never.
  virtual uint32_t least_of_tuple() const { return 0; }
  virtual void load_interleaved(DType /*stored*/, BaseReg /*base*/, BaseReg /*index*/,
                                BaseReg /*step*/, std::span<const BaseReg> /*to*/) {}
  // The way back, of kMostOfTuple vectors, to elements of 4 bytes or F16.
  virtual void scatter_tuples(DType /*stored*/, BaseReg /*base*/, BaseReg /*index*/,
                              BaseReg /*step*/, std::span<const BaseReg> /*from*/) {}
  // `step`, or none, as of load_interleaved().
  virtual void scatter(DType stored, BaseReg base, BaseReg index, DType index_type, BaseReg step,
                       const Operand& value, BaseReg mask) = 0;

  // ---- Rows on the stack, as the interpreter's kernels take them.
  // The address of one of kRows, each of kRowBytes, aligned to 64.
  virtual BaseReg row(uint32_t number) = 0;
  virtual void to_row(DType type, BaseReg row, uint32_t first, const Operand& value) = 0;
  virtual BaseReg from_row(DType type, BaseReg row, uint32_t first) = 0;
  // The lanes of the upper half of a vector's first 2 `half` bytes, in place of those below.
  virtual BaseReg upper_half(DType type, BaseReg value, uint32_t half) = 0;

  // Of a function with a fixed address, or whose address stands in a register.
  virtual void call(const Operand& function, std::span<const BaseReg> arguments,
                    BaseReg result) = 0;

 protected:
  // What is computed once, before anything else: behind what begin() emits, or was emitted so
  // before.
  BaseReg at_start(const std::function<BaseReg()>& emit) {
    asmjit::BaseNode* const here = compiler().setCursor(start_);
    const BaseReg r = emit();
    asmjit::BaseNode* const last = compiler().cursor();
    if (here != start_) compiler().setCursor(here);
    start_ = last;
    return r;
  }
  asmjit::BaseNode* start_ = nullptr;
};

}  // namespace hologram::jit
