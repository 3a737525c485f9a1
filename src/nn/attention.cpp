#include "hologram/nn/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "hologram/nn/activations.hpp"
#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// Scores that are in memory at a time.
constexpr int64_t kScores = int64_t{1} << 25;
// Of what is not seen.
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

Tensor with_lead(const Tensor& x, Shape lead) {
  lead.insert(lead.end(), x.shape().end() - 2, x.shape().end());
  return x.broadcast_to(std::move(lead));
}

Shape lead_of(const Tensor& x) { return {x.shape().begin(), x.shape().end() - 2}; }

class Attention {
 public:
  Attention(const char* name, const Tensor& query, const Tensor& key, const Tensor* value,
            const AttentionOptions& options)
      : name_(name), options_(options) {
    for (const Tensor* x : {&query, &key, value})
      if (x != nullptr && x->rank() < 2)
        throw core::error(Text::NnRank, name, to_string(x->shape()), "…, heads, length, features");
    if (query.size(-1) != key.size(-1))
      throw core::error(Text::NnShape, name, "a key", to_string(key.shape()),
                        "[…, keys, " + std::to_string(query.size(-1)) + "]");
    if (value != nullptr && value->size(-2) != key.size(-2))
      throw core::error(Text::NnShape, name, "a value", to_string(value->shape()),
                        "[…, " + std::to_string(key.size(-2)) + ", value features]");
    to = promote(query.dtype(), key.dtype());
    if (value != nullptr) to = promote(to, value->dtype());
    to = float_dtype(to);
    wide = compute_type(to);
    arrange(query, key, value);
    scale_ = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
    need(options.softcap >= 0, name, "softcap", options.softcap, "0 or more");
    const AttentionWindow window = options.window.value_or(AttentionWindow());
    for (const int64_t place :
         {options.query_offset, window.before.value_or(0), window.after.value_or(0)})
      need(std::abs(place) <= int64_t{1} << 40, name, "offset, or an end of the window,",
           static_cast<double>(place), "a number of keys");
    if (options.mask) check_mask();
    if (options.sinks) need_shape(name_, "sinks", *options.sinks, {heads_});
  }

  int64_t queries() const { return query_.size(-2); }
  // Queries at a time.
  int64_t at_once() const {
    const int64_t each = std::max<int64_t>(1, batch_ * heads_ * key_.size(-2));
    return std::max<int64_t>(1, kScores / each);
  }

  // The weights [batch, heads, queries, keys] of some queries for the keys that they may see.
  Tensor weights(const Range& rows, const Range& keys) const {
    const Tensor query = by_key_heads(query_.slice(2, {rows.begin, rows.end}));
    const Tensor key = key_.slice(2, {keys.begin, keys.end});
    Tensor scores =
        ops::matmul(query, key.transpose()).reshape({batch_, heads_, rows.size(), keys.size()}) *
        scale_;
    if (options_.softcap > 0) scores = tanh(scores / options_.softcap) * options_.softcap;
    scores = masked(scores, rows, keys);
    return dropout(softmax_of(scores), options_.dropout_p);
  }
  // What they make of the values: [batch, heads, queries, features].
  Tensor sums(const Range& rows, const Range& keys) const {
    const Tensor value = value_.slice(2, {keys.begin, keys.end});
    return ops::matmul(by_key_heads(weights(rows, keys)), value)
        .reshape({batch_, heads_, rows.size(), value.size(-1)});
  }
  Range all_keys() const { return {0, key_.size(-2)}; }
  // The keys that some of the queries may see.
  Range keys_of(const Range& rows) const {
    const auto [before, after] = reach();
    const int64_t keys = key_.size(-2), first = rows.begin + options_.query_offset,
                  last = rows.end - 1 + options_.query_offset;
    Range seen = all_keys();
    if (before) seen.begin = std::clamp<int64_t>(first - *before, 0, keys);
    if (after) seen.end = std::clamp<int64_t>(last + *after + 1, seen.begin, keys);
    return seen;
  }
  // [batch, heads, queries, x] with the axes before the heads that the operands have.
  Tensor as_given(const Tensor& x) const {
    Shape shape = lead_;
    shape.push_back(x.size(2));
    shape.push_back(x.size(3));
    return x.reshape(std::move(shape)).to(to);
  }
  Tensor nothing(const Range& rows) const {
    return ops::zeros({batch_, heads_, rows.size(), value_.size(-1)}, wide, value_.executor());
  }

  DType to, wide;

 private:
  // Batch, heads, length, features; the batch is what stands before the heads.
  void arrange(const Tensor& query, const Tensor& key, const Tensor* value) {
    const auto with_heads = [](const Tensor& x) { return x.rank() == 2 ? x.unsqueeze(0) : x; };
    Tensor q = with_heads(query), k = with_heads(key), v = value ? with_heads(*value) : k;
    heads_ = q.size(-3);
    key_heads_ = k.size(-3);
    const auto batch_of = [](const Tensor& x) {
      return Shape(x.shape().begin(), x.shape().end() - 3);
    };
    const auto together = [&](const Shape& a, const Shape& b) {
      return tensor::broadcast_shape(name_, a, b);
    };
    if (options_.enable_gqa) {
      if (v.size(-3) != key_heads_ || key_heads_ == 0 || heads_ % key_heads_ != 0)
        throw core::error(Text::NnHeads, name_, heads_, key_heads_);
    } else {
      if (heads_ != key_heads_ && heads_ != 1 && key_heads_ != 1)
        throw core::error(Text::NnHeads, name_, heads_, key_heads_);
      heads_ = key_heads_ = together(together({heads_}, {key_heads_}), {v.size(-3)}).front();
    }
    const Shape batch = together(together(batch_of(q), batch_of(k)), batch_of(v));
    batch_ = count_of(batch);
    const auto placed = [&](const Tensor& x, int64_t heads) {
      Shape lead = batch;
      lead.push_back(heads);
      return with_lead(x, std::move(lead))
          .reshape({batch_, heads, x.size(-2), x.size(-1)})
          .to(wide);
    };
    query_ = placed(q, heads_);
    key_ = placed(k, key_heads_);
    if (value != nullptr) value_ = placed(v, key_heads_);
    lead_ = batch;
    if (std::max({query.rank(), key.rank(), value ? value->rank() : 0}) > 2)
      lead_.push_back(heads_);
    whole_ = batch;
    whole_.push_back(heads_);
  }

  // [batch, key heads, queries of all their heads, x]: no key is repeated.
  Tensor by_key_heads(const Tensor& x) const {
    if (heads_ == key_heads_) return x;
    return x.reshape({batch_, key_heads_, heads_ / key_heads_ * x.size(2), x.size(3)});
  }

  void check_mask() {
    const Tensor& mask = *options_.mask;
    if (mask.dtype() != DType::Bool && !is_float(mask.dtype()))
      throw core::error(Text::OperandDType, name_, hologram::name_of(mask.dtype()),
                        "a mask of bool or floats");
    mask_ = mask;
    while (mask_.rank() < 2) mask_ = mask_.unsqueeze(0);
    Shape shape = whole_;
    shape.push_back(query_.size(-2));
    shape.push_back(key_.size(-2));
    mask_.broadcast_to(shape);  // or an error
    // Axes that it has in common with all others are repeated only where they are used.
    Shape lead = lead_of(mask_);
    const bool same = std::all_of(lead.begin(), lead.end(), [](int64_t n) { return n == 1; });
    if (same) mask_ = mask_.reshape({1, 1, mask_.size(-2), mask_.size(-1)});
    else mask_ = with_lead(mask_, whole_).reshape({batch_, heads_, mask_.size(-2), mask_.size(-1)});
  }

  AttentionWindow reach() const {
    AttentionWindow window = options_.window.value_or(AttentionWindow());
    if (options_.is_causal) window.after = std::min<int64_t>(window.after.value_or(0), 0);
    return window;
  }

  Tensor masked(Tensor scores, const Range& rows, const Range& keys) const {
    if (mask_.defined()) {
      const auto part = [](const Tensor& t, int axis, const Range& range) {
        return t.size(axis) == 1 ? t : t.slice(axis, {range.begin, range.end});
      };
      const Tensor mask = part(part(mask_, 2, rows), 3, keys);
      scores =
          mask.dtype() == DType::Bool ? ops::where(mask, scores, kNever) : scores + mask.to(wide);
    }
    const auto [before, after] = reach();
    if (!before && !after) return scores;
    const auto numbers = [&](int64_t begin, int64_t count) {
      const bool small = std::abs(begin) < INT32_MAX / 2 && count < INT32_MAX / 2;
      return ops::arange(begin, begin + count, 1, small ? DType::I32 : DType::I64,
                         scores.executor());
    };
    // The number of a key, and of each query the first and the last key that it sees.
    const Tensor key = numbers(keys.begin, keys.size());
    const int64_t first = rows.begin + options_.query_offset;
    Tensor seen;
    if (before) seen = key >= numbers(first - *before, rows.size()).unsqueeze(1);
    if (after) {
      const Tensor early = key <= numbers(first + *after, rows.size()).unsqueeze(1);
      seen = seen.defined() ? seen & early : early;
    }
    return ops::where(seen, scores, kNever);
  }

  bool may_see_nothing() const {
    return mask_.defined() || options_.window || (options_.is_causal && options_.query_offset < 0);
  }

  // Of finite numbers only, so that gradients are finite, too.
  Tensor softmax_of(Tensor scores) const {
    Tensor sees;
    if (may_see_nothing()) {
      sees = ops::max(scores, -1, true) != kNever;
      scores = ops::where(sees, scores, 0);
    }
    Tensor shares = softmax(scores);
    if (options_.sinks) {
      // The sink's share is what is missing from 1.
      const Tensor sink = options_.sinks->to(wide).reshape({heads_, 1, 1});
      shares = shares * sigmoid(ops::logsumexp(scores, -1, true) - sink);
    }
    return sees.defined() ? ops::where(sees, shares, 0) : shares;
  }

  const char* name_;
  const AttentionOptions& options_;
  Tensor query_, key_, value_, mask_;
  int64_t batch_ = 1, heads_ = 1, key_heads_ = 1;
  Shape lead_, whole_;  // of the result; of batch and heads
  double scale_ = 1;
};

}  // namespace

// The one place that a kernel with the scores in a group's memory would take.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const Attention attention("scaled_dot_product_attention", query, key, &value, options);
  std::vector<Tensor> parts;
  const int64_t queries = attention.queries(), step = attention.at_once();
  for (int64_t begin = 0; begin < queries || parts.empty(); begin += step) {
    const Range rows = {begin, std::min(begin + step, queries)}, keys = attention.keys_of(rows);
    parts.push_back(keys.size() == 0 || rows.size() == 0 ? attention.nothing(rows)
                                                         : attention.sums(rows, keys));
  }
  return attention.as_given(parts.size() == 1 ? parts[0] : ops::concat(parts, 2));
}

Tensor attention_weights(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  const Attention attention("attention_weights", query, key, nullptr, options);
  return attention.as_given(attention.weights({0, attention.queries()}, attention.all_keys()));
}

}  // namespace hologram::nn
