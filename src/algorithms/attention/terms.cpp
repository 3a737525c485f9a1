#include "algorithms/attention/terms.hpp"

#include <limits>

#include "program/ir.hpp"

namespace hologram::graph::attention {

using program::Access;
using program::Op;

Terms::Terms(const char* name, std::initializer_list<uint32_t> workgroup, const Key& key)
    : key_(key), b_(name, workgroup, key.index) {
  const int64_t features = key.features, value_features = key.value_features;
  q_.length = k_.length = features;
  v_.length = g_.length = value_features;
  q_.unit = key.unit_query;
  k_.unit = key.unit_key;
  v_.unit = key.unit_value;
  g_.unit = key.unit_change;
}

void Terms::declare_strides(const char* name, Vectors& x) {
  const std::string of = name;
  x.start = scalar(of + "_start");
  x.batch = scalar(of + "_batch");
  x.head = scalar(of + "_head");
  x.row = scalar(of + "_row");
  x.feature = scalar(of + "_feature");
}

void Terms::declare() {
  const bool backward = key_.part != Part::Forward;
  q_.buffer = b_.buffer("query", key_.query, Access::In);
  k_.buffer = b_.buffer("key", key_.key, Access::In);
  v_.buffer = b_.buffer("value", key_.value, Access::In);
  if (backward) {
    g_.buffer = b_.buffer("change", key_.change, Access::In);
    logs_ = b_.buffer("logs", key_.wide, Access::In);
    deltas_ = b_.buffer("deltas", key_.wide, Access::In);
  }
  if (key_.mask != Mask::None) mask_ = b_.buffer("mask", key_.added, Access::In);
  if (key_.sinks && !backward) sinks_ = b_.buffer("sinks", key_.wide, Access::In);
  Buf position{};
  if (key_.placed) position = b_.buffer("position", key_.position, Access::In);
  result_ = key_.split ? b_.buffer("parts_of_result", key_.wide, Access::Out)
                       : b_.buffer("result", key_.result, Access::Out);
  if (key_.part == Part::KeyChange) second_ = b_.buffer("value_change", key_.result, Access::Out);
  else if (key_.with_logs && !key_.split) declare_kept();
  batches_ = scalar("batches");
  heads_ = scalar("heads");
  key_heads_ = scalar("key_heads");
  declare_places();
  states_ = scalar("states");
  scale_ = b_.scalar("scale", key_.wide);
  softcap_ = b_.scalar("softcap", key_.wide);
  declare_strides("q", q_);
  declare_strides("k", k_);
  declare_strides("v", v_);
  if (backward) declare_strides("g", g_);
  if (key_.mask != Mask::None) declare_mask_strides();
  if (key_.split) {
    parts_ = scalar("parts");
    part_length_ = scalar("part_length");
  }
  group_ = heads_ / key_heads_;
  if (key_.placed) first_ = first_ + b_.cast(b_.load(position, whole(0)), key_.index);
}

void Terms::declare_places() {
  queries_ = scalar("queries");
  keys_ = scalar("keys");
  first_ = scalar("first");
  before_ = scalar("before");
  after_ = scalar("after");
}

void Terms::declare_mask_strides() {
  mask_start_ = scalar("mask_start");
  for (int k = 0; k < 4; k++) mask_strides_[k] = scalar("mask_" + std::to_string(k));
}

void Terms::declare_kept() {
  second_ = b_.buffer("logs", key_.wide, Access::Out);
  if (keeps_wide()) wide_result_ = b_.buffer("wide_result", key_.wide, Access::Out);
}

Value Terms::never() { return real(-std::numeric_limits<double>::infinity()); }

Score Terms::score(Value dot, const Pair& p) {
  Score s;
  s.capped = dot * scale_;
  if (key_.softcap) s.capped = b_.emit(Op::Tanh, {s.capped / softcap_}) * softcap_;
  s.seen = masked(s.capped, p);
  return s;
}

Value Terms::masked(Value score, const Pair& p) {
  if (key_.mask != Mask::None) {
    const Value at = mask_start_ + p.batch * mask_strides_[0] + p.head * mask_strides_[1] +
                     p.query * mask_strides_[2] + p.key * mask_strides_[3];
    const Value mask = b_.load(mask_, at);
    score =
        key_.mask == Mask::Bool ? select(mask, score, never()) : score + b_.cast(mask, key_.wide);
  }
  if (key_.before) score = select(p.key >= p.query + first_ - before_, score, never());
  if (key_.after) score = select(p.key <= p.query + first_ + after_, score, never());
  return score;
}

Value Terms::slope(const Score& s) {
  const Value t = s.capped / softcap_;
  return real(1) - t * t;
}

Change Terms::change(Value dot, Value dot_of_change, const Pair& pair, Value log, Value delta) {
  const Score s = score(dot, pair);
  const Value p = exp(s.seen - log), ds = p * (dot_of_change - delta);
  return {p, key_.softcap ? ds * slope(s) : ds};
}

Row Terms::row(Value key_head, Value at) {
  const Value count = group_ * queries_, row = min(at, count - 1);
  return {at < count, key_head * group_ + row / queries_, row % queries_};
}

Range Terms::queries_of_rows(Value first, int64_t count) {
  const Value last = min(first + (count - 1), group_ * queries_ - 1);
  const Value one_head = first / queries_ == last / queries_;
  return {select(one_head, first % queries_, 0), select(one_head, last % queries_ + 1, queries_)};
}

Value Terms::log_of(Value row) {
  const Value log = b_.load(logs_, row);
  return select(log == never(), 0, log);
}

Terms::Epilogue Terms::epilogue(Value largest, Value total, Value head) {
  if (!key_.sinks) return {largest, total, {}};
  const Value sink = b_.load(sinks_, head), now = max(largest, sink), base = base_of(now);
  const Value factor = exp(largest - base);
  return {now, total * factor + exp(sink - base), factor};
}

void Terms::store_result(Value row, Value feature, Value sum, const Epilogue& e) {
  if (key_.sinks) sum = sum * e.factor;
  const Value at = row * int64_t{key_.value_features} + feature;
  const Value result = select(e.total == 0, 0, sum / e.total);
  b_.store(result_, at, b_.cast(result, compute_type(key_.result)));
  if (keeps_wide()) b_.store(wide_result_, at, result);
}

void Terms::store_log(Value row, const Epilogue& e) {
  b_.store(second_, row, select(e.total == 0, never(), e.largest + log(e.total)));
}

void Terms::store_part(Value row, Value feature, Value sum) {
  b_.store(result_, row * int64_t{key_.value_features} + feature, sum);
}

void Terms::store_part_state(Value row, Value largest, Value total) {
  b_.store(result_, states_ + row * 2, largest);
  b_.store(result_, states_ + row * 2 + 1, total);
}

Range Terms::within_part(const Range& keys, Value part) {
  const Value begin = part * part_length_;
  return {max(keys.begin, begin), min(keys.end, begin + part_length_)};
}

Range Terms::keys_of(const Range& queries) {
  Range keys{whole(0), keys_};
  if (key_.before) {
    const Value begin = min(max(queries.begin + first_ - before_, 0), keys_);
    keys.begin = begin / kBlock * kBlock;
  }
  if (key_.after) keys.end = min(max(queries.end + first_ + after_, 0), keys_);
  return keys;
}

Range Terms::queries_of(const Range& keys) {
  Range queries{whole(0), queries_};
  if (key_.after) {
    const Value begin = min(max(keys.begin - first_ - after_, 0), queries_);
    queries.begin = begin / kBlock * kBlock;
  }
  if (key_.before) queries.end = min(max(keys.end - first_ + before_, 0), queries_);
  return queries;
}

program::Program Terms::finish() {
  program::Module module = b_.finish_unverified();
  for (program::Inst& inst : module.body.insts)
    inst.trusted = inst.op == Op::Load || inst.op == Op::Store || inst.op == Op::SharedLoad ||
                   inst.op == Op::SharedStore;
  return program::Program::from(std::move(module));
}

}  // namespace hologram::graph::attention
