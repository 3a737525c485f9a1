// Finds races: what HOLOGRAM_CHECK=1 turns on. Every element that a program touches has a shadow
// that remembers who touched it last since the last barrier, and how.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/bytecode.hpp"

namespace hologram::interp {

struct Touch {
  bool shared = false;
  uint32_t slot = 0;
  uint64_t index = 0;
  uint32_t lane = 0;
  uint32_t epoch = 0;
  bool write = false;
  bool atomic = false;
  bool constant = false;  // a buffer that nobody may write
  uint32_t line = 0;
};

class Checker {
 public:
  explicit Checker(const Bytecode& code);

  void begin_group(const int64_t* group);
  // Lanes outside of workgroups: each is a group of its own.
  void begin_lanes(uint64_t first);

  // InvalidProgram if the touch races with an earlier one, or reads workgroup memory that nobody
  // wrote.
  void access(const Touch& touch);

  // A permutation of the lanes, so that nothing comes to rely on their order.
  uint32_t shuffled(uint32_t n, uint32_t lanes) const;

 private:
  // Who wrote, and who read, an element last. `group` 0 is nobody.
  struct Shadow {
    uint64_t write_group = 0, read_group = 0;
    uint32_t write_lane = 0, read_lane = 0;
    uint32_t write_epoch = 0, read_epoch = 0;
    bool write_atomic = false;
    bool many_readers = false;
  };
  [[noreturn]] void race(const Touch& touch, uint32_t other_lane, uint64_t other_group) const;
  bool conflicts(const Touch& touch, uint64_t group, uint32_t lane, uint32_t epoch) const;

  const Bytecode& code_;
  uint64_t group_ = 0;
  bool lanes_alone_ = false;
  std::vector<std::unordered_map<uint64_t, Shadow>> buffers_, shared_;
};

}  // namespace hologram::interp
