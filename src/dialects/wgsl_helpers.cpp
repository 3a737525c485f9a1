// The functions that programs in WGSL bring along: 64-bit integers, conversions, what must look at
// the bits of a float because compilers may take NaN and infinity for impossible.
#include <set>

#include "dialects/spelling.hpp"
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {
namespace {

struct Helper {
  std::string_view name, text;
};

// Each stands after those that it calls. Conditions are made by & and |: && and || would be
// branches, and kernels with many calls would take SwiftShader seconds and gigabytes to compile.
constexpr Helper kHelpers[] = {
    {"special_f32",
     R"(fn special_f32(bits: u32) -> f32 { return bitcast<f32>(bits ^ parameters.zero); }
)"},
    {"kept_f32",
     R"(fn kept_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ parameters.zero); }
)"},
    {"is_nan",
     R"(fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
)"},

    // -0 leaves a product as it is, and this one compilers do not know.
    {"mul_f32",
     R"(fn mul_f32(a: f32, b: f32) -> f32 { return fma(a, b, bitcast<f32>(0x80000000u ^ parameters.zero)); }
)"},

    // 64-bit integers: x is the low word.
    {"add_u64", R"(fn add_u64(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + u32(low < a.x));
}
)"},
    {"sub_u64", R"(fn sub_u64(a: vec2u, b: vec2u) -> vec2u {
  return vec2u(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}
)"},
    {"neg_u64", R"(fn neg_u64(a: vec2u) -> vec2u { return vec2u(0u - a.x, ~a.y + u32(a.x == 0u)); }
)"},
    {"wide_u32", R"(fn wide_u32(a: u32, b: u32) -> vec2u {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let ll = al * bl;
  let lh = al * bh;
  let hl = ah * bl;
  let middle = (ll >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
  return vec2u((ll & 0xffffu) | (middle << 16u), ah * bh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u));
}
)"},
    {"mul_u64", R"(fn mul_u64(a: vec2u, b: vec2u) -> vec2u {
  return wide_u32(a.x, b.x) + vec2u(0u, a.x * b.y + a.y * b.x);
}
)"},
    {"less_u64",
     R"(fn less_u64(a: vec2u, b: vec2u) -> bool { return (a.y < b.y) | ((a.y == b.y) & (a.x < b.x)); }
)"},
    {"less_i64", R"(fn less_i64(a: vec2u, b: vec2u) -> bool {
  return (i32(a.y) < i32(b.y)) | ((a.y == b.y) & (a.x < b.x));
}
)"},
    {"shl_u64", R"(fn shl_u64(a: vec2u, b: u32) -> vec2u {
  let n = b & 31u;
  let moved = vec2u(a.x << n, (a.y << n) | ((a.x >> 1u) >> (31u - n)));
  return select(moved, vec2u(0u, moved.x), (b & 32u) != 0u);
}
)"},
    {"shr_u64", R"(fn shr_u64(a: vec2u, b: u32) -> vec2u {
  let n = b & 31u;
  let moved = vec2u((a.x >> n) | ((a.y << 1u) << (31u - n)), a.y >> n);
  return select(moved, vec2u(moved.y, 0u), (b & 32u) != 0u);
}
)"},
    {"shr_i64", R"(fn shr_i64(a: vec2u, b: u32) -> vec2u {
  let n = b & 31u;
  let high = u32(i32(a.y) >> n);
  let moved = vec2u((a.x >> n) | ((a.y << 1u) << (31u - n)), high);
  return select(moved, vec2u(high, u32(i32(a.y) >> 31u)), (b & 32u) != 0u);
}
)"},
    {"popcount_u64", R"(fn popcount_u64(a: vec2u) -> vec2u {
  return vec2u(countOneBits(a.x) + countOneBits(a.y), 0u);
}
)"},
    {"clz_u64", R"(fn clz_u64(a: vec2u) -> u32 {
  return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}
)"},
    {"abs_i64", R"(fn abs_i64(a: vec2u) -> vec2u { return select(a, neg_u64(a), i32(a.y) < 0i); }
)"},
    {"sign_i64", R"(fn sign_i64(a: vec2u) -> vec2u {
  return select(vec2u(u32(any(a != vec2u())), 0u), vec2u(0xffffffffu), i32(a.y) < 0i);
}
)"},
    {"i32_to_i64", R"(fn i32_to_i64(a: i32) -> vec2u { return vec2u(u32(a), u32(a >> 31u)); }
)"},

    // A division by zero gives 0, one by -1 wraps around.
    {"div_i32", R"(fn div_i32(a: i32, b: i32) -> i32 { return select(a / b, 0i, b == 0i); }
)"},
    {"div_u32", R"(fn div_u32(a: u32, b: u32) -> u32 { return select(a / b, 0u, b == 0u); }
)"},
    {"rem_i32",
     R"(fn rem_i32(a: i32, b: i32) -> i32 { return select(a % b, 0i, (b == 0i) | (b == -1i)); }
)"},
    {"rem_u32", R"(fn rem_u32(a: u32, b: u32) -> u32 { return select(a % b, 0u, b == 0u); }
)"},
    {"divided_u64",
     R"(fn divided_u64(a: vec2u, b: vec2u) -> vec4u {  // quotient and remainder; 0 and 0 for b = 0
  if ((a.y | b.y) == 0u) { return vec4u(div_u32(a.x, b.x), 0u, rem_u32(a.x, b.x), 0u); }
  if ((b.x | b.y) == 0u) { return vec4u(); }
  var quotient = vec2u();
  var rest = a;
  if (!less_u64(a, b)) {
    let steps = clz_u64(b) - clz_u64(a);
    var part = shl_u64(b, steps);
    for (var k = 0u; k <= steps; k++) {
      quotient = shl_u64(quotient, 1u);
      if (!less_u64(rest, part)) {
        rest = sub_u64(rest, part);
        quotient.x |= 1u;
      }
      part = shr_u64(part, 1u);
    }
  }
  return vec4u(quotient, rest);
}
)"},
    {"div_u64", R"(fn div_u64(a: vec2u, b: vec2u) -> vec2u { return divided_u64(a, b).xy; }
)"},
    {"rem_u64", R"(fn rem_u64(a: vec2u, b: vec2u) -> vec2u {
  return divided_u64(a, b).zw;
}
)"},
    {"div_i64", R"(fn div_i64(a: vec2u, b: vec2u) -> vec2u {
  let quotient = divided_u64(abs_i64(a), abs_i64(b)).xy;
  return select(quotient, neg_u64(quotient), i32(a.y ^ b.y) < 0i);
}
)"},
    {"rem_i64", R"(fn rem_i64(a: vec2u, b: vec2u) -> vec2u {
  let rest = divided_u64(abs_i64(a), abs_i64(b)).zw;
  return select(rest, neg_u64(rest), i32(a.y) < 0i);
}
)"},
    {"mulhi_u32", R"(fn mulhi_u32(a: u32, b: u32) -> u32 { return wide_u32(a, b).y; }
)"},
    {"mulhi_i32", R"(fn mulhi_i32(a: i32, b: i32) -> i32 {
  return i32(wide_u32(u32(a), u32(b)).y) - select(0i, b, a < 0i) - select(0i, a, b < 0i);
}
)"},
    {"mulhi_u64", R"(fn mulhi_u64(a: vec2u, b: vec2u) -> vec2u {
  let low = wide_u32(a.x, b.x);
  let one = add_u64(wide_u32(a.x, b.y), vec2u(low.y, 0u));
  let two = add_u64(wide_u32(a.y, b.x), vec2u(one.x, 0u));
  return add_u64(add_u64(wide_u32(a.y, b.y), vec2u(one.y, 0u)), vec2u(two.y, 0u));
}
)"},
    {"mulhi_i64", R"(fn mulhi_i64(a: vec2u, b: vec2u) -> vec2u {
  let less = sub_u64(mulhi_u64(a, b), select(vec2u(), b, i32(a.y) < 0i));
  return sub_u64(less, select(vec2u(), a, i32(b.y) < 0i));
}
)"},

    // Floats by their bits: the smaller, NaN if either is, and -0 is below +0; the larger likewise.
    {"ordered_f32", R"(fn ordered_f32(a: f32) -> i32 {
  let x = bitcast<i32>(a);
  return x ^ ((x >> 31u) & 0x7fffffff);
}
)"},
    {"min_f32", R"(fn min_f32(a: f32, b: f32) -> f32 {
  let least = select(a, b, ordered_f32(b) < ordered_f32(a));
  return select(select(least, b, is_nan(b)), a, is_nan(a));
}
)"},
    {"max_f32", R"(fn max_f32(a: f32, b: f32) -> f32 {
  let most = select(a, b, ordered_f32(a) < ordered_f32(b));
  return select(select(most, b, is_nan(b)), a, is_nan(a));
}
)"},
    {"sign_f32", R"(fn sign_f32(a: f32) -> f32 {
  let bits = bitcast<u32>(a);
  let is_one = (bits & 0x7fffffffu) - 1u < 0x7f800000u;
  return select(a, bitcast<f32>((bits & 0x80000000u) | 0x3f800000u), is_one);
}
)"},
    {"dot4_i32", R"(fn dot4_i32(a: i32, b: i32, c: i32) -> i32 {
  let p = vec4i(a << 24u, a << 16u, a << 8u, a) >> vec4u(24u);
  return c + dot(p, vec4i(b << 24u, b << 16u, b << 8u, b) >> vec4u(24u));
}
)"},
    {"dot4_u32", R"(fn dot4_u32(a: u32, b: i32, c: i32) -> i32 {
  let p = vec4i(vec4u(a << 24u, a << 16u, a << 8u, a) >> vec4u(24u));
  return c + dot(p, vec4i(b << 24u, b << 16u, b << 8u, b) >> vec4u(24u));
}
)"},
    {"copysign_f32", R"(fn copysign_f32(a: f32, b: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));
}
)"},

    // Truncated and saturated; NaN gives 0.
    {"f32_to_i32", R"(fn f32_to_i32(x: f32) -> i32 {
  if (is_nan(x)) { return 0i; }
  if (x >= 2147483648.0f) { return 2147483647i; }
  if (x < -2147483648.0f) { return i32(-2147483648); }
  return i32(x);
}
)"},
    {"f32_to_u32", R"(fn f32_to_u32(x: f32) -> u32 {
  if (is_nan(x) || x <= 0.0f) { return 0u; }
  if (x >= 4294967296.0f) { return 0xffffffffu; }
  return u32(x);
}
)"},
    {"magnitude_f32",
     R"(fn magnitude_f32(x: u32) -> vec2u {  // of the bits of a positive float below 2^64
  let whole = vec2u((x & 0x7fffffu) | 0x800000u, 0u);
  let exponent = x >> 23u;
  if (exponent < 127u) { return vec2u(); }
  if (exponent < 150u) { return vec2u(whole.x >> (150u - exponent), 0u); }
  return shl_u64(whole, exponent - 150u);
}
)"},
    {"f32_to_u64", R"(fn f32_to_u64(x: f32) -> vec2u {
  let bits = bitcast<u32>(x);
  if (is_nan(x) || (bits & 0x80000000u) != 0u) { return vec2u(); }
  if (bits >= 0x5f800000u) { return vec2u(0xffffffffu); }
  return magnitude_f32(bits);
}
)"},
    {"f32_to_i64", R"(fn f32_to_i64(x: f32) -> vec2u {
  let bits = bitcast<u32>(x);
  if (is_nan(x)) { return vec2u(); }
  let below = (bits & 0x80000000u) != 0u;
  if ((bits & 0x7fffffffu) >= 0x5f000000u) {
    return select(vec2u(0xffffffffu, 0x7fffffffu), vec2u(0u, 0x80000000u), below);
  }
  let whole = magnitude_f32(bits & 0x7fffffffu);
  return select(whole, neg_u64(whole), below);
}
)"},
    {"u64_to_f32", R"(fn u64_to_f32(a: vec2u) -> f32 {
  if ((a.x | a.y) == 0u) { return 0.0f; }
  let n = clz_u64(a);
  let x = shl_u64(a, n);
  let more = (x.y & 0x7fu) | x.x | ((x.y >> 8u) & 1u);
  let up = u32(((x.y & 0x80u) != 0u) & (more != 0u));
  return bitcast<f32>(((189u - n) << 23u) + (x.y >> 8u) + up);
}
)"},
    {"i64_to_f32", R"(fn i64_to_f32(a: vec2u) -> f32 {
  let x = u64_to_f32(abs_i64(a));
  return select(x, -x, i32(a.y) < 0i);
}
)"},

    // a * b + c rounded once, for devices whose own rounds twice. Whole numbers of 63 bits stand
    // for the product and for c; what is shifted out of the smaller one stays behind as its lowest
    // bit.
    {"shr_sticky_u64", R"(fn shr_sticky_u64(a: vec2u, n: u32) -> vec2u {
  if (n > 63u) { return vec2u(u32(any(a != vec2u())), 0u); }
  let x = shr_u64(a, n);
  return vec2u(x.x | u32(any(shl_u64(x, n) != a)), x.y);
}
)"},
    {"parts_f32", R"(fn parts_f32(bits: u32) -> vec2i {  // of a number: 24 bits and their exponent
  let x = bits & 0x7fffffffu;
  if (x >= 0x800000u) { return vec2i(i32((x & 0x7fffffu) | 0x800000u), i32(x >> 23u) - 150i); }
  let n = countLeadingZeros(x) - 8u;
  return vec2i(i32(x << n), -149i - i32(n));
}
)"},
    {"fma_f32", R"(fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
  let product_bits = bitcast<u32>(a) ^ bitcast<u32>(b);
  let c_bits = bitcast<u32>(c);
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if ((x == 0u) | (y == 0u) | (x >= 0x7f800000u) | (y >= 0x7f800000u)) { return kept_f32(a) * kept_f32(b) + c; }
  if ((c_bits & 0x7fffffffu) >= 0x7f800000u) { return c; }
  let p = parts_f32(x);
  let q = parts_f32(y);
  var large = wide_u32(u32(p.x), u32(q.x));
  let n = clz_u64(large) - 1u;
  large = shl_u64(large, n);
  var exponent = p.y + q.y - i32(n);
  var sign = product_bits & 0x80000000u;
  if ((c_bits & 0x7fffffffu) != 0u) {
    let r = parts_f32(c_bits);
    var small = vec2u(0u, u32(r.x) << 7u);
    var below = exponent - (r.y - 39i);
    if ((below < 0i) | ((below == 0i) & less_u64(large, small))) {
      let other = large;
      large = small;
      small = other;
      exponent -= below;
      below = -below;
      sign = c_bits & 0x80000000u;
    }
    small = shr_sticky_u64(small, u32(below));
    if (((product_bits ^ c_bits) & 0x80000000u) != 0u) {
      large = sub_u64(large, small);
      if (all(large == vec2u())) { return 0.0f; }
    } else {
      large = add_u64(large, small);
    }
  }
  let m = clz_u64(large);
  large = shl_u64(large, m);
  exponent += 190i - i32(m);
  if (exponent > 254i) { return bitcast<f32>((sign | 0x7f800000u) ^ parameters.zero); }
  if (exponent < 1i) {
    large = shr_sticky_u64(large, u32(1i - exponent));
    exponent = 1i;
  }
  let more = (large.y & 0x7fu) | large.x | ((large.y >> 8u) & 1u);
  let up = u32(((large.y & 0x80u) != 0u) & (more != 0u));
  return bitcast<f32>(sign | ((u32(exponent - 1i) << 23u) + (large.y >> 8u) + up));
}
)"},

    // Rounded correctly where the device's own are only nearly right: by the rest, which fma gives
    // exactly (P. W. Markstein, 1990). Numbers that are far from 1 are done as significands. The
    // reciprocal of a large number may be 0, which no infinity is to be multiplied with; what else
    // has no normal result stays as it is.
    {"quotient_f32", R"(fn quotient_f32(a: f32, b: f32) -> f32 {
  let first = 1.0f / b;
  let z = fma_f32(first, fma_f32(-b, first, 1.0f), first);
  let nearly = fma_f32(fma_f32(-b, a * z, a), z, a * z);
  return fma_f32(fma_f32(-b, nearly, a), z, nearly);
}
)"},
    {"div_f32", R"(fn div_f32(a: f32, b: f32) -> f32 {
  if ((abs(a) >= 0x1p-60f) & (abs(a) < 0x1p60f) & (abs(b) >= 0x1p-60f) & (abs(b) < 0x1p60f)) {
    return quotient_f32(a, b);
  }
  let x = bitcast<u32>(a);
  let y = bitcast<u32>(b);
  let p = (x >> 23u) & 0xffu;
  let q = (y >> 23u) & 0xffu;
  if ((p == 255u) & (q != 255u)) { return a * bitcast<f32>((y & 0x80000000u) | 0x3f800000u); }
  if ((p - 1u >= 254u) | (q - 1u >= 254u)) { return a / b; }
  let m = bitcast<f32>((x & 0x7fffffu) | 0x3f800000u);
  let n = bitcast<f32>((y & 0x7fffffu) | 0x3f800000u);
  let s = bitcast<u32>(quotient_f32(m, n));
  let exponent = i32(p) - i32(q) + i32(s >> 23u);
  if (exponent < 1i) { return a / b; }
  let sign = (x ^ y) & 0x80000000u;
  if (exponent > 254i) { return bitcast<f32>((sign | 0x7f800000u) ^ parameters.zero); }
  return bitcast<f32>(sign | (u32(exponent) << 23u) | (s & 0x7fffffu));
}
)"},
    {"sqrt_f32", R"(fn sqrt_f32(a: f32) -> f32 {
  let x = bitcast<u32>(a);
  if (x - 0x800000u >= 0x7f000000u) { return sqrt(a); }
  let even = 128u - ((x >> 23u) & 1u);
  let m = bitcast<f32>((x & 0x7fffffu) | (even << 23u));
  let g = sqrt(m);
  let s = fma_f32(fma_f32(-g, g, m), 0.5f / g, g);
  let r = fma_f32(-s, s, m);
  let u = s * 0.00000011920928955078125f;
  let n = bitcast<u32>(s) + u32(r > u) - u32(r <= -u);
  return bitcast<f32>(n + (u32((i32(x >> 23u) - i32(even)) / 2i) << 23u));
}
)"},

    // The two 16-bit floats: to the nearest, ties to even. What is small is done as integers.
    {"f16_to_f32", R"(fn f16_to_f32(half: u32) -> f32 {
  let m = (half & 0x7fffu) << 13u;
  var x = m + (112u << 23u);
  if (m < (1u << 23u)) {
    x = bitcast<u32>(f32(m >> 13u) * 0.000000059604644775390625f);
  } else if (m >= (31u << 23u)) {
    x = m | 0x7f800000u;
  }
  return bitcast<f32>(((half & 0x8000u) << 16u) | x);
}
)"},
    {"f32_to_f16", R"(fn f32_to_f16(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let x = bits & 0x7fffffffu;
  if (x > 0x7f800000u) { return sign | 0x7e00u | ((x >> 13u) & 0x3ffu); }
  if (x >= 0x477ff000u) { return sign | 0x7c00u; }
  if (x >= (113u << 23u)) {
    return sign | ((x + 0xfffu + ((x >> 13u) & 1u) - (112u << 23u)) >> 13u);
  }
  if (x < (102u << 23u)) { return sign; }
  let shift = 126u - (x >> 23u);
  let m = (x & 0x7fffffu) | 0x800000u;
  return sign | ((m + (1u << (shift - 1u)) - 1u + ((m >> shift) & 1u)) >> shift);
}
)"},
    {"bf16_to_f32", R"(fn bf16_to_f32(x: u32) -> f32 { return bitcast<f32>(x << 16u); }
)"},
    {"f32_to_bf16", R"(fn f32_to_bf16(value: f32) -> u32 {
  let x = bitcast<u32>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) { return (x >> 16u) | 0x40u; }
  return (x + 0x7fffu + ((x >> 16u) & 1u)) >> 16u;
}
)"},

    // The rounds of a counted loop.
    {"rounds_i32", R"(fn rounds_i32(begin: i32, end: i32, step: u32) -> u32 {
  return select(0u, (u32(end) - u32(begin) - 1u) / step + 1u, begin < end);
}
)"},
    {"rounds_u32", R"(fn rounds_u32(begin: u32, end: u32, step: u32) -> u32 {
  return select(0u, (end - begin - 1u) / step + 1u, begin < end);
}
)"},
    {"rounds_i64", R"(fn rounds_i64(begin: vec2u, end: vec2u, step: vec2u) -> vec2u {
  if (!less_i64(begin, end)) { return vec2u(); }
  return add_u64(div_u64(sub_u64(sub_u64(end, begin), vec2u(1u, 0u)), step), vec2u(1u, 0u));
}
)"},
    {"rounds_u64", R"(fn rounds_u64(begin: vec2u, end: vec2u, step: vec2u) -> vec2u {
  if (!less_u64(begin, end)) { return vec2u(); }
  return add_u64(div_u64(sub_u64(sub_u64(end, begin), vec2u(1u, 0u)), step), vec2u(1u, 0u));
}
)"},
};

// Of a device that rounds once.
constexpr std::string_view kFused =
    "fn fma_f32(a: f32, b: f32, c: f32) -> f32 { return fma(a, b, c); }\n";

// Of one that converts by itself. Compilers would leave out that there and back rounds.
constexpr std::string_view kFromHalf =
    "fn f16_to_f32(half: u32) -> f32 { return f32(bitcast<vec2<f16>>(half).x); }\n";
constexpr std::string_view kToHalf =
    "fn f32_to_f16(value: f32) -> u32 {\n"
    "  return bitcast<u32>(vec2<f16>(vec2f(value, 0.0f))) ^ parameters.zero;\n}\n";

// By sums whose errors are known: of c and what a * b leaves, and of a * b and that. What those
// leave is rounded to odd, so that the last sum rounds as if it had all of it. Where that is zero,
// the product is whole, and its own sum with c has the right sign.
constexpr std::string_view kPairs = R"(fn sum_pair(a: f32, b: f32) -> vec2f {
  let s = kept_f32(a + b);
  let z = kept_f32(s - a);
  return vec2f(s, kept_f32(a - kept_f32(s - z)) + kept_f32(b - z));
}
fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
  let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
  let al = a - ah;
  let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
  let bl = b - bh;
  let p = kept_f32(kept_f32(a) * kept_f32(b));
  let e = kept_f32(kept_f32(kept_f32(ah * bh) - p) + kept_f32(ah * bl)) + kept_f32(al * bh);
  let t = sum_pair(c, kept_f32(e + kept_f32(al * bl)));
  let v = sum_pair(p, t.x);
  let w = sum_pair(t.y, v.y);
  let bits = bitcast<u32>(w.x);
  let odd = select(bits - 1u, bits + 1u, (w.y < 0.0f) == (w.x < 0.0f));
  let rest = select(bits, odd, (w.y != 0.0f) & ((bits & 1u) == 0u));
  let whole = (bitcast<u32>(v.x) & 0x7fffffffu) < 0x7f800000u;
  let sum = v.x + kept_f32(bitcast<f32>(rest));
  return select(p + c, sum, whole & (sum != 0.0f));
}
)";

constexpr std::string_view kPackedSigned =
    R"(fn dot4_i32(a: i32, b: i32, c: i32) -> i32 { return c + dot4I8Packed(u32(a), u32(b)); }
)";
// Bytes without a sign are 128 more than those with one.
constexpr std::string_view kPackedUnsigned = R"(fn dot4_u32(a: u32, b: i32, c: i32) -> i32 {
  return c + dot4I8Packed(a ^ 0x80808080u, u32(b)) + 128i * dot4I8Packed(0x01010101u, u32(b));
}
)";

}  // namespace

std::string helpers_for(std::string_view text, const Options::WebGpu& device) {
  const auto text_of = [&](const Helper& helper) {
    if (helper.name == "fma_f32" && device.fused) return kFused;
    if (helper.name == "fma_f32" && device.pairs) return kPairs;
    if (helper.name == "f16_to_f32" && device.halves) return kFromHalf;
    if (helper.name == "f32_to_f16" && device.halves) return kToHalf;
    if (helper.name == "dot4_i32" && device.packed) return kPackedSigned;
    if (helper.name == "dot4_u32" && device.packed) return kPackedUnsigned;
    return helper.text;
  };
  auto wanted = identifiers(text);
  std::vector<std::string_view> chosen;
  for (size_t i = std::size(kHelpers); i-- > 0;) {
    if (!wanted.contains(kHelpers[i].name)) continue;
    chosen.push_back(text_of(kHelpers[i]));
    wanted.merge(identifiers(chosen.back()));
  }
  std::string all;
  for (size_t i = chosen.size(); i-- > 0;) all += chosen[i];
  return all;
}

}  // namespace hologram::dialects::wgsl
