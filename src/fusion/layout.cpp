#include "fusion/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "core/messages.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/staged_rows.hpp"
#include "graph/elementwise.hpp"
#include "program/ir.hpp"

namespace hologram::graph {
namespace {

// A group that shares a row: as few lanes as add up a row of some thousand elements in one run, so
// that few idle in the last round and few are left to combine.
constexpr uint32_t kFewLanes = 128, kManyLanes = 256;
// Rows side by side whose pieces a group combines: 32 read too little at a time.
constexpr uint32_t kGatheredRows = 64;

bool fits_32_bits(const Kernel& kernel, const Layout& l) {
  constexpr int64_t kMost = INT32_MAX - (1 << 16);
  int64_t lanes = 1;
  for (const int64_t n : l.outer) lanes *= n;
  if (lanes > kMost || kernel.row_length() > kMost) return false;
  for (const Lanes& view : l.views) {
    // In double: nothing that counts here is near its precision.
    double reach = std::abs(static_cast<double>(view.offset));
    for (size_t k = 0; k < l.outer.size(); k++)
      reach += std::abs(static_cast<double>(view.outer[k])) * static_cast<double>(l.outer[k]);
    for (size_t k = 0; k < l.row.size(); k++)
      reach += std::abs(static_cast<double>(view.row[k])) * static_cast<double>(l.row[k]);
    if (reach > kMost) return false;
  }
  return std::all_of(kernel.loads.begin(), kernel.loads.end(),
                     [](const Node* node) { return element_count(node->shape) <= kMost; });
}

// Moves the axis that lanes walk to the end.
void choose_lane_axis(const Kernel& kernel, const Hints& hints, Layout& l) {
  const auto is_along = [&](uint32_t view, bool or_none) {
    const Strides& strides = l.views[view].outer;
    return !strides.empty() && (strides.back() == 1 || (or_none && strides.back() == 0));
  };
  // What is written by elements, and what is read of rows by a lane each.
  const bool by_neighbours =
      hints.sequential_lanes &&
      (l.traversal == Traversal::Elements
           ? std::all_of(kernel.outputs.begin(), kernel.outputs.end(),
                         [&](const Output& output) { return is_along(output.view, false); })
           : l.traversal == Traversal::LaneRows &&
                 std::all_of(kernel.terms.begin(), kernel.terms.end(), [&](const Term& t) {
                   return t.kind != TermKind::Load || is_along(t.view, true);
                 }));
  if (l.outer.size() < 2 || l.outer.back() >= long_axis(by_neighbours)) return;
  const auto longest = std::max_element(l.outer.begin(), l.outer.end());
  if (*longest < 2 * l.outer.back()) return;
  const auto axis = longest - l.outer.begin();
  const auto rotate = [&](auto& list) {
    std::rotate(list.begin() + axis, list.begin() + axis + 1, list.end());
  };
  rotate(l.outer);
  for (Lanes& view : l.views) rotate(view.outer);
  if (l.pieces_axis == axis) l.pieces_axis = static_cast<int>(l.outer.size()) - 1;
  else if (l.pieces_axis > axis) l.pieces_axis--;
}

// Each lane keeps so many elements of all that is read along a row.
constexpr int64_t kMostHeld = 64;

// Whether a row that is read once, and not kept, is walked run by run: of so many rows small groups
// read more at a time than large ones, each of which combines its runs before it ends. The device's
// compiler has all loads of a run under way where it knows how many they are.
bool takes_whole_runs(const Kernel& kernel, int64_t row, Layout& l) {
  constexpr int64_t kManyRows = 2048;
  const auto once = [](const Term& t) { return t.level <= 1 && (t.per_row || t.level == 0); };
  const bool results = std::all_of(kernel.outputs.begin(), kernel.outputs.end(),
                                   [&](const Output& o) { return kernel.terms[o.term].per_row; });
  if (!results || !std::all_of(kernel.terms.begin(), kernel.terms.end(), once)) return false;
  if (l.one_run || l.chunk != 0 || row % l.lanes != 0 || kernel.outer_count() < kManyRows)
    return false;
  l.full = true;
  l.rest = static_cast<uint32_t>(row / l.lanes % kRun);
  return true;
}

void hold_row(const Kernel& kernel, int64_t row, bool whole_pieces, Layout& l) {
  if (takes_whole_runs(kernel, row, l)) return;
  const std::vector<bool> reduced = reduced_terms(kernel);
  int64_t loads = 0;
  for (size_t t = 0; t < kernel.terms.size(); t++)
    loads += kernel.terms[t].kind == TermKind::Load && !kernel.terms[t].per_row && reduced[t];
  const auto rounded_up = [](int64_t n) {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)));
  };
  const int64_t runs = rounded_up((row - 1) / (kRun * l.lanes) + 1);
  const bool whole = row % l.lanes == 0 && row / l.lanes <= kRun;
  const int64_t held = whole ? row / l.lanes : std::min(kRun, rounded_up((row - 1) / l.lanes + 1));
  if (runs * l.lanes > program::kMaxLanes || held * loads > kMostHeld) return;
  l.side_by_side = static_cast<uint32_t>(runs);
  l.held = static_cast<uint32_t>(held);
  l.full = row == runs * held * l.lanes && whole_pieces;
  // A group of its own for each would take longer to start than to work.
  constexpr int64_t kManyRows = 1 << 14, kFewHeld = 8;
  constexpr uint32_t kSeveral = 4;
  if (runs == 1 && held * loads <= kFewHeld && l.chunk == 0 && element_count(l.outer) >= kManyRows)
    l.several = kSeveral;
}

// Where something that is read is dense along another axis than what is written, lanes would each
// touch a line of memory of their own. A group reads a square of it along its own lines first.
void find_tiles(const Kernel& kernel, const Hints& hints, Layout& l) {
  constexpr int64_t kShortestSide = 32;
  if (l.outer.size() < 2) return;
  const size_t last = l.outer.size() - 1;
  if (l.outer[last] < kShortestSide) return;
  for (const Output& output : kernel.outputs)
    if (l.views[output.view].outer[last] != 1) return;
  const auto is_dense_across = [&](const Term& t, size_t axis) {
    if (t.kind != TermKind::Load || t.dtype == DType::Bool) return false;
    const Strides& strides = l.views[t.view].outer;
    return strides[axis] == 1 && strides[last] != 0 && strides[last] != 1;
  };
  for (size_t axis = 0; axis < last; axis++) {
    if (l.outer[axis] < kShortestSide) continue;
    size_t bytes = 0;  // of a row of all squares
    std::vector<bool> staged(l.views.size(), false);
    for (const Term& t : kernel.terms)
      if (is_dense_across(t, axis)) {
        staged[t.view] = true;
        bytes += size_of(compute_type(t.dtype));
      }
    if (bytes == 0) continue;
    for (const uint32_t side : {64u, 32u}) {
      if (bytes * side * (side + 1) > hints.shared_bytes) continue;
      l.traversal = Traversal::Tiles;
      l.tile = l.lanes = side;
      l.side_by_side = kElementLanes / side;
      l.across = static_cast<uint32_t>(axis);
      l.staged = std::move(staged);
      return;
    }
  }
}

// Where all that is drawn is drawn for the elements as they lie, a lane makes those of a block.
void find_blocks(const Kernel& kernel, Layout& l) {
  if (l.outer.size() != 1 || l.outer[0] <= kBlocksOfTile) return;
  bool draws = false;
  for (const Term& t : kernel.terms) {
    if (t.kind != TermKind::Apply || !t.op->draws) continue;
    const Lanes& view = l.views[t.view];
    if (view.offset != 0 || view.outer[0] != 1) return;
    draws = true;
  }
  if (!draws) return;
  l.traversal = Traversal::Blocks;
  l.outer = {(l.outer[0] - 1) / kElementsOfTile + 1, kBlocksOfTile};
  for (Lanes& view : l.views)
    view.outer.insert(view.outer.begin(), view.outer[0] * kElementsOfTile);
}

// Neighbours are few, but lanes that walk a longer axis would each touch a line of memory of their
// own, where they go at a time: so what is written by elements, and what is read down columns.
void find_linear(const Kernel& kernel, Layout& l) {
  // Who walks a column divides once only, and idles less where a workgroup has lanes left.
  constexpr int64_t kLongForColumns = 1024;
  constexpr int64_t kNear = 4;  // elements from one lane's to the next, as of windows that step
  const int64_t longest = l.traversal == Traversal::Elements ? long_axis(false) : kLongForColumns;
  if (l.outer.size() < 2 || l.outer.back() >= longest) return;
  const auto is_along = [&](uint32_t view) { return l.views[view].outer.back() == 1; };
  if (l.traversal == Traversal::Elements)
    l.linear = std::all_of(kernel.outputs.begin(), kernel.outputs.end(),
                           [&](const Output& output) { return is_along(output.view); });
  else
    l.linear = std::any_of(kernel.terms.begin(), kernel.terms.end(), [&](const Term& t) {
      const int64_t step = l.views[t.view].outer.back();
      return t.kind == TermKind::Load && !t.per_row && step >= 1 && step <= kNear;
    });
}

// Rows whose elements lie together are read a few at a time: each lane's is another row, and
// processors read one thing here and one there much slower than four here and four there.
void find_ahead(const Kernel& kernel, Layout& l) {
  const bool combines_partials =
      std::any_of(kernel.terms.begin(), kernel.terms.end(), [&](const Term& t) {
        if (t.kind != TermKind::Load || t.per_row) return false;
        const Lanes& view = l.views[t.view];
        return view.row[0] == 1 && !view.outer.empty() && view.outer.back() > 1;
      });
  if (combines_partials) l.ahead = 4;
}

// Rows one behind the other, each of which a lane walks: neighbours would touch lines of memory of
// their own, where they go at a time. A group reads its rows as they lie into its own memory first,
// and takes what it writes out of there.
void stage_rows(const Kernel& kernel, const Hints& hints, Layout& l) {
  constexpr int64_t kShortest = 4;
  // Small groups wait less for each other, and too small ones start more often than they work. Of
  // narrow elements a thread may have several lanes, which would go through their rows one by one,
  // but not of so few.
  constexpr uint32_t kFewest = 32, kMost = 128, kBytes = 16 * 1024;
  if (l.row.size() != 1 || l.row[0] < kShortest || l.chunk != 0 || l.outer.empty()) return;
  std::vector<bool> staged(l.views.size(), false);
  const auto passes = [&](uint32_t view, DType dtype) {
    const Lanes& v = l.views[view];
    if (dtype != DType::Bool && v.row[0] == 1 && v.outer.back() >= l.row[0]) staged[view] = true;
    return dtype != DType::Bool && staged[view];
  };
  size_t bytes = 0, widest = 0;  // of an element of each
  bool in_place = false;
  std::vector<DType> read;
  for (const Node* node : kernel.loads) widest = std::max(widest, size_of(node->dtype));
  for (const Term& t : kernel.terms)
    if (t.kind == TermKind::Load && !t.per_row && passes(t.view, t.dtype)) {
      read.push_back(compute_type(t.dtype));
      bytes += size_of(read.back());
    }
  const auto along_rows =
      std::count_if(kernel.outputs.begin(), kernel.outputs.end(),
                    [&](const Output& output) { return l.views[output.view].row[0] != 0; });
  for (const Output& output : kernel.outputs) {
    const DType dtype = output.target->dtype;
    widest = std::max(widest, size_of(dtype));
    if (!passes(output.view, dtype)) continue;
    // All that is read of an element has been where its only result is written.
    in_place =
        along_rows == 1 && std::find(read.begin(), read.end(), compute_type(dtype)) != read.end();
    if (!in_place) bytes += size_of(compute_type(dtype));
  }
  const uint32_t room = std::bit_ceil(static_cast<uint32_t>(l.row[0])) + 1;
  if (bytes == 0 || bytes * room * kFewest > hints.shared_bytes) return;
  l.room = room;
  l.in_place = in_place;
  l.lanes = widest < 4 ? kFewest : kMost;
  while (l.lanes > kFewest && bytes * room * l.lanes > kBytes) l.lanes /= 2;
  l.staged = std::move(staged);
}

bool is_guarded(const Kernel& kernel) {
  return std::all_of(kernel.terms.begin(), kernel.terms.end(),
                     [](const Term& t) { return t.kind != TermKind::Reduce || t.is_guarded(); });
}

// Whether all reductions have the same result whatever runs a lane takes first.
bool takes_any_runs(const Kernel& kernel) {
  return std::all_of(kernel.terms.begin(), kernel.terms.end(), [](const Term& t) {
    const bool rounds = is_float(t.dtype) &&
                        (t.combine == program::Combine::Add || t.combine == program::Combine::Mul);
    return t.kind != TermKind::Reduce || !rounds;
  });
}

// Whether the compiler for this processor reads a few neighbours of each lane at once
// (jit/interleaved.cpp).
#if defined(__x86_64__)
constexpr bool kCompilesTuples = true;
#else
constexpr bool kCompilesTuples = false;
#endif

// Up to which length a processor's lanes each walk a row of such: side by side, where a group would
// have to combine what its lanes have after each row.
int64_t longest_of_any_runs(const Kernel& kernel) {
  constexpr int64_t kLongest = 256, kFewest = 32;  // of rows: vectors of them
  constexpr size_t kMostBytes = 4;
  const bool narrow = std::all_of(kernel.loads.begin(), kernel.loads.end(), [](const Node* node) {
    return size_of(node->dtype) <= kMostBytes;
  });
  const bool one_each =
      std::all_of(kernel.outputs.begin(), kernel.outputs.end(),
                  [&](const Output& output) { return kernel.terms[output.term].per_row; });
  return narrow && one_each && kernel.outer_count() >= kFewest ? kLongest : kLongestLaneRow;
}

// Lanes of a group along a short axis: as many as leave few idle.
uint32_t lanes_along(int64_t length) {
  constexpr uint32_t kFewestLanes = 64;
  const auto idle = [length](uint32_t lanes) { return (lanes - length % lanes) % lanes; };
  uint32_t best = kElementLanes;
  for (uint32_t lanes = kElementLanes; lanes >= kFewestLanes; lanes /= 2) {
    if (idle(best) * 8 <= length) break;
    if (idle(lanes) < idle(best)) best = lanes;
  }
  return best;
}

}  // namespace

Grid Layout::grid() const {
  Grid grid = {1, 1, 1};
  uint64_t all = 1;
  for (const int64_t n : outer) all *= static_cast<uint64_t>(n);
  if (traversal == Traversal::GroupRows) return {(all + several - 1) / several, 1, 1};
  if (linear) return {(all + kElementLanes - 1) / kElementLanes, 1, 1};
  if (traversal == Traversal::Tiles) {
    const auto along = static_cast<uint64_t>(outer.back());
    const auto down = static_cast<uint64_t>(outer[across]);
    return {(along - 1) / tile + 1, (down - 1) / tile + 1, all / along / down};
  }
  const uint64_t last = outer.empty() ? 1 : static_cast<uint64_t>(outer.back());
  grid[0] = (last + lanes - 1) / lanes;
  grid[1] = last == 0 ? 0 : all / last;
  return grid;
}

Hints hints_of(const DeviceInfo& device) {
  const bool ours = device.backend == BackendType::Cpu || device.backend == BackendType::Null;
  const bool sequential_lanes = ours || device.software;
  // What a lane keeps is memory where lanes go in turns.
  return {.sequential_lanes = sequential_lanes,
          .loads_interleaved = ours,
          .is_gpu_like = !sequential_lanes && device.max_lanes >= program::kMaxLanes,
          .shared_bytes = std::min(device.max_shared_bytes, program::kMaxSharedBytes)};
}

bool walks_whole_rows(const DeviceInfo& device, int64_t rows, int64_t pieces) {
  constexpr int64_t kManyEach = 4;
  if (!hints_of(device).loads_interleaved || pieces > kMostGathered) return false;
  const int64_t threads = device.compute_units;
  return rows >= kManyEach * threads || rows % threads == 0;
}

Layout layout(const Kernel& kernel, const Hints& hints) {
  Layout l;
  const auto outer_axes = static_cast<int64_t>(kernel.outer_axes());
  l.outer.assign(kernel.domain.begin(), kernel.domain.begin() + outer_axes);
  l.row.assign(kernel.domain.begin() + outer_axes, kernel.domain.end());
  std::vector<Strides*> outers, rows;
  l.views.resize(kernel.views.size());
  for (size_t v = 0; v < l.views.size(); v++) {
    const View& view = kernel.views[v];
    l.views[v].outer.assign(view.strides.begin(), view.strides.begin() + outer_axes);
    l.views[v].row.assign(view.strides.begin() + outer_axes, view.strides.end());
    l.views[v].offset = view.offset;
    outers.push_back(&l.views[v].outer);
    rows.push_back(&l.views[v].row);
  }
  const int64_t kept = kernel.outer_count();
  l.trusted = element_count(kernel.domain) > 0;
  collapse(l.outer, outers);
  collapse(l.row, rows);

  const int64_t length = kernel.row_length();
  l.chunk = kernel.chunk;
  if (kernel.chunk != 0 && !kernel.combines_partials) {
    l.pieces_axis = 0;
    l.outer.insert(l.outer.begin(), (length + l.chunk - 1) / l.chunk);
    for (Lanes& view : l.views) view.outer.insert(view.outer.begin(), 0);
    for (const Output& output : kernel.outputs)
      if (kernel.terms[output.term].kind == TermKind::Reduce) l.views[output.view].outer[0] = kept;
  }
  if (kernel.row_axes > 0) {
    const int64_t row = l.chunk != 0 ? l.chunk : length;
    const bool any_runs = !hints.is_gpu_like && takes_any_runs(kernel);
    const bool reads_tuples = hints.loads_interleaved && kCompilesTuples;
    const int64_t longest =
        any_runs && reads_tuples ? longest_of_any_runs(kernel) : kLongestLaneRow;
    const bool alone = l.chunk != 0 ? row <= kLongestLanePiece : row <= longest;
    l.traversal = !alone                     ? Traversal::GroupRows
                  : kernel.combines_partials ? Traversal::Pieces
                                             : Traversal::LaneRows;
    if (l.traversal == Traversal::Pieces && l.chunk > 0) {
      l.lanes = kGatheredRows;
      l.side_by_side = static_cast<uint32_t>((length - 1) / l.chunk + 1);
    }
    if (l.traversal == Traversal::GroupRows)
      l.lanes = row > kRun * kFewLanes ? kManyLanes : kFewLanes;
    l.one_run = row <= kRun * (l.traversal == Traversal::GroupRows ? l.lanes : 1) ||
                (l.traversal == Traversal::LaneRows && any_runs);
    const bool whole_pieces = l.chunk == 0 || length % l.chunk == 0;
    // What a guard keeps from being read is not read ahead.
    const bool guarded = is_guarded(kernel);
    if (hints.is_gpu_like && l.traversal == Traversal::GroupRows && !kernel.combines_partials &&
        !guarded)
      hold_row(kernel, row, whole_pieces, l);
    if (hints.is_gpu_like &&
        (l.traversal == Traversal::LaneRows || l.traversal == Traversal::Pieces))
      l.full = !l.one_run && whole_pieces && row % kRun == 0;
  }
  if (l.traversal == Traversal::Elements && hints.is_gpu_like && element_count(l.outer) > 0)
    find_tiles(kernel, hints, l);
  if (l.traversal == Traversal::Elements) find_blocks(kernel, l);
  if ((l.traversal == Traversal::Elements || l.traversal == Traversal::LaneRows) &&
      !hints.sequential_lanes)
    find_linear(kernel, l);
  if (l.traversal != Traversal::Tiles && l.traversal != Traversal::GroupRows &&
      l.traversal != Traversal::Blocks && !l.linear)
    choose_lane_axis(kernel, hints, l);
  if (l.traversal == Traversal::Elements && hints.is_gpu_like && !l.linear && l.outer.size() > 1 &&
      l.outer.back() > 0)
    l.lanes = lanes_along(l.outer.back());
  if (l.traversal == Traversal::LaneRows && hints.loads_interleaved && l.row.size() == 1)
    find_ahead(kernel, l);
  if (l.traversal == Traversal::LaneRows && hints.is_gpu_like && !l.linear)
    stage_rows(kernel, hints, l);
  if (!fits_32_bits(kernel, l)) l.index = DType::I64;
  return l;
}

void require_inside(const Kernel& kernel) {
  const auto require = [&](const View& view, const Node& node) {
    int64_t least = view.offset, most = view.offset;
    for (size_t k = 0; k < kernel.domain.size(); k++) {
      if (kernel.domain[k] == 0) return;
      const int64_t reach = view.strides[k] * (kernel.domain[k] - 1);
      (reach < 0 ? least : most) += reach;
    }
    if (least < 0 || most >= element_count(node.shape))
      throw core::error(core::Text::InternalError,
                        fmt::format("a kernel would touch the elements {} to {} of {}", least, most,
                                    element_count(node.shape)));
  };
  for (const Term& t : kernel.terms)
    if (t.kind == TermKind::Load) require(kernel.views[t.view], *kernel.loads[t.buffer]);
  for (const Output& output : kernel.outputs) require(kernel.views[output.view], *output.target);
}

}  // namespace hologram::graph
