// Language models for JavaScript: calls as those of web.cpp. A model is the bytes of a GGUF file;
// an answer grows by steps, between which the page has its turn.
#include "hologram/llm.hpp"

#include <emscripten/emscripten.h>
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>

#include "calls.hpp"
#include "llm/steps.hpp"

namespace {

namespace llm = hologram::llm;
using hologram::web::executor;
using hologram::web::guarded;
using hologram::web::into;
using hologram::web::Json;
using hologram::web::take;
using hologram::web::text;
using hologram::web::text_of;

// What JavaScript has allocated; freed with the model, once that is there.
struct Given {
  void* bytes;
  bool ours = false;
  ~Given() {
    if (ours) std::free(bytes);
  }
};

struct Underway {
  std::unique_ptr<llm::Steps> steps;
  std::shared_ptr<std::string> fresh;  // text that was not told yet
  size_t told = 0;                     // tokens
};

std::map<uint32_t, llm::Model>& models() {
  static std::map<uint32_t, llm::Model> all;
  return all;
}
std::map<uint32_t, Underway>& answers() {
  static std::map<uint32_t, Underway> all;
  return all;
}
uint32_t g_last = 0;  // handle

template <class T>
T& found(std::map<uint32_t, T>& all, uint32_t handle, const char* what) {
  const auto at = all.find(handle);
  if (at == all.end())
    throw std::invalid_argument(
        fmt::format("the {} was disposed of, or is not of this runtime", what));
  return at->second;
}
llm::Model& model_of(const Json& request) {
  return found(models(), request.at("model").get<uint32_t>(), "model");
}

llm::ModelOptions model_options(const Json& given) {
  llm::ModelOptions options;
  const auto cache = [&](const Json& name) {
    const auto type = hologram::parse_dtype(name.get<std::string>());
    if (!type) throw std::invalid_argument(fmt::format("there is no dtype {}", name.dump()));
    options.cache = *type;
  };
  const auto activations = [&](const Json& name) {
    options.activations = llm::parse_activations(name.get<std::string>());
    if (!options.activations)
      throw std::invalid_argument(
          fmt::format("activations are \"exact\", \"bytes\" or \"halves\", not {}", name.dump()));
  };
  take(given, {{"context", into(options.context)}, {"cache", cache}, {"activations", activations}});
  return options;
}

llm::GenerateOptions generate_options(const Json& given) {
  llm::GenerateOptions options;
  llm::Sampling& s = options.sampling;
  take(given, {{"maxTokens", into(options.max_tokens)},
               {"stop", into(options.stop)},
               {"jsonSchema", into(options.json_schema)},
               {"special", into(options.special)},
               {"greedy", into(s.greedy)},
               {"temperature", into(s.temperature)},
               {"topK", into(s.top_k)},
               {"topP", into(s.top_p)},
               {"minP", into(s.min_p)},
               {"repetitionPenalty", into(s.repetition_penalty)},
               {"presencePenalty", into(s.presence_penalty)},
               {"frequencyPenalty", into(s.frequency_penalty)},
               {"seed", into(s.seed)}});
  return options;
}

std::vector<llm::Message> messages_of(const Json& given) {
  std::vector<llm::Message> messages;
  for (Json one : given) {
    llm::Message message;
    message.role = one.at("role").get<std::string>();
    message.content = one.at("content").get<std::string>();
    one.erase("role");
    one.erase("content");
    if (!one.empty()) message.more = one.dump();
    messages.push_back(std::move(message));
  }
  return messages;
}

// {"tokens": [1, 403]}, {"prompt": "Once"} or {"messages": [{"role": "user", "content": "Hi"}]}.
std::vector<int32_t> prompt_of(const llm::Model& model, const Json& wanted, bool special) {
  if (wanted.contains("tokens")) return wanted["tokens"].get<std::vector<int32_t>>();
  if (wanted.contains("messages")) return model.chat_tokens(messages_of(wanted["messages"]));
  return model.tokenize(wanted.at("prompt").get<std::string>(), true, special);
}

Json told_by(const llm::Generation& made) {
  return {{"tokens", made.tokens},
          {"text", made.text},
          {"finishReason", std::string(name_of(made.finish_reason))},
          {"promptTokens", made.prompt_tokens},
          {"reusedTokens", made.reused_tokens},
          {"prefillSeconds", made.prefill_seconds},
          {"decodeSeconds", made.decode_seconds}};
}

}  // namespace

void hologram::web::close_models() {
  answers().clear();
  models().clear();
}

extern "C" {

// A model out of the bytes of a file, which stay where they are and are freed with the model; if
// this fails they are the caller's. {"name": "a.gguf", "options": {"context": 512}}; leaves
// {"architecture": …, "context": …, "vocabulary": …, "chats": whether it has a template, "seconds":
// …}. An attempt.
EMSCRIPTEN_KEEPALIVE uint32_t hg_model(const char* request, void* bytes, uint32_t length) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const auto owner = std::make_shared<Given>(Given{bytes});
    const auto model = llm::Model::parse(wanted.at("name").get<std::string>(),
                                         {static_cast<const std::byte*>(bytes), length}, owner,
                                         model_options(wanted.at("options")), executor());
    owner->ours = true;
    text = text_of({{"architecture", model.architecture()},
                    {"context", model.context()},
                    {"vocabulary", model.vocabulary()},
                    {"chats", model.has_chat_template()},
                    {"seconds", model.load_seconds()}});
    models().emplace(++g_last, model);
    return g_last;
  });
}
// A model's memory is freed when its answers are gone, too.
EMSCRIPTEN_KEEPALIVE void hg_model_dispose(uint32_t handle) { models().erase(handle); }

// {"model": 1, "prompt": "Once upon a time"}, or what else an answer begins with; leaves
// [403, 407, …].
EMSCRIPTEN_KEEPALIVE uint32_t hg_tokens(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    text = Json(prompt_of(model_of(wanted), wanted, wanted.value("special", false))).dump();
    return 1u;
  });
}
// {"model": 1, "tokens": [403, 407]}; leaves "Once upon", as JSON.
EMSCRIPTEN_KEEPALIVE uint32_t hg_text_of(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const auto tokens = wanted.at("tokens").get<std::vector<int32_t>>();
    text = text_of(Json(model_of(wanted).text_of(tokens)));
    return 1u;
  });
}

// Begins an answer: {"model": 1, "prompt": "Once", "options": {"maxTokens": 40}}.
EMSCRIPTEN_KEEPALIVE uint32_t hg_answer(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const llm::Model& model = model_of(wanted);
    llm::GenerateOptions options = generate_options(wanted.at("options"));
    const auto fresh = std::make_shared<std::string>();
    options.on_text = [fresh](std::string_view more) {
      *fresh += more;
      return true;
    };
    std::vector<int32_t> prompt = prompt_of(model, wanted, options.special);
    auto steps = std::make_unique<llm::Steps>(model, std::move(prompt), std::move(options));
    answers().emplace(++g_last, Underway{std::move(steps), fresh});
    return g_last;
  });
}

// Starts a step; an attempt.
EMSCRIPTEN_KEEPALIVE uint32_t hg_answer_begin(uint32_t handle) {
  return guarded([&] {
    found(answers(), handle, "answer").steps->begin();
    return 1u;
  });
}
// Goes on with what the step has made; leaves {"tokens": [new ones], "text": "their text"}, at the
// end with the whole in "whole". An attempt of its own, as it must not start the step again.
EMSCRIPTEN_KEEPALIVE uint32_t hg_answer_end(uint32_t handle) {
  return guarded([&] {
    Underway& answer = found(answers(), handle, "answer");
    answer.steps->end();
    const bool done = answer.steps->done();
    const llm::Generation& made = answer.steps->made();
    Json step = {
        {"tokens", std::vector<int32_t>(made.tokens.begin() + answer.told, made.tokens.end())},
        {"text", std::exchange(*answer.fresh, {})}};
    answer.told = made.tokens.size();
    if (done) step["whole"] = told_by(made);
    text = text_of(step);
    return 1u;
  });
}
// Ends it early; hg_answer_end has what there is.
EMSCRIPTEN_KEEPALIVE uint32_t hg_answer_cancel(uint32_t handle) {
  return guarded([&] {
    found(answers(), handle, "answer").steps->cancel();
    return 1u;
  });
}
EMSCRIPTEN_KEEPALIVE void hg_answer_dispose(uint32_t handle) { answers().erase(handle); }

}  // extern "C"
