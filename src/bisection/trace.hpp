// A program that tells every value that its lanes compute, in the order in which they do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "program/ir.hpp"

namespace hologram::bisection {

// What is written of each value: the number of its instruction in the body, counted from 1, and its
// bits in two words.
inline constexpr int64_t kEventWords = 3;
inline constexpr const char* kTraceBuffer = "trace__";

// The program with one more buffer, u32, and two more scalars of its index type: the first lane
// that tells anything, and how many values a lane may tell. The length of the buffer says for how
// many lanes there is room.
program::Program traced(const program::Module& module);

struct Event {
  int64_t lane = 0, number = 0;  // of the lane: which of its values
  uint32_t inst = 0;             // in the body
  uint64_t expected = 0, got = 0;
  bool other_way = false;  // the lane went another way than expected
  std::vector<uint64_t> operands;
};

// Whether two values of a type count as equal.
class Equality {
 public:
  explicit Equality(uint64_t tolerance) : tolerance_(tolerance) {}
  bool operator()(DType type, uint64_t a, uint64_t b) const;

 private:
  uint64_t tolerance_;  // numbers of the type; more than 0: subnormal numbers are 0
};
bool is_nan(DType type, uint64_t bits);

// The earliest of the lanes' first values that differ. `first`: the number of the first lane.
std::optional<Event> first_difference(const program::Module& module, std::span<const uint32_t> is,
                                      std::span<const uint32_t> ought, int64_t events,
                                      int64_t first, const Equality& equal);
// The earliest NaN that is made of none.
std::optional<Event> first_nan(const program::Module& module, std::span<const uint32_t> trace,
                               int64_t events, int64_t first);

}  // namespace hologram::bisection
