// How a kernel walks its domain: axes merged, the lanes' axis chosen, the width of indices. What a
// kernel's code depends on is here; sizes, strides and offsets are arguments.
#pragma once

#include <string>
#include <vector>

#include "fusion/kernel.hpp"
#include "hologram/executor.hpp"
#include "program/ir.hpp"

namespace hologram::graph {

enum class Traversal : uint8_t {
  Elements,   // a lane an element
  Blocks,     // a lane the elements of a block of random words (graph/elementwise.hpp)
  Tiles,      // a lane an element of a square: what lies across is turned on the way
  LaneRows,   // a lane a row, which it walks alone
  GroupRows,  // a group of lanes a row
  Pieces      // a group some rows side by side, a lane a piece of one, which it walks alone
};

// A view in terms of the layout's axes.
struct Lanes {
  Strides outer, row;
  int64_t offset = 0;
};

inline constexpr uint32_t kElementLanes = 256;  // of a workgroup whose lanes work alone
inline constexpr int64_t kRun = 16;             // elements that a lane adds up in one go

struct Layout {
  Traversal traversal = Traversal::Elements;
  DType index = DType::I32;
  Shape outer;  // the last axis is that of the lanes (but for GroupRows); may be empty
  Shape row;
  bool trusted = true;   // no access needs a test; otherwise rows are empty
  int pieces_axis = -1;  // of outer: which piece of the row, or -1
  int64_t chunk = 0;
  uint32_t lanes = kElementLanes;  // of a workgroup; of Pieces: rows of one, by side_by_side pieces
  bool one_run = false;            // a lane takes its row as one run
  // GroupRows on devices with many threads: `side_by_side` runs at a time, each by `lanes` lanes of
  // its own, which keep their `held` elements from the first walk on. 0: as many walks as needed.
  // `full`: each of these is one of the row. Of LaneRows there, and of GroupRows that hold nothing:
  // each run has kRun elements a lane, but for a last one of `rest`, if that is not 0.
  uint32_t side_by_side = 1, held = 0, rest = 0;
  bool full = false;
  uint32_t several = 1;  // of those that are held: rows that a group reads at once
  // LaneRows of devices that take tuples: elements of a row that a lane takes at a time.
  uint32_t ahead = 1;
  // Elements and LaneRows where the innermost axis is short: lanes walk all axes as one, and
  // divide.
  bool linear = false;
  // Tiles: squares of `tile` by `tile` elements along the last axis of `outer` and along `across`,
  // along which the views that are `staged` are dense. A group is tile by 256 / tile lanes.
  uint32_t tile = 0, across = 0;
  // LaneRows whose views that are `staged` are rows one behind the other: elements that each row
  // takes of workgroup memory at most. 0: no view is.
  uint32_t room = 0;
  bool in_place = false;     // what is made of a row takes the place of what is read
  std::vector<bool> staged;  // by view: it goes through workgroup memory; empty: none
  std::vector<Lanes> views;  // those of the kernel

  Grid grid() const;
};

// What of a device the layout depends on; no result does.
struct Hints {
  bool sequential_lanes = false;  // one processor runs the lanes of a group, one after the other
  // Elements of a row that a lane takes one after the other are read and written as one. Elsewhere
  // a body four times as long costs software drivers minutes and gigabytes to compile.
  bool loads_interleaved = false;
  bool is_gpu_like = false;  // a group of 1,024 lanes that keep a row costs no more than one of 64
  uint32_t shared_bytes = program::kMaxSharedBytes;  // of a workgroup
};
Hints hints_of(const DeviceInfo& device);

// Whether there are rows enough to keep the device busy if each is the work of one group, which
// goes through its pieces; what has one step then takes one for the pieces and one for their
// results otherwise.
bool walks_whole_rows(const DeviceInfo& device, int64_t rows, int64_t pieces);

Layout layout(const Kernel& kernel, const Hints& hints);

// InternalError unless all that the kernel touches lies inside its buffers. Nothing is said of
// kernels with an empty domain, whose layouts are not trusted either.
void require_inside(const Kernel& kernel);

// An argument of the kernel's program, in the order of its scalars.
struct ScalarArgument {
  std::string name;
  DType type;
  uint64_t bits;
};

// Calls `each` for every scalar that the program of such a kernel has.
std::vector<ScalarArgument> scalar_arguments(const Kernel& kernel, const Layout& layout);

// Everything that the code of the kernel depends on, as bytes.
std::string key_of(const Kernel& kernel, const Layout& layout);

}  // namespace hologram::graph
