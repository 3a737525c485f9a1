// The value of every pure instruction on constants: what folding and host code compute with, and
// what the devices are compared with.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/half.hpp"
#include "core/messages.hpp"
#include "program/expansions/evaluate.hpp"
#include "program/float_environment.hpp"
#include "program/ir.hpp"
#include "program/typing.hpp"

namespace hologram::program {
namespace {

using Bits = std::optional<uint64_t>;

template <class T>
T value_of(uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) return bits != 0;
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(bits);
  else return static_cast<T>(bits);
}

uint64_t to_bits(bool value) { return value; }
uint64_t to_bits(int32_t value) { return static_cast<uint32_t>(value); }
uint64_t to_bits(uint32_t value) { return value; }
uint64_t to_bits(int64_t value) { return static_cast<uint64_t>(value); }
uint64_t to_bits(uint64_t value) { return value; }
uint64_t to_bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t to_bits(double value) { return std::bit_cast<uint64_t>(value); }

template <class T>
Bits compare(Op op, T a, T b) {
  switch (op) {
    case Op::Eq: return to_bits(a == b);
    case Op::Ne: return to_bits(a != b);
    case Op::Lt: return to_bits(a < b);
    case Op::Le: return to_bits(a <= b);
    case Op::Gt: return to_bits(a > b);
    case Op::Ge: return to_bits(a >= b);
    default: return std::nullopt;
  }
}

Bits logic(Op op, bool a, bool b) {
  switch (op) {
    case Op::And: return to_bits(a && b);
    case Op::Or: return to_bits(a || b);
    case Op::Xor:
    case Op::Ne: return to_bits(a != b);
    case Op::Not: return to_bits(!a);
    case Op::Eq: return to_bits(a == b);
    default: return std::nullopt;
  }
}

template <class T>
T mulhi(T a, T b) {
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>((static_cast<int64_t>(a) * static_cast<int64_t>(b)) >> 32);
  } else {
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> 64);
  }
}
template <>
uint32_t mulhi(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32);
}

template <class T>
Bits integer(Op op, T a, T b, T c) {
  using U = std::make_unsigned_t<T>;
  constexpr T kLowest = std::numeric_limits<T>::min();
  constexpr int kWidth = std::numeric_limits<U>::digits;
  const U ua = static_cast<U>(a), ub = static_cast<U>(b), uc = static_cast<U>(c);
  const bool overflows = std::is_signed_v<T> && a == kLowest && b == static_cast<T>(-1);
  const auto wrapped = [](U value) { return to_bits(static_cast<T>(value)); };
  switch (op) {
    case Op::Add: return wrapped(ua + ub);
    case Op::Sub: return wrapped(ua - ub);
    case Op::Mul: return wrapped(ua * ub);
    case Op::Fma:
    case Op::Mad: return wrapped(ua * ub + uc);
    case Op::Neg: return wrapped(U{0} - ua);
    case Op::Div: return to_bits(b == 0 ? T{0} : overflows ? a : static_cast<T>(a / b));
    case Op::Rem: return to_bits(b == 0 || overflows ? T{0} : static_cast<T>(a % b));
    case Op::MulHi: return to_bits(mulhi<T>(a, b));
    case Op::Abs: return wrapped(a < T{0} ? U{0} - ua : ua);
    case Op::Sign: return to_bits(static_cast<T>((a > T{0}) - (a < T{0})));
    case Op::Min: return to_bits(b < a ? b : a);
    case Op::Max: return to_bits(a < b ? b : a);
    case Op::And: return wrapped(ua & ub);
    case Op::Or: return wrapped(ua | ub);
    case Op::Xor: return wrapped(ua ^ ub);
    case Op::Not: return wrapped(~ua);
    // The count is an i32 or u32; its low bits are those of `b` for every type.
    case Op::Shl: return wrapped(ua << (ub & (kWidth - 1)));
    case Op::Shr: return to_bits(static_cast<T>(a >> (ub & (kWidth - 1))));
    case Op::PopCount: return to_bits(static_cast<T>(std::popcount(ua)));
    case Op::Clz: return to_bits(static_cast<T>(std::countl_zero(ua)));
    case Op::Wrap8:
      return to_bits(
          static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, int8_t, uint8_t>>(a)));
    case Op::Wrap16:
      return to_bits(static_cast<T>(
          static_cast<std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>>(a)));
    default: return compare(op, a, b);
  }
}

// Of bytes: those of b are signed, those of a may be.
uint64_t dot4(bool is_signed, const std::array<uint64_t, 3>& args) {
  auto sum = static_cast<uint32_t>(args[2]);
  for (int shift = 0; shift < 32; shift += 8) {
    const auto a = static_cast<uint8_t>(args[0] >> shift),
               b = static_cast<uint8_t>(args[1] >> shift);
    const int32_t left = is_signed ? static_cast<int8_t>(a) : a;
    sum += static_cast<uint32_t>(left * static_cast<int8_t>(b));
  }
  return sum;
}

// IEEE 754-2019 minimum: a NaN wins, -0 is below +0.
template <class T>
T minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class T>
T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <class T>
Bits real(Op op, T a, T b, T c) {
  constexpr uint64_t kSign = uint64_t{1} << (sizeof(T) * 8 - 1);
  switch (op) {
    case Op::Add: return to_bits(a + b);
    case Op::Sub: return to_bits(a - b);
    case Op::Mul: return to_bits(a * b);
    case Op::Div: return to_bits(a / b);
    case Op::Fma:
    case Op::Mad: return to_bits(std::fma(a, b, c));
    case Op::Neg: return to_bits(a) ^ kSign;
    case Op::Abs: return to_bits(a) & ~kSign;
    case Op::CopySign: return (to_bits(a) & ~kSign) | (to_bits(b) & kSign);
    case Op::Sign: return to_bits(a > 0 ? T{1} : a < 0 ? T{-1} : a);
    case Op::Min: return to_bits(minimum(a, b));
    case Op::Max: return to_bits(maximum(a, b));
    case Op::Sqrt: return to_bits(std::sqrt(a));
    case Op::Floor: return to_bits(std::floor(a));
    case Op::Ceil: return to_bits(std::ceil(a));
    case Op::Trunc: return to_bits(std::trunc(a));
    case Op::Round: return to_bits(std::nearbyint(a));
    case Op::IsNan: return to_bits(std::isnan(a));
    case Op::IsInf: return to_bits(std::isinf(a));
    case Op::IsFinite: return to_bits(static_cast<bool>(std::isfinite(a)));
    case Op::RoundF16: return to_bits(core::f16_to_f32(core::f32_to_f16(static_cast<float>(a))));
    case Op::RoundBF16: return to_bits(core::bf16_to_f32(core::f32_to_bf16(static_cast<float>(a))));
    default: return compare(op, a, b);
  }
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // Both ends of the range are compared as powers of two, which are exact.
    constexpr From kEnd =
        static_cast<From>(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
    if (std::isnan(value)) return 0;
    if (value >= kEnd) return std::numeric_limits<To>::max();
    if (value <= (std::is_signed_v<To> ? -kEnd : From{0})) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From>
Bits cast(DType type, From value) {
  switch (type) {
    case DType::Bool: return to_bits(converted<bool>(value));
    case DType::I32: return to_bits(converted<int32_t>(value));
    case DType::U32: return to_bits(converted<uint32_t>(value));
    case DType::I64: return to_bits(converted<int64_t>(value));
    case DType::U64: return to_bits(converted<uint64_t>(value));
    case DType::F32: return to_bits(converted<float>(value));
    case DType::F64: return to_bits(converted<double>(value));
    default: return std::nullopt;
  }
}

template <class T>
Bits apply(Op op, DType type, const std::array<uint64_t, 3>& args) {
  const T a = value_of<T>(args[0]), b = value_of<T>(args[1]);
  if (op == Op::Cast) return cast(type, a);
  if constexpr (std::is_same_v<T, bool>) return logic(op, a, b);
  else if constexpr (std::is_integral_v<T>) return integer<T>(op, a, b, value_of<T>(args[2]));
  else return real<T>(op, a, b, value_of<T>(args[2]));
}

}  // namespace

std::optional<uint64_t> evaluate(Op op, DType type, DType from, std::array<uint64_t, 3> args) {
  if (static_cast<size_t>(op) >= kOpCount || !is_pure(op)) return std::nullopt;
  const OpInfo& row = info(op);
  if (!accepts(row.typing, from)) return std::nullopt;
  if (op == Op::Select) return args[0] != 0 ? args[1] : args[2];
  if (op == Op::Bitcast) return args[0];
  if (op == Op::Dot4) return dot4(from == DType::I32, args);
  if (row.category == Category::Function) return evaluate_function(op, from, args[0], args[1]);
  switch (from) {
    case DType::Bool: return apply<bool>(op, type, args);
    case DType::I32: return apply<int32_t>(op, type, args);
    case DType::U32: return apply<uint32_t>(op, type, args);
    case DType::I64: return apply<int64_t>(op, type, args);
    case DType::U64: return apply<uint64_t>(op, type, args);
    case DType::F32: return apply<float>(op, type, args);
    case DType::F64: return apply<double>(op, type, args);
    default: return std::nullopt;
  }
}

std::vector<uint64_t> evaluate_host(const Module& module, std::span<const uint64_t> scalars,
                                    std::span<const uint64_t> lengths) {
  if (scalars.size() != module.scalars.size() || lengths.size() != module.buffers.size())
    throw core::error(core::Text::InternalError, "host code is run without all arguments");
  const FloatEnvironment environment;
  std::vector<uint64_t> values(module.host.values.size());
  for (const Inst& inst : module.host.insts) {
    if (inst.id == kNone) continue;
    switch (inst.op) {
      case Op::Const: values[inst.id] = inst.imm; break;
      case Op::Scalar: values[inst.id] = scalars[inst.slot]; break;
      case Op::Length: values[inst.id] = lengths[inst.slot]; break;
      default: {
        std::array<uint64_t, 3> args = {};
        for (size_t k = 0; k < arity(inst); k++) args[k] = values[inst.args[k]];
        values[inst.id] = evaluate(inst.op, inst.type, inst.from, args).value_or(0);
      }
    }
  }
  return values;
}

}  // namespace hologram::program
