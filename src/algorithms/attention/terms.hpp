// What the programs of attention have in common: their parameters, and what a score is.
#pragma once

#include <string>
#include <vector>

#include "algorithms/attention/key.hpp"
#include "hologram/builder.hpp"

namespace hologram::graph::attention {

using program::Buf;
using program::Builder;
using program::Value;
using program::Var;

// Vectors of features in memory: [batch, heads, rows, features] by strides.
struct Vectors {
  Buf buffer{};
  Value start, batch, head, row, feature;
  bool unit = false;  // features lie side by side
  int64_t length = 0;
  Value first(Value b, Value h, Value r) const { return start + b * batch + h * head + r * row; }
  Value at(Value first, Value d) const { return unit ? first + d : first + d * feature; }
  Value at(Value first, int64_t d) const { return unit ? first + d : first + feature * d; }
};

// A query's place, and that of a key.
struct Pair {
  Value batch, head, query, key;
};
struct Score {
  Value capped;  // scaled and capped
  Value seen;    // the same, masked
};
struct Range {
  Value begin, end;
};
// The query of a lane, and those of all lanes of its workgroup.
struct Row {
  Value inside, head, query;
};
// The share of a pair, and how the loss changes with its product.
struct Change {
  Value share, of_dot;
};

class Terms {
 public:
  Terms(const char* name, std::initializer_list<uint32_t> workgroup, const Key& key);

 protected:
  // Buffers and numbers, in the order in which arguments are given (attention.cpp).
  void declare();
  void declare_strides(const char* name, Vectors& x);
  void declare_places();  // lengths of queries and keys, and who sees whom
  void declare_mask_strides();
  // What gradients need of a result.
  void declare_kept();

  Score score(Value dot, const Pair& pair);
  Value masked(Value score, const Pair& pair);
  // d score / d dot, without the scale.
  Value slope(const Score& s);
  Change change(Value dot, Value dot_of_change, const Pair& pair, Value log, Value delta);
  // Queries of all heads that share a key head stand one behind the other: that of number `at`, or
  // the last one.
  Row row(Value key_head, Value at);
  Range queries_of_rows(Value first, int64_t count);
  // Of a row: log(sum(exp(score))), or 0 where nothing is seen and all shares are 0.
  Value log_of(Value row);
  // What the largest score and the sum of a row become when no key is left, and what has been
  // summed is to be multiplied by.
  struct Epilogue {
    Value largest, total, factor;
  };
  Epilogue epilogue(Value largest, Value total, Value head);
  void store_result(Value row, Value feature, Value sum, const Epilogue& e);
  void store_log(Value row, const Epilogue& e);
  // Of a part of the keys, what it has summed and beside which largest score.
  void store_part(Value row, Value feature, Value sum);
  void store_part_state(Value row, Value largest, Value total);
  // That lie in the part.
  Range within_part(const Range& keys, Value part);
  // What exponentials are taken beside: 0 where nothing has been seen yet.
  Value base_of(Value largest) { return select(largest == never(), 0, largest); }
  // Of keys that some query of a range may see, from the beginning of a block on; and the reverse.
  Range keys_of(const Range& queries);
  Range queries_of(const Range& keys);

  Value whole(int64_t n) { return b_.constant(key_.index, n); }
  Value real(double x) { return b_.constant(key_.wide, x); }
  Value exp(Value x) { return b_.emit(program::Op::Exp, {x}); }
  Value log(Value x) { return b_.emit(program::Op::Log, {x}); }
  Value scalar(const std::string& name) { return b_.scalar(name, key_.index); }
  Value never();  // minus infinity
  // A number of the row, of [batch, heads, queries].
  Value row_number(Value batch, Value head, Value query) {
    return (batch * heads_ + head) * queries_ + query;
  }
  // No access is tested: a work looks at the shapes before.
  program::Program finish();

  const Key key_;
  Builder b_;
  Vectors q_, k_, v_, g_;
  Buf mask_{}, sinks_{}, logs_{}, deltas_{}, result_{};
  Buf second_{};  // of results their logs, of the change of keys that of values
  Buf wide_result_{};
  // Whether the result is stored once more before it is rounded, for the gradients.
  bool keeps_wide() const { return key_.with_logs && key_.wide_result; }
  Value parts_, part_length_;
  Value heads_, key_heads_, group_, queries_, keys_, first_, before_, after_, batches_;
  Value scale_, softcap_;
  Value mask_start_, mask_strides_[4];
  Value states_;  // where the states of parts begin
};

}  // namespace hologram::graph::attention
