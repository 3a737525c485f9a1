// Attention by products of matrices: scores are in memory, a piece of them at a time.
#include <algorithm>

#include "hologram/nn/activations.hpp"
#include "nn/attention_operands.hpp"

namespace hologram::nn {

namespace {

// Scores at a time: 4 MiB of f32, which a cache that cores share holds.
constexpr int64_t kScores = int64_t{1} << 20;
// Shares that stay for the gradients, which are computed again where there are more: 32 MiB of f32.
constexpr int64_t kKeptShares = int64_t{1} << 23;
// Queries at a time, at least, and into how many parts queries are cut that do not see all keys.
constexpr int64_t kFewestRows = 128, kParts = 4;
// Of what is not seen.
constexpr double kNever = -std::numeric_limits<double>::infinity();

}  // namespace

bool Attention::has_fast_products() const {
  graph::Context& context = tensor::context_of(query_);
  return context.device().backend == BackendType::Cpu && !context.has_programs_alone() &&
         !context.config().reproducible;
}

Tensor Attention::by_key_heads(const Tensor& x) const {
  if (heads_ == key_heads_) return x;
  return x.reshape({batch_, key_heads_, of_key_head() * x.size(2), x.size(3)});
}

// --- scores

Attention::Scores Attention::scores(const Range& rows, const Range& keys) const {
  const Tensor query = by_key_heads(query_.slice(2, {rows.begin, rows.end})).to(wide_);
  const Tensor key = key_.slice(2, {keys.begin, keys.end}).to(wide_);
  Scores s;
  Tensor scores =
      ops::matmul(query, key.transpose()).reshape({batch_, heads_, rows.size(), keys.size()}) *
      scale_;
  if (options_.softcap > 0) {
    const Tensor capped = tanh(scores / options_.softcap);
    s.slopes = 1 - capped * capped;
    scores = capped * options_.softcap;
  }
  s.shares = softmax_of(masked(scores, rows, keys));
  return s;
}

Tensor Attention::weights(const Range& rows, const Range& keys) const {
  return dropout(scores(rows, keys).shares, options_.dropout_p);
}

Tensor Attention::weights() const { return as_given(weights({0, queries()}, all_keys())); }

// What they make of the values: [batch, heads, queries, features].
Tensor Attention::sums(const Range& rows, const Range& keys) const {
  if (keys.size() == 0 || rows.size() == 0) return nothing(rows);
  const Tensor value = value_.slice(2, {keys.begin, keys.end}).to(wide_);
  return ops::matmul(by_key_heads(weights(rows, keys)), value)
      .reshape({batch_, heads_, rows.size(), value.size(-1)});
}

Tensor Attention::nothing(const Range& rows) const {
  return ops::zeros({batch_, heads_, rows.size(), value_.size(-1)}, wide_, value_.executor());
}

Tensor Attention::masked(Tensor scores, const Range& rows, const Range& keys) const {
  if (mask_.defined()) {
    const auto part = [](const Tensor& t, int axis, const Range& range) {
      return t.size(axis) == 1 ? t : t.slice(axis, {range.begin, range.end});
    };
    const Tensor mask = part(part(mask_, 2, rows), 3, keys);
    scores =
        mask.dtype() == DType::Bool ? ops::where(mask, scores, kNever) : scores + mask.to(wide_);
  }
  const auto [before, after] = reach();
  if (!before && !after) return scores;
  const auto numbers = [&](int64_t begin, int64_t count) {
    const bool small = std::abs(begin) < INT32_MAX / 2 && count < INT32_MAX / 2;
    return ops::arange(begin, begin + count, 1, small ? DType::I32 : DType::I64, scores.executor());
  };
  // The number of a key, and of each query the first and the last key that it sees.
  Tensor key = numbers(keys.begin, keys.size());
  if (position_.defined()) key = key - position_;
  const int64_t first = rows.begin + options_.query_offset;
  Tensor seen;
  if (before) seen = key >= numbers(first - *before, rows.size()).unsqueeze(1);
  if (after) {
    const Tensor early = key <= numbers(first + *after, rows.size()).unsqueeze(1);
    seen = seen.defined() ? seen & early : early;
  }
  return ops::where(seen, scores, kNever);
}

bool Attention::may_see_nothing() const {
  return mask_.defined() || options_.window || position_.defined() ||
         (options_.is_causal && options_.query_offset < 0);
}

// Of finite numbers only, so that gradients are finite, too.
Tensor Attention::softmax_of(Tensor scores) const {
  Tensor sees;
  if (may_see_nothing()) {
    sees = ops::max(scores, -1, true) != kNever;
    scores = ops::where(sees, scores, 0);
  }
  Tensor shares = softmax(scores);
  if (sinks_.defined()) {
    // The sink's share is what is missing from 1.
    const Tensor sink = sinks_.reshape({heads_, 1, 1});
    shares = shares * sigmoid(ops::logsumexp(scores, -1, true) - sink);
  }
  return sees.defined() ? ops::where(sees, shares, 0) : shares;
}

// --- pieces

// Some heads, so that their scores are not too many; if those of one are, some queries, too, and
// of queries that do not see all keys fewer, for which fewer keys are looked at.
template <class Each>
void Attention::each_piece(const Each& each) const {
  const int64_t of_head = std::max<int64_t>(1, of_key_head() * queries() * keys());
  const int64_t heads = std::clamp<int64_t>(kScores / of_head, 1, std::max<int64_t>(1, key_heads_));
  const int64_t batches =
      heads < key_heads_ ? 1 : std::clamp<int64_t>(kScores / (of_head * key_heads_), 1, batch_);
  for (int64_t b = 0; b < batch_; b += batches)
    for (int64_t h = 0; h < key_heads_; h += heads)
      each(Piece{{b, std::min(b + batches, batch_)}, {h, std::min(h + heads, key_heads_)}});
}

int64_t Attention::rows_at_a_time() const {
  const int64_t of_row = std::max<int64_t>(1, batch_ * heads_ * keys());
  int64_t rows = std::max(kFewestRows, kScores / of_row);
  const auto [before, after] = reach();
  if (before || after) rows = std::clamp(queries() / kParts, kFewestRows, rows);
  return rows;
}

template <class Each>
void Attention::each_rows(const Each& each) const {
  const int64_t step = rows_at_a_time();
  for (int64_t begin = 0; begin == 0 || begin < queries(); begin += step) {
    const Range rows = {begin, std::min(begin + step, queries())};
    each(rows, keys_of(rows));
  }
}

Attention Attention::part(const Piece& piece) const {
  Attention a = *this;
  const auto of = [&](const Tensor& x, const Range& heads) {
    const auto cut = [](const Tensor& t, int axis, const Range& range) {
      return t.size(axis) == 1 || range.size() == t.size(axis)
                 ? t
                 : t.slice(axis, {range.begin, range.end});
    };
    return cut(cut(x, 0, piece.batches), 1, heads);
  };
  const Range heads = {piece.key_heads.begin * of_key_head(), piece.key_heads.end * of_key_head()};
  a.query_ = of(query_, heads);
  a.key_ = of(key_, piece.key_heads);
  a.value_ = of(value_, piece.key_heads);
  if (mask_.defined()) a.mask_ = of(mask_, heads);
  if (sinks_.defined()) a.sinks_ = sinks_.slice(0, {heads.begin, heads.end});
  a.batch_ = piece.batches.size();
  a.heads_ = heads.size();
  a.key_heads_ = piece.key_heads.size();
  return a;
}

Tensor Attention::joined(const std::vector<Tensor>& parts) const {
  std::vector<Tensor> batches, heads;
  size_t next = 0;
  each_piece([&](const Piece& piece) {
    heads.push_back(parts[next++]);
    if (piece.key_heads.end < key_heads_) return;
    batches.push_back(heads.size() == 1 ? heads[0] : ops::concat(heads, 1));
    heads.clear();
  });
  return batches.size() == 1 ? batches[0] : ops::concat(batches, 0);
}

// --- the result

Tensor Attention::composed() const { return as_given(products()); }

Tensor Attention::products() const {
  if (count_of(results()) == 0 || keys() == 0) return nothing({0, queries()});
  std::vector<Tensor> pieces;
  each_piece([&](const Piece& piece) {
    const Attention a = part(piece);
    std::vector<Tensor> parts;
    a.each_rows([&](const Range& rows, const Range& keys) { parts.push_back(a.sums(rows, keys)); });
    pieces.push_back(parts.size() == 1 ? parts[0] : ops::concat(parts, 2));
  });
  return joined(pieces);
}

Tensor Attention::by_products() const {
  if (!tensor::is_recording()) return as_given(products());
  if (batch_ * heads_ * queries() * keys() <= kKeptShares) return composed();
  const Tensors operands = this->operands();
  Tensor wide_result;
  {
    const tensor::Pause pause;
    wide_result = products();
  }
  return as_given(recorded(
      operands, [&] { return wide_result.to(to_); },
      [wide_result](const Attention& self, const Tensor& change, const tensor::Wanted&) {
        return self.product_changes(wide_result, change);
      }));
}

// --- its gradients, whose shares are computed once more, piece by piece

Attention::Tensors Attention::product_changes(const Tensor& result, const Tensor& change) const {
  const Tensor wide_change = change.to(wide_), deltas = ops::sum(wide_change * result, -1, true);
  std::vector<Tensor> of_query, of_key, of_value, of_sinks;
  each_piece([&](const Piece& piece) {
    const Attention a = part(piece);
    Attention cut = *this;  // what is as large as the result, cut like a query
    cut.query_ = wide_change;
    const Tensor changes = cut.part(piece).query_;
    cut.query_ = deltas;
    const Tensor delta = cut.part(piece).query_;
    const int64_t keys = a.keys(), features = a.key_.size(-1), values = a.value_.size(-1);
    std::vector<Tensor> queries;
    Tensor key, value, sink;
    a.each_rows([&](const Range& rows, const Range& seen) {
      const Shape of_rows = {a.batch_, a.heads_, rows.size(), features};
      if (seen.size() == 0) return queries.push_back(ops::zeros(of_rows, wide_, query_.executor()));
      const Scores s = a.scores(rows, seen);
      const Tensor q = a.by_key_heads(a.query_.slice(2, {rows.begin, rows.end})).to(wide_);
      const Tensor k = a.key_.slice(2, {seen.begin, seen.end}).to(wide_);
      const Tensor v = a.value_.slice(2, {seen.begin, seen.end}).to(wide_);
      const Tensor g = a.by_key_heads(changes.slice(2, {rows.begin, rows.end}));
      const Tensor of_shares =
          ops::matmul(g, v.transpose()).reshape({a.batch_, a.heads_, rows.size(), seen.size()});
      const Tensor of_row = delta.slice(2, {rows.begin, rows.end});
      if (sinks_.defined()) {  // its share is what is missing from 1
        const Tensor more = ops::sum((ops::sum(s.shares, -1, true) - 1) * of_row, {2, 3}, true);
        sink = sink.defined() ? sink + more : more;
      }
      Tensor of_scores = s.shares * (of_shares - of_row) * scale_;
      if (s.slopes.defined()) of_scores = of_scores * s.slopes;
      const Tensor ds = a.by_key_heads(of_scores), p = a.by_key_heads(s.shares);
      // One node, so that the scores of these rows go before those of the next ones come.
      const int64_t count_q = count_of(of_rows), count_k = k.size(), count_v = v.size();
      const Tensor all = ops::concat(
          {ops::matmul(ds, k).reshape({count_q}), ops::matmul(ds.transpose(), q).reshape({count_k}),
           ops::matmul(p.transpose(), g).reshape({count_v})},
          0);
      queries.push_back(all.slice(0, {0, count_q}).reshape(of_rows));
      const auto whole = [&](int64_t begin, int64_t n, int64_t length) {
        const auto zeros = [&](int64_t rows) {
          return ops::zeros({a.batch_, a.key_heads_, rows, length}, wide_, query_.executor());
        };
        const Tensor x =
            all.slice(0, {begin, begin + n}).reshape({a.batch_, a.key_heads_, seen.size(), length});
        return seen.size() == keys ? x
                                   : ops::concat({zeros(seen.begin), x, zeros(keys - seen.end)}, 2);
      };
      const Tensor more_k = whole(count_q, count_k, features),
                   more_v = whole(count_q + count_k, count_v, values);
      key = key.defined() ? key + more_k : more_k;
      value = value.defined() ? value + more_v : more_v;
    });
    const auto or_zeros = [&](const Tensor& x, const Tensor& like) {
      return x.defined() ? x : ops::zeros(like.shape(), wide_, query_.executor());
    };
    of_query.push_back(queries.size() == 1 ? queries[0] : ops::concat(queries, 2));
    of_key.push_back(or_zeros(key, a.key_));
    of_value.push_back(or_zeros(value, a.value_));
    if (sinks_.defined())
      of_sinks.push_back(
          sink.defined() ? sink : ops::zeros({a.batch_, a.heads_, 1, 1}, wide_, query_.executor()));
  });
  Tensors all = {joined(of_query).to(to_), joined(of_key).to(to_), joined(of_value).to(to_)};
  if (mask_.defined()) all.emplace_back();
  if (sinks_.defined()) all.push_back(ops::sum(joined(of_sinks), {0, 2, 3}));
  if (position_.defined()) all.emplace_back();
  return all;
}

}  // namespace hologram::nn
