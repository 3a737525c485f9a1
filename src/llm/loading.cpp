#include "llm/loading.hpp"

#include <algorithm>
#include <cstring>

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

std::string block_name(int64_t number, const char* rest) {
  return "blk." + std::to_string(number) + "." + rest;
}

bool alike(const std::vector<Stored>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const Stored& part) {
    return part.type == parts[0].type && part.dtype == parts[0].dtype;
  });
}

}  // namespace

Tensor TensorLoader::vector(const std::string& name, int64_t length) const {
  return Tensor::from_vector(tensors_.vector(name, length), {length}, executor_).eval();
}

Tensor TensorLoader::optional_vector(const std::string& name, int64_t length) const {
  return tensors_.find(name) ? vector(name, length) : Tensor();
}

Weight TensorLoader::weight_of(const std::vector<Stored>& parts) const {
  Weight weight = stored_weight(parts);
  // Those that are plain numbers, blocks of a kind though they may be, are multiplied as they are.
  weight.by_bytes = activations_ != Activations::Exact && weight.type != nullptr &&
                    block_type(weight.type->name) != nullptr;
  weight.by_halves = activations_ == Activations::Halves && weight.count == 1 &&
                     (weight.type != nullptr || weight.data.dtype() != DType::F32);
  matrices_ += weight.count;
  by_bytes_ += weight.by_bytes ? weight.count : 0;
  return weight;
}

Weight TensorLoader::stored_weight(const std::vector<Stored>& parts) const {
  const Stored& first = parts[0];
  if (first.type == nullptr && parts.size() == 1 && first.count == 1) {
    const Shape shape = {first.rows, first.columns};
    const auto* const data = static_cast<const void*>(first.data.data());
    if (reinterpret_cast<uintptr_t>(data) % size_of(first.dtype) == 0)
      return llm::weight_of(Array::borrow(first.dtype, shape, data), executor_);
  }
  if (first.type != nullptr && parts.size() == 1)
    return llm::weight_of(*first.type, first.data, first.columns, first.count, executor_, &room_);
  if (first.type == nullptr && first.count > 1) {
    const BlockType& plain = plain_blocks(first.dtype);
    if (first.columns % plain.elements != 0)
      throw core::error(core::Text::ModelLacks, tensors_.path(),
                        "experts with rows of " + std::to_string(first.columns) + " numbers",
                        "rows that are a multiple of " + std::to_string(plain.elements));
    return llm::weight_of(plain, first.data, first.columns, first.count, executor_, &room_);
  }
  uint64_t bytes = 0;
  int64_t rows = 0;
  for (const Stored& part : parts) {
    bytes += part.data.size();
    rows += part.rows;
  }
  Array all(DType::U8, {static_cast<int64_t>(bytes)});
  std::byte* to = all.mutable_data();
  for (const Stored& part : parts) {
    std::memcpy(to, part.data.data(), part.data.size());
    to += part.data.size();
  }
  if (first.type != nullptr)
    return llm::weight_of(*first.type, {all.data(), all.bytes()}, first.columns, first.count,
                          executor_, &room_);
  const auto kept = std::make_shared<Array>(all);
  return llm::weight_of(Array::borrow(first.dtype, {rows * first.count, first.columns},
                                      static_cast<const void*>(kept->data()), kept),
                        executor_);
}

Weight TensorLoader::weight(const std::string& name, int64_t rows, int64_t columns,
                            int64_t count) const {
  return weight_of({tensors_.need(name, rows, columns, count)});
}

Linear TensorLoader::linear(const std::string& name, int64_t rows, int64_t columns) const {
  Linear made{
      weight(name + ".weight", rows, columns), optional_vector(name + ".bias", rows), {}, {}};
  adapt(made, {name}, {rows}, columns);
  return made;
}

// A matrix that several were joined to has their adapters one behind the other: what goes into one
// of them comes out in its rows alone.
void TensorLoader::adapt(Linear& linear, const std::vector<std::string>& names,
                         const std::vector<int64_t>& rows, int64_t columns) const {
  std::vector<float> down;
  std::vector<Stored> ups(names.size());
  int64_t rank = 0, all_rows = 0;
  for (size_t i = 0; i < names.size(); i++) {
    all_rows += rows[i];
    const auto found = tensors_.find(names[i] + ".lora_a");
    if (!found) continue;
    const Stored stored = tensors_.need(names[i] + ".lora_a", found->rows, columns);
    for (int64_t r = 0; r < stored.rows; r++) {
      down.resize(down.size() + static_cast<size_t>(columns));
      stored.row(r, down.data() + down.size() - columns);
    }
    ups[i] = tensors_.need(names[i] + ".lora_b", rows[i], stored.rows);
    rank += stored.rows;
  }
  if (rank == 0) return;
  std::vector<float> up(static_cast<size_t>(all_rows * rank));
  int64_t row = 0, column = 0;
  for (size_t i = 0; i < names.size();
       row += rows[i], column += ups[i].data.empty() ? 0 : ups[i].columns, i++)
    for (int64_t r = 0; r < (ups[i].data.empty() ? 0 : rows[i]); r++)
      ups[i].row(r, up.data() + (row + r) * rank + column);
  linear.lora_down = Tensor::from_vector(std::move(down), {rank, columns}, executor_).eval();
  linear.lora_up = Tensor::from_vector(std::move(up), {all_rows, rank}, executor_).eval();
}

std::vector<Linear> TensorLoader::joined(const std::vector<std::string>& names,
                                         const std::vector<int64_t>& rows, int64_t columns) const {
  std::vector<Stored> parts;
  bool biased = false;
  for (size_t i = 0; i < names.size(); i++) {
    parts.push_back(tensors_.need(names[i] + ".weight", rows[i], columns));
    biased = biased || tensors_.find(names[i] + ".bias");
  }
  std::vector<Linear> all;
  if (!alike(parts)) {
    for (size_t i = 0; i < names.size(); i++) all.push_back(linear(names[i], rows[i], columns));
    return all;
  }
  Linear one{weight_of(parts), {}, {}, {}};
  adapt(one, names, rows, columns);
  std::vector<float> bias;
  for (size_t i = 0; biased && i < names.size(); i++) {
    const std::string name = names[i] + ".bias";
    const auto part = tensors_.find(name) ? tensors_.vector(name, rows[i])
                                          : std::vector<float>(static_cast<size_t>(rows[i]));
    bias.insert(bias.end(), part.begin(), part.end());
  }
  if (biased) one.bias = Tensor::from_vector(bias, {one.weight.rows}, executor_).eval();
  all.push_back(std::move(one));
  return all;
}

Layer Loader::layer(int64_t number) const {
  const Config& c = source_.config();
  const auto name = [&](const char* rest) { return block_name(number, rest); };
  Layer layer;
  layer.attention = c.attention(number);
  layer.local = !c.sees_all(number);
  layer.attention_norm = vector(name("attn_norm.weight"), c.width);
  layer.attention_post_norm = optional_vector(name("post_attention_norm.weight"), c.width);
  layer.feed_norm = vector(name("ffn_norm.weight"), c.width);
  layer.feed_post_norm = optional_vector(name("post_ffw_norm.weight"), c.width);
  layer.query_norm = optional_vector(name("attn_q_norm.weight"), c.key_length);
  layer.key_norm = optional_vector(name("attn_k_norm.weight"), c.key_length);
  const int64_t queries = c.heads * c.key_length, keys = c.key_heads * c.key_length,
                values = c.key_heads * c.value_length;
  if (source_.find(name("attn_qkv.weight")))
    layer.inputs = {linear(name("attn_qkv"), queries + keys + values, c.width)};
  else
    layer.inputs =
        joined({name("attn_q"), name("attn_k"), name("attn_v")}, {queries, keys, values}, c.width);
  layer.output = linear(name("attn_output"), c.width, c.heads * c.value_length);
  if (c.experts > 0) {
    layer.router = weight(name("ffn_gate_inp.weight"), c.experts, c.width);
    for (const char* rest : {"ffn_gate_exps.weight", "ffn_up_exps.weight"})
      layer.ups.push_back({weight(name(rest), c.feed_forward, c.width, c.experts), {}, {}, {}});
    layer.down.weight = weight(name("ffn_down_exps.weight"), c.width, c.feed_forward, c.experts);
    return layer;
  }
  if (source_.find(name("ffn_gate.weight")))
    layer.ups =
        joined({name("ffn_gate"), name("ffn_up")}, {c.feed_forward, c.feed_forward}, c.width);
  else layer.ups = {linear(name("ffn_up"), 2 * c.feed_forward, c.width)};
  layer.down = linear(name("ffn_down"), c.width, c.feed_forward);
  return layer;
}

}  // namespace hologram::llm
