#include "interp/checker.hpp"

#include <fmt/format.h>

#include "core/messages.hpp"

namespace hologram::interp {

Checker::Checker(const Bytecode& code)
    : code_(code), buffers_(code.buffers.size()), shared_(code.shared.size()) {}

void Checker::begin_group(const int64_t*) {
  lanes_alone_ = false;
  group_++;
  for (auto& array : shared_) array.clear();
}

void Checker::begin_lanes(uint64_t) {
  lanes_alone_ = true;
  group_++;
}

// Two touches conflict unless they are by the same lane, or by lanes of one group with a barrier
// between them.
bool Checker::conflicts(const Touch& touch, uint64_t group, uint32_t lane, uint32_t epoch) const {
  if (group == 0) return false;
  if (group != group_) return true;
  if (lane == touch.lane) return false;
  return lanes_alone_ || epoch == touch.epoch;
}

void Checker::access(const Touch& touch) {
  if (touch.constant) return;
  Shadow& s = (touch.shared ? shared_ : buffers_)[touch.slot][touch.index];
  if (touch.shared && !touch.write && s.write_group == 0)
    throw core::error(core::Text::UnsetShared, code_.name, touch.line,
                      code_.shared[touch.slot].name, touch.index);

  // Reads conflict with writes, writes with both; atomics not with each other.
  if (!(touch.atomic && s.write_atomic) &&
      conflicts(touch, s.write_group, s.write_lane, s.write_epoch))
    race(touch, s.write_lane, s.write_group);
  if (touch.write && !touch.atomic) {
    if (conflicts(touch, s.read_group, s.read_lane, s.read_epoch))
      race(touch, s.read_lane, s.read_group);
    // Of several readers one is remembered; another lane than that one read it, too.
    if (s.many_readers && s.read_group == group_ && s.read_epoch == touch.epoch)
      race(touch, s.read_lane, s.read_group);
  }
  if (touch.write) {
    s.write_group = group_;
    s.write_lane = touch.lane;
    s.write_epoch = touch.epoch;
    s.write_atomic = touch.atomic;
  } else {
    s.many_readers = s.read_group == group_ && s.read_epoch == touch.epoch &&
                     (s.many_readers || s.read_lane != touch.lane);
    s.read_group = group_;
    s.read_lane = touch.lane;
    s.read_epoch = touch.epoch;
  }
}

void Checker::race(const Touch& touch, uint32_t other_lane, uint64_t other_group) const {
  const std::string& where =
      touch.shared ? code_.shared[touch.slot].name : code_.buffers[touch.slot].name;
  const std::string other = other_group == group_
                                ? fmt::format("lane {} of the same workgroup", other_lane)
                                : std::string("a lane of another workgroup");
  throw core::error(core::Text::Race, code_.name, touch.line, where, touch.index, touch.lane,
                    other);
}

uint32_t Checker::shuffled(uint32_t n, uint32_t lanes) const {
  // Multiplication by a number coprime to any length below it, rotated by the group.
  constexpr uint64_t kPrime = 2654435761;
  if (lanes < 2) return n;
  return static_cast<uint32_t>((n * (kPrime % lanes == 0 ? 1 : kPrime) + group_) % lanes);
}

}  // namespace hologram::interp
