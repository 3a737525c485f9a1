// Attention as nodes: softmax(scale * query @ key.T + mask) @ value, whose scores are never in
// memory, and its gradients.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "graph/attention/key.hpp"
#include "graph/work.hpp"

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

  // What a node has for its result. The dtype is that of the operands, the wide one f32 or f64.
  enum class Wanted : uint8_t {
    Result,         // [batch, heads, queries, value features]; any float dtype
    ResultAndLogs,  // wide, the result, then log(sum(exp(score))) of [batch, heads, queries]
    QueryChange,    // wide, [batch, heads, queries, features]
    KeyChange       // wide, [batch, key heads, keys, features], then the values'
  };
};

// Inputs: query, key, value; then, of gradients: the change of the result, logs and sum(change *
// result) of [batch, heads, queries], which are wide; then the mask; of results, the sinks; and at
// last the place.
std::unique_ptr<const Work> attention_work(const Attention& attention, Attention::Wanted wanted);

}  // namespace hologram::graph::attention
