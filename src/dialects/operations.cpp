// What each pure instruction is in C: one row an instruction and kind of type.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/messages.hpp"
#include "dialects/patterns.hpp"
#include "dialects/spelling.hpp"

namespace hologram::dialects {
namespace {

using program::Combine;
using program::Op;

enum Kind : uint8_t { B = 1, S = 2, U = 4, F = 8, I = S | U, N = I | F, All = N | B };

Kind kind_of(DType t) {
  return t == DType::Bool ? B : is_float(t) ? F : is_signed_integer(t) ? S : U;
}

// $a $b $c: the operands. $T: the type of the result, $U: the unsigned type of its size, $F: the
// operands' type, $V: the unsigned type of that size. $m: what f32's functions end in. $n: the
// width less 1. $i: infinity.
// clang-format off
constexpr Pattern kPatterns[] = {
    {Op::Add, S, "($T)(($U)$a + ($U)$b)"},
    {Op::Add, U | F, "$a + $b"},
    {Op::Sub, S, "($T)(($U)$a - ($U)$b)"},
    {Op::Sub, U | F, "$a - $b"},
    {Op::Mul, S, "($T)(($U)$a * ($U)$b)"},
    {Op::Mul, U | F, "$a * $b"},
    {Op::Div, I, "div_$T($a, $b)"},
    {Op::Div, F, "$a / $b"},
    {Op::Rem, I, "rem_$T($a, $b)"},
    {Op::MulHi, I, "mulhi_$T($a, $b)"},
    {Op::Neg, S, "($T)(0 - ($U)$a)"},
    {Op::Neg, U, "0 - $a"},
    {Op::Neg, F, "-$a"},
    {Op::Abs, S, "$a < 0 ? ($T)(0 - ($U)$a) : $a"},
    {Op::Abs, F, "fabs$m($a)"},
    {Op::Sign, S, "($T)($a > 0) - ($T)($a < 0)"},
    {Op::Sign, F, "$a > 0 ? ($T)1 : $a < 0 ? ($T)-1 : $a"},
    {Op::Min, I, "$b < $a ? $b : $a"},
    {Op::Min, F, "min_$T($a, $b)"},
    {Op::Max, I, "$a < $b ? $b : $a"},
    {Op::Max, F, "max_$T($a, $b)"},
    {Op::Fma, S, "($T)(($U)$a * ($U)$b + ($U)$c)"},
    {Op::Fma, U, "$a * $b + $c"},
    {Op::Fma, F, "fma$m($a, $b, $c)"},
    {Op::Mad, S, "($T)(($U)$a * ($U)$b + ($U)$c)"},
    {Op::Mad, U, "$a * $b + $c"},
    {Op::Mad, F, "fma$m($a, $b, $c)"},
    {Op::Sqrt, F, "sqrt$m($a)"},
    {Op::Floor, F, "floor_$T($a)"},
    {Op::Ceil, F, "ceil_$T($a)"},
    {Op::Trunc, F, "trunc_$T($a)"},
    {Op::Round, F, "rint_$T($a)"},
    {Op::CopySign, F, "copysign$m($a, $b)"},
    {Op::Dot4, I, "dot4_$F($a, $b, $c)"},

    {Op::And, I | B, "$a & $b"},
    {Op::Or, I | B, "$a | $b"},
    {Op::Xor, I, "$a ^ $b"},
    {Op::Xor, B, "$a != $b"},
    {Op::Not, I, "~$a"},
    {Op::Not, B, "!$a"},
    {Op::Shl, S, "($T)(($U)$a << ($b & $n))"},
    {Op::Shl, U, "$a << ($b & $n)"},
    {Op::Shr, I, "$a >> ($b & $n)"},
    {Op::PopCount, I, "($T)popcount_$U(($U)$a)"},
    {Op::Clz, I, "($T)clz_$U(($U)$a)"},

    {Op::Eq, All, "$a == $b"},
    {Op::Ne, All, "$a != $b"},
    {Op::Lt, N, "$a < $b"},
    {Op::Le, N, "$a <= $b"},
    {Op::Gt, N, "$a > $b"},
    {Op::Ge, N, "$a >= $b"},
    {Op::IsNan, F, "$a != $a"},
    {Op::IsInf, F, "fabs$m($a) == $i"},
    {Op::IsFinite, F, "fabs$m($a) < $i"},
    {Op::Select, All, "$a ? $b : $c"},

    {Op::RoundF16, F, "f16_to_f32(f32_to_f16($a))"},
    {Op::RoundBF16, F, "bf16_to_f32(f32_to_bf16($a))"},
    {Op::Wrap8, S, "($T)(i8)$a"},
    {Op::Wrap8, U, "($T)(u8)$a"},
    {Op::Wrap16, S, "($T)(i16)$a"},
    {Op::Wrap16, U, "($T)(u16)$a"},
};

constexpr Conversion kConversions[] = {
    {Op::Cast, B, N, "$a != 0"},
    {Op::Cast, I, F, "$F_to_$T($a)"},
    {Op::Cast, All, All, "($T)$a"},
    {Op::Bitcast, I, I, "($T)$a"},
    {Op::Bitcast, F, I, "as_$T(($V)$a)"},
    {Op::Bitcast, I, F, "($T)bits_$F($a)"},
    {Op::Bitcast, F, F, "$a"},
};
// clang-format on

std::string_view pattern_of(Op op, DType type, DType from) {
  const std::string_view pattern =
      find_pattern(kPatterns, kConversions, op, kind_of(type), kind_of(from));
  if (!pattern.empty()) return pattern;
  throw core::error(core::Text::InternalError, fmt::format("no printer knows {} of {}",
                                                           program::info(op).name, name_of(from)));
}

std::string real_literal(DType type, uint64_t bits) {
  const bool single = type == DType::F32;
  const double value =
      single ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
  const bool normal = single ? std::isnormal(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                             : std::isnormal(value);
  if (!normal && value != 0)  // compilers may flush what is denormal
    return single ? fmt::format("as_f32({:#x}u)", static_cast<uint32_t>(bits)) : std::string();
  std::string text = single ? fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)))
                            : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += 'f';
  return text[0] == '-' ? '(' + text + ')' : text;
}

}  // namespace

std::string_view element_name(DType storage) {
  if (storage == DType::Bool) return "u8";
  if (storage == DType::F16 || storage == DType::BF16) return "u16";
  return name_of(storage);
}

DType unsigned_of(DType type) {
  return size_of(type) == 8 ? DType::U64 : size_of(type) == 4 ? DType::U32 : DType::Bool;
}

std::string literal(DType type, uint64_t bits, const Spelling& language) {
  const auto whole = [&](int64_t value, int64_t lowest, std::string_view suffix) {
    if (value == lowest) return fmt::format("({}{} - 1)", value + 1, suffix);
    return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
  };
  switch (type) {
    case DType::Bool: return bits != 0 ? "true" : "false";
    case DType::I32: return whole(static_cast<int32_t>(bits), INT32_MIN, "");
    case DType::U32: return fmt::format("{}u", static_cast<uint32_t>(bits));
    case DType::I64: return whole(static_cast<int64_t>(bits), INT64_MIN, language.long_suffix);
    case DType::U64: return fmt::format("{}U{}", bits, language.long_suffix);
    default: break;
  }
  const std::string text = real_literal(type, bits);
  return text.empty() ? fmt::format("as_f64({:#x}U{})", bits, language.long_suffix) : text;
}

std::string expression(Op op, DType type, DType from, const std::vector<std::string>& operands,
                       const Spelling& language) {
  const std::string_view pattern = pattern_of(op, type, from);
  Replacements values = {
      {'T', std::string(name_of(type))},
      {'U', std::string(name_of(unsigned_of(type)))},
      {'F', std::string(name_of(from))},
      {'V', std::string(name_of(unsigned_of(from)))},
      {'m', std::string(from == DType::F32 ? language.float_suffix : "")},
      {'n', size_of(from) == 8 ? "63" : "31"},
      {'i', is_float(from)
                ? literal(from, from == DType::F32 ? 0x7f800000 : 0x7ff0000000000000, language)
                : std::string()},
  };
  for (size_t k = 0; k < operands.size(); k++)
    values.emplace_back(static_cast<char>('a' + k), operands[k]);
  return substitute(pattern, values);
}

Op operation_of(Combine combine) {
  constexpr Op kOperations[] = {Op::Add, Op::Mul, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor};
  return kOperations[static_cast<size_t>(combine)];
}

std::string_view load_pattern(DType storage) {
  switch (storage) {
    case DType::Bool: return "$e != 0";
    case DType::I8:
    case DType::I16: return "(i32)$e";
    case DType::U8:
    case DType::U16: return "(u32)$e";
    case DType::F16: return "f16_to_f32($e)";
    case DType::BF16: return "bf16_to_f32($e)";
    default: return "$e";
  }
}

std::string_view store_pattern(DType storage) {
  switch (storage) {
    case DType::Bool:
    case DType::U8: return "(u8)$a";
    case DType::I8: return "(i8)$a";
    case DType::I16: return "(i16)$a";
    case DType::U16: return "(u16)$a";
    case DType::F16: return "f32_to_f16($a)";
    case DType::BF16: return "f32_to_bf16($a)";
    default: return "$a";
  }
}

std::string word_of(size_t words, size_t number) {
  return words == 1 ? "w" : fmt::format("w.{}", "xyzw"[number]);
}

std::string element_of_words(DType type, size_t words, uint32_t lane) {
  const size_t size = size_of(type), bit = lane * size * 8;
  const std::string low = word_of(words, bit / 32);
  if (size == 8) {
    const std::string both = fmt::format("((u64){} << 32 | {})", word_of(words, bit / 32 + 1), low);
    return type == DType::F64 ? "as_f64(" + both + ")" : fmt::format("({}){}", name_of(type), both);
  }
  if (type == DType::F32) return "as_f32(" + low + ")";
  return fmt::format("({})({} >> {}u)", element_name(type), low, bit % 32);
}

std::string substitute(std::string_view pattern, const Replacements& values) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); i++) {
    const auto* value = static_cast<const std::string*>(nullptr);
    if (pattern[i] == '$' && i + 1 < pattern.size())
      for (const auto& [key, with] : values)
        if (key == pattern[i + 1]) value = &with;
    if (value == nullptr) {
      text += pattern[i];
    } else {
      text += *value;
      i++;
    }
  }
  return text;
}

}  // namespace hologram::dialects
