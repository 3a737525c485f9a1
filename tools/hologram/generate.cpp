// hologram generate
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "errors.hpp"
#include "hologram/llm.hpp"
#include "hologram/receipt.hpp"
#include "interrupt.hpp"

namespace hologram::tool {

llm::GenerateOptions generate_options(const LanguageArguments& options) {
  llm::GenerateOptions made;
  made.max_tokens = options.max_tokens;
  made.sampling.greedy = options.greedy;
  made.sampling.temperature = options.temperature;
  made.sampling.top_k = options.top_k;
  made.sampling.top_p = options.top_p;
  made.sampling.min_p = options.min_p;
  made.sampling.repetition_penalty = options.repetition_penalty;
  made.sampling.seed = options.seed;
  made.stop = options.stop;
  return made;
}

llm::ModelOptions model_options(const LanguageArguments& options) {
  llm::ModelOptions made;
  made.context = options.context;
  made.cache = options.full_cache ? DType::F32 : DType::F16;
  made.activations = llm::parse_activations(options.activations);
  for (const std::string& text : options.adapters) {
    // A folder may have = in its name, but then no number behind it.
    const size_t sign = text.rfind('=');
    const std::optional<Number> scale =
        sign == std::string::npos ? std::nullopt : parse_number(text.substr(sign + 1));
    if (scale) made.adapters.push_back({text.substr(0, sign), scale->real});
    else made.adapters.push_back({text, 1});
  }
  return made;
}

std::string speed_line(const llm::Generation& g) {
  const auto rate = [](int64_t tokens, double seconds) {
    return tokens > 0 && seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  return fmt::format("{} tokens of the prompt at {:.1f} a second, {} new ones at {:.1f}: {}",
                     g.prompt_tokens - g.reused_tokens,
                     rate(g.prompt_tokens - g.reused_tokens, g.prefill_seconds), g.tokens.size(),
                     rate(static_cast<int64_t>(g.tokens.size()) - 1, g.decode_seconds),
                     name_of(g.finish_reason));
}

namespace {

using Json = nlohmann::ordered_json;

void print_json(const llm::Generation& g, double load_seconds) {
  const Json object = {{"text", g.text},
                       {"tokens", g.tokens},
                       {"finish_reason", name_of(g.finish_reason)},
                       {"prompt_tokens", g.prompt_tokens},
                       {"load_seconds", load_seconds},
                       {"prefill_seconds", g.prefill_seconds},
                       {"decode_seconds", g.decode_seconds}};
  fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace));
}

// The text is there when all of it is.
int generate_receipt(const LanguageArguments& options) {
  if (!options.stop.empty())
    throw UsageError("a receipt knows no --stop", "Leave it out, or give --max-tokens.");
  std::vector<int32_t> prompt;
  {
    llm::Model model = llm::Model::open(options.model, model_options(options));
    const std::vector<llm::Message> question = {{"user", options.prompt}};
    prompt = options.raw || !model.has_chat_template()
                 ? model.tokenize(options.prompt)
                 : model.tokenize(model.chat_prompt(question), true, true);
  }
  const llm::Receipt receipt =
      llm::make_receipt(options.model, prompt, generate_options(options).sampling,
                        options.max_tokens, model_options(options));
  std::ofstream file(options.receipt);
  file << receipt.to_json();
  if (!file.flush())
    throw Error(ErrorKind::IoError, fmt::format("cannot write '{}'", options.receipt),
                "Check where it goes, and the free space there.");
  if (options.json) fmt::print("{}", receipt.to_json());
  else fmt::print("{}\n", receipt.text);
  return 0;
}

}  // namespace

int generate(const LanguageArguments& options) {
  if (!options.receipt.empty()) return generate_receipt(options);
  llm::Model model = llm::Model::open(options.model, model_options(options));
  llm::GenerateOptions how = generate_options(options);
  Progress progress;
  const Interrupt interrupt(progress);
  how.on_text = [&](std::string_view text) {
    if (!options.json) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
    return Interrupt::signal() == 0;
  };
  const std::vector<llm::Message> question = {{"user", options.prompt}};
  const llm::Generation g = options.raw || !model.has_chat_template()
                                ? model.generate(options.prompt, how)
                                : model.chat(question, how);
  if (options.json) {
    print_json(g, model.load_seconds());
  } else {
    fmt::print("\n");
    fmt::print(stderr, "loaded in {:.2f} s; {}\n", model.load_seconds(), speed_line(g));
  }
  Interrupt::check();
  return 0;
}

}  // namespace hologram::tool
