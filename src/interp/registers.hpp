// Registers and masks of a block of lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "interp/kernels.hpp"

namespace hologram::interp {

inline constexpr uint32_t kMaxLanes = 2048;
inline constexpr uint32_t kMaxGroups = kMaxLanes / kGroup;

// What is known of a register's lanes. Most index arithmetic stays affine, so that it costs a few
// scalar operations a block, and memory is reached by runs of neighbours.
enum class Form : uint8_t {
  Uniform,  // the same in every lane: one group in `cell`
  Affine,   // base + step * lane, of an integer type whose range it does not leave in this block
  Row,      // any: at `data`
};

struct Register {
  Form form = Form::Uniform;
  bool expanded = false;            // an affine register whose lanes also stand in `row`
  const std::byte* data = nullptr;  // Row: `row`, or memory that nobody writes
  std::byte* row = nullptr;
  std::byte* cell = nullptr;
  int64_t base = 0, step = 0;

  void set_uniform() { form = Form::Uniform; }
  void set_row() {
    form = Form::Row;
    data = row;
  }
  void set_affine(int64_t first, int64_t by) {
    form = Form::Affine;
    expanded = false;
    base = first;
    step = by;
  }
  Operand operand(size_t group_bytes) const {
    return form == Form::Uniform ? Operand{cell, 0} : Operand{data, group_bytes};
  }
};

// One bit a lane.
struct Mask {
  alignas(64) uint64_t words[kMaxLanes / 64];

  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(words); }
  bool test(uint32_t lane) const { return words[lane / 64] >> (lane % 64) & 1; }

  void clear(uint32_t n) { std::fill_n(words, n, 0); }
  // Of word `w`, the lanes before this one.
  static uint64_t lanes_before(uint32_t lane, uint32_t w) {
    const uint32_t from = w * 64;
    if (lane >= from + 64) return ~uint64_t{0};
    return lane > from ? (uint64_t{1} << (lane - from)) - 1 : 0;
  }
  void set_first(uint32_t lanes, uint32_t n) {
    for (uint32_t w = 0; w < n; w++) words[w] = lanes_before(lanes, w);
  }
  bool any(uint32_t n) const {
    uint64_t all = 0;
    for (uint32_t w = 0; w < n; w++) all |= words[w];
    return all != 0;
  }
  bool equals(const Mask& other, uint32_t n) const {
    return std::equal(words, words + n, other.words);
  }
  void copy(const Mask& other, uint32_t n) { std::copy_n(other.words, n, words); }
  void add(const Mask& other, uint32_t n) {
    for (uint32_t w = 0; w < n; w++) words[w] |= other.words[w];
  }
  void remove(const Mask& other, uint32_t n) {
    for (uint32_t w = 0; w < n; w++) words[w] &= ~other.words[w];
  }
};

}  // namespace hologram::interp
