#include "hologram/llm.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "core/messages.hpp"
#include "files/gguf.hpp"
#include "llm/adapter.hpp"
#include "llm/chat.hpp"
#include "llm/decoder.hpp"
#include "llm/model_state.hpp"

namespace hologram::llm {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int64_t kUsualContext = 4096;

int64_t capacity_of(const Config& config, const ModelOptions& options) {
  if (options.context < 0)
    throw core::error(core::Text::ModelArgument, "the context", options.context,
                      "1 or more tokens");
  return options.context > 0 ? options.context : std::min(config.context, kUsualContext);
}

CacheShape cache_of(const Config& config, const ModelOptions& options) {
  if (options.sequences < 1 || options.sequences > Decoder::kMostCaptured)
    throw core::error(core::Text::ModelArgument, "the number of sequences", options.sequences,
                      "1 to " + std::to_string(Decoder::kMostCaptured));
  CacheShape cache;
  cache.capacity = capacity_of(config, options);
  cache.sequences = options.sequences;
  cache.dtype = options.cache;
  const int64_t contexts = std::min<int64_t>(options.sequences, 2);
  const int64_t tokens = options.cache_tokens > 0 ? options.cache_tokens
                                                  : contexts * cache.pages_of_sequence() * kPage;
  cache.pages = CacheShape::pages_for(tokens);
  return cache;
}

ModelMemory memory_of(const Source& source, const ModelOptions& options) {
  const Config& c = source.config();
  ModelMemory memory;
  memory.weights = source.weight_bytes();
  memory.cache = static_cast<uint64_t>(c.layers * c.key_heads * (c.key_length + c.value_length) *
                                       cache_of(c, options).pages * kPage) *
                 size_of(options.cache);
  memory.total = memory.weights + memory.cache;
  return memory;
}

std::string megabytes(uint64_t bytes) { return std::to_string((bytes + 999999) / 1000000) + " MB"; }

void require_room(const Source& source, const ModelOptions& options, const Executor& executor) {
  const ModelMemory need = memory_of(source, options);
  const DeviceInfo& device = executor.device();
  if (device.free_memory == 0 || need.total <= device.free_memory) return;
  throw core::error(core::Text::ModelRoom, source.path(), megabytes(need.total), device.name,
                    megabytes(need.weights), megabytes(need.cache),
                    cache_of(source.config(), options).pages * kPage,
                    megabytes(device.free_memory));
}

Vocabulary vocabulary_of(const Source& source) {
  return source.gguf() != nullptr ? read_vocabulary(*source.gguf())
                                  : read_vocabulary(source.path());
}

}  // namespace

std::string_view name_of(FinishReason reason) {
  constexpr std::string_view kNames[] = {"end of text", "length", "stop", "context", "cancelled"};
  return kNames[static_cast<size_t>(reason)];
}

std::string_view name_of(Activations activations) {
  constexpr std::string_view kNames[] = {"exact", "bytes", "halves"};
  return kNames[static_cast<size_t>(activations)];
}

std::optional<Activations> parse_activations(std::string_view name) {
  for (const Activations one : {Activations::Exact, Activations::Bytes, Activations::Halves})
    if (name == name_of(one)) return one;
  return std::nullopt;
}

ModelMemory Model::memory_of(const std::string& path, const ModelOptions& options) {
  return llm::memory_of(*open_source(path), options);
}

Model Model::open(const std::string& path, const ModelOptions& options, const Executor& executor) {
  const auto start = Clock::now();
  auto source = adapted(open_source(path), options.adapters);
  Vocabulary vocabulary = vocabulary_of(*source);
  return Model(State::of(std::move(source), std::move(vocabulary), options, executor, start));
}

Model Model::parse(const std::string& name, std::span<const std::byte> bytes,
                   std::shared_ptr<const void> owner, const ModelOptions& options,
                   const Executor& executor) {
  const auto start = Clock::now();
  if (!options.adapters.empty())
    throw core::error(core::Text::ModelArgument, "the number of adapters", options.adapters.size(),
                      "a model in a file, or none");
  auto source = gguf_source(files::Gguf::parse(name, bytes, std::move(owner)));
  Vocabulary vocabulary = read_vocabulary(*source->gguf());
  return Model(State::of(std::move(source), std::move(vocabulary), options, executor, start));
}

std::shared_ptr<Model::State> Model::State::of(std::shared_ptr<const Source> source,
                                               Vocabulary vocabulary, const ModelOptions& options,
                                               const Executor& executor, Clock::time_point start) {
  if (options.cache != DType::F16 && options.cache != DType::F32)
    throw core::error(core::Text::ModelArgument, "the cache's dtype",
                      hologram::name_of(options.cache), "f16 or f32");
  auto state = std::make_shared<State>();
  state->source = std::move(source);
  state->tokenizer = std::make_unique<Tokenizer>(std::move(vocabulary));
  require_room(*state->source, options, executor);
  state->decoder =
      std::make_unique<Decoder>(state->source, cache_of(state->source->config(), options), executor,
                                options.activations.value_or(usual_activations(executor)));
  state->scheduler = std::make_unique<Scheduler>(*state->decoder, options.reproducible);
  state->load_seconds = seconds_since(start);
  return state;
}

std::string Model::architecture() const {
  return std::string(state_->source->config().architecture->name);
}
int64_t Model::context() const { return state_->decoder->capacity(); }
int64_t Model::vocabulary() const { return state_->source->config().vocabulary; }
Activations Model::activations() const { return state_->decoder->activations(); }
double Model::load_seconds() const { return state_->load_seconds; }

std::vector<int32_t> Model::tokenize(std::string_view text, bool ends, bool special) const {
  return state_->tokenizer->encode(text, ends, special);
}
std::string Model::text_of(std::span<const int32_t> tokens) const {
  return state_->tokenizer->decode(tokens);
}

std::shared_ptr<Answer> Model::State::answer(std::vector<int32_t> prompt, GenerateOptions options) {
  std::shared_ptr<ConstraintGrammar> grammar;
  if (!options.json_schema.empty()) {
    std::call_once(tokens_made, [&] { tokens = token_list(*tokenizer); });
    grammar = std::make_shared<ConstraintGrammar>(options.json_schema, options.before_json,
                                                  options.behind_json, tokens);
  }
  return std::make_shared<Answer>(std::move(prompt), std::move(options), *tokenizer,
                                  std::move(grammar));
}

void Model::State::run(const std::shared_ptr<Answer>& answer) {
  {
    const std::lock_guard lock(mutex);
    scheduler->submit(answer);
  }
  // Steps of others are taken, too, where an engine has some.
  for (bool done = false; !done;) {
    const std::lock_guard lock(mutex);
    if (!answer->done()) scheduler->step();
    done = answer->done();
  }
  answer->rethrow();
}

std::vector<float> Model::logits(std::span<const int32_t> tokens) {
  const auto answer = state_->answer({tokens.begin(), tokens.end()}, {.max_tokens = 1});
  answer->only_logits = true;
  state_->run(answer);
  return std::move(answer->logits);
}

Generation Model::generate(std::span<const int32_t> prompt, const GenerateOptions& options) {
  const auto answer = state_->answer({prompt.begin(), prompt.end()}, options);
  state_->run(answer);
  return std::move(answer->made());
}

Generation Model::generate(std::string_view prompt, const GenerateOptions& options) {
  return generate(tokenize(prompt, true, options.special), options);
}

bool Model::has_chat_template() const {
  return !state_->tokenizer->vocabulary().chat_template.empty();
}
std::string Model::chat_template() const { return state_->tokenizer->vocabulary().chat_template; }

std::string Model::chat_prompt(std::span<const Message> messages,
                               const ChatOptions& options) const {
  State& state = *state_;
  std::call_once(state.chat_made,
                 [&] { state.chat.emplace(state.tokenizer->vocabulary(), state.source->path()); });
  return state.chat->render(messages, options);
}

// Templates write the token that begins a text, or leave it to the tokenizer.
std::vector<int32_t> Model::chat_tokens(std::span<const Message> messages,
                                        const ChatOptions& options) const {
  const std::string text = chat_prompt(messages, options);
  const Vocabulary& v = state_->tokenizer->vocabulary();
  const bool begins = v.begin >= 0 && text.starts_with(v.pieces[static_cast<size_t>(v.begin)]);
  return tokenize(text, !begins, true);
}

Generation Model::chat(std::span<const Message> messages, GenerateOptions options) {
  return generate(chat_tokens(messages), options);
}

}  // namespace hologram::llm
