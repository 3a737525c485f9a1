#include "hologram/op.hpp"

#include <array>

namespace hologram::program {
namespace {

using enum Typing;
using C = Category;

constexpr const char* kWrap = "Integers wrap modulo the width.";
constexpr const char* kNanPropagates = "NaN gives NaN.";

// clang-format off
constexpr auto kOps = std::to_array<OpInfo>({
// op               name           category    arity typing      comm.  flops meaning, edge cases
{Op::Const,      "const",        C::Source,     0, Special,     false, 0, "A number written in the program.", "Its type is that of the other operand, of the declaration it initialises, else f32 or i32."},
{Op::Scalar,     "scalar",       C::Source,     0, Special,     false, 0, "A scalar parameter or a dimension.", ""},
{Op::Length,     "len",          C::Source,     0, Special,     false, 0, "The number of elements of a buffer.", ""},
{Op::LaneId,     "lane_id",      C::Source,     0, Special,     false, 0, "Position of the lane in its workgroup along .x, .y or .z.", ""},
{Op::GroupId,    "group_id",     C::Source,     0, Special,     false, 0, "Position of the workgroup in the grid.", ""},
{Op::GlobalId,   "global_id",    C::Source,     0, Special,     false, 0, "group_id * workgroup size + lane_id.", "The grid is made of whole workgroups, so ids may pass the number of lanes asked for: guard with `if`."},
{Op::GroupCount, "group_count",  C::Source,     0, Special,     false, 0, "The number of workgroups along an axis.", ""},

{Op::Add,        "add",          C::Arithmetic, 2, Number,      true,  1, "a + b, correctly rounded.", kWrap},
{Op::Sub,        "sub",          C::Arithmetic, 2, Number,      false, 1, "a - b, correctly rounded.", kWrap},
{Op::Mul,        "mul",          C::Arithmetic, 2, Number,      true,  1, "a * b, correctly rounded.", kWrap},
{Op::Div,        "div",          C::Arithmetic, 2, Number,      false, 1, "a / b, correctly rounded; integers truncate.", "Integer: x / 0 is 0 and the smallest / -1 wraps to itself."},
{Op::Rem,        "rem",          C::Arithmetic, 2, Integer,     false, 0, "The remainder of the truncated division; it has the sign of a.", "x % 0 is 0 and the smallest % -1 is 0."},
{Op::MulHi,      "mulhi",        C::Arithmetic, 2, Integer,     true,  0, "The upper half of the double-width product.", ""},
{Op::Neg,        "neg",          C::Arithmetic, 1, Number,      false, 0, "-a; flips the sign bit of a float.", kWrap},
{Op::Abs,        "abs",          C::Arithmetic, 1, SignedOrFloat, false, 0, "The magnitude; clears the sign bit of a float.", "The smallest integer wraps to itself."},
{Op::Sign,       "sign",         C::Arithmetic, 1, SignedOrFloat, false, 0, "-1, 0 or 1.", "A zero keeps its sign; NaN gives NaN."},
{Op::Min,        "min",          C::Arithmetic, 2, Number,      true,  1, "The smaller operand (IEEE 754-2019 minimum).", "NaN if either operand is; -0 is below +0."},
{Op::Max,        "max",          C::Arithmetic, 2, Number,      true,  1, "The larger operand (IEEE 754-2019 maximum).", "NaN if either operand is; -0 is below +0."},
{Op::Fma,        "fma",          C::Arithmetic, 3, Number,      false, 2, "a * b + c with one rounding, on every device.", kWrap},
{Op::Mad,        "mad",          C::Arithmetic, 3, Number,      false, 2, "a * b + c, rounded once or twice, whichever is faster on the device.", kWrap},
{Op::Sqrt,       "sqrt",         C::Arithmetic, 1, Float,       false, 1, "The square root, correctly rounded.", "Negative gives NaN; -0 gives -0."},
{Op::Floor,      "floor",        C::Arithmetic, 1, Float,       false, 1, "The largest whole number not above a.", kNanPropagates},
{Op::Ceil,       "ceil",         C::Arithmetic, 1, Float,       false, 1, "The smallest whole number not below a.", kNanPropagates},
{Op::Trunc,      "trunc",        C::Arithmetic, 1, Float,       false, 1, "a without its fraction.", kNanPropagates},
{Op::Round,      "round",        C::Arithmetic, 1, Float,       false, 1, "The nearest whole number, ties to even.", kNanPropagates},
{Op::CopySign,   "copysign",     C::Arithmetic, 2, Float,       false, 0, "The magnitude of a with the sign bit of b.", ""},
{Op::Dot4,       "dot4",         C::Arithmetic, 3, Bytes,       false, 0, "c plus the products of the four bytes of a, signed if a is an i32, with the four signed bytes of b.", "The sum wraps modulo the width."},

{Op::And,        "and",          C::Bits,       2, IntegerBool, true,  0, "Bitwise or logical and: a & b.", ""},
{Op::Or,         "or",           C::Bits,       2, IntegerBool, true,  0, "Bitwise or logical or: a | b.", ""},
{Op::Xor,        "xor",          C::Bits,       2, IntegerBool, true,  0, "Bitwise or logical exclusive or: a ^ b.", ""},
{Op::Not,        "not",          C::Bits,       1, IntegerBool, false, 0, "Bitwise or logical complement: ~a, !a.", ""},
{Op::Shl,        "shl",          C::Bits,       2, Shift,       false, 0, "a << b.", "b counts modulo the width."},
{Op::Shr,        "shr",          C::Bits,       2, Shift,       false, 0, "a >> b; arithmetic for signed types.", "b counts modulo the width."},
{Op::PopCount,   "popcount",     C::Bits,       1, Integer,     false, 0, "The number of bits that are 1.", ""},
{Op::Clz,        "clz",          C::Bits,       1, Integer,     false, 0, "The number of zero bits above the highest 1.", "The width for 0."},

{Op::Eq,         "eq",           C::Compare,    2, Compare,     true,  0, "a == b.", "False if either is NaN; -0 == +0."},
{Op::Ne,         "ne",           C::Compare,    2, Compare,     true,  0, "a != b.", "True if either is NaN."},
{Op::Lt,         "lt",           C::Compare,    2, Compare,     false, 0, "a < b.", "False if either is NaN."},
{Op::Le,         "le",           C::Compare,    2, Compare,     false, 0, "a <= b.", "False if either is NaN."},
{Op::Gt,         "gt",           C::Compare,    2, Compare,     false, 0, "a > b.", "False if either is NaN."},
{Op::Ge,         "ge",           C::Compare,    2, Compare,     false, 0, "a >= b.", "False if either is NaN."},
{Op::IsNan,      "isnan",        C::Compare,    1, FloatTest,   false, 0, "Whether a is NaN.", ""},
{Op::IsInf,      "isinf",        C::Compare,    1, FloatTest,   false, 0, "Whether a is an infinity.", ""},
{Op::IsFinite,   "isfinite",     C::Compare,    1, FloatTest,   false, 0, "Whether a is neither NaN nor an infinity.", ""},
{Op::Select,     "select",       C::Compare,    3, Select,      false, 0, "a ? b : c; both are computed.", ""},

{Op::Cast,       "cast",         C::Convert,    1, Cast,        false, 0, "The value in another type, written f32(a), i32(a), …; rounds to nearest even.", "Integers wrap; float to integer truncates and saturates, NaN gives 0; to bool: a != 0."},
{Op::Bitcast,    "bitcast",      C::Convert,    1, Bitcast,     false, 0, "The same bits as another type, written bits_f32(a), bits_u32(a), …", ""},
{Op::RoundF16,   "round_f16",    C::Convert,    1, Float32,     false, 0, "The nearest f16 value, ties to even.", "Beyond 65504 rounds to infinity as IEEE 754 says."},
{Op::RoundBF16,  "round_bf16",   C::Convert,    1, Float32,     false, 0, "The nearest bf16 value, ties to even.", ""},
{Op::Wrap8,      "wrap8",        C::Convert,    1, Int32,       false, 0, "The low 8 bits, sign- or zero-extended.", ""},
{Op::Wrap16,     "wrap16",       C::Convert,    1, Int32,       false, 0, "The low 16 bits, sign- or zero-extended.", ""},

{Op::Rsqrt,      "rsqrt",        C::Function,   1, Float,       false, 2, "1 / sqrt(a).", "±0 gives an infinity of its sign; negative gives NaN."},
{Op::Exp,        "exp",          C::Function,   1, Float,       false, 12, "e to the power of a.", kNanPropagates},
{Op::Exp2,       "exp2",         C::Function,   1, Float,       false, 12, "2 to the power of a.", kNanPropagates},
{Op::Expm1,      "expm1",        C::Function,   1, Float,       false, 16, "exp(a) - 1, accurate near 0.", "-0 gives -0."},
{Op::Log,        "log",          C::Function,   1, Float,       false, 16, "The natural logarithm.", "±0 gives -inf; negative gives NaN."},
{Op::Log2,       "log2",         C::Function,   1, Float,       false, 16, "The logarithm to base 2.", "±0 gives -inf; negative gives NaN."},
{Op::Log10,      "log10",        C::Function,   1, Float,       false, 16, "The logarithm to base 10.", "±0 gives -inf; negative gives NaN."},
{Op::Log1p,      "log1p",        C::Function,   1, Float,       false, 18, "log(1 + a), accurate near 0.", "-1 gives -inf; below gives NaN; -0 gives -0."},
{Op::Sin,        "sin",          C::Function,   1, Float,       false, 20, "The sine of a in radians, for every float.", "An infinity gives NaN."},
{Op::Cos,        "cos",          C::Function,   1, Float,       false, 20, "The cosine of a in radians, for every float.", "An infinity gives NaN."},
{Op::Tan,        "tan",          C::Function,   1, Float,       false, 24, "The tangent of a in radians, for every float.", "An infinity gives NaN."},
{Op::Asin,       "asin",         C::Function,   1, Float,       false, 16, "The arc sine, in [-pi/2, pi/2].", "Beyond ±1 gives NaN."},
{Op::Acos,       "acos",         C::Function,   1, Float,       false, 16, "The arc cosine, in [0, pi].", "Beyond ±1 gives NaN."},
{Op::Atan,       "atan",         C::Function,   1, Float,       false, 16, "The arc tangent, in [-pi/2, pi/2].", kNanPropagates},
{Op::Atan2,      "atan2",        C::Function,   2, Float,       false, 20, "The angle of the point (b, a), in [-pi, pi].", "Signed zeros and infinities as in C, annex F."},
{Op::Sinh,       "sinh",         C::Function,   1, Float,       false, 18, "The hyperbolic sine.", kNanPropagates},
{Op::Cosh,       "cosh",         C::Function,   1, Float,       false, 18, "The hyperbolic cosine.", kNanPropagates},
{Op::Tanh,       "tanh",         C::Function,   1, Float,       false, 16, "The hyperbolic tangent.", kNanPropagates},
{Op::Sigmoid,    "sigmoid",      C::Function,   1, Float,       false, 14, "1 / (1 + exp(-a)).", kNanPropagates},
{Op::Erf,        "erf",          C::Function,   1, Float,       false, 20, "The error function.", kNanPropagates},
{Op::Pow,        "pow",          C::Function,   2, Float,       false, 40, "a to the power of b.", "As in C, annex F: pow(x, 0) and pow(1, y) are 1, also for NaN."},

{Op::Var,        "var",          C::Memory,     1, Special,     false, 0, "Declares a variable of the lane with its first value.", ""},
{Op::Get,        "get",          C::Memory,     0, Special,     false, 0, "The value of a variable.", ""},
{Op::Set,        "set",          C::Memory,     1, Special,     false, 0, "Gives a variable a new value.", ""},
{Op::Load,       "load",         C::Memory,     1, Special,     false, 0, "x[i]: an element of a buffer, widened to its compute type.", "0 where i is outside the buffer."},
{Op::Store,      "store",        C::Memory,     2, Special,     false, 0, "x[i] = v, rounded or wrapped to the element type.", "Nothing where i is outside the buffer."},
{Op::SharedLoad, "shared_load",  C::Memory,     1, Special,     false, 0, "An element of a workgroup array.", "0 where the index is outside; undefined before it is written."},
{Op::SharedStore,"shared_store", C::Memory,     2, Special,     false, 0, "Writes an element of a workgroup array.", "Nothing where the index is outside."},
{Op::Atomic,     "atomic",       C::Memory,     2, Special,     false, 0, "atomic_add(x[i], v) and its kin: combines v into an element in one step (relaxed) and gives the old value.", "0 and no effect where i is outside the buffer. i32 and u32."},
{Op::SharedAtomic,"shared_atomic",C::Memory,    2, Special,     false, 0, "The same for a workgroup array declared atomic.", "0 and no effect where the index is outside."},

{Op::Barrier,    "barrier",      C::Group,      0, Special,     false, 0, "Waits for all lanes of the workgroup; what they wrote before is seen by all after.", "Only in uniform control flow."},
{Op::GroupReduce,"group_reduce", C::Group,      1, Special,     false, 1, "Combines the values of all lanes of the workgroup; every lane gets the result.", "A fixed tree: lanes L/2 apart first, down to neighbours. Only in uniform control flow, and for workgroups whose size is a power of two."},
{Op::GroupScan,  "group_scan",   C::Group,      1, Special,     false, 1, "The inclusive prefix combination over the lanes of the workgroup.", "Fixed steps: distance 1, 2, 4, … Only in uniform control flow."},
{Op::GroupUniform,"group_uniform",C::Group,     1, Special,     false, 0, "The value of lane 0, in every lane: uniform from there on.", "Only in uniform control flow."},

{Op::If,         "if",           C::Control,    1, Special,     false, 0, "Runs a block in the lanes where a condition holds.", ""},
{Op::Else,       "else",         C::Control,    0, Special,     false, 0, "The block for the other lanes.", ""},
{Op::For,        "for",          C::Control,    2, Special,     false, 0, "Counts from a first value to below an end by a positive constant step.", "The number of rounds is fixed when the loop is entered."},
{Op::Loop,       "loop",         C::Control,    0, Special,     false, 0, "Repeats a block until break or return.", "Ends with Timeout when the deadline passes."},
{Op::End,        "end",          C::Control,    0, Special,     false, 0, "Closes a block.", ""},
{Op::Break,      "break",        C::Control,    0, Special,     false, 0, "Leaves the innermost loop.", ""},
{Op::Continue,   "continue",     C::Control,    0, Special,     false, 0, "Starts the next round of the innermost loop.", ""},
{Op::Return,     "return",       C::Control,    0, Special,     false, 0, "Ends the lane.", ""},

{Op::Require,    "require",      C::Host,       1, Special,     false, 0, "A condition on scalars and lengths, checked by the host at each launch.", ""},
{Op::Lanes,      "lanes",        C::Host,       1, Special,     false, 0, "How many lanes the program wants along an axis; the grid is rounded up to whole workgroups.", ""},
});
// clang-format on

static_assert(kOps.size() == kOpCount);
static_assert(
    [] {
      for (size_t i = 0; i < kOps.size(); i++)
        if (kOps[i].op != static_cast<Op>(i)) return false;
      return true;
    }(),
    "the rows stand in the order of the enumeration");

constexpr auto kCombines =
    std::to_array<std::string_view>({"add", "mul", "min", "max", "and", "or", "xor", "exchange"});

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
std::span<const OpInfo> all_ops() { return kOps; }

std::optional<Op> find_op(std::string_view name) {
  for (const OpInfo& row : kOps)
    if (row.name == name) return row.op;
  return std::nullopt;
}

std::string_view name_of(Combine combine) { return kCombines[static_cast<size_t>(combine)]; }

std::optional<Combine> find_combine(std::string_view name) {
  for (size_t i = 0; i < kCombines.size(); i++)
    if (kCombines[i] == name) return static_cast<Combine>(i);
  return std::nullopt;
}

}  // namespace hologram::program
