#include "hologram/receipt.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/messages.hpp"
#include "core/parallel.hpp"
#include "core/sha256.hpp"
#include "llm/decoder.hpp"
#include "llm/json.hpp"
#include "llm/sampler.hpp"
#include "llm/source.hpp"
#include "llm/tokenizer.hpp"

namespace hologram::llm {
namespace {

using core::Sha256;
using Ordered = nlohmann::ordered_json;
using Layers = std::vector<std::pair<std::string, std::string>>;

template <class T>
std::string digest_of(std::span<const T> numbers) {
  Sha256 sum;
  sum.add(std::as_bytes(numbers));
  return sum.hex();
}

// "blk.3" of "blk.3.attn_q.weight"; "model" of what is in no layer.
std::string layer_of(const std::string& name) {
  if (!name.starts_with("blk.")) return "model";
  return name.substr(0, name.find('.', 4));
}

std::string digest_of(const Source& source, const std::vector<std::string>& names) {
  Sha256 sum;
  for (const std::string& name : names) {
    const Stored stored = *source.find(name);
    const std::string_view type =
        stored.type != nullptr ? stored.type->name : name_of(stored.dtype);
    sum.add(name + "\n" + std::string(type) + "\n" + std::to_string(stored.count) + " " +
            std::to_string(stored.rows) + " " + std::to_string(stored.columns) + "\n");
    sum.add(stored.data);
  }
  return sum.hex();
}

Layers layers_of(const Source& source, int threads) {
  std::map<std::string, std::vector<std::string>> names;
  for (std::string& name : source.names()) {
    std::vector<std::string>& all = names[layer_of(name)];
    all.push_back(std::move(name));
  }
  std::vector<const std::vector<std::string>*> groups;
  Layers layers;
  for (auto& [layer, all] : names) {
    std::sort(all.begin(), all.end());
    groups.push_back(&all);
    layers.emplace_back(layer, "");
  }
  core::Threads(threads).run(groups.size(), 1, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++) layers[i].second = digest_of(source, *groups[i]);
  });
  return layers;
}

std::string digest_of(const Layers& layers) {
  Sha256 sum;
  for (const auto& [layer, digest] : layers) {
    sum.add(layer);
    sum.add(" ");
    sum.add(digest);
    sum.add("\n");
  }
  return sum.hex();
}

Executor executor_of(const Receipt& how, const Executor& executor) {
  BackendConfig config = executor.config();
  if (!how.reproducible || config.reproducible) return executor;
  config.reproducible = true;
  config.backend_type = executor.device().backend;
  config.device_id = executor.device().index;
  return Executor::from_config(config);
}

Model open(const std::string& path, const Receipt& how, const Executor& executor) {
  ModelOptions options;
  options.context = how.context;
  options.cache = how.cache;
  options.activations = how.activations;
  return Model::open(path, options, executor_of(how, executor));
}

// The answer step by step. `step` gets a token and the digest of the logits that it was chosen by,
// and says whether to go on.
template <class Step>
void answer(const std::string& path, const Receipt& how, const Executor& executor,
            const Step& step) {
  Model model = open(path, how, executor);
  const auto source = open_source(path);
  const Tokenizer tokenizer(source->gguf() != nullptr ? read_vocabulary(*source->gguf())
                                                      : read_vocabulary(source->path()));
  Sampler sampler(how.sampling);
  std::vector<int32_t> all = how.prompt;
  for (int64_t i = 0; i < how.max_tokens; i++) {
    std::vector<float> logits = model.logits(all);
    const std::string digest = digest_of(std::span<const float>(logits));
    const int32_t token =
        sampler.choose({logits, {}}, all, std::span(all).subspan(how.prompt.size()));
    if (!step(token, digest) || tokenizer.is_end(token)) return;
    all.push_back(token);
    if (static_cast<int64_t>(all.size()) > model.context()) return;
  }
}

}  // namespace

Receipt make_receipt(const std::string& path, std::span<const int32_t> prompt,
                     const Sampling& sampling, int64_t max_tokens, const ModelOptions& options,
                     const Executor& executor) {
  if (!options.adapters.empty())
    throw core::error(core::Text::ModelLacks, path, "a receipt with adapters",
                      "the adapter merged into it");
  Receipt made;
  const auto source = open_source(path);
  made.layers = layers_of(*source, executor.config().num_threads);
  made.model = digest_of(made.layers);
  made.device = executor.device().name;
  made.context = options.context;
  made.cache = options.cache;
  made.reproducible = true;
  made.activations = options.activations.value_or(usual_activations(executor_of(made, executor)));
  made.sampling = sampling;
  made.max_tokens = max_tokens;
  made.prompt.assign(prompt.begin(), prompt.end());
  answer(path, made, executor, [&](int32_t token, const std::string& digest) {
    made.tokens.push_back(token);
    made.logits.push_back(digest);
    return true;
  });
  made.prompt_digest = digest_of(std::span<const int32_t>(made.prompt));
  made.tokens_digest = digest_of(std::span<const int32_t>(made.tokens));
  const Tokenizer tokenizer(source->gguf() != nullptr ? read_vocabulary(*source->gguf())
                                                      : read_vocabulary(source->path()));
  made.text = tokenizer.decode(made.tokens);
  return made;
}

Verification verify(const Receipt& receipt, const std::string& path, const Executor& executor) {
  Verification seen;
  seen.steps = static_cast<int64_t>(receipt.tokens.size());
  const Layers layers = layers_of(*open_source(path), executor.config().num_threads);
  const std::map<std::string, std::string> here(layers.begin(), layers.end());
  for (const auto& [layer, digest] : receipt.layers) {
    const auto found = here.find(layer);
    if (found == here.end() || found->second != digest) seen.changed_layers.push_back(layer);
  }
  for (const auto& [layer, digest] : layers)
    if (std::none_of(receipt.layers.begin(), receipt.layers.end(),
                     [&, name = layer](const auto& row) { return row.first == name; }))
      seen.changed_layers.push_back(layer);
  if (!seen.changed_layers.empty()) return seen;
  // A step with other logits may choose the same token; after another token nothing is the same.
  bool same = true;
  size_t i = 0;
  answer(path, receipt, executor, [&](int32_t token, const std::string& digest) {
    if (i >= receipt.tokens.size()) return false;
    same = same && digest == receipt.logits[i];
    if (same) seen.equal_logits++;
    if (token != receipt.tokens[i]) return false;
    seen.equal_tokens++;
    i++;
    return true;
  });
  return seen;
}

std::string Verification::text() const {
  if (!changed_layers.empty()) {
    std::string text = "the weights are others in";
    for (size_t i = 0; i < changed_layers.size(); i++)
      text += (i == 0 ? " " : ", ") + changed_layers[i];
    return text;
  }
  const std::string all = std::to_string(steps);
  return std::to_string(equal_tokens) + " of " + all + " tokens, logits " +
         (equal_logits == steps
              ? "identical"
              : "the same in the first " + std::to_string(equal_logits) + " steps");
}

std::string Receipt::to_json() const {
  Ordered list = Ordered::object();
  for (const auto& [layer, digest] : layers) list[layer] = digest;
  const Ordered json = {{"hologram_receipt", 1},
                        {"model", model},
                        {"layers", list},
                        {"device", device},
                        {"settings",
                         {{"context", context},
                          {"cache", name_of(cache)},
                          {"activations", name_of(activations)},
                          {"reproducible", reproducible},
                          {"max_tokens", max_tokens},
                          {"greedy", sampling.greedy},
                          {"temperature", sampling.temperature},
                          {"top_k", sampling.top_k},
                          {"top_p", sampling.top_p},
                          {"min_p", sampling.min_p},
                          {"repetition_penalty", sampling.repetition_penalty},
                          {"seed", sampling.seed}}},
                        {"prompt", prompt},
                        {"prompt_digest", prompt_digest},
                        {"tokens", tokens},
                        {"tokens_digest", tokens_digest},
                        {"text", text},
                        {"logits", logits}};
  return json.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

Receipt Receipt::from_json(const std::string& text) {
  Receipt r;
  try {
    const Ordered json = Ordered::parse(text);
    const Ordered& how = json.at("settings");
    if (json.at("hologram_receipt") != 1)
      throw core::error(core::Text::ModelReceipt, "its version");
    json.at("model").get_to(r.model);
    for (const auto& [layer, digest] : json.at("layers").items())
      r.layers.emplace_back(layer, digest.get<std::string>());
    json.at("device").get_to(r.device);
    json.at("text").get_to(r.text);
    how.at("context").get_to(r.context);
    r.cache = how.at("cache") == "f32" ? DType::F32 : DType::F16;
    // Receipts that say nothing of it are from before there was a choice.
    const auto activations = parse_activations(how.value("activations", std::string("exact")));
    if (!activations) throw core::error(core::Text::ModelReceipt, "its activations");
    r.activations = *activations;
    r.reproducible = how.value("reproducible", false);
    how.at("max_tokens").get_to(r.max_tokens);
    how.at("greedy").get_to(r.sampling.greedy);
    how.at("temperature").get_to(r.sampling.temperature);
    how.at("top_k").get_to(r.sampling.top_k);
    how.at("top_p").get_to(r.sampling.top_p);
    how.at("min_p").get_to(r.sampling.min_p);
    how.at("repetition_penalty").get_to(r.sampling.repetition_penalty);
    how.at("seed").get_to(r.sampling.seed);
    json.at("prompt").get_to(r.prompt);
    json.at("prompt_digest").get_to(r.prompt_digest);
    json.at("tokens").get_to(r.tokens);
    json.at("tokens_digest").get_to(r.tokens_digest);
    json.at("logits").get_to(r.logits);
  } catch (const Ordered::exception& e) {
    throw core::error(core::Text::ModelReceipt, e.what());
  }
  // What it says of itself has to be so.
  if (r.tokens.size() != r.logits.size() || r.model != digest_of(r.layers) ||
      r.prompt_digest != digest_of(std::span<const int32_t>(r.prompt)) ||
      r.tokens_digest != digest_of(std::span<const int32_t>(r.tokens)))
    throw core::error(core::Text::ModelReceipt, "its digests are not those of what stands in it");
  return r;
}

}  // namespace hologram::llm
