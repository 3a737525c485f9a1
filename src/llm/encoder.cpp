#include "llm/encoder.hpp"

#include <algorithm>

#include "hologram/nn/attention.hpp"
#include "hologram/nn/normalization.hpp"
#include "hologram/ops.hpp"
#include "llm/loading.hpp"

namespace hologram::llm {

Encoder::Encoder(std::shared_ptr<const EncoderSource> source, const Executor& executor)
    : source_(std::move(source)), executor_(executor) {
  const EncoderConfig& c = config();
  const TensorLoader from(*source_, executor_);
  words_ = source_->need("token_embd.weight", c.vocabulary, c.width);
  positions_ = source_->need("position_embd.weight", c.context + c.first_position, c.width);
  // Of a pair of texts the second is of another type; a text alone is of the first.
  if (const auto types = source_->find("token_types.weight"); types && types->columns == c.width) {
    type_.resize(static_cast<size_t>(c.width));
    types->row(0, type_.data());
  }
  embedding_norm_ = norm_of("token_embd_norm");
  for (int64_t i = 0; i < c.layers; i++) {
    const std::string name = "blk." + std::to_string(i) + ".";
    Layer layer;
    layer.inputs = from.joined({name + "attn_q", name + "attn_k", name + "attn_v"},
                               {c.width, c.width, c.width}, c.width);
    layer.output = from.linear(name + "attn_output", c.width, c.width);
    layer.up = from.linear(name + "ffn_up", c.feed_forward, c.width);
    layer.down = from.linear(name + "ffn_down", c.width, c.feed_forward);
    layer.attention_norm = norm_of(name + "attn_output_norm");
    layer.output_norm = norm_of(name + "layer_output_norm");
    layers_.push_back(std::move(layer));
  }
}

Encoder::Norm Encoder::norm_of(const std::string& name) const {
  const TensorLoader from(*source_, executor_);
  return {from.vector(name + ".weight", config().width),
          from.vector(name + ".bias", config().width)};
}

Tensor Encoder::normalized(const Tensor& x, const Norm& norm) const {
  return nn::layer_norm(x, {config().width},
                        {.weight = norm.weight, .bias = norm.bias, .eps = config().epsilon});
}

// Looked up by the host: rows of tables that are in its memory anyway.
Tensor Encoder::embed(std::span<const std::vector<int32_t>> texts, int64_t length) const {
  const auto width = static_cast<size_t>(config().width);
  std::vector<float> rows(texts.size() * static_cast<size_t>(length) * width), position(width);
  for (size_t t = 0; t < texts.size(); t++)
    for (size_t i = 0; i < texts[t].size(); i++) {
      float* const row = rows.data() + (t * static_cast<size_t>(length) + i) * width;
      words_.row(texts[t][i], row);
      positions_.row(static_cast<int64_t>(i) + config().first_position, position.data());
      for (size_t k = 0; k < width; k++) row[k] += position[k] + (type_.empty() ? 0 : type_[k]);
    }
  return Tensor::from_vector(
      std::move(rows), {static_cast<int64_t>(texts.size()) * length, config().width}, executor_);
}

Tensor Encoder::attend(const Layer& layer, const Tensor& x, int64_t texts,
                       const Tensor& mask) const {
  const EncoderConfig& c = config();
  const int64_t length = x.size(0) / texts;
  const Tensor joined = layer.inputs.size() == 1 ? apply(layer.inputs[0], x) : Tensor();
  const auto heads = [&](size_t which) {
    const auto begin = static_cast<int64_t>(which) * c.width;
    const Tensor part = joined.defined() ? joined.slice(1, {begin, begin + c.width})
                                         : apply(layer.inputs[which], x);
    return part.reshape({texts, length, c.heads, c.width / c.heads}).permute({0, 2, 1, 3});
  };
  const Tensor y = nn::scaled_dot_product_attention(heads(0), heads(1), heads(2), {.mask = mask});
  return apply(layer.output, y.permute({0, 2, 1, 3}).reshape({texts * length, c.width}));
}

Tensor Encoder::states(std::span<const std::vector<int32_t>> texts) const {
  const auto count = static_cast<int64_t>(texts.size());
  size_t length = 0;
  for (const std::vector<int32_t>& text : texts) length = std::max(length, text.size());
  // What a token may see: all tokens of its text.
  std::vector<uint8_t> seen(texts.size() * length);
  for (size_t t = 0; t < texts.size(); t++)
    std::fill_n(seen.begin() + static_cast<std::ptrdiff_t>(t * length), texts[t].size(),
                uint8_t{1});
  const auto long_length = static_cast<int64_t>(length);
  const Tensor mask =
      Tensor::from_vector(std::move(seen), {count, 1, 1, long_length}, executor_).to(DType::Bool);
  Tensor x = normalized(embed(texts, long_length), embedding_norm_);
  for (const Layer& layer : layers_) {
    x = normalized(x + attend(layer, x, count, mask), layer.attention_norm);
    x = normalized(x + apply(layer.down, config().activation(apply(layer.up, x))),
                   layer.output_norm);
  }
  return x.reshape({count, long_length, config().width});
}

}  // namespace hologram::llm
