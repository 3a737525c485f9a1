// Attention as nodes: softmax(scale * query @ key.T + mask) @ value, whose scores are never in
// memory, and its gradients.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "algorithms/attention/key.hpp"
#include "graph/opaque_op.hpp"

namespace hologram::graph::attention {

// Of operands viewed as [batch, heads, length, features]; key and value have `key_heads`, each of
// which serves heads / key_heads heads of queries in turn.
struct Attention {
  double scale = 1, softcap = 0;
  // Key k is seen by query q if q + first - before <= k <= q + first + after.
  int64_t first = 0;
  std::optional<int64_t> before = {}, after = {};
  bool has_mask = false;   // bool, or numbers to be added: [batch, heads, queries, keys]
  bool has_sinks = false;  // [heads], of the wide dtype
  bool has_place = false;  // i32 or i64, [1]: is added to `first` when the node is computed
  bool of_queries = true, of_keys = true;  // Changes: which of them somebody wants
  // ResultAndLogs of f16 and bf16: whether the wide result is kept, too. A library does not write
  // it.
  bool keeps_wide = false;

  // What a node has for its result, of the operands' dtype. The wide one is f32 or f64.
  enum class Wanted : uint8_t {
    Result,         // [batch, heads, queries, value features]
    ResultAndLogs,  // sections: the result; log(sum(exp(score))) of [batch, heads, queries]; and if
                    // it keeps that, the result before it was rounded. These two are wide
    Changes         // sections: how queries, keys and values change
  };
};

// Several results in the memory of one node, each from a multiple of kSectionBytes on. In elements
// of the node's dtype.
inline constexpr int64_t kSectionBytes = 256;
struct Sections {
  Sections(DType dtype, std::initializer_list<int64_t> sizes);
  std::array<int64_t, 3> begins = {};
  int64_t size = 0;
};
// Of a result of so many elements in so many rows, and their logs; the third is the result as wide
// as it is kept.
Sections with_logs(DType dtype, int64_t elements, int64_t rows, bool keeps_wide);

// Inputs: query, key, value; then, of changes: the change of the result, and the node of the result
// and logs; then the mask; of results, the sinks; and at last the place.
std::unique_ptr<const OpaqueOp> attention_op(const Attention& attention, Attention::Wanted wanted);

// Whether the device's library computes it of queries, keys, values and a mask that lie so.
bool has_library(Context& context, const Attention& attention, std::span<const View> operands,
                 DType dtype, DType mask);

// A section of the input, which begins at this element of its, as a tensor of its own dtype.
std::unique_ptr<const OpaqueOp> section_op(int64_t begin);

}  // namespace hologram::graph::attention
