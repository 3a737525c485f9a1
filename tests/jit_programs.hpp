// Small programs, each for something that compiled code does in a way of its own. All lengths are n
// (lanes), h and d (rows and planes), m = 2 n + 5.
#pragma once

#include <string_view>

namespace hologram::jit {

struct Text {
  std::string_view name, text;
};

inline constexpr Text kTexts[] = {
    // ---- Which elements lanes touch.
    {"backwards",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  if i < n { y[n - 1 - i] = x[i] } }"},
    {"backwards, both",
     "program p(in x: u8[n], out y: u8[n]) lanes(n) { i = n - 1 - global_id.x\n"
     "  y[i] = x[i] + 1 }"},
    {"every second element",
     "program p(in x: f32[m], out y: f32[m], n: i32) lanes(n) { i = global_id.x\n"
     "  y[2 * i] = x[2 * i + 1] }"},
    {"every second i64",
     "program p(in x: i64[m], out y: i64[m], n: i32) lanes(n) { i = global_id.x << 1\n"
     "  y[i + 1] = x[i] * 3 }"},
    {"neighbours at both ends",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  y[i] = x[i - 1] * 0.25 + x[i] + x[i + 1] }"},
    {"neighbours of i8",
     "program p(in x: i8[n], out y: i16[n]) lanes(n) { i = global_id.x\n"
     "  y[i - 2] = x[i - 5] - x[i + 9] }"},
    {"neighbours of f16",
     "program p(in x: f16[n], out y: bf16[n]) lanes(n) { i = global_id.x\n"
     "  y[i + 3] = x[i - 1] + x[i + 1] }"},
    {"neighbours of f64",
     "program p(in x: f64[n], out y: f64[n]) lanes(n) { i = global_id.x\n"
     "  y[i + 3] = x[i - 5] - x[i] }"},
    {"neighbours, 64-bit indices",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) index(i64) { i = global_id.x\n"
     "  y[i - 1] = x[i - 3] + x[i + 1] }"},
    {"a loop whose bounds wrap around in some lanes",
     "program p(in x: f32[n], out y: f32[n], far: i32) lanes(n) { i = global_id.x\n"
     "  var s = 0.0\n  for j in i + far..i + far + 9 { s += x[i] }\n  y[i] = s }"},
    {"loops along the lanes, one in another, before anything is written",
     "program p(in x: f32[n], out y: f32[n], far: i32) lanes(n) { i = global_id.x\n"
     "  var s = 0.0\n  for j in i - 2..i + 3 { for k in j + far - 9..j + far - 7 { s += x[j] } }\n"
     "  y[i] = s }"},
    {"far outside",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  y[i] = x[i + 2000000000] + x[i - 2000000000] + 1.0 }"},
    {"an index that wraps",
     "program p(in x: f32[n], out y: f32[n], far: i32) lanes(n) { i = global_id.x + far\n"
     "  if i < 5 { y[global_id.x] = x[i + far + 5] + 1.0 } else { y[global_id.x] = 2.0 } }"},
    {"gather",
     "program p(in x: f32[n], in index: i32[n], out y: f32[n]) lanes(n) {\n"
     "  i = global_id.x\n  if i < n { y[i] = x[index[i]] } }"},
    {"gather i16",
     "program p(in x: i16[n], in index: i32[n], out y: i32[n]) lanes(n) {\n"
     "  i = global_id.x\n  if i < n { y[i] = x[index[i]] } }"},
    {"gather bool",
     "program p(in x: bool[n], in index: i32[n], out y: bool[n]) lanes(n) {\n"
     "  i = global_id.x\n  if i < n { y[i] = !x[index[i]] } }"},
    {"gather narrow elements that begin within a word",
     "program p(in index: i32[n], in x: i8[n], in z: u8[n], in h: f16[n], in w: u16[n],\n"
     "    out y: i32[n], out f: f32[n]) lanes(n) { i = global_id.x; at = index[i]\n"
     "  y[i] = x[at] * 256 + i32(z[at]) * i32(w[at])\n  f[i] = h[at] }"},
    {"gather narrow elements that begin within a word, by i64",
     "program p(in index: i64[n], in x: u8[n], in z: i8[n], in h: bf16[n], in w: i16[n],\n"
     "    in b: bool[n], out y: i32[n], out f: f32[n]) lanes(n) index(i64) {\n"
     "  i = global_id.x; at = index[i]\n"
     "  if i < n { y[i] = i32(x[at]) * 256 + z[at] * w[at]\n    if b[at] { f[i] = h[at] } } }"},
    {"gather bf16",
     "program p(in x: bf16[n], in index: i64[n], out y: f32[n]) lanes(n) index(i64) {\n"
     "  i = global_id.x\n  if i < n { y[i] = x[index[i]] } }"},
    {"gather f64 by i32",
     "program p(in x: f64[n], in index: i32[n], out y: f64[n]) lanes(n) {\n"
     "  i = global_id.x\n  if i < n { y[i] = x[index[i]] } }"},
    {"gather f32 by i64",
     "program p(in x: f32[n], in index: i64[n], out y: f32[n]) lanes(n) index(i64) {\n"
     "  i = global_id.x\n  y[i] = x[index[i]] }"},
    {"elements side by side",
     "program p(in x: f32[m], in index: i32[n], out y: f32[n]) lanes(n) {\n"
     "  i = global_id.x\n  at = index[i]\n"
     "  if i < n { y[i] = x[at] * 3.0 + x[at + 1] * 5.0 - x[at + 2] } }"},
    {"elements side by side, some of them outside",
     "program p(in x: u32[n], in index: i32[n], out y: u32[n], out z: u32[n]) lanes(n) {\n"
     "  i = global_id.x\n  at = index[i]\n"
     "  y[i] = x[at] + x[at + 1]\n  z[i] = x[at + 2] ^ x[at + 3] }"},
    {"four elements of every lane",
     "program p(in x: f32[m], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  at = i % 11 * 4\n  y[i] = x[at] - x[at + 1] + (x[at + 2] - x[at + 3]) }"},
    {"elements side by side, whose places are made before",
     "program p(in x: f32[m], in index: i32[n], out y: f32[n], out z: i32[n]) lanes(n) {\n"
     "  i = global_id.x\n  a = index[i]; b = a + 1; c = a + 2; d = a + 3\n  z[i] = b ^ c * d\n"
     "  y[i] = x[a] - x[b] + (x[c] - x[d]) }"},
    {"four elements of every lane, changed where they are",
     "program p(inout x: f32[m], in k: f32[n]) lanes(n) { i = global_id.x\n"
     "  a = i * 4; b = a + 1; c = a + 2; d = a + 3\n  if d < m { v = k[0]\n"
     "    s = x[a] * v; t = x[b] * v; u = x[c] - v; w = x[d] + t\n"
     "    x[a] = s; x[b] = t; x[c] = u; x[d] = w } }"},
    {"elements side by side or not, in masks and a loop",
     "program p(in x: i32[m], in index: i32[n], out y: i32[n], h: i32) lanes(n) {\n"
     "  i = global_id.x\n  var s = 0\n"
     "  for j in 0..3 { if index[i] > 5 + j { at = index[i] - j\n"
     "    s = s * 7 + (x[at] ^ x[at + h]) - x[at + 2] * x[h + 1 + at] } }\n"
     "  y[i] = s }"},
    {"elements nearly side by side",
     "program p(in x: f32[m], in index: i32[n], out y: f32[n], out z: f32[n]) lanes(n) {\n"
     "  i = global_id.x\n  at = index[i]\n  a = x[at] + x[at + 2]\n  b = x[at + 1]\n"
     "  y[i] = a\n  z[i] = b * x[at + 3] }"},
    {"scatter",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) {\n"
     "  i = global_id.x\n  y[i ^ 5] = x[i ^ 3] }"},
    {"scatter u8",
     "program p(in x: u8[n], out y: u8[n]) lanes(n) {\n"
     "  i = global_id.x\n  if x[i] > 100 { y[i ^ 1] = x[i] } }"},
    {"scatter f16",
     "program p(in x: f32[n], out y: f16[n]) lanes(n) {\n"
     "  i = global_id.x\n  y[i ^ 9] = x[i] }"},
    {"scatter i64",
     "program p(in x: i64[n], out y: i64[n]) lanes(n) index(i64) {\n"
     "  i = global_id.x\n  y[i ^ 9] = x[i] - 1 }"},
    {"scatter bool",
     "program p(in x: f32[n], out y: bool[n]) lanes(n) {\n"
     "  i = global_id.x\n  y[i ^ 9] = x[i] < 1.0 }"},
    {"one element for all",
     "program p(in x: f32[n], in w: f16[n], in k: i8[n], in f: bool[n], out y: f32[n]) lanes(n) {\n"
     "  i = global_id.x\n"
     "  y[i] = x[i] * w[0] + x[n - 1] + f32(k[1]) + x[n] + x[-1] + (f[0] ? 1.0 : 2.0) }"},
    {"one lane writes",
     "program p(in x: f32[n], out y: f32[n], out z: bf16[n]) lanes(n) {\n"
     "  i = global_id.x\n  if i == 3 { y[0] = x[1]; z[1] = x[2] } }"},
    {"rows and planes",
     "program p(in x: f32[d, h, n], in r: f32[n], out y: f32[d, h, n])\n"
     "    workgroup(32, 4, 2) lanes(n, h, d) {\n"
     "  i = global_id.x; j = global_id.y; k = global_id.z\n"
     "  if i < n && j < h && k < d {\n"
     "    y[k, j, i] = x[k, j, i] * f32(j + 10 * k) + r[i] + x[k, j - 1, i + 1]"
     " } }"},
    {"an odd workgroup",
     "program p(in x: f32[h, n], out y: f32[h, n]) workgroup(7, 3) lanes(n, h)\n"
     "{ y[global_id.y, global_id.x] = x[global_id.y, global_id.x] * 2.0 }"},
    {"in place",
     "program p(inout x: f32[n], inout k: i32[n]) lanes(n) { i = global_id.x\n"
     "  if i < n { x[i] = x[i] + 1.0; k[i] += 2; x[i] *= x[i]; k[i] = k[i] ^ n } }"},
    {"no element",
     "program p(in x: f32[z], out y: f32[n], out e: f32[z]) lanes(n) {\n"
     "  i = global_id.x\n  y[i] = x[i] + x[0]; e[i] = y_of(x[i]) }\n"
     "fn y_of(a: f32) -> f32 { return a + 1.0 }"},
    // ---- Blocks and masks.
    {"both halves of products, and wide lanes beside them",
     "program p(in x: u32[n], in z: f64[n], out y: u32[n], out w: f64[n]) lanes(n) {\n"
     "  i = global_id.x; a = x[i]; b = x[n - 1 - i]\n"
     "  y[i] = mulhi(a, b) ^ (a * b)\n  w[i] = z[i] + 1.0 }"},
    {"both halves of products",
     "program p(in x: u32[n], in z: i32[n], out y: u32[n], out w: i32[n]) lanes(n) {\n"
     "  i = global_id.x; a = x[i]; b = x[n - 1 - i]\n"
     "  y[i] = mulhi(a, b) ^ (a * b) ^ mulhi(u32(3528531795), a) + u32(3528531795) * a\n"
     "  c = z[i]\n  w[i] = (mulhi(c, i) ^ (i * c)) + mulhi(i, 40000) - i * 40000 }"},
    {"masks in masks",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  if x[i] > 0.0 { if x[i] > 2.0 { y[i] = 1.0 } else { if i > 40 { y[i] = 2.0 }\n"
     "    else { y[i] = x[i] } } } else if x[i] < -1.0 { y[i] = x[i] * x[i] } else { y[i] = 4.0 } "
     "}"},
    {"variables under masks",
     "program p(in x: f32[n], in k: i32[n], out y: f32[n], out q: i32[n]) lanes(n) {\n"
     "  i = global_id.x\n  var s = 1.0; var c = k[i]; var b = false\n"
     "  if x[i] > 0.0 { s = x[i]; if k[i] > 3 { s += 2.0; b = true } else { c = -c } c += 1 }\n"
     "  else { b = c > 5; c = 7 }\n"
     "  if i < n { y[i] = b ? s : -s; q[i] = c } }"},
    {"a loop inside masks",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n"
     "  var s = 0.0\n  if x[i] > 0.0 { for j in 0..h + 3 { s += x[i + j] * f32(j) } }\n"
     "  else { for j in 0..2 { if i > j * 10 { s -= 1.0 } } }\n  y[i] = s }"},
    {"a bool that its own block changes",
     "program p(in x: i32[n], out y: i32[n], out z: i32[n]) lanes(n) { i = global_id.x\n"
     "  var some = (x[i] & 1) != 0; var s = 0\n  for j in 0..3 { z[i] = j\n"
     "    if some { s += j; some = x[i] < 100\n      y[i] = s + 1\n      if some { s += 7 }\n"
     "    } else { s -= 1; some = true; y[i] = s } } }"},
    {"masks inside a loop",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n"
     "  var s = 0.0; var t = 1.0\n"
     "  for j in 0..5 { if x[i + j] > 0.5 { s += t } else { t = t * 0.5; if s > 2.0 { s = 0.0 } } "
     "}\n"
     "  y[i] = s + t }"},
    {"the same for all",
     "program p(in x: f32[n], out y: f32[n], h: i32, a: f32 = 1.5) lanes(n) { i = global_id.x\n"
     "  var s = a * a; var k = h\n  if h > 2 { s = exp(a); k = k * 3 } else { s = -a }\n"
     "  if i < n { y[i] = x[i] * s + f32(k) + (h == 3 ? a : 2.0 * a) } }"},
    {"bools that are the same for all",
     "program p(in x: i32[n], out y: bool[n], h: i32, f: bool = true) lanes(n) { i = global_id.x\n"
     "  g = f && h > 1 || h == 7\n  var c = g ^ (h < 0)\n  if !c { c = f }\n"
     "  if i < n { y[i] = (x[i] > 4) == c && g != (x[i] == h) } }"},
    {"select",
     "program p(in x: f32[n], in k: i64[n], in f: bool[n], out y: f32[n], out q: i64[n],\n"
     "    h: i32) lanes(n) { i = global_id.x\n"
     "  y[i] = f[i] ? x[i] : h > 1 ? 3.0 : x[i] * 2.0\n"
     "  q[i] = h > 2 ? k[i] : f[i] ? 7i64 : -k[i] }"},
    {"a guard with more behind it",
     "program p(in x: f32[n], out y: f32[n], out z: f32[m]) lanes(n) { i = global_id.x\n"
     "  if i < n { y[i] = x[i] }\n  z[i] = 3.0 }"},
    {"guards of parts",
     "program p(in x: f32[n], out y: f32[n], out z: f32[n]) lanes(n) {\n"
     "  i = global_id.x\n  if i < n / 2 { y[i] = x[i] }\n"
     "  if i + 3 < n { z[i] = x[i + 3] } else { z[i] = 9.0 } }"},
    {"deep blocks",
     "program p(in x: i32[n], out y: i32[n]) lanes(n) { i = global_id.x\n  var s = 0\n"
     "  if (x[i] & 1) == 0 { if (x[i] & 2) == 0 { s = 1; if (x[i] & 4) == 0 { s += 2\n"
     "    if (x[i] & 8) == 0 { s += 4; if (x[i] & 16) == 0 { s += 8 } else { s -= 1 } } } }\n"
     "    else { s = x[i] } }\n  y[i] = s }"},
    // ---- Loops.
    {"loops with steps",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in h..20 step 3 { s += x[i] * f32(j) }\n  for j in 5..5 { s = -1.0 }\n"
     "  for j in 7..h { s -= 1.0 }\n  for j in -3..h { s += f32(j) }\n  y[i] = s }"},
    {"loops at the ends of types",
     "program p(in x: i32[n], out y: i32[n], out z: i64[n]) lanes(n) { i = global_id.x\n"
     "  var s = x[i]; var t = i64(x[i])\n  for j in 2147483640..2147483647 step 5 { s += j }\n"
     "  for j in 4294967280u32..4294967295u32 step 7 { s ^= i32(j) }\n"
     "  for j in 9223372036854775800i64..9223372036854775807i64 step 6 { t += j }\n"
     "  y[i] = s; z[i] = t }"},
    {"loops along the lanes",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in i - h..i + h + 1 { s += x[j] }\n  y[i] = s }"},
    {"loops in loops",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in 0..3 { var t = f32(j)\n    for k in j..j + h { for l in 0..2 { t = t * 0.5 + x[i "
     "+ k]"
     " } }\n    s += t }\n  y[i] = s }"},
    {"two variables change places",
     "program p(in x: f32[n], in k: u32[n], out y: f32[n], out q: u32[n]) lanes(n) {\n"
     "  i = global_id.x\n  var a = x[i]; var b = 1.0; var c = k[i]; var e = 1u32\n"
     "  for j in 0..9 { t = a; a = b; b = t + b; u = c; c = e; e = u + e * 3 }\n"
     "  y[i] = a + b; q[i] = c ^ e }"},
    {"a value before it changes",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = x[i]\n"
     "  old = s; s = s * 2.0; older = s; s = old + s\n"
     "  for j in 0..3 { was = s; s = s + older; if was > 1.0 { s = was } }\n"
     "  y[i] = s * older + old }"},
    {"counters in use",
     "program p(in x: f64[n], out y: f64[n], h: i32) lanes(n) { i = global_id.x\n"
     "  var s = 0.0f64; var last = 0\n"
     "  for j in 0..h + 4 { s += f64(j) * x[j]; last = j * h }\n"
     "  y[i] = s + f64(last) + x[i] }"},
    // ---- Types side by side.
    {"32 and 64 bits",
     "program p(in a: f32[n], in b: f64[n], in k: i32[n], in l: i64[n], out y: f32[n],\n"
     "    out z: f64[n], out q: i32[n], out r: i64[n]) lanes(n) { i = global_id.x\n"
     "  y[i] = a[i] + f32(b[i]) + f32(k[i]); z[i] = b[i] * f64(a[i]) + f64(l[i])\n"
     "  q[i] = k[i] * 3 + i32(l[i]); r[i] = l[i] * 5 - i64(k[i]) + i64(a[i])\n"
     "  if b[i] < f64(a[i]) { z[i] = 1.0 } else { r[i] = i64(i) } }"},
    {"masks of 64 bits over narrow elements",
     "program p(in a: f64[n], in k: i8[n], in l: u16[n], in f: bool[n], out y: i8[n], out z: "
     "f16[n],\n"
     "    out g: bool[n]) lanes(n) { i = global_id.x\n"
     "  if a[i] > 0.0 { y[i] = k[i] + 1; z[i] = f32(a[i]) } else { y[i] = i32(l[i]); g[i] = !f[i] "
     "} }"},
    {"one i64 for all",
     "program p(in x: i32[n], out y: i32[n], w: i64 = 5000000000, v: u64 = 77) lanes(n) {\n"
     "  i = global_id.x\n  t = w * 3 + i64(v) / 5\n  y[i] = x[i] + i32(t >> 7) + i32(w % 1000) +\n"
     "    i32(popcount(v)) + (f64(w) > 1.0 ? 2 : 1) }"},
    {"many constants",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = 0.5\n"
     "  unroll for k in 0..60 { s = s * (x[i] + (1.0 + k) / 7.0) + (3.0 - k) / 11.0 }\n  y[i] = s "
     "}"},
    {"many values at once",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  a = x[i]; b = x[i + 1]; c = a * b; e = a + b; f = a - b; g = c + e; h = c * f; j = g * h\n"
     "  k = a * j; l = b * j; m = c * k; o = e * l; q = f * m; r = g * o; t = h * q; u = j * r\n"
     "  v = k + t; w = l + u; z = m + v; aa = o + w; bb = q + z; cc = r + aa; dd = t * bb\n"
     "  y[i] = a + b * c + e * f + g * h + j * k + l * m + o * q + r * t + u * v + w * z + aa * "
     "bb +\n"
     "    cc * dd + max(a, dd) + min(b, cc) + (c < e ? f : g) + (h < j ? k : l) + sqrt(abs(m)) "
     "}"},
    {"functions between values",
     "program p(in x: f32[n], in b: f64[n], out y: f32[n], out z: f64[n]) lanes(n) {\n"
     "  i = global_id.x\n  a = x[i]; s = sin(a); t = pow(abs(a), 1.5); u = tanh(a) + s\n"
     "  if a > 0.0 { y[i] = s * t + u + atan2(a, s) + exp(s) } else { y[i] = cos(a) * u }\n"
     "  z[i] = exp(b[i]) + sin(b[i] * f64(s)) }"},
    {"division for all and for each",
     "program p(in k: i32[n], in l: u64[n], out y: i32[n], out z: u64[n], h: i32) lanes(n) {\n"
     "  i = global_id.x\n  q = 1000 / h; r = 77 % (h - 1)\n"
     "  y[i] = k[i] / 3 + k[i] % (h - 1) + q * r + i / 5 + i % 7 + mulhi(k[i], 12345678)\n"
     "  z[i] = l[i] / 10 + l[i] % 9 + mulhi(l[i], 99) }"},
    {"lengths and counts",
     "program p(in x: f32[n], in e: f32[m], out y: i32[n]) lanes(n) { i = global_id.x\n"
     "  y[i] = len(x) + len(e) * 2 + group_count.x + i + global_id.y }"},
    {"where a lane stands in its workgroup",
     "program p(in x: f32[n], out y: f32[n], out q: i32[n]) workgroup(64) lanes(n) {\n"
     "  i = group_id.x * 64 + lane_id.x\n  y[i] = x[i] + f32(lane_id.x)\n"
     "  q[i] = group_id.x * 1000 + lane_id.x + lane_id.y + group_count.x }"},
// ---- Workgroups.
#include "jit_group_programs.inc"
    // ---- Atomic operations of lanes side by side.
    {"atomic operations",
     "program p(in index: i32[n], in x: i32[n], atomic y: i32[n], atomic z: u32[n], atomic w: "
     "i32[h])\n"
     "    lanes(n) { i = global_id.x\n  atomic_add(y[index[i]], x[i])\n"
     "  if x[i] > 3 { atomic_max(z[index[i]], u32(x[i])) }\n  atomic_min(w[h - 1], -i) }"},
    {"atomic operations, 64-bit indices",
     "program p(in index: i32[n], in x: u32[n], atomic y: u32[n], atomic z: u32[n])\n"
     "    lanes(n) index(i64) { i = global_id.x\n"
     "  if i < n { atomic_xor(y[i64(index[i])], x[i])\n"
     "    for j in 0..3 { atomic_add(z[i + j], x[i] + u32(j)) } } }"},
    {"atomic operations, and what they find",
     "program p(in x: i32[n], atomic y: i32[n], out z: i32[n]) lanes(n) { i = global_id.x\n"
     "  a = atomic_add(y[i], x[i]); b = atomic_and(y[i], 255); c = atomic_or(y[i], 16)\n"
     "  z[i] = a + b * 3 + c * 5 + atomic_exchange(y[i], i) }"},
};

// What lanes do one after the other, as they go ways of their own and access memory there.
inline constexpr Text kScalarLanes[] = {
    {"rounds that wrap around",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in u32(i) - 2..u32(i) + 3 { s += x[i32(j)] + 1.0 }\n  y[i] = s }"},
    {"atomic operations of loops",
     "program p(in x: i32[n], atomic y: i32[h], atomic z: u32[h], atomic w: i32[h])\n"
     "    lanes(n) { i = global_id.x\n  for j in 0..i % 7 { atomic_add(y[(x[i] + j) & 3], j); "
     "atomic_max(z[j], u32(i))\n"
     "    if j > 4 { break } }\n  atomic_min(w[0], -i) }"},
    {"workgroups of one lane",
     "program p(in x: f32[n], in index: i32[n], out y: f32[n], out s: f32[1]) "
     "workgroup(1)\n"
     "    lanes(1) { var sum = 0.0\n"
     "  for j in 0..n { y[index[j]] = x[j]\n    sum += x[j] }\n  s[0] = sum }"},
    {"elements that are moved",
     "program p(inout x: i32[n], out y: i32[n]) lanes(n) { i = global_id.x\n"
     "  begin = i / 8 * 8\n  if i % 8 != 0 { return }\n"
     "  for j in begin + 1..min(begin + 8, n) { key = x[j]; var k = j\n"
     "    while k > begin { if x[k - 1] <= key { break }\n      x[k] = x[k - 1]; k = k - 1 }\n"
     "    x[k] = key }\n"
     "  for j in begin..min(begin + 8, n) { y[j] = x[j] } }"},
};

// Lanes that go ways of their own side by side.
inline constexpr Text kParting[] = {
    {"as many rounds as a lane wants",
     "program p(in x: f32[n], out y: f32[n], out k: i32[n]) lanes(n) { i = global_id.x\n"
     "  var s = x[i]; var rounds = 0\n"
     "  while abs(s) > 1.0 && rounds < 50 { s = s * 0.5; rounds += 1 }\n"
     "  y[i] = s; k[i] = rounds }"},
    {"a loop that is left",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in 0..9 { if x[i + j] > 2.0 { break }\n    s += f32(j) }\n  y[i] = s }"},
    {"loops that are left, gone on with, and ended",
     "program p(in x: i32[n], out y: i32[n], h: i32) lanes(n) { i = global_id.x\n"
     "  if i >= n { return }\n  var s = 0\n"
     "  for j in 0..h + 2 {\n    if x[i] % 3 == j { continue }\n"
     "    for k in 0..i % 5 { if x[k] == j { break }\n"
     "      if s > 100 { y[i] = -s\n        return }\n      s += k * j + 1 }\n    s -= 1 }\n"
     "  y[i] = s }"},
    {"rounds by the lane",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in 0..i % 50 { s += x[j] * x[i] }\n  y[i] = s }"},
    {"memory that a lane has written",
     "program p(inout x: f32[n], out y: f16[n], h: i32) lanes(n) { i = global_id.x\n"
     "  for j in 0..i % 3 + 1 { x[i] = x[i] * 0.5 + f32(h) }\n  y[i] = x[i] }"},
    {"bools, bytes and wide numbers",
     "program p(in x: i64[n], in m: bool[n], out y: i64[n], out b: bool[n], out c: i8[n])\n"
     "    lanes(n) index(i64) { i = global_id.x\n  if i >= n { return }\n"
     "  var odd = m[i]; var s = x[i]\n"
     "  while s > 3 || s < -3 { odd = odd != (s % 2 != 0)\n    s = s / 4 }\n"
     "  y[i] = s * 7 + x[i] % 8 - x[i] / 1024; b[i] = odd; c[i] = i32(s) }"},
    {"divisions by powers of two",
     "program p(in x: i32[n], in u: u32[n], out y: i32[n], out v: u32[n]) lanes(n) {\n"
     "  i = global_id.x; a = x[i]; b = u[i]\n  if i >= n { return }\n"
     "  y[i] = a / 1 + a % 1 + a / 2 * 3 + a % 2 * 5 + a / 65536 * 7 + a % 65536 * 9 +\n"
     "    a / 1073741824 * 11 + a % 1073741824 * 13 + a / -2 + a % -8 + a / 0 + a % 0\n"
     "  v[i] = b / u32(1) + b % u32(1) + b / u32(4) * u32(3) + b % u32(4) * u32(5) +\n"
     "    b / u32(1073741824) + b % u32(1073741824) }"},
    {"rows of the grid",
     "program p(in x: f32[h, n], out y: f32[h, n]) lanes(n, h) { i = global_id.x\n"
     "  r = global_id.y\n  if i >= n { return }\n  var s = 0.0\n"
     "  for j in r..i { if j > r + 4 { break }\n    s += x[r, j] }\n  y[r, i] = s + f32(r) }"},
    {"loops within loops that some leave",
     "program p(in x: f32[n], in k: i32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n"
     "  var s = x[i] * 0.25\n  for a in 0..h { var t = f32(a)\n"
     "    for b in 0..5 { t = fma(t, 0.5, s)\n      if t > 3.0 { break }\n"
     "      if (k[i] & 1) == 0 { s += 0.5\n        if t < -1.0 { continue }\n        t += 1.0\n"
     "      } else { if s < -8.0 { break }\n        s -= 0.125 }\n"
     "      s = s * 0.875 + t }\n"
     "    if s > 50.0 { break }\n    s -= t }\n  y[i] = s }"},
    {"returns out of loops",
     "program p(in x: i32[n], out y: i32[n], out z: i32[n], h: i32) lanes(n) { i = global_id.x\n"
     "  var s = x[i] & 15\n  z[i] = s\n"
     "  for a in 0..h + 4 { while s > 0 { s -= 3\n      if s == 7 { y[i] = a\n        return }\n"
     "      if s < -2 { break } }\n    if a == (i & 7) { y[i] = 100 + s\n      return }\n"
     "    s += 11\n    z[i] = s }\n  if s == 4 { return }\n  y[i] = s + 1000 }"},
    {"a return before what the others do",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  if i >= n { return }\n  if x[i] < 0.0 { return }\n  a = sqrt(x[i])\n"
     "  if !(a < 2.0) { y[i] = a\n    return }\n  y[i] = a * 3.0 }"},
    {"loops that all leave at a time",
     "program p(in x: f32[n], inout y: f32[n], h: i32) lanes(n) { i = global_id.x\n"
     "  var k = 0\n  loop { y[i] = y[i] * 0.5 + x[i + k]\n    k += 1\n    if k > h { break }\n"
     "    if k == 2 { continue }\n    y[i] = y[i] + f32(k) } }"},
    {"rounds up to the end of a type",
     "program p(in x: i32[n], out y: i32[n], out z: u32[n], out v: i64[n]) lanes(n) {\n"
     "  i = global_id.x; b = x[i] & 3; var s = 0; var t: u32 = 0; var r: i64 = 0\n"
     "  for j in 2147483640 + b..2147483647 step 3 { s += j & 255 }\n"
     "  for j in u32(4294967290) + u32(b)..u32(4294967295) step 4 { t += j & u32(255) }\n"
     "  for j in i64(-2147483648) + i64(b)..i64(-2147483640) step 3 { r += j }\n"
     "  for j in b - 2..-2147483648 { s += 1 }\n"
     "  for j in -2147483647..-2147483640 + b * 4 step 5 { s += j & 7 }\n"
     "  y[i] = s; z[i] = t; v[i] = r }"},
    {"a break that those who go on do not reach",
     "program p(in x: i32[n], out y: i32[n]) lanes(n) { i = global_id.x\n  var s = 0\n"
     "  for k in 0..5 { s = s * 3 + k\n    if (x[i] & 16) != 0 { continue }\n"
     "    if (x[i] & 18) != 0 { break } }\n  y[i] = s }"},
    {"bools that loops change",
     "program p(in x: i32[n], out y: bool[n], out z: i32[n]) lanes(n) { i = global_id.x\n"
     "  var even = true; var seen = false; var s = x[i] & 1023\n"
     "  while s != 0 { if (s & 5) == 5 { seen = true\n      even = false\n      if s > 700 { break "
     "} "
     "}\n"
     "    even = !even; s = s >> 1\n    if seen && even { seen = false\n      continue }\n    s = "
     "s >> 1 }\n"
     "  y[i] = even != seen; z[i] = s }"},
    {"workgroups whose lanes part, then come together",
     "program p(in x: f32[n], out y: f32[n], out z: f32[n]) lanes(n) { i = global_id.x\n"
     "  var s = min(abs(x[i]), 100.0) + f32(lane_id.x & 3)\n"
     "  while s > 1.0 { s = s * 0.375\n    if s > 30.0 { break } }\n"
     "  r = group_reduce_add(s)\n  if lane_id.x < 1 { z[group_id.x] = r }\n"
     "  y[i] = x[i] - r }"},
    {"workgroups that lanes leave",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = x[i]\n"
     "  while s > 1.0 && s < 1.0e30 { s = s * 0.5 }\n"
     "  if s < 0.0 { return }\n  for j in 0..(lane_id.x & 7) { s += 0.5 }\n"
     "  y[i] = s + f32(lane_id.x) }"},
    {"wide lanes",
     "program p(in x: f64[n], in k: u64[n], out y: f64[n], out c: u64[n]) lanes(n) {\n"
     "  i = global_id.x; var s = x[i]; var t = k[i]; var rounds: u64 = 0\n"
     "  while t != u64(1) && rounds < u64(40) { rounds += u64(1)\n"
     "    if (t & u64(1)) == u64(0) { t = t >> 1\n      continue }\n"
     "    t = t * u64(3) + u64(1); s = s * 0.5 + 1.0 }\n  y[i] = s; c[i] = rounds + t }"},
};

}  // namespace hologram::jit
