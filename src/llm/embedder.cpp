#include <algorithm>
#include <filesystem>
#include <mutex>
#include <numeric>

#include "core/messages.hpp"
#include "hologram/embeddings.hpp"
#include "hologram/ops.hpp"
#include "llm/encoder.hpp"
#include "llm/model_state.hpp"
#include "llm/tokenizer.hpp"

namespace hologram::llm {
namespace {

using Texts = std::vector<std::vector<int32_t>>;

// Tokens that are computed side by side, the empty ends of short texts among them.
constexpr size_t kTokens = 4096;
constexpr int64_t kUsualContext = 4096;

// What a text's vectors are multiplied with: the mean's shares, or 1 for the one that counts.
void fill_shares(Pooling pooling, size_t length, float* shares) {
  switch (pooling) {
    case Pooling::Mean: std::fill_n(shares, length, 1.0f / static_cast<float>(length)); break;
    case Pooling::First: shares[0] = 1; break;
    case Pooling::Last: shares[length - 1] = 1; break;
  }
}

}  // namespace

std::string_view name_of(Pooling pooling) {
  constexpr std::string_view kNames[] = {"mean", "first", "last"};
  return kNames[static_cast<size_t>(pooling)];
}

struct Embedder::State {
  Executor executor;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<const Encoder> encoder;
  std::shared_ptr<const Decoder> decoder;
  std::vector<Cache> memory;  // of a decoder, for one text at a time
  std::mutex mutex;
  Pooling pooling = Pooling::Mean;
  int64_t width = 0, context = 0, vocabulary = 0;

  // States [texts, length of the longest, width].
  Tensor states(std::span<const std::vector<int32_t>> texts) const {
    return encoder != nullptr ? encoder->states(texts)
                              : decoder->states(texts[0], memory)
                                    .reshape({1, static_cast<int64_t>(texts[0].size()), width});
  }
  std::vector<float> embed(std::span<const std::vector<int32_t>> texts,
                           const EmbedOptions& options) const;
  void check(const std::vector<int32_t>& text) const;
  void take(std::shared_ptr<const Decoder> from, const std::string& path);
};

void Embedder::State::take(std::shared_ptr<const Decoder> from, const std::string& path) {
  decoder = std::move(from);
  memory = decoder->text_memory();
  pooling =
      std::filesystem::is_directory(path) ? pooling_of_folder(path, Pooling::Last) : Pooling::Last;
  width = decoder->config().width;
  context = decoder->capacity();
  vocabulary = decoder->config().vocabulary;
}

std::vector<float> Embedder::State::embed(std::span<const std::vector<int32_t>> texts,
                                          const EmbedOptions& options) const {
  const Tensor states = this->states(texts);
  const int64_t count = states.size(0), length = states.size(1);
  std::vector<float> shares(static_cast<size_t>(count * length));
  for (size_t t = 0; t < texts.size(); t++)
    fill_shares(options.pooling.value_or(pooling), texts[t].size(),
                shares.data() + t * static_cast<size_t>(length));
  const Tensor weights = Tensor::from_vector(std::move(shares), {count, 1, length}, executor);
  Tensor vectors = ops::matmul(weights, states).reshape({count, width});
  if (options.normalize) {
    const Tensor norm = ops::sqrt(ops::sum(vectors * vectors, {1}, true));
    vectors = vectors / ops::maximum(norm, 1e-12f);
  }
  return vectors.to_vector<float>();
}

void Embedder::State::check(const std::vector<int32_t>& text) const {
  if (text.empty())
    throw core::error(core::Text::ModelArgument, "a text", "empty", "one token or more");
  if (static_cast<int64_t>(text.size()) > context)
    throw core::error(core::Text::ModelContext, text.size(), context);
  for (const int32_t token : text)
    if (token < 0 || token >= vocabulary)
      throw core::error(core::Text::ModelArgument, "a token", token,
                        "tokens below " + std::to_string(vocabulary));
}

Embedder Embedder::open(const std::string& path, const Executor& executor) {
  auto state = std::make_shared<State>();
  state->executor = executor;
  const auto read_words = [&](const Tensors& tensors) {
    state->tokenizer =
        std::make_shared<Tokenizer>(tensors.gguf() != nullptr ? read_vocabulary(*tensors.gguf())
                                                              : read_vocabulary(tensors.path()));
  };
  if (std::shared_ptr<const EncoderSource> encoder = open_encoder(path)) {
    const EncoderConfig& c = encoder->config();
    read_words(*encoder);
    state->pooling = c.pooling;
    state->width = c.width;
    state->context = c.context;
    state->vocabulary = c.vocabulary;
    state->encoder = std::make_unique<Encoder>(encoder, executor);
    return Embedder(std::move(state));
  }
  const std::shared_ptr<const Source> source = open_source(path);
  read_words(*source);
  const CacheShape none = {.capacity = std::min(source->config().context, kUsualContext),
                           .sequences = 0};
  state->take(std::make_shared<Decoder>(source, none, executor), path);
  return Embedder(std::move(state));
}

Embedder Embedder::of(const Model& model) {
  const std::shared_ptr<const Model::State> from = model.state_;
  auto state = std::make_shared<State>();
  state->executor = from->decoder->executor();
  state->tokenizer = {from, from->tokenizer.get()};
  state->take({from, from->decoder.get()}, from->source->path());
  return Embedder(std::move(state));
}

bool Embedder::is_encoder(const std::string& path) { return open_encoder(path) != nullptr; }

std::string Embedder::architecture() const {
  return state_->encoder != nullptr ? state_->encoder->config().architecture
                                    : std::string(state_->decoder->config().architecture->name);
}
int64_t Embedder::width() const { return state_->width; }
int64_t Embedder::context() const { return state_->context; }
int64_t Embedder::vocabulary() const { return state_->vocabulary; }
Pooling Embedder::pooling() const { return state_->pooling; }

std::vector<int32_t> Embedder::tokenize(std::string_view text, bool ends, bool special) const {
  return state_->tokenizer->encode(text, ends, special);
}

Tensor Embedder::embed(std::span<const std::string> texts, const EmbedOptions& options) const {
  Texts tokens;
  for (const std::string& text : texts) {
    std::vector<int32_t> ids = tokenize(text);
    const auto context = static_cast<size_t>(state_->context);
    if (options.truncate && ids.size() > context) {
      // What the model wants at the end stays there.
      const int32_t last = ids.back();
      ids.resize(context);
      if (state_->tokenizer->vocabulary().add_end) ids.back() = last;
    }
    tokens.push_back(std::move(ids));
  }
  return embed_tokens(tokens, options);
}

Tensor Embedder::embed_tokens(std::span<const std::vector<int32_t>> texts,
                              const EmbedOptions& options) const {
  for (const std::vector<int32_t>& text : texts) state_->check(text);
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return texts[a].size() > texts[b].size(); });
  const auto width = static_cast<size_t>(state_->width);
  std::vector<float> rows(texts.size() * width);
  const std::lock_guard lock(state_->mutex);
  for (size_t begin = 0; begin < order.size();) {
    const size_t longest = texts[order[begin]].size();
    const size_t most = state_->encoder != nullptr ? std::max<size_t>(1, kTokens / longest) : 1;
    const size_t end = std::min(order.size(), begin + most);
    Texts part;
    for (size_t i = begin; i < end; i++) part.push_back(texts[order[i]]);
    const std::vector<float> vectors = state_->embed(part, options);
    for (size_t i = begin; i < end; i++)
      std::copy_n(vectors.begin() + static_cast<std::ptrdiff_t>((i - begin) * width), width,
                  rows.begin() + static_cast<std::ptrdiff_t>(order[i] * width));
    begin = end;
  }
  return Tensor::from_vector(std::move(rows), {static_cast<int64_t>(texts.size()), state_->width},
                             state_->executor);
}

}  // namespace hologram::llm
