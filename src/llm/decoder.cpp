#include "llm/decoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "engine/context.hpp"
#include "fusion/layout.hpp"
#include "hologram/nn/activations.hpp"
#include "hologram/nn/linear.hpp"
#include "hologram/nn/normalization.hpp"
#include "hologram/ops.hpp"
#include "llm/loading.hpp"

namespace hologram::llm {

namespace {

// Whether a library multiplies matrices of bf16 as they are.
bool multiplies_halves(graph::Context& context) {
  hal::LibraryOps* const library = context.executor().device->library();
  if (library == nullptr || context.has_programs_alone() || context.config().reproducible)
    return false;
  hal::GemmDesc desc;
  desc.a = desc.b = DType::BF16;
  desc.d = desc.accumulate = DType::F32;
  desc.transpose_b = true;
  desc.m = desc.n = desc.k = desc.lda = desc.ldb = desc.ldd = 256;
  desc.alignment_a = desc.alignment_b = desc.alignment_d = 256;
  return !std::holds_alternative<hal::Refusal>(library->plan(desc));
}

}  // namespace

Activations usual_activations(const Executor& executor) {
  if (executor.device().backend == BackendType::Cpu) return Activations::Bytes;
  return multiplies_halves(*graph::Context::of(executor)) ? Activations::Halves
                                                          : Activations::Exact;
}

Tensor apply(const Linear& linear, const Factor& x, const Tensor* onto) {
  if (onto != nullptr && !linear.lora_down.defined() && !linear.bias.defined())
    return product(x, linear.weight, onto);
  if (onto != nullptr) return *onto + apply(linear, x);
  Tensor y = product(x, linear.weight);
  if (linear.lora_down.defined())
    y = y + nn::linear(nn::linear(x.exact(), linear.lora_down), linear.lora_up);
  return linear.bias.defined() ? y + linear.bias : y;
}

namespace {

// What one or more linear layers make of x, cut into parts of these widths.
std::vector<Tensor> parts_of(const std::vector<Linear>& linears, const Factor& x,
                             std::initializer_list<int64_t> widths) {
  std::vector<Tensor> parts;
  if (linears.size() == widths.size()) {
    for (const Linear& linear : linears) parts.push_back(apply(linear, x));
    return parts;
  }
  const Tensor all = apply(linears[0], x);
  int64_t begin = 0;
  for (const int64_t width : widths) {
    parts.push_back(all.slice(1, {begin, begin + width}));
    begin += width;
  }
  return parts;
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const Source> source, const CacheShape& cache,
                 const Executor& executor, Activations activations)
    : source_(std::move(source)),
      executor_(executor),
      cache_(cache),
      activations_(activations),
      takes_parts_(!executor.config().reproducible),
      fills_parts_(!graph::hints_of(executor.device()).sequential_lanes),
      table_(static_cast<size_t>(cache.sequences * (cache.pages_of_sequence() + 1))) {
  const Config& c = config();
  const Loader from(*source_, executor_, activations_);
  embedding_ = source_->need("token_embd.weight", c.vocabulary, c.width);
  for (int64_t i = 0; i < c.layers; i++) {
    layers_.push_back(from.layer(i));
    if (cache.sequences > 0)
      caches_.push_back(make_cache(layers_.back().attention, cache.pages, cache.dtype, executor_));
  }
  global_ = make_rope(c, false, cache.capacity, executor_);
  local_ = c.local_rope_base > 0 ? make_rope(c, true, cache.capacity, executor_) : global_;
  output_norm_ = from.vector("output_norm.weight", c.width);
  const bool tied = !source_->find("output.weight");
  output_.weight = from.weight(tied ? "token_embd.weight" : "output.weight", c.vocabulary, c.width);
  if (activations_ == Activations::Bytes)
    core::log(LogLevel::Info,
              std::to_string(from.by_bytes()) + " of " + std::to_string(from.matrices()) +
                  " matrices are multiplied with bytes, those of plain numbers are not");
}

Tensor Decoder::norm(const Tensor& x, const Tensor& weight) const {
  return nn::rmsnorm(x, weight, config().epsilon);
}

// Looked up by the host: a row of a table that is in its memory anyway. Plain numbers get there as
// they are.
Tensor Decoder::embed(std::span<const Row> rows) const {
  const auto m = static_cast<int64_t>(rows.size());
  const int64_t width = config().width;
  const bool is_plain = embedding_.type == nullptr;
  Array all(is_plain ? embedding_.dtype : DType::F32, {m, width});
  const auto row_bytes = static_cast<size_t>(width) * size_of(all.dtype());
  for (int64_t i = 0; i < m; i++) {
    const int64_t token = rows[static_cast<size_t>(i)].token;
    std::byte* const to = all.mutable_data() + static_cast<size_t>(i) * row_bytes;
    if (is_plain)
      std::memcpy(to, embedding_.data.data() + static_cast<size_t>(token) * row_bytes, row_bytes);
    else embedding_.row(token, reinterpret_cast<float*>(to));
  }
  return Tensor::from(all, executor_);
}

Tensor Decoder::places(std::span<const Row> rows, std::span<const int32_t> table) const {
  std::vector<int32_t> numbers;
  for (const Row& row : rows) numbers.push_back(row.position);
  for (const Row& row : rows) numbers.push_back(row.sequence);
  numbers.insert(numbers.end(), table.begin(), table.end());
  const auto count = static_cast<int64_t>(numbers.size());
  return Tensor::from_vector(std::move(numbers), {count}, executor_);
}

Tensor Decoder::attend(const Layer& layer, const Cache& cache, const Tensor& x,
                       const Tensor& places, const std::optional<PromptPart>& part) const {
  const Config& c = config();
  const int64_t m = x.size(0);
  std::vector<Tensor> qkv =
      parts_of(layer.inputs, x,
               {c.heads * c.key_length, c.key_heads * c.key_length, c.key_heads * c.value_length});
  const auto normalised = [&](const Tensor& t, const Tensor& weight, int64_t heads) {
    if (!weight.defined()) return t;
    return norm(t.reshape({m, heads, c.key_length}), weight).reshape({m, heads * c.key_length});
  };
  const Tensor queries = normalised(qkv[0], layer.query_norm, c.heads);
  const Tensor keys = normalised(qkv[1], layer.key_norm, c.key_heads);
  const Rope& rope = layer.local ? local_ : global_;
  const int64_t capacity = cache_.pages_of_sequence() * kPage;
  return attention(layer.attention, queries, keys, qkv[2], rope, cache, places, capacity, part);
}

Factor Decoder::feed(const Layer& layer, const Tensor& x) const {
  const Config& c = config();
  const std::vector<Tensor> parts = parts_of(layer.ups, x, {c.feed_forward, c.feed_forward});
  if (c.architecture->activation == Activation::Silu) return Factor::gated(parts[0], parts[1]);
  return ops::gelu_tanh(parts[0]) * parts[1];
}

// Each token goes through those experts that the router gives the largest shares.
Tensor Decoder::experts(const Layer& layer, const Tensor& x) const {
  const Config& c = config();
  const int64_t m = x.size(0), used = c.experts_used;
  const Tensor shares = nn::softmax(product(x, layer.router), -1);
  const ops::TopK best = ops::topk(shares, used);
  Tensor weights = best.values;
  if (c.renormalised) weights = weights / ops::sum(weights, {1}, true);
  const Tensor which = best.indices.to(DType::I32).reshape({m * used});
  const Tensor repeated =
      x.reshape({m, 1, c.width}).broadcast_to({m, used, c.width}).reshape({m * used, c.width});
  const Factor factor(repeated);
  const Tensor gate = chosen_product(factor, layer.ups[0].weight, which);
  const Tensor up = chosen_product(factor, layer.ups[1].weight, which);
  const Tensor down =
      chosen_product(Factor::gated(gate, up), layer.down.weight, which).reshape({m, used, c.width});
  return ops::sum(down * weights.reshape({m, used, 1}), {1});
}

Tensor Decoder::layers(const Tensor& tokens, const Tensor& places, const std::vector<Cache>& caches,
                       const std::optional<PromptPart>& part) const {
  Tensor x = tokens.to(DType::F32);
  if (config().architecture->scaled_embedding)
    x = x * std::sqrt(static_cast<float>(config().width));
  for (size_t i = 0; i < layers_.size(); i++) {
    const Layer& layer = layers_[i];
    const auto added = [&](const Linear& last, const Factor& y, const Tensor& post_norm) {
      return post_norm.defined() ? x + norm(apply(last, y), post_norm) : apply(last, y, &x);
    };
    x = added(layer.output, attend(layer, caches[i], norm(x, layer.attention_norm), places, part),
              layer.attention_post_norm);
    const Tensor fed = norm(x, layer.feed_norm);
    if (!layer.router.defined()) {
      x = added(layer.down, feed(layer, fed), layer.feed_post_norm);
    } else {
      const Tensor y = experts(layer, fed);
      x = x + (layer.feed_post_norm.defined() ? norm(y, layer.feed_post_norm) : y);
    }
    // The device begins while the host goes on, and no later kernel adds up all layers once more.
    if (part) x.eval();
  }
  return x;
}

Tensor Decoder::head(const Tensor& x) const {
  Tensor logits = apply(output_, norm(x, output_norm_));
  const double cap = config().final_softcap;
  if (cap > 0) logits = ops::tanh(logits / cap) * cap;
  return logits;
}

namespace {

// Rows that are worth an attention of their own.
constexpr int64_t kFewestOfPart = 32;

// Steps and caches of few lengths, where libraries make a plan for each: a quarter of the largest
// power of two at most is added.
int64_t rounded_up(int64_t n) {
  const auto part =
      std::max<int64_t>(kPage, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))) / 4);
  return (n + part - 1) / part * part;
}

}  // namespace

// Rows of one sequence that go together.
std::optional<PromptPart> Decoder::prompt_part(std::span<const Row> rows) const {
  const auto count = static_cast<int64_t>(rows.size());
  if (!takes_parts_ || count < kFewestOfPart) return std::nullopt;
  const int64_t first = rows[0].position, seen = first + count;
  const int64_t keys = fills_parts_ ? rounded_up(seen) : seen;
  return PromptPart{first, count, std::min(keys, cache_.pages_of_sequence() * kPage),
                    activations_ == Activations::Halves ? DType::F16 : DType::F32};
}

// So many that what they need is little beside the weights; or, where each has its scores in
// memory, as many as keep those of a layer within 64 MB.
int64_t Decoder::chunk() const {
  const Config& c = config();
  if (takes_parts_) {
    constexpr int64_t kLeast = 256, kMost = 2048, kShare = 20;
    const int64_t of_row = 4 * (3 * c.feed_forward + 6 * c.width);
    return std::clamp(
        static_cast<int64_t>(source_->weight_bytes()) / kShare / of_row / kLeast * kLeast, kLeast,
        kMost);
  }
  constexpr int64_t kScores = 1 << 24, kLeast = 16, kMost = 256;
  return std::clamp(kScores / (c.heads * cache_.pages_of_sequence() * kPage), kLeast, kMost);
}

int32_t Decoder::first_angle(bool is_long) const {
  return !is_long && config().is_long(cache_.capacity) ? static_cast<int32_t>(cache_.capacity) : 0;
}

void Decoder::set_pages(int64_t sequence, std::span<const int32_t> pages, bool is_long) {
  const auto row = table_.begin() + sequence * (cache_.pages_of_sequence() + 1);
  std::copy(pages.begin(), pages.end(), row);
  row[cache_.pages_of_sequence()] = first_angle(is_long);
}

void Decoder::require_tokens(std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens)
    if (token < 0 || token >= config().vocabulary)
      throw core::error(core::Text::ModelArgument, "a token", token,
                        "tokens below " + std::to_string(config().vocabulary));
}

std::vector<Cache> Decoder::text_memory() const {
  std::vector<Cache> memory;
  for (const Layer& layer : layers_)
    memory.push_back(
        make_cache(layer.attention, cache_.pages_of_sequence(), DType::F32, executor_));
  return memory;
}

Tensor Decoder::states(std::span<const int32_t> tokens, const std::vector<Cache>& memory) const {
  require_tokens(tokens);
  const auto count = static_cast<int64_t>(tokens.size());
  if (count > cache_.capacity) throw core::error(core::Text::ModelContext, count, cache_.capacity);
  std::vector<int32_t> pages(static_cast<size_t>(cache_.pages_of_sequence()));
  std::iota(pages.begin(), pages.end(), 0);
  pages.push_back(first_angle(config().is_long(count)));
  std::vector<Tensor> parts;
  for (int64_t begin = 0; begin < count; begin += chunk()) {
    std::vector<Row> rows;
    for (int64_t i = begin; i < std::min(begin + chunk(), count); i++)
      rows.push_back({tokens[static_cast<size_t>(i)], 0, static_cast<int32_t>(i)});
    const Tensor y = layers(embed(rows), places(rows, pages), memory, prompt_part(rows));
    parts.push_back(norm(y, output_norm_).eval());
  }
  return ops::concat(parts, 0);
}

std::vector<float> Decoder::forward(std::span<const Row> rows, bool all, size_t least) {
  std::vector<float> logits = start(rows, all, least).to_vector<float>();
  logits.resize((all ? rows.size() : 1) * static_cast<size_t>(config().vocabulary));
  return logits;
}

Tensor Decoder::start(std::span<const Row> rows, bool all, size_t least) {
  for (const Row& row : rows)
    if (row.position >= cache_.capacity)
      throw core::error(core::Text::ModelContext, row.position + 1, cache_.capacity);
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 1 || (all && count <= kMostCaptured)) return captured(rows, least);
  const std::optional<PromptPart> part = prompt_part(rows);
  std::vector<Row> filled(rows.begin(), rows.end());
  if (part && fills_parts_)
    filled.resize(static_cast<size_t>(std::max(count, std::min(rounded_up(count), chunk()))),
                  Row{.sequence = rows[0].sequence, .position = -1});
  const Tensor y = layers(embed(filled), places(filled, table_), caches_, part);
  return head(all ? y : y.slice(0, {count - 1, count})).eval();
}

Tensor Decoder::captured(std::span<const Row> rows, size_t least) {
  const size_t count = std::bit_ceil(std::max(rows.size(), least));
  std::vector<Row> filled(rows.begin(), rows.end());
  filled.resize(count, Row{.position = -1});
  const Tensor x = embed(filled), at = places(filled, table_);
  auto step = steps_.find(static_cast<int64_t>(count));
  if (step == steps_.end()) {
    Graph graph =
        capture([this](const Tensor& tokens,
                       const Tensor& where) { return head(layers(tokens, where, caches_, {})); },
                x, at);
    step = steps_.emplace(static_cast<int64_t>(count), std::move(graph)).first;
  }
  return step->second.launch(x, at)[0];
}

}  // namespace hologram::llm
