// What each pure instruction is in WGSL: one row an instruction and kind of type.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>

#include "core/messages.hpp"
#include "dialects/patterns.hpp"
#include "dialects/spelling.hpp"
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {
namespace {

using program::Op;

// S and U are i32 and u32, L and M are i64 and u64.
enum Kind : uint8_t {
  B = 1,
  S = 2,
  U = 4,
  L = 8,
  M = 16,
  F = 32,
  I = S | U,
  W = L | M,
  All = B | I | W | F
};

Kind kind_of(DType type) {
  switch (type) {
    case DType::Bool: return B;
    case DType::I32: return S;
    case DType::U32: return U;
    case DType::I64: return L;
    case DType::U64: return M;
    default: return F;
  }
}

// $a $b $c: the operands. $T: the type of the result in WGSL, $R and $N: the names of the types of
// result and operands in Atlas.
// clang-format off
constexpr Pattern kPatterns[] = {
    {Op::Add, I | F, "$a + $b"},
    {Op::Add, W, "add_u64($a, $b)"},
    {Op::Sub, I | F, "$a - $b"},
    {Op::Sub, W, "sub_u64($a, $b)"},
    {Op::Mul, I | F, "$a * $b"},
    {Op::Mul, W, "mul_u64($a, $b)"},
    {Op::Div, I | W, "div_$N($a, $b)"},
    {Op::Div, F, "$a / $b"},
    {Op::Rem, I | W, "rem_$N($a, $b)"},
    {Op::MulHi, I | W, "mulhi_$N($a, $b)"},
    {Op::Neg, S | F, "-$a"},
    {Op::Neg, U, "0u - $a"},
    {Op::Neg, W, "neg_u64($a)"},
    {Op::Abs, S | F, "abs($a)"},
    {Op::Abs, L, "abs_i64($a)"},
    {Op::Sign, S, "sign($a)"},
    {Op::Sign, L | F, "sign_$N($a)"},
    {Op::Min, I, "min($a, $b)"},
    {Op::Min, W, "select($a, $b, less_$N($b, $a))"},
    {Op::Min, F, "min_f32($a, $b)"},
    {Op::Max, I, "max($a, $b)"},
    {Op::Max, W, "select($a, $b, less_$N($a, $b))"},
    {Op::Max, F, "max_f32($a, $b)"},
    {Op::Fma, I, "$a * $b + $c"},
    {Op::Fma, W, "add_u64(mul_u64($a, $b), $c)"},
    {Op::Fma, F, "fma($a, $b, $c)"},
    {Op::Mad, I, "$a * $b + $c"},
    {Op::Mad, W, "add_u64(mul_u64($a, $b), $c)"},
    {Op::Mad, F, "fma($a, $b, $c)"},
    {Op::Sqrt, F, "sqrt($a)"},
    {Op::Floor, F, "floor($a)"},
    {Op::Ceil, F, "ceil($a)"},
    {Op::Trunc, F, "trunc($a)"},
    {Op::Round, F, "round($a)"},
    {Op::CopySign, F, "copysign_f32($a, $b)"},
    {Op::Dot4, I, "dot4_$N($a, $b, $c)"},

    {Op::And, I | W | B, "$a & $b"},
    {Op::Or, I | W | B, "$a | $b"},
    {Op::Xor, I | W, "$a ^ $b"},
    {Op::Xor, B, "$a != $b"},
    {Op::Not, I | W, "~$a"},
    {Op::Not, B, "!$a"},
    {Op::Shl, I, "$a << (u32($b) & 31u)"},
    {Op::Shl, W, "shl_u64($a, u32($b))"},
    {Op::Shr, I, "$a >> (u32($b) & 31u)"},
    {Op::Shr, W, "shr_$N($a, u32($b))"},
    {Op::PopCount, I, "countOneBits($a)"},
    {Op::PopCount, W, "popcount_u64($a)"},
    {Op::Clz, I, "countLeadingZeros($a)"},
    {Op::Clz, W, "vec2u(clz_u64($a), 0u)"},

    {Op::Eq, I | B | F, "$a == $b"},
    {Op::Eq, W, "all($a == $b)"},
    {Op::Ne, I | B, "$a != $b"},
    {Op::Ne, F, "!($a == $b)"},  // compilers take != for false where there is a NaN
    {Op::Ne, W, "any($a != $b)"},
    {Op::Lt, I | F, "$a < $b"},
    {Op::Lt, W, "less_$N($a, $b)"},
    {Op::Le, I | F, "$a <= $b"},
    {Op::Le, W, "!less_$N($b, $a)"},
    {Op::Gt, I | F, "$a > $b"},
    {Op::Gt, W, "less_$N($b, $a)"},
    {Op::Ge, I | F, "$a >= $b"},
    {Op::Ge, W, "!less_$N($a, $b)"},
    {Op::IsNan, F, "is_nan($a)"},
    {Op::IsInf, F, "(bitcast<u32>($a) & 0x7fffffffu) == 0x7f800000u"},
    {Op::IsFinite, F, "(bitcast<u32>($a) & 0x7fffffffu) < 0x7f800000u"},
    {Op::Select, All, "select($c, $b, $a)"},

    {Op::RoundF16, F, "f16_to_f32(f32_to_f16($a))"},
    {Op::RoundBF16, F, "bf16_to_f32(f32_to_bf16($a))"},
    {Op::Wrap8, I, "extractBits($a, 0u, 8u)"},
    {Op::Wrap16, I, "extractBits($a, 0u, 16u)"},
};

constexpr Conversion kConversions[] = {
    {Op::Cast, B, I, "bool($a)"},
    {Op::Cast, B, W, "any($a != vec2u())"},
    {Op::Cast, B, F, "(bitcast<u32>($a) & 0x7fffffffu) != 0u"},
    {Op::Cast, W, B, "vec2u(u32($a), 0u)"},
    {Op::Cast, W, U, "vec2u($a, 0u)"},
    {Op::Cast, W, S, "i32_to_i64($a)"},
    {Op::Cast, W, W, "$a"},
    {Op::Cast, I, W, "$T($a.x)"},
    {Op::Cast, I | W, F, "f32_to_$R($a)"},
    {Op::Cast, F, W, "$N_to_f32($a)"},
    {Op::Cast, All, All, "$T($a)"},
    {Op::Bitcast, W, W, "$a"},
    {Op::Bitcast, I | F, I | F, "bitcast<$T>($a)"},
};
// clang-format on

std::string_view pattern_of(Op op, DType type, DType from) {
  const std::string_view pattern =
      find_pattern(kPatterns, kConversions, op, kind_of(type), kind_of(from));
  if (!pattern.empty()) return pattern;
  throw core::error(core::Text::InternalError, fmt::format("WGSL's printer does not know {} of {}",
                                                           program::info(op).name, name_of(from)));
}

std::string real_literal(uint32_t bits) {
  const float value = std::bit_cast<float>(bits);
  if (!std::isfinite(value)) return fmt::format("special_f32({:#x}u)", bits);
  // What is denormal, and the largest number, whose shortest decimal is larger.
  if ((!std::isnormal(value) && bits != 0) || std::abs(value) > 3.4e38f)
    return fmt::format("bitcast<f32>({:#x}u)", bits);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += 'f';
  return text[0] == '-' ? '(' + text + ')' : text;
}

}  // namespace

std::string_view type_name(DType compute) {
  return size_of(compute) == 8 ? "vec2u" : name_of(compute);
}

std::string literal(DType type, uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  switch (type) {
    case DType::Bool: return bits != 0 ? "true" : "false";
    case DType::I32: {
      const auto value = static_cast<int32_t>(low);
      if (value == INT32_MIN) return fmt::format("i32({})", value);
      return value < 0 ? fmt::format("({}i)", value) : fmt::format("{}i", value);
    }
    case DType::U32: return fmt::format("{}u", low);
    case DType::F32: return real_literal(low);
    default: return fmt::format("vec2u({}u, {}u)", low, static_cast<uint32_t>(bits >> 32));
  }
}

std::string expression(Op op, DType type, DType from, const std::vector<std::string>& operands) {
  Replacements values = {{'T', std::string(type_name(type))},
                         {'R', std::string(name_of(type))},
                         {'N', std::string(name_of(from))}};
  for (size_t k = 0; k < operands.size(); k++)
    values.emplace_back(static_cast<char>('a' + k), operands[k]);
  return substitute(pattern_of(op, type, from), values);
}

std::string_view replaced_by(Op op, const Options::WebGpu& device) {
  switch (op) {
    case Op::Mul: return device.contracts && device.fused ? "mul_f32" : "";
    case Op::Fma:
    case Op::Mad: return device.fused ? "" : "fma_f32";
    case Op::Div: return device.divides ? "" : "div_f32";
    case Op::Sqrt: return device.divides ? "" : "sqrt_f32";
    default: return {};
  }
}

std::string word(std::string name) { return name.starts_with("__") ? "u" + name : name; }

// ---- Elements of buffers.

bool in_words(DType storage) { return size_of(storage) < 4; }

bool is_atomic(const program::BufferParam& buffer) {
  return buffer.access == program::Access::Atomic ||
         (in_words(buffer.type) && buffer.access != program::Access::In);
}

std::string element_name(const program::BufferParam& buffer) {
  const std::string name(in_words(buffer.type) ? "u32" : type_name(buffer.type));
  return is_atomic(buffer) ? "atomic<" + name + ">" : name;
}

// Neighbours in a word belong to other lanes, so only atomics change one of them. Lanes that store
// the same value leave it there in whatever order they come by.
std::string access_functions(const program::Module& module, uint32_t slot) {
  const program::BufferParam& buffer = module.buffers[slot];
  const size_t bits = size_of(buffer.type) * 8, count = 32 / bits;
  const std::string name = word(buffer_name(module, slot));
  const std::string element = fmt::format("{}[i / {}u]", name, count);
  const bool changes = is_atomic(buffer), is_signed = is_signed_integer(buffer.type);
  const std::string_view type = is_signed ? "i32" : "u32";
  std::string text = fmt::format(
      "fn load_{}(i: u32) -> {} {{\n  return extractBits({}({}), i % {}u * {}u, {}u);\n}}\n", name,
      type, type, changes ? "atomicLoad(&" + element + ")" : element, count, bits, bits);
  if (changes)
    text += fmt::format(
        "fn store_{0}(i: u32, value: u32) {{\n  let shift = i % {1}u * {2}u;\n"
        "  atomicAnd(&{3}, ~({4:#x}u << shift));\n"
        "  atomicOr(&{3}, (value & {4:#x}u) << shift);\n}}\n",
        name, count, bits, element, (1u << bits) - 1);
  return text;
}

// ---- Words of all lanes of a thread.

std::string own_word_name(DType storage, uint32_t lanes) {
  const size_t words = lanes * size_of(storage) / 4;
  const std::string_view part = size_of(storage) == 4 ? type_name(storage) : "u32";
  return words == 1 ? std::string(part) : fmt::format("vec{}<{}>", words, part);
}

std::string own_element(DType storage, uint32_t lanes, uint32_t lane, std::string_view word) {
  constexpr std::string_view kParts = "xyzw";
  const size_t size = size_of(storage), bit = lane * size * 8;
  if (size == 8) return fmt::format("{}.{}", word, kParts.substr(2 * size_t{lane}, 2));
  std::string part = lanes * size == 4 ? std::string(word)
                                       : fmt::format("{}.{}", word, kParts.substr(bit / 32, 1));
  if (size == 4) return part;
  return fmt::format("extractBits({}({}), {}u, {}u)", is_signed_integer(storage) ? "i32" : "u32",
                     part, bit % 32, size * 8);
}

std::string own_word(DType storage, const std::vector<std::string>& elements) {
  const size_t size = size_of(storage), in_part = size < 4 ? 4 / size : 1;
  std::vector<std::string> parts;
  for (size_t k = 0; k < elements.size(); k++) {
    if (size >= 4) {
      parts.push_back(elements[k]);
      continue;
    }
    if (k % in_part == 0) parts.emplace_back();
    else parts.back() += " | ";
    parts.back() += fmt::format("(({} & {:#x}u) << {}u)", elements[k], (1u << size * 8) - 1,
                                k % in_part * size * 8);
  }
  if (parts.size() == 1) return parts[0];
  return fmt::format("{}({})", own_word_name(storage, static_cast<uint32_t>(elements.size())),
                     fmt::join(parts, ", "));
}

std::string own_access_functions(const program::Module& module, uint32_t slot, uint32_t lanes) {
  const program::BufferParam& buffer = module.buffers[slot];
  const size_t size = size_of(buffer.type), bits = size * 8;
  const std::string name = word(buffer_name(module, slot));
  std::string load, store, type(type_name(buffer.type)), taken = type;
  if (size == 4) {
    load = fmt::format("return {}[i / {}u][i % {}u];", name, lanes, lanes);
    store = fmt::format("{}[i / {}u][i % {}u] = value;", name, lanes, lanes);
  } else if (size == 8) {
    load = fmt::format("let w = {}[i / 2u];\n  return select(w.xy, w.zw, (i & 1u) != 0u);", name);
    store = fmt::format(
        "let w = {0}[i / 2u];\n"
        "  {0}[i / 2u] = select(vec4u(value, w.zw), vec4u(w.xy, value), (i & 1u) != 0u);",
        name);
  } else {
    type = is_signed_integer(buffer.type) ? "i32" : "u32";
    taken = "u32";
    const size_t count = 4 / size;
    const std::string at =
        lanes == count ? fmt::format("{}[i / {}u]", name, count)
                       : fmt::format("{}[i / {}u][i % {}u / {}u]", name, lanes, lanes, count);
    load =
        fmt::format("return extractBits({}({}), i % {}u * {}u, {}u);", type, at, count, bits, bits);
    store = fmt::format(
        "let shift = i % {1}u * {2}u;\n"
        "  {0} = ({0} & ~({3:#x}u << shift)) | ((value & {3:#x}u) << shift);",
        at, count, bits, (1u << bits) - 1);
  }
  std::string text = fmt::format("fn load_{}(i: u32) -> {} {{\n  {}\n}}\n", name, type, load);
  if (buffer.access != program::Access::In)
    text += fmt::format("fn store_{}(i: u32, value: {}) {{\n  {}\n}}\n", name, taken, store);
  return text;
}

std::string_view load_pattern(DType storage) {
  switch (storage) {
    case DType::Bool: return "$e != 0u";
    case DType::F16: return "f16_to_f32($e)";
    case DType::BF16: return "bf16_to_f32($e)";
    default: return "$e";
  }
}

std::string_view store_pattern(DType storage) {
  switch (storage) {
    case DType::Bool:
    case DType::I8:
    case DType::I16: return "u32($a)";
    case DType::F16: return "f32_to_f16($a)";
    case DType::BF16: return "f32_to_bf16($a)";
    default: return "$a";
  }
}

}  // namespace hologram::dialects::wgsl
