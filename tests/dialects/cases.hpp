// Launches that tests of dialects share, and how their results are compared.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "dialects/instruction_programs.hpp"
#include "dialects/run_request.hpp"
#include "hologram/program.hpp"
#include "oracle/random_program.hpp"
#include "oracle/random_values.hpp"
#include "oracle/scalar_model.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {

using oracle::Memory;

// Where buffers of a case are not as they should be; empty if they are.
inline std::string first_difference(const oracle::RandomCase& c, const std::vector<Memory>& want,
                                    const std::vector<Memory>& got,
                                    const Comparison& same = oracle::same) {
  for (size_t b = 0; b < want.size(); b++) {
    const program::BufferParam& buffer = c.module.buffers[b];
    const size_t size = size_of(buffer.type);
    for (size_t i = 0; i + size <= want[b].size(); i += size) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, &got[b][i], size);
      std::memcpy(&y, &want[b][i], size);
      if (same(buffer.type, x, y)) continue;
      char text[120];
      std::snprintf(text, sizeof text, "%s[%zu] is %#llx, not %#llx\n", buffer.name.c_str(),
                    i / size, static_cast<unsigned long long>(x),
                    static_cast<unsigned long long>(y));
      return text;
    }
  }
  return {};
}

inline RunRequest request_for(const Printed& printed, std::span<const program::BufferParam> params,
                              const std::vector<Memory>& buffers) {
  RunRequest request;
  request.printed = &printed;
  for (size_t b = 0; b < buffers.size(); b++)
    request.lengths.push_back(buffers[b].size() / size_of(params[b].type));
  return request;
}

// A launch of a program of the compiler's test, or of one like them.
inline oracle::RandomCase case_of(const Program& program, uint64_t seed) {
  const int64_t n = 900 + static_cast<int64_t>(seed % 200);
  const auto dimension = [&](const std::string& name) -> int64_t {
    return name == "n" ? n : name == "m" ? 2 * n + 5 : name == "h" ? 3 : name == "d" ? 2 : 0;
  };
  oracle::Choices choices(seed);
  oracle::RandomCase c;
  c.module = program.source();
  for (const program::BufferParam& buffer : c.module.buffers) {
    int64_t count = 1;
    for (const program::Dim& dim : buffer.dims)
      count *= dim.name.empty() ? dim.length : dimension(dim.name);
    const size_t size = size_of(buffer.type);
    Memory memory(static_cast<size_t>(count) * size);
    for (size_t at = 0; at < memory.size(); at += size) {
      uint64_t bits = compute_type(buffer.type) == buffer.type
                          ? oracle::random_value(buffer.type, choices)
                          : choices.bits();
      if (buffer.name == "index") bits = choices.below(static_cast<uint32_t>(n) + 7) - 3;
      std::memcpy(&memory[at], &bits, size);
    }
    c.buffers.push_back(std::move(memory));
  }
  for (const program::ScalarParam& scalar : c.module.scalars)
    c.scalars.push_back(scalar.otherwise       ? *scalar.otherwise
                        : scalar.name == "far" ? 2147483640
                                               : static_cast<uint64_t>(dimension(scalar.name)));
  std::vector<uint64_t> lengths;
  for (size_t b = 0; b < c.buffers.size(); b++)
    lengths.push_back(c.buffers[b].size() / size_of(c.module.buffers[b].type));
  const auto host = program::evaluate_host(c.module, c.scalars, lengths);
  for (const program::Inst& inst : c.module.host.insts)
    if (inst.op == program::Op::Lanes) {
      const uint64_t size = c.module.workgroup[inst.aux];
      c.grid[inst.aux] = (host[inst.args[0]] + size - 1) / size;
    }
  return c;
}

// Lanes whose neighbours access neighbouring elements: all of them, only some, none of their own.
inline constexpr const char* kNeighbours[] = {
    "program p(in x: f32[n], in b: u8[n], in h: i16[n], out y: f32[n], out z: u8[n], out v: "
    "f16[n])\n"
    "    lanes(n) { i = global_id.x; if i < n {\n"
    "  y[i] = x[i] * 2.0 + f32(b[i]); z[i] = b[i] + 1u32; v[i] = f32(h[i]) * 0.25 } }",
    "program p(in x: f32[n], in b: i8[n], out y: bf16[n], inout z: u16[n]) lanes(n) index(i64) {\n"
    "  i = global_id.x; if i < n { y[i] = x[i]; z[i] = z[i] + u32(b[i]) } }",
    "program p(in x: f32[m], in b: u8[m], out y: f32[n], out z: u8[n], at: i32 = 8) lanes(n) {\n"
    "  i = global_id.x; if i < n { y[i] = x[i + at]; z[i] = b[at + i] } }",
    "program p(in x: f32[m], in b: u8[m], out y: f32[n], out z: u8[n], at: i32 = 3) lanes(n) {\n"
    "  i = global_id.x; if i < n { y[i] = x[i + at]; z[i] = b[at + i] } }",
    "program p(in x: f32[n], in b: u16[n], out y: f32[n], out z: u8[n]) lanes(n) {\n"
    "  i = global_id.x; y[i] = x[i - 4] + x[i] + x[i + 1]; z[i] = b[i + 4] + b[i - 1] }",
    "program p(in x: f32[m], in b: u8[m], out y: f32[m], out z: bool[m], n: i32) lanes(n, 2) {\n"
    "  i = global_id.x; at = global_id.y * n + i\n"
    "  if i < n { y[at] = x[at] + 1.0; z[at] = b[at] > 9u32 } }",
    "program p(in x: i64[n], in y: u32[n], out z: u64[n], inout w: i32[n]) lanes(n) {\n"
    "  i = global_id.x; if i < n { z[i] = u64(x[i]) * 3u64; w[i] = w[i] + i32(y[i]) } }",
    "program p(in x: u8[n], inout y: u8[n], inout z: f32[n]) lanes(n) { i = global_id.x\n"
    "  if i < n { if x[i] > 100u32 { y[i] = x[i] / 2u32 } else { z[i] = 1.0 }\n"
    "    var s = 0u32; for k in 0..5 { s = s + x[i] * u32(k) }\n"
    "    if x[i] < 50u32 { y[i] = s } } }",
    "program p(in x: u8[n], out y: u8[n], out z: i32[n]) lanes(n) { i = global_id.x\n"
    "  z[i] = 1; y[i + 1] = x[i] }",
    "program p(in x: f32[n], inout y: u8[n], inout z: f32[n]) lanes(n) {\n"
    "  i = group_id.x * 256 + lane_id.x\n"
    "  if i < n { z[i] = x[i] + 1.0 } else { z[i] = 2.0 }\n  if i < n - 5 { y[i] = 7u32 } }",
    "program p(in x: f16[n], in y: bool[n], out z: i8[n]) lanes(n) { i = global_id.x\n"
    "  if i < n { z[i] = i32(x[i]) + select(y[i], 1, 0) } }",
};

// Rows that the lanes of a workgroup share, several lanes a thread.
inline constexpr const char* kSharedRows[] = {
    R"(program rows(in x: f32[m], out y: f32[d], out z: f32[m], n: i32) workgroup(128) lanes(2 * 128) {
  row = group_id.x
  var sum = 0.0
  for i in 0..n step 128 {
    at = i + lane_id.x
    if at < n { sum = sum + x[row * n + at] }
  }
  s = group_reduce_add(sum)
  if lane_id.x < 1 { y[row] = s }
  for i in 0..n step 128 {
    at = i + lane_id.x
    if at < n { z[row * n + at] = x[row * n + at] / s } else { y[row] = s }
  }
})",
    R"(program runs(in x: f32[m], out z: f32[m], n: i32) workgroup(256, 2) lanes(2 * 256, 2) {
  shared part: f32[512]
  row = group_id.x
  first = lane_id.y * 1024 + lane_id.x
  second = first + 256
  a = x[row * n + first]
  b = x[row * n + second]
  part[lane_id.y * 256 + lane_id.x] = select(second < n, max(a, b), a)
  barrier()
  both = max(part[lane_id.x], part[lane_id.x + 256])
  most = group_reduce_max(select(lane_id.y < 1, both, -inf))
  if first < n { z[row * n + first] = a - most }
  if second < n { z[row * n + second] = b - most }
})",
    R"(program halves(in x: f16[m], out z: u16[m], out t: i64[d], n: i32) workgroup(256) lanes(2 * 256) {
  row = group_id.x
  var most: u32 = 0
  var all: i64 = 0
  for i in 0..n step 256 {
    at = i + lane_id.x
    w = f32(x[row * n + at])
    v = bits_u32(select(isnan(w), 0.0, w))
    most = max(most, v)
    all += i64(v)
    if at < n { z[row * n + at] = u32(v >> 16) }
  }
  u = group_uniform(all)
  t[row] = group_reduce_add(all) + i64(group_reduce_max(most)) - u
})"};

// Loops that never end, alone and between barriers, where all lanes have to come by.
inline constexpr const char* kEndless[] = {
    "program p(out y: i32[n]) lanes(n) { var i = 0; loop { i += 1; y[global_id.x] = i } }",
    "program p(out y: i32[n]) lanes(n) { for i in 0i64..9000000000000000000i64 {\n"
    "  y[global_id.x] = i32(i) } }",
    "program p(out y: i32[n]) workgroup(32) lanes(n) { var i = 0\n"
    "  loop { y[global_id.x] = i; barrier(); i += group_reduce_add(1) } }",
    "program p(out y: i32[n]) workgroup(32) lanes(n) { shared t: i32[32]; var i = lane_id.x\n"
    "  loop { i = i * 3 | 1; if i == 2 { break } loop { i += 2; if i == lane_id.x { break } } }\n"
    "  t[lane_id.x] = i; barrier(); y[global_id.x] = t[31 - lane_id.x] }",
};

}  // namespace hologram::dialects
