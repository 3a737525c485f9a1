// What the programs of attention are made for. Lengths and strides are their arguments.
#pragma once

#include <cstdint>

#include "hologram/dtype.hpp"

namespace hologram::graph::attention {

// Keys whose scores a softmax takes in at a time, and so the order of every sum: a row's keys go by
// blocks of so many, first to last; of each the largest score is found first, what has been summed
// is scaled to it, and then each key's share is added. The same on every device.
inline constexpr int64_t kBlock = 32;

enum class Part : uint8_t {
  Forward,      // the result and, if wanted, each row's log of its sum of exponentials
  QueryChange,  // the gradient of the queries
  KeyChange     // those of keys and values
};
enum class Mask : uint8_t { None, Bool, Added };

struct Key {
  Part part;
  Mask mask;
  bool softcap, before, after, sinks;
  bool with_logs;    // Forward: logs stand behind the result
  bool wide_result;  // and the result as it was before it was rounded to its dtype
  bool split;        // Forward: keys are cut into parts, whose sums a second program puts together
  bool placed;       // the place of the first query among the keys is read from memory
  // Whether neighbouring features of queries, keys, values, cotangents lie side by side.
  bool unit_query, unit_key, unit_value, unit_change;
  DType query, key, value, change, added, position, result;
  DType wide;   // f32 or f64: of scores and sums
  DType index;  // i32 or i64
  uint32_t features, value_features;
};

}  // namespace hologram::graph::attention
