// The instructions of Atlas. One row of a table says everything about each: its name, types, exact
// meaning and edge cases; docs/atlas.md is generated from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hologram/export.hpp"

namespace hologram::program {

enum class Op : uint8_t {
  // Values that are there from the start.
  Const,
  Scalar,
  Length,
  LaneId,
  GroupId,
  GlobalId,
  GroupCount,
  // Arithmetic.
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  MulHi,
  Neg,
  Abs,
  Sign,
  Min,
  Max,
  Fma,
  Mad,
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  Round,
  CopySign,
  Dot4,
  // Bits and logic.
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,
  PopCount,
  Clz,
  // Comparison and choice.
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  IsNan,
  IsInf,
  IsFinite,
  Select,
  // Conversion.
  Cast,
  Bitcast,
  RoundF16,
  RoundBF16,
  Wrap8,
  Wrap16,
  // Transcendental functions: instructions to a writer and to the CPU, expansions to a printer.
  Rsqrt,
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Atan2,
  Sinh,
  Cosh,
  Tanh,
  Sigmoid,
  Erf,
  Pow,
  // Variables and memory.
  Var,
  Get,
  Set,
  Load,
  Store,
  SharedLoad,
  SharedStore,
  Atomic,
  SharedAtomic,
  // The workgroup.
  Barrier,
  GroupReduce,
  GroupScan,
  GroupUniform,
  // Control flow. If … Else … End, For … End, Loop … End.
  If,
  Else,
  For,
  Loop,
  End,
  Break,
  Continue,
  Return,
  // Host clauses.
  Require,
  Lanes,
};
inline constexpr size_t kOpCount = static_cast<size_t>(Op::Lanes) + 1;

// How operand and result types hang together.
enum class Typing : uint8_t {
  Special,        // no operands, or said by the verifier
  Number,         // T, … -> T for T of i32 u32 i64 u64 f32 f64
  SignedOrFloat,  // the same for i32 i64 f32 f64
  Integer,        // the same for i32 u32 i64 u64
  IntegerBool,    // the same for i32 u32 i64 u64 bool
  Float,          // the same for f32 f64
  Float32,        // f32 -> f32
  Int32,          // i32 or u32 -> the same
  Bytes,          // T, i32, i32 -> i32 for T of i32 u32
  Compare,        // T, T -> bool for the types of Number (and bool for eq and ne)
  FloatTest,      // T -> bool for f32 f64
  Shift,          // T, u32 or i32 -> T for the types of Integer
  Select,         // bool, T, T -> T for any T
  Cast,           // any -> any
  Bitcast,        // any -> another type of the same size (not bool)
};

enum class Category : uint8_t {
  Source,
  Arithmetic,
  Bits,
  Compare,
  Convert,
  Function,
  Memory,
  Group,
  Control,
  Host
};

struct OpInfo {
  Op op;
  std::string_view name;  // in text
  Category category;
  uint8_t arity;  // value operands
  Typing typing;
  bool commutative;
  uint8_t flops;             // nominal floating-point operations, for cost reports
  std::string_view meaning;  // one sentence
  std::string_view edges;    // the edge cases, empty if there are none
};

HOLOGRAM_API const OpInfo& info(Op op);
HOLOGRAM_API std::span<const OpInfo> all_ops();
HOLOGRAM_API std::optional<Op> find_op(std::string_view name);

// A function of its operands alone: no memory, no lane, no control flow.
constexpr bool is_pure(Op op) { return op >= Op::Add && op <= Op::Pow; }

// How atomics, group_reduce and group_scan combine two values.
enum class Combine : uint8_t { Add, Mul, Min, Max, And, Or, Xor, Exchange };

HOLOGRAM_API std::string_view name_of(Combine combine);
HOLOGRAM_API std::optional<Combine> find_combine(std::string_view name);

}  // namespace hologram::program
