// The programs of attention, by how a device runs lanes. The bits are the same.
#pragma once

#include "algorithms/attention/key.hpp"
#include "hologram/program.hpp"

namespace hologram::graph::attention {

// Where one processor runs the lanes of a workgroup in turns: a lane has a query (of KeyChange: a
// key) and walks along the keys; lanes share nothing. A workgroup takes one tile of kLanes after
// the other, and has `scratch_of` numbers of memory for it, which fit a near cache.
inline constexpr int64_t kLanes = 32;
program::Program lanes_program(const Key& key);
int64_t scratch_of(const Key& key);

// Elsewhere: a workgroup has kRows queries (of KeyChange: keys) and walks along the keys by blocks;
// what several lanes need goes through workgroup memory. A launch has a workgroup along x for each
// tile of a key head, along y for each key head of each of the batch, along z for each part.
inline constexpr int64_t kRows = 64;
program::Program tiles_program(const Key& key);
// Bytes of workgroup memory that it takes; more features than it has room for are none of its.
int64_t shared_of(DType wide);
inline constexpr int64_t kMostFeatures = 256;

// What parts of the keys have given, put together in their order: a lane for each number of the
// result, of kCombineLanes.
inline constexpr uint32_t kCombineLanes = 64;
program::Program combine_program(const Key& key);

// A mask as a library takes it: what is added to each score, -inf where the mask or the window lets
// nothing be seen. A lane for each number, of kMaskLanes, in rows of `step` numbers.
inline constexpr uint32_t kMaskLanes = 256;
program::Program mask_program(const Key& key);
// Logs as it takes them beside a mask, a lane for each: 0 where nothing is seen, since the -inf
// that a mask has added, without the -inf of the log, is no number.
program::Program finite_logs_program(const Key& key);

// Of gradients, for each row the sum of its result times the change of it: a lane for each row, of
// kDeltaLanes.
inline constexpr uint32_t kDeltaLanes = 64;
program::Program deltas_program(const Key& key);

}  // namespace hologram::graph::attention
