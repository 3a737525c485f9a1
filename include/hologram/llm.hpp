// Language models from their files, on any device.
//
//   llm::Model model = llm::Model::open("SmolLM2-135M-Instruct.Q4_1.gguf");
//   llm::Generation answer = model.generate("Once upon a time", {.max_tokens = 40});
//   std::puts(answer.text.c_str());
//
// A file is GGUF (version 2 or 3), or a folder with config.json, tokenizer.json and safetensors.
// Weights stay quantised in the memory of the device, and are decoded inside of the programs that
// use them. docs/llm.md lists architectures, types of numbers, tokenizers and chat templates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/tensor.hpp"

namespace hologram::llm {

// What a fine-tuning has changed: a folder with adapter_config.json and adapter_model.safetensors,
// as PEFT saves LoRA.
struct Adapter {
  std::string path;
  double scale = 1;  // of what it adds
};

// What weights are multiplied with: numbers as they are, or rounded. Of weights in blocks to bytes,
// each block of 32 with a scale of its own, by the rule of docs/adr/0009-byte-activations.md, which
// gives the same bits on every exact device; plain numbers get them as they are. Or, where several
// rows go together, both are rounded to bf16, with sums in f32, and attention of a prompt has f16:
// what matrix units of GPUs are for. Up to 16 rows meet weights in blocks rounded to bytes then.
enum class Activations : uint8_t { Exact, Bytes, Halves };
HOLOGRAM_API std::string_view name_of(Activations activations);  // "exact", "bytes", "halves"
HOLOGRAM_API std::optional<Activations> parse_activations(std::string_view name);

struct ModelOptions {
  // The most tokens of a sequence; 0: as many as the model was trained for, at most 4096.
  int64_t context = 0;
  DType cache = DType::F16;  // of keys and values: F16 or F32
  std::vector<Adapter> adapters = {};
  // Sequences at a time, each of which may have the whole context, and the tokens that the caches
  // of all have room for together; 0: two contexts, where there are several sequences. Sequences
  // that begin alike share memory.
  int64_t sequences = 1;
  int64_t cache_tokens = 0;
  // Whether answers are the same, to the bit, alone and beside others. Prompts take longer.
  bool reproducible = false;
  // None: bytes on processors, halves where a library has such products, exact elsewhere and in
  // Config::reproducible.
  std::optional<Activations> activations = {};
};

// How the next token is chosen. Each step leaves out the tokens that it finds too unlikely:
// top_k, then top_p, then min_p; what is left is drawn from, by the seed, with its logits divided
// by the temperature.
struct Sampling {
  bool greedy = false;  // the likeliest token, whatever else stands here; so does temperature 0
  double temperature = 0.8;
  int64_t top_k = 40;   // the likeliest so many; 0: all
  double top_p = 0.95;  // the likeliest that have this probability together
  double min_p = 0.05;  // those with at least this share of the likeliest one's probability
  double repetition_penalty = 1;  // divides the logits of the last 64 tokens
  double presence_penalty = 0;    // taken from the logits of tokens that the answer has
  double frequency_penalty = 0;   // the same, times how often it has them
  uint64_t seed = 0;
};

struct TokenChance {
  int32_t token = 0;
  std::string bytes;   // may be part of a character
  double logprob = 0;  // natural logarithm of its probability, before anything is left out
};
struct TokenLogprob {
  TokenChance chosen;
  std::vector<TokenChance> likeliest;
};

struct GenerateOptions {
  int64_t max_tokens = 128;
  Sampling sampling = {};
  std::vector<std::string> stop = {};  // texts that end the answer, and are not part of it
  // The answer is JSON that this JSON schema describes ("{}": any), between these two texts.
  // InvalidArgument for schemas with parts that are not known; docs/llm.md lists those that are.
  std::string json_schema = {}, before_json = {}, behind_json = {};
  int64_t logprobs = -1;  // with each token, so many of the likeliest beside it; less than 0: none
  std::function<void(const TokenLogprob&)> on_token = {};  // gets them, before the text of it
  bool special = false;  // text of the prompt that spells a control token is that token
  // Gets the text as it comes, in whole characters; false ends the answer.
  std::function<bool(std::string_view)> on_text = {};
};

enum class FinishReason : uint8_t {
  EndOfText,  // the model ended it
  Length,     // max_tokens
  StopText,   // one of `stop` came
  Context,    // the context is full
  Cancelled,  // on_text said so
};
HOLOGRAM_API std::string_view name_of(FinishReason reason);

struct Generation {
  std::vector<int32_t> tokens;  // the new ones
  std::string text;
  std::vector<TokenLogprob> logprobs;  // if they are asked for
  FinishReason finish_reason = FinishReason::Length;
  int64_t prompt_tokens = 0;   // of which
  int64_t reused_tokens = 0;   // were in the cache already
  double prefill_seconds = 0;  // for the rest of the prompt
  double decode_seconds = 0;   // for the new tokens but the first
};

// What a model needs of a device, in bytes.
struct ModelMemory {
  uint64_t weights = 0, cache = 0, total = 0;
};

struct Message {
  std::string role;  // system, user, assistant or what else the template knows
  std::string content;
  std::string more = {};  // a JSON object with its other parts, as {"tool_calls": […]}
};

struct ChatOptions {
  std::string tools = {};      // a JSON array of functions, as OpenAI has them
  std::string variables = {};  // a JSON object with what else the template knows
};

class HOLOGRAM_API Model {
 public:
  // IoError for files that are damaged, UnsupportedOperation for what they ask for and is not
  // there, OutOfMemory, before anything is loaded, if the device has too little.
  static Model open(const std::string& path, const ModelOptions& options = {},
                    const Executor& executor = default_executor());
  // A GGUF file that is in memory already, where `owner` keeps it as long as it is used. `name` is
  // what errors call it. InvalidArgument with adapters.
  static Model parse(const std::string& name, std::span<const std::byte> bytes,
                     std::shared_ptr<const void> owner, const ModelOptions& options = {},
                     const Executor& executor = default_executor());
  static ModelMemory memory_of(const std::string& path, const ModelOptions& options = {});

  std::string architecture() const;
  int64_t context() const;
  int64_t vocabulary() const;
  double load_seconds() const;
  Activations activations() const;  // what was chosen, or is usual on the device

  // With the tokens that the model wants at the beginning, unless `ends` is false.
  std::vector<int32_t> tokenize(std::string_view text, bool ends = true,
                                bool special = false) const;
  std::string text_of(std::span<const int32_t> tokens) const;

  // The logits behind the last of the tokens, f32 [vocabulary]. What the cache has of the same
  // beginning is not computed again.
  std::vector<float> logits(std::span<const int32_t> tokens);

  Generation generate(std::string_view prompt, const GenerateOptions& options = {});
  Generation generate(std::span<const int32_t> prompt, const GenerateOptions& options = {});

  bool has_chat_template() const;
  std::string chat_template() const;
  // Messages as the text that the model was trained with, up to where the assistant's answer
  // begins: its template is run. UnsupportedOperation if the model has none, or one with parts of
  // Jinja that are not known; InvalidArgument for messages that it refuses.
  std::string chat_prompt(std::span<const Message> messages, const ChatOptions& options = {}) const;
  // That text as tokens.
  std::vector<int32_t> chat_tokens(std::span<const Message> messages,
                                   const ChatOptions& options = {}) const;
  Generation chat(std::span<const Message> messages, GenerateOptions options = {});

 private:
  friend class Embedder;
  friend class Engine;
  friend class Steps;
  struct State;
  explicit Model(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// Answers several requests at a time, as many as the model has sequences, by a thread of its own;
// requests join and leave between tokens. Any number of threads may use it.
class HOLOGRAM_API Engine {
 public:
  // `most_waiting`: requests that wait for room at most.
  explicit Engine(const Model& model, int64_t most_waiting = 64);
  ~Engine();  // cancels what is under way
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The callbacks of the options are called by the engine's thread, and must not wait for long. The
  // future has the answer, or the error that it ended with. InvalidArgument at once for what can
  // never be answered, OutOfMemory if too many wait.
  std::future<Generation> submit(std::vector<int32_t> prompt, GenerateOptions options = {});

  struct Load {
    int64_t running = 0, waiting = 0;
  };
  Load load() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hologram::llm
