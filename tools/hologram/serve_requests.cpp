#include "serve_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "hologram/error.hpp"

namespace hologram::tool {
namespace {

[[noreturn]] void refuse(std::string param, std::string message) {
  throw Refusal{400, std::move(message), "invalid_request_error", std::move(param)};
}

Json parsed(const std::string& body) {
  constexpr int kMostNested = 64;
  bool deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kMostNested;
    return !deep;
  };
  Json json = Json::parse(body, watch, false);
  if (deep || json.is_discarded() || !json.is_object())
    refuse("", deep ? "The JSON is nested too deeply." : "The body is not a JSON object.");
  return json;
}

// The fields of a request, each with its type and range.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  const Json* find(const char* name) const {
    const auto at = json_.find(name);
    return at == json_.end() || at->is_null() ? nullptr : &*at;
  }
  double real(const char* name, double otherwise, double least, double most) const {
    const Json* v = find(name);
    if (v == nullptr) return otherwise;
    if (!v->is_number() || !(v->get<double>() >= least && v->get<double>() <= most))
      refuse(name, fmt::format("'{}' has to be a number from {} to {}.", name, least, most));
    return v->get<double>();
  }
  int64_t whole(const char* name, int64_t otherwise, int64_t least, int64_t most) const {
    const Json* v = find(name);
    if (v == nullptr) return otherwise;
    const bool fits = v->is_number_integer() && v->get<double>() >= static_cast<double>(least) &&
                      v->get<double>() <= static_cast<double>(most);
    if (!fits)
      refuse(name, fmt::format("'{}' has to be a whole number from {} to {}.", name, least, most));
    return v->get<int64_t>();
  }
  bool flag(const char* name, bool otherwise) const {
    const Json* v = find(name);
    if (v == nullptr) return otherwise;
    if (!v->is_boolean()) refuse(name, fmt::format("'{}' has to be true or false.", name));
    return v->get<bool>();
  }

 private:
  const Json& json_;
};

void read_sampling(const Fields& f, llm::Sampling& s) {
  s.temperature = f.real("temperature", 1, 0, 2);
  s.top_p = f.real("top_p", 1, 1e-6, 1);
  s.top_k = f.whole("top_k", 0, 0, 1 << 30);
  s.min_p = f.real("min_p", 0, 0, 1);
  s.presence_penalty = f.real("presence_penalty", 0, -2, 2);
  s.frequency_penalty = f.real("frequency_penalty", 0, -2, 2);
  s.repetition_penalty = f.real("repetition_penalty", 1, 0.01, 100);
  s.seed = f.find("seed") != nullptr
               ? static_cast<uint64_t>(f.whole("seed", 0, INT64_MIN, INT64_MAX))
               : std::random_device()();
}

void read_stop(const Fields& f, std::vector<std::string>& stops) {
  const Json* stop = f.find("stop");
  if (stop == nullptr) return;
  for (const Json& each : stop->is_array() ? *stop : Json::array({*stop})) {
    if (!each.is_string() || each.get<std::string>().empty() || stops.size() == 16)
      refuse("stop", "'stop' has to be a text or up to 16 texts.");
    stops.push_back(each.get<std::string>());
  }
}

void refuse_unknown(const Fields& f, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const Json* v = f.find(name);
    const bool nothing = v == nullptr || (v->is_boolean() && !v->get<bool>()) || v->empty();
    if (!nothing) refuse(name, fmt::format("'{}' is not known to this server.", name));
  }
}

// What both kinds of request have.
void read_common(const Fields& f, Asked& asked, const ServeArguments& limits) {
  asked.stream = f.flag("stream", false);
  if (const Json* more = f.find("stream_options"); more != nullptr && more->is_object())
    asked.usage = Fields(*more).flag("include_usage", false);
  asked.n = f.whole("n", 1, 1, 16);
  read_sampling(f, asked.options.sampling);
  read_stop(f, asked.options.stop);
  const int64_t most = f.whole("max_tokens", limits.max_tokens, 1, INT32_MAX);
  asked.options.max_tokens =
      std::min(f.whole("max_completion_tokens", most, 1, INT32_MAX), limits.max_tokens);
  refuse_unknown(f, {"logit_bias"});
}

void read_format(const Fields& f, llm::GenerateOptions& options) {
  const Json* format = f.find("response_format");
  if (format == nullptr) return;
  const std::string type = format->is_object() ? format->value("type", Json()).dump() : "";
  if (type == "\"text\"") return;
  if (type == "\"json_object\"") {
    options.json_schema = R"({"type": "object"})";
    return;
  }
  const bool right = type == "\"json_schema\"" && format->contains("json_schema") &&
                     (*format)["json_schema"].is_object() &&
                     (*format)["json_schema"].contains("schema");
  if (!right)
    refuse("response_format",
           "'response_format' has to be text, json_object, or json_schema with a schema.");
  options.json_schema =
      (*format)["json_schema"]["schema"].dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string content_of(const Json& message) {
  const auto at = message.find("content");
  if (at == message.end() || at->is_null()) return {};
  if (at->is_string()) return at->get<std::string>();
  std::string all;
  if (at->is_array())
    for (const Json& part : *at) {
      const bool text = part.is_object() && part.value("type", Json()) == "text" &&
                        part.contains("text") && part["text"].is_string();
      if (!text) refuse("messages", "Content has to be a text or parts of the type text.");
      all += part["text"].get<std::string>();
    }
  else refuse("messages", "Content has to be a text or parts of the type text.");
  return all;
}

// Templates want a call's arguments as an object, clients send its text.
void open_arguments(Json& calls) {
  if (!calls.is_array()) refuse("messages", "'tool_calls' has to be a list.");
  for (Json& call : calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object())
      refuse("messages", "A tool call has to have a function.");
    Json& arguments = call["function"]["arguments"];
    if (!arguments.is_string()) continue;
    Json object = Json::parse(arguments.get<std::string>(), nullptr, false);
    if (object.is_object()) arguments = std::move(object);
  }
}

std::vector<llm::Message> read_messages(const Fields& f) {
  const Json* list = f.find("messages");
  if (list == nullptr || !list->is_array() || list->empty())
    refuse("messages", "'messages' has to be a list of one or more.");
  std::vector<llm::Message> messages;
  for (const Json& each : *list) {
    if (!each.is_object() || !each.contains("role") || !each["role"].is_string())
      refuse("messages", "A message has to have a role and content.");
    std::string role = each["role"].get<std::string>();
    if (role == "developer") role = "system";
    Json more = each;
    more.erase("role");
    more.erase("content");
    if (more.contains("tool_calls")) {
      if (more["tool_calls"].is_null()) more.erase("tool_calls");
      else open_arguments(more["tool_calls"]);
    }
    messages.push_back(
        {std::move(role), content_of(each),
         more.empty() ? std::string() : more.dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  return messages;
}

ToolForm form_of(const std::string& chat_template) {
  const auto has = [&](const char* mark) { return chat_template.find(mark) != std::string::npos; };
  if (!has("tools")) return ToolForm::None;
  return has("<tool_call>") ? ToolForm::Tagged : ToolForm::Bare;
}

// A schema of the calls that are allowed.
void require_call(const Json& tools, const std::string& only, ToolForm form,
                  llm::GenerateOptions& options) {
  const char* const arguments = form == ToolForm::Tagged ? "arguments" : "parameters";
  Json schema = {{"anyOf", Json::array()}, {"$defs", Json::object()}};
  for (const Json& tool : tools) {
    const Json& function = tool["function"];
    if (!only.empty() && function["name"] != only) continue;
    Json parameters = function.value("parameters", Json{{"type", "object"}});
    if (parameters.is_object() && parameters.contains("$defs")) {
      schema["$defs"].update(parameters["$defs"]);
      parameters.erase("$defs");
    }
    schema["anyOf"].push_back(
        {{"type", "object"},
         {"properties", {{"name", {{"const", function["name"]}}}, {arguments, parameters}}},
         {"required", {"name", arguments}}});
  }
  if (schema["anyOf"].empty()) refuse("tool_choice", "'tool_choice' names none of the tools.");
  options.json_schema = schema.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (form != ToolForm::Tagged) return;
  options.before_json = "<tool_call>\n";
  options.behind_json = "\n</tool_call>";
}

void read_tools(const Fields& f, const llm::Model& model, Asked& asked, llm::ChatOptions& chat) {
  const Json* tools = f.find("tools");
  const Json* choice = f.find("tool_choice");
  if (tools == nullptr || tools->empty() || (choice != nullptr && *choice == "none")) return;
  if (!tools->is_array()) refuse("tools", "'tools' has to be a list.");
  for (const Json& tool : *tools) {
    const bool right = tool.is_object() && tool.value("type", Json()) == "function" &&
                       tool.contains("function") && tool["function"].is_object() &&
                       tool["function"].contains("name") && tool["function"]["name"].is_string();
    if (!right) refuse("tools", "A tool has to be a function with a name.");
  }
  asked.tools = form_of(model.chat_template());
  if (asked.tools == ToolForm::None)
    refuse("tools", "The chat template of this model takes no tools.");
  chat.tools = tools->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (choice == nullptr || *choice == "auto") return;
  if (*choice == "required") return require_call(*tools, "", asked.tools, asked.options);
  const bool named = choice->is_object() && choice->contains("function") &&
                     (*choice)["function"].is_object() && (*choice)["function"].contains("name") &&
                     (*choice)["function"]["name"].is_string();
  if (!named) refuse("tool_choice", "'tool_choice' has to be none, auto, required or a function.");
  require_call(*tools, (*choice)["function"]["name"].get<std::string>(), asked.tools,
               asked.options);
}

// There has to be room for a token of the answer.
void fit(Asked& asked, const llm::Model& model) {
  if (static_cast<int64_t>(asked.prompts.size()) * asked.n > 16)
    refuse("n", "This server gives 16 answers to a request at most.");
  for (const auto& prompt : asked.prompts)
    if (static_cast<int64_t>(prompt.size()) > model.context())
      throw Refusal{400,
                    fmt::format("The prompt has {} tokens, more than the context of {}.",
                                prompt.size(), model.context()),
                    "invalid_request_error", "messages"};
}

// A text, or tokens, as tokens of a Model or an Embedder.
template <class Words>
std::vector<int32_t> read_text(const char* name, const Json& text, const Words& words) {
  if (text.is_string()) return words.tokenize(text.get<std::string>());
  std::vector<int32_t> tokens;
  for (const Json& each : text) {
    const bool right = each.is_number_integer() && each.get<double>() >= 0 &&
                       each.get<double>() < static_cast<double>(words.vocabulary());
    if (!right)
      refuse(name, fmt::format("'{}' has to be a text, tokens, or a list of such.", name));
    tokens.push_back(each.get<int32_t>());
  }
  return tokens;
}

// One text or a list of them, each of which has tokens.
template <class Words>
std::vector<std::vector<int32_t>> read_texts(const Fields& f, const char* name, size_t most,
                                             const Words& words) {
  const Json* texts = f.find(name);
  const std::string kinds = fmt::format("'{}' has to be a text, tokens, or a list of such.", name);
  if (texts == nullptr || (!texts->is_string() && !texts->is_array()) || texts->empty())
    refuse(name, kinds);
  std::vector<std::vector<int32_t>> all;
  if (texts->is_array() && !(*texts)[0].is_number()) {
    if (texts->size() > most)
      refuse(name, fmt::format("This server takes {} of '{}' in a request at most.", most, name));
    for (const Json& each : *texts) {
      if (!each.is_string() && !each.is_array()) refuse(name, kinds);
      all.push_back(read_text(name, each, words));
    }
  } else {
    all.push_back(read_text(name, *texts, words));
  }
  for (const auto& each : all)
    if (each.empty()) refuse(name, fmt::format("A text of '{}' is empty.", name));
  return all;
}

}  // namespace

Json Refusal::body() const {
  return {{"error",
           {{"message", message},
            {"type", type},
            {"param", param.empty() ? Json() : Json(param)},
            {"code", nullptr}}}};
}

Refusal refusal_of(const Error& error) {
  const std::string message = fmt::format("{}. {}", error.what(), error.remedy());
  switch (error.kind()) {
    case ErrorKind::InvalidArgument:
    case ErrorKind::UnsupportedOperation: return {400, message};
    case ErrorKind::OutOfMemory: return {503, message, "overloaded_error"};
    default: return {500, message, "server_error"};
  }
}

Asked read_chat(const std::string& body, const llm::Model& model, const ServeArguments& limits) {
  const Json json = parsed(body);
  const Fields f(json);
  Asked asked;
  asked.chat = true;
  read_common(f, asked, limits);
  read_format(f, asked.options);
  refuse_unknown(f, {"audio", "functions", "function_call"});
  if (f.flag("logprobs", false)) asked.options.logprobs = f.whole("top_logprobs", 0, 0, 20);
  const std::vector<llm::Message> messages = read_messages(f);
  llm::ChatOptions chat;
  read_tools(f, model, asked, chat);
  if (const Json* variables = f.find("chat_template_kwargs")) chat.variables = variables->dump();
  asked.prompts.push_back(model.chat_tokens(messages, chat));
  fit(asked, model);
  return asked;
}

Asked read_completion(const std::string& body, const llm::Model& model,
                      const ServeArguments& limits) {
  const Json json = parsed(body);
  const Fields f(json);
  Asked asked;
  read_common(f, asked, limits);
  read_format(f, asked.options);
  refuse_unknown(f, {"echo", "suffix"});
  if (f.find("logprobs") != nullptr) asked.options.logprobs = f.whole("logprobs", 0, 0, 20);
  asked.prompts = read_texts(f, "prompt", 16, model);
  fit(asked, model);
  return asked;
}

AskedVectors read_embeddings(const std::string& body, const llm::Embedder& embedder) {
  constexpr size_t kMostTexts = 2048;
  const Json json = parsed(body);
  const Fields f(json);
  AskedVectors asked;
  const Json* format = f.find("encoding_format");
  if (format != nullptr && *format != "float" && *format != "base64")
    refuse("encoding_format", "'encoding_format' has to be float or base64.");
  asked.base64 = format != nullptr && *format == "base64";
  if (f.whole("dimensions", embedder.width(), 1, INT32_MAX) != embedder.width())
    refuse("dimensions", fmt::format("The vectors of this model have {} dimensions, no others.",
                                     embedder.width()));
  asked.texts = read_texts(f, "input", kMostTexts, embedder);
  for (const auto& text : asked.texts)
    if (static_cast<int64_t>(text.size()) > embedder.context())
      refuse("input", fmt::format("A text has {} tokens, more than the context of {}.", text.size(),
                                  embedder.context()));
  return asked;
}

}  // namespace hologram::tool
