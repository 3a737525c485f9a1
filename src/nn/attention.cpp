#include "hologram/nn/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "hologram/gradient.hpp"
#include "nn/attention_operands.hpp"

namespace hologram::nn {

namespace {

Tensor with_lead(const Tensor& x, Shape lead) {
  lead.insert(lead.end(), x.shape().end() - 2, x.shape().end());
  return x.broadcast_to(std::move(lead));
}

Shape lead_of(const Tensor& x) { return {x.shape().begin(), x.shape().end() - 2}; }

}  // namespace

Attention::Attention(const char* name, const Tensor& query, const Tensor& key, const Tensor* value,
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
  to_ = promote(query.dtype(), key.dtype());
  if (value != nullptr) to_ = promote(to_, value->dtype());
  to_ = float_dtype(to_);
  wide_ = compute_type(to_);
  arrange(query, key, value);
  scale_ = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  need(options.softcap >= 0, name, "softcap", options.softcap, "0 or more");
  const AttentionWindow window = options.window.value_or(AttentionWindow());
  for (const int64_t place :
       {options.query_offset, window.before.value_or(0), window.after.value_or(0)})
    need(std::abs(place) <= int64_t{1} << 40, name, "offset, or an end of the window,",
         static_cast<double>(place), "a number of keys");
  if (options.mask) check_mask();
  if (options.sinks) {
    need_shape(name_, "sinks", *options.sinks, {heads_});
    sinks_ = options.sinks->to(wide_);
  }
  if (options.query_position) {
    const Tensor& position = *options.query_position;
    if (!is_integer(position.dtype()))
      throw core::error(Text::OperandDType, name_, hologram::name_of(position.dtype()),
                        "an integer as query_position");
    need_shape(name_, "query_position", position.reshape({position.size()}), {1});
    position_ = position.reshape({1}).to(DType::I64);
  }
}

// Batch, heads, length, features; the batch is what stands before the heads.
void Attention::arrange(const Tensor& query, const Tensor& key, const Tensor* value) {
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
    return with_lead(x, std::move(lead)).reshape({batch_, heads, x.size(-2), x.size(-1)}).to(to_);
  };
  query_ = placed(q, heads_);
  key_ = placed(k, key_heads_);
  if (value != nullptr) value_ = placed(v, key_heads_);
  lead_ = batch;
  if (std::max({query.rank(), key.rank(), value ? value->rank() : 0}) > 2) lead_.push_back(heads_);
  whole_ = batch;
  whole_.push_back(heads_);
}

void Attention::check_mask() {
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

bool Attention::is_empty() const {
  return batch_ * heads_ * queries() * keys() * value_.size(-1) * query_.size(-1) == 0;
}

Tensor Attention::as_given(const Tensor& x) const {
  Shape shape = lead_;
  shape.push_back(x.size(2));
  shape.push_back(x.size(3));
  return x.reshape(std::move(shape)).to(to_);
}

AttentionWindow Attention::reach() const {
  AttentionWindow window = options_.window.value_or(AttentionWindow());
  if (options_.is_causal) window.after = std::min<int64_t>(window.after.value_or(0), 0);
  return window;
}

Attention::Range Attention::keys_of(const Range& rows) const {
  const auto [before, after] = reach();
  const int64_t first = rows.begin + options_.query_offset,
                last = rows.end - 1 + options_.query_offset;
  Range seen = all_keys();
  if (position_.defined()) return seen;
  if (before) seen.begin = std::clamp<int64_t>(first - *before, 0, keys());
  if (after) seen.end = std::clamp<int64_t>(last + *after + 1, seen.begin, keys());
  return seen;
}

Attention::Tensors Attention::operands() const {
  Tensors all = {query_, key_, value_};
  if (mask_.defined()) all.push_back(mask_);
  if (sinks_.defined()) all.push_back(sinks_);
  if (position_.defined()) all.push_back(position_);
  return tensor::together(name_, std::move(all));
}

Attention::Tensors Attention::composed_changes(const Tensors& operands,
                                               const Tensor& change) const {
  AttentionOptions options = options_;
  options.enable_gqa = heads_ != key_heads_;
  options.scale = scale_;
  const bool has_mask = mask_.defined(), has_sinks = sinks_.defined();
  const size_t of_sinks = has_mask ? 4 : 3;
  const auto again = [options, has_mask, has_sinks, of_sinks,
                      name = name_](const Tensors& x) -> Tensors {
    AttentionOptions o = options;
    if (has_mask) o.mask = x[3];
    if (has_sinks) o.sinks = x[of_sinks];
    return {Attention(name, x[0], x[1], &x[2], o).composed()};
  };
  return vjp(again, operands).pullback({change});
}

// The one place that says which way is taken.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  const Attention attention("scaled_dot_product_attention", query, key, &value, options);
  if (attention.drops() || attention.is_empty()) return attention.composed();
  return attention.has_fast_products() ? attention.by_products() : attention.by_program();
}

KeptAttention attention_with_kept(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const AttentionOptions& options) {
  need(options.dropout_p == 0, "attention_with_kept", "dropout_p", options.dropout_p, "0");
  return Attention("attention_with_kept", query, key, &value, options).with_kept();
}

std::vector<Tensor> attention_changes(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const Tensor& result, const Tensor& kept,
                                      const Tensor& change, const AttentionOptions& options) {
  constexpr const char* kName = "attention_changes";
  need(options.dropout_p == 0, kName, "dropout_p", options.dropout_p, "0");
  need(!options.sinks, kName, "sinks", 1, "none");
  const tensor::Tensors all =
      Attention(kName, query, key, &value, options).changes(result, kept, change);
  return {all[0].reshape(query.shape()), all[1].reshape(key.shape()),
          all[2].reshape(value.shape())};
}

Tensor attention_weights(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  return Attention("attention_weights", query, key, nullptr, options).weights();
}

}  // namespace hologram::nn
