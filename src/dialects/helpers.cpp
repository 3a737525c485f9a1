// The functions that printed programs bring along: what no language has in this form.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dialects/spelling.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {
namespace {

// In pieces of literals, so that a language's own text may hold them.
#define HOLOGRAM_MIN             \
  "$q $T min_$T($T a, $T b) {\n" \
  "  return a < b ? a : b < a ? b : a == b ? as_$T(bits_$T(a) | bits_$T(b)) : a + b;\n}"
#define HOLOGRAM_MAX             \
  "$q $T max_$T($T a, $T b) {\n" \
  "  return a < b ? b : b < a ? a : a == b ? as_$T(bits_$T(a) & bits_$T(b)) : a + b;\n}"
// C++ whose compiler knows the type: HIP's, and on processors those that take CUDA's text as C++.
#define HOLOGRAM_FROM_F16 \
  "$q f32 f16_to_f32(u16 x) { _Float16 h; __builtin_memcpy(&h, &x, 2); return (f32)h; }"
#define HOLOGRAM_TO_F16                  \
  "$q u16 f32_to_f16(f32 x) {\n"         \
  "  _Float16 h = (_Float16)x; u16 r;\n" \
  "  __builtin_memcpy(&r, &h, 2);\n  return r;\n}"
#define HOLOGRAM_BYTES(type, shift) \
  "(u32)((i32)(" type ")(a >> " shift ") * (i32)(i8)(b >> " shift "))"
#define HOLOGRAM_DOT4(type) \
  "$q i32 dot4_$T($T a, i32 b, i32 c) {\n"                                                    \
  "  return (i32)((u32)c + " HOLOGRAM_BYTES(type, "0") " + " HOLOGRAM_BYTES(type, "8") " +\n" \
  "               " HOLOGRAM_BYTES(type, "16") " + " HOLOGRAM_BYTES(type, "24") ");\n}"
// Some of AMD's processors have an instruction for signed bytes, later ones for all.
#define HOLOGRAM_HIP_DOT4(by_signed, is_signed)                                  \
  "#if defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || "    \
  "defined(__gfx942__) || defined(__gfx1030__)\n"                                \
  "$q i32 dot4_$T($T a, i32 b, i32 c) { return " by_signed                       \
  "; }\n"                                                                        \
  "#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__)\n" \
  "$q i32 dot4_$T($T a, i32 b, i32 c) {\n"                                       \
  "  return __builtin_amdgcn_sudot4(" is_signed                                  \
  ", (i32)a, true, b, c, false);\n}\n"                                           \
  "#else\n"
// What every language can do; CUDA has an instruction from Ampere on.
#define HOLOGRAM_TO_BF16                                                    \
  "$q u16 f32_to_bf16(f32 value) {\n"                                       \
  "  const u32 x = bits_f32(value);\n"                                      \
  "  if ((x & 0x7fffffffu) > 0x7f800000u) return (u16)(x >> 16 | 0x40u);\n" \
  "  return (u16)((x + 0x7fffu + (x >> 16 & 1u)) >> 16);\n}"
// PoCL's functions leave it open what becomes of a NaN that is known when they are compiled.
#define HOLOGRAM_ROUNDING(name) "$q $T " name "_$T($T x) { return " name "$m(x); }"
#define HOLOGRAM_GUARDED_ROUNDING(name)             \
  "#ifdef POCL_DEVICE_ADDRESS_BITS\n"               \
  "$q $T " name "_$T($T x) { return x == x ? " name \
  "(x) : x; }"                                      \
  "\n#else\n" HOLOGRAM_ROUNDING(name) "\n#endif"

// $q: in front of a function. $T: the type, $U: the unsigned type of its size, $w: that type's
// number of bits, $m: what functions of its size end in. $M: the largest, $L: the smallest value;
// $E: the end of the range as a float of type $G, where the helper converts from it.
// clang-format off
const Helper kHelpers[] = {
    {"as", "f32", "",
     {"$q f32 as_f32(u32 x) { return __uint_as_float(x); }",
      "$q f32 as_f32(u32 x) { return as_float(x); }",
      "$q f32 as_f32(u32 x) { return __uint_as_float(x); }",
      "$q f32 as_f32(u32 x) { return as_type<f32>(x); }"}},
    {"as", "f64", "",
     {"$q f64 as_f64(u64 x) { return __longlong_as_double((i64)x); }",
      "$q f64 as_f64(u64 x) { return as_double(x); }",
      "$q f64 as_f64(u64 x) { return __longlong_as_double((i64)x); }"}},
    {"bits", "f32", "",
     {"$q u32 bits_f32(f32 x) { return __float_as_uint(x); }",
      "$q u32 bits_f32(f32 x) { return as_uint(x); }",
      "$q u32 bits_f32(f32 x) { return __float_as_uint(x); }",
      "$q u32 bits_f32(f32 x) { return as_type<u32>(x); }"}},
    {"bits", "f64", "",
     {"$q u64 bits_f64(f64 x) { return (u64)__double_as_longlong(x); }",
      "$q u64 bits_f64(f64 x) { return as_ulong(x); }",
      "$q u64 bits_f64(f64 x) { return (u64)__double_as_longlong(x); }"}},

    // A division by zero gives 0, one by -1 wraps around.
    {"div", "i32 i64", "$q $T div_$T($T a, $T b) {\n"
     "  return b == 0 ? 0 : b == -1 ? ($T)(0 - ($U)a) : a / b;\n}"},
    {"div", "u32 u64", "$q $T div_$T($T a, $T b) { return b == 0 ? 0 : a / b; }"},
    {"rem", "i32 i64", "$q $T rem_$T($T a, $T b) { return b == 0 || b == -1 ? 0 : a % b; }"},
    {"rem", "u32 u64", "$q $T rem_$T($T a, $T b) { return b == 0 ? 0 : a % b; }"},
    // c and the products of four bytes: those of b are signed, those of a if it is an i32.
    {"dot4", "i32", HOLOGRAM_DOT4("i8"),
     {"#if __CUDA_ARCH__ >= 610\n"
      "$q i32 dot4_$T($T a, i32 b, i32 c) { i32 r; asm(\"dp4a.s32.s32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c)); return r; }\n"
      "#else\n" HOLOGRAM_DOT4("i8") "\n#endif", "",
      HOLOGRAM_HIP_DOT4("__builtin_amdgcn_sdot4(a, b, c, false)", "true")
      HOLOGRAM_DOT4("i8") "\n#endif"}},
    {"dot4", "u32", HOLOGRAM_DOT4("u8"),
     {"#if __CUDA_ARCH__ >= 610\n"
      "$q i32 dot4_$T($T a, i32 b, i32 c) { i32 r; asm(\"dp4a.u32.s32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(a), \"r\"(b), \"r\"(c)); return r; }\n"
      "#else\n" HOLOGRAM_DOT4("u8") "\n#endif", "",
      HOLOGRAM_HIP_DOT4("__builtin_amdgcn_sdot4((i32)(a ^ 0x80808080u), b, __builtin_amdgcn_sdot4(0x01010101, b, 0, false) * 128 + c, false)", "false")
      HOLOGRAM_DOT4("u8") "\n#endif"}},
    {"mulhi", "i32", "$q i32 mulhi_i32(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }"},
    {"mulhi", "u32", "$q u32 mulhi_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }"},
    {"mulhi", "i64", "",
     {"$q i64 mulhi_i64(i64 a, i64 b) { return __mul64hi(a, b); }",
      "$q i64 mulhi_i64(i64 a, i64 b) { return mul_hi(a, b); }",
      "$q i64 mulhi_i64(i64 a, i64 b) { return __mul64hi(a, b); }",
      "$q i64 mulhi_i64(i64 a, i64 b) { return mulhi(a, b); }"}},
    {"mulhi", "u64", "",
     {"$q u64 mulhi_u64(u64 a, u64 b) { return __umul64hi(a, b); }",
      "$q u64 mulhi_u64(u64 a, u64 b) { return mul_hi(a, b); }",
      "$q u64 mulhi_u64(u64 a, u64 b) { return __umul64hi(a, b); }",
      "$q u64 mulhi_u64(u64 a, u64 b) { return mulhi(a, b); }"}},
    {"popcount", "u32", "$q u32 popcount_u32(u32 x) { return popcount(x); }",
     {"$q u32 popcount_u32(u32 x) { return (u32)__popc(x); }", "",
      "$q u32 popcount_u32(u32 x) { return (u32)__popc(x); }"}},
    {"popcount", "u64", "$q u64 popcount_u64(u64 x) { return popcount(x); }",
     {"$q u64 popcount_u64(u64 x) { return (u64)__popcll(x); }", "",
      "$q u64 popcount_u64(u64 x) { return (u64)__popcll(x); }"}},
    {"clz", "u32", "$q u32 clz_u32(u32 x) { return clz(x); }",
     {"$q u32 clz_u32(u32 x) { return (u32)__clz((i32)x); }", "",
      "$q u32 clz_u32(u32 x) { return (u32)__clz((i32)x); }"}},
    {"clz", "u64", "$q u64 clz_u64(u64 x) { return clz(x); }",
     {"$q u64 clz_u64(u64 x) { return (u64)__clzll((i64)x); }", "",
      "$q u64 clz_u64(u64 x) { return (u64)__clzll((i64)x); }"}},

    // The smaller; NaN if either is, and -0 is below +0. The larger likewise.
    {"min", "f32", HOLOGRAM_MIN,
     {"#if __CUDA_ARCH__ >= 800\n"
      "$q $T min_$T($T a, $T b) { $T r; asm(\"min.NaN.$T %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); return r; }\n"
      "#else\n" HOLOGRAM_MIN "\n#endif"}},
    {"max", "f32", HOLOGRAM_MAX,
     {"#if __CUDA_ARCH__ >= 800\n"
      "$q $T max_$T($T a, $T b) { $T r; asm(\"max.NaN.$T %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); return r; }\n"
      "#else\n" HOLOGRAM_MAX "\n#endif"}},
    {"min", "f64", HOLOGRAM_MIN},
    {"max", "f64", HOLOGRAM_MAX},

    {"floor", "f32 f64", HOLOGRAM_ROUNDING("floor"), {"", HOLOGRAM_GUARDED_ROUNDING("floor")}},
    {"ceil", "f32 f64", HOLOGRAM_ROUNDING("ceil"), {"", HOLOGRAM_GUARDED_ROUNDING("ceil")}},
    {"trunc", "f32 f64", HOLOGRAM_ROUNDING("trunc"), {"", HOLOGRAM_GUARDED_ROUNDING("trunc")}},
    {"rint", "f32 f64", HOLOGRAM_ROUNDING("rint"), {"", HOLOGRAM_GUARDED_ROUNDING("rint")}},

    // Truncated and saturated; NaN gives 0.
    {"f32_to", "i32 i64", "$q $T f32_to_$T(f32 x) {\n"
     "  return x >= $Ef ? $M : x > -$Ef ? ($T)x : x == x ? $L : 0;\n}"},
    {"f64_to", "i32 i64", "$q $T f64_to_$T(f64 x) {\n"
     "  return x >= $E ? $M : x > -$E ? ($T)x : x == x ? $L : 0;\n}"},
    {"f32_to", "u32 u64", "$q $T f32_to_$T(f32 x) { return x >= $Ef ? $M : x > 0 ? ($T)x : 0; }"},
    {"f64_to", "u32 u64", "$q $T f64_to_$T(f64 x) { return x >= $E ? $M : x > 0 ? ($T)x : 0; }"},

    // The two 16-bit floats: to the nearest, ties to even.
    {"f16_to_f32", "", "$q f32 f16_to_f32(u16 half_bits) {\n"
     "  const u32 m = (half_bits & 0x7fffu) << 13;\n"
     "  u32 x = m + (112u << 23);\n"
     "  if (m < 1u << 23) x = bits_f32(as_f32(x + (1u << 23)) - 0.00006103515625f);\n"
     "  else if (m >= 31u << 23) x = m | 0x7f800000u;\n"
     "  return as_f32((half_bits & 0x8000u) << 16 | x);\n}",
     {"#ifdef __CUDA_ARCH__\n"
      "$q f32 f16_to_f32(u16 x) {\n  f32 r;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(x));\n"
      "  return __uint_as_float(__float_as_uint(r) | (x & 0x8000u) << 16);  // a NaN has lost its sign\n}\n"
      "#else\n" HOLOGRAM_FROM_F16 "\n#endif",
      "",
      HOLOGRAM_FROM_F16,
      "$q f32 f16_to_f32(u16 x) { return (f32)as_type<half>(x); }"},
     true},
    {"f32_to_f16", "", "$q u16 f32_to_f16(f32 value) {\n"
     "  const u32 sign = bits_f32(value) >> 16 & 0x8000u;\n"
     "  const u32 x = bits_f32(value) & 0x7fffffffu;\n"
     "  u32 h;\n"
     "  if (x >= 0x477ff000u) h = x > 0x7f800000u ? 0x7e00u | (x >> 13 & 0x3ffu) : 0x7c00u;\n"
     "  else if (x < 113u << 23) h = bits_f32(as_f32(x) + 0.5f) - (126u << 23);\n"
     "  else h = (x + 0xfffu + (x >> 13 & 1u) - (112u << 23)) >> 13;\n"
     "  return (u16)(sign | h);\n}",
     {"#ifdef __CUDA_ARCH__\n"
      "$q u16 f32_to_f16(f32 x) {\n  u16 r;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(x));\n"
      "  return (u16)(r | (__float_as_uint(x) >> 16 & 0x8000u));\n}\n"
      "#else\n" HOLOGRAM_TO_F16 "\n#endif",
      "$q u16 f32_to_f16(f32 x) { u16 h; vstore_half_rte(x, 0, (half*)&h); return h; }",
      HOLOGRAM_TO_F16,
      "$q u16 f32_to_f16(f32 x) { return as_type<u16>((half)x); }"},
     true},
    {"bf16_to_f32", "", "$q f32 bf16_to_f32(u16 x) { return as_f32((u32)x << 16); }"},
    {"f32_to_bf16", "", HOLOGRAM_TO_BF16,
     {"#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\n"
      "$q u16 f32_to_bf16(f32 x) {\n  u32 r;  // that of two is four times as fast\n"
      "  asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(r) : \"f\"(0.0f), \"f\"(x));\n"
      "  return (u16)(r | (__float_as_uint(x) >> 16 & 0x8000u));  // a NaN has lost its sign\n}\n"
      "#else\n" HOLOGRAM_TO_BF16 "\n#endif"}},

    // Nothing but that the compiler takes it for another number from here on.
    {"anew", "", "",
     {"$q void anew(f32& x) {\n#ifdef __CUDA_ARCH__\n  asm volatile(\"\" : \"+f\"(x));\n#endif\n}"}},

    // Workgroup numbers are 64 bits wide and seldom need them.
    {"quotient", "u64", "$q u64 quotient_u64(u64 a, u64 b) {\n"
     "  return (a | b) >> 32 == 0 ? (u32)a / (u32)b : a / b;\n}"},
};
// clang-format on

// What a type's values range over, as the helpers write it.
struct Range {
  DType type;
  std::string_view least, most, end;
};
constexpr Range kRanges[] = {
    {DType::I32, "(-2147483647 - 1)", "2147483647", "2147483648.0"},
    {DType::U32, "0u", "4294967295u", "4294967296.0"},
    {DType::I64, "(-9223372036854775807$l - 1)", "9223372036854775807$l", "9223372036854775808.0"},
    {DType::U64, "0u", "18446744073709551615U$l", "18446744073709551616.0"},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (found.empty()) found.emplace_back();
  return found;
}

std::string_view pattern_of(const Helper& helper, const Spelling& language,
                            const Options& options) {
  const std::string_view own = helper.own[static_cast<size_t>(language.language)];
  const bool takes_own = helper.needs_f16 ? options.f16 : true;
  return takes_own && !own.empty() ? own : helper.common;
}

std::string instance(const Helper& helper, std::string_view type_name, const Spelling& language,
                     const Options& options) {
  Replacements values = {{'q', std::string(language.function)}, {'T', std::string(type_name)}};
  if (const auto type = parse_dtype(type_name)) {
    values.emplace_back('U', name_of(unsigned_of(*type)));
    values.emplace_back('m', *type == DType::F32 ? language.float_suffix : "");
    for (const Range& range : kRanges) {
      if (range.type != *type) continue;
      const Replacements suffix = {{'l', std::string(language.long_suffix)}};
      values.emplace_back('L', substitute(range.least, suffix));
      values.emplace_back('M', substitute(range.most, suffix));
      values.emplace_back('E', range.end);
    }
  }
  return substitute(pattern_of(helper, language, options), values);
}

}  // namespace

std::set<std::string, std::less<>> identifiers(std::string_view text) {
  std::set<std::string, std::less<>> found;
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) end++;
    if (end > i) found.emplace(text.substr(i, end - i));
    i = end + 1;
  }
  return found;
}

std::string helpers_for(std::string_view text, const Spelling& language, const Options& options) {
  auto wanted = identifiers(text);
  // What a helper calls stands before it, so from the last to the first all is known in time.
  std::vector<std::string> chosen;
  for (size_t i = std::size(kHelpers); i-- > 0;) {
    const Helper& helper = kHelpers[i];
    for (const std::string& type : words(helper.types)) {
      std::string name(helper.name);
      if (!type.empty()) name += "_" + type;
      if (!wanted.contains(name)) continue;
      chosen.push_back(instance(helper, type, language, options));
      wanted.merge(identifiers(chosen.back()));
    }
  }
  std::string all;
  for (size_t i = chosen.size(); i-- > 0;) all += chosen[i] + "\n";
  return all;
}

}  // namespace hologram::dialects
