// A fused kernel: what is computed for each element of a domain, and where it goes.
//
// The domain has outer axes and, where something is reduced, the axes of a row. A term is one
// value: per element, or per row if nothing it is made of differs within the row.
#pragma once

#include <string>
#include <vector>

#include "graph/node.hpp"

namespace hologram::graph {

enum class TermKind : uint8_t { Load, Apply, Reduce };

struct Term {
  TermKind kind = TermKind::Load;
  bool per_row = false;
  uint8_t level = 0;  // how many reductions must be done before it
  DType dtype = DType::None;
  const ElementwiseOp* op = nullptr;
  const Node* node = nullptr;  // of an Apply: which it is
  program::Combine combine = program::Combine::Add;
  uint32_t view = 0;               // of a Load, or of an Apply that is `indexed`
  uint32_t buffer = 0;             // of a Load
  uint32_t first_attribute = 0;    // of an Apply
  uint32_t attributes = 0;         // how many it has
  std::vector<uint32_t> operands;  // of an Apply or Reduce; a second one of a Reduce is its guard

  bool is_guarded() const { return kind == TermKind::Reduce && operands.size() > 1; }
};

struct Output {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t term;
  uint32_t view;  // of the target
  Node* target;
  uint32_t in_place = kNone;  // the load whose memory it overwrites, each element after it is read
};

// Whose attribute an argument of the kernel is.
struct Number {
  const Node* node;
  uint32_t attribute;
};

struct Kernel {
  Shape domain;
  size_t row_axes = 0;             // the last so many axes are the row
  int64_t chunk = 0;               // not 0: rows are reduced by pieces of so many elements
  bool combines_partials = false;  // a group that has all pieces of a row puts them together

  std::vector<Node*> members;  // nodes that are computed here; the first one names the kernel
  std::vector<Node*> loads;    // one a buffer that is read
  std::vector<View> views;     // over the domain
  std::vector<Term> terms;     // operands come before those who use them
  std::vector<Output> outputs;
  std::vector<Attribute> attributes;
  std::vector<Number> numbers;  // where each of the attributes is from

  size_t outer_axes() const { return domain.size() - row_axes; }
  int64_t outer_count() const;
  int64_t row_length() const;  // of a whole row; 1 without row axes
};

// Bytes that must move at the least: every element of what is read and written once.
struct Traffic {
  double read = 0, written = 0;
};
Traffic traffic(const Kernel& kernel);

// A row as long as this or shorter is walked by one lane, a longer one by a group.
inline constexpr int64_t kLongestLaneRow = 64;
// Longer rows are cut into pieces, by the operation that makes the node: those of neighbours into
// pieces for groups, others into pieces for a lane each, so many that most are done in two steps.
inline constexpr int64_t kLongestGroupRow = 16384;
inline constexpr int64_t kLongestLanePiece = 512;
// So many pieces may be gathered by a group, and whoever walks their sums does it in one run.
inline constexpr int64_t kMostGathered = hal::RowReduceDesc::kMostPieces;
// Where many rows stand side by side pieces are longer, as long as there are lanes for a large GPU.
inline int64_t lane_piece(int64_t length, int64_t rows) {
  constexpr int64_t kManyLanes = 512 * 256;
  if (length <= 2 * kLongestLaneRow) return kLongestLaneRow;
  int64_t piece = length <= 8192 ? 128 : 256;
  while (piece < kLongestLanePiece && rows * (length / piece) >= 2 * kManyLanes) piece *= 2;
  return piece;
}

}  // namespace hologram::graph
