#include "llm/chat.hpp"

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

using jinja::Value;

std::string piece_of(const Vocabulary& vocabulary, int32_t id) {
  return id < 0 ? std::string() : vocabulary.pieces[static_cast<size_t>(id)];
}

std::string where(const jinja::Failure& failure) {
  return "line " + std::to_string(failure.line) + ": " + failure.what();
}

jinja::Template parsed(const std::string& source, const std::string& path) {
  if (source.empty()) throw core::error(core::Text::ModelTemplate, path, "it has none");
  try {
    return jinja::Template(source);
  } catch (const jinja::Failure& failure) {
    throw core::error(core::Text::ModelTemplate, path, where(failure));
  }
}

OrderedJson json_of(const std::string& text, const char* what, bool array) {
  OrderedJson json = parse_json(text);
  if (!(array ? json.is_array() : json.is_object()))
    throw core::error(core::Text::ModelArgument, what, "no such JSON",
                      array ? "a JSON array" : "a JSON object");
  return json;
}

void add(jinja::Items& to, const OrderedJson& object) {
  for (const auto& [key, value] : object.items()) to.emplace_back(key, Value::from(value));
}

Value value_of(const Message& message) {
  jinja::Items items = {{"role", Value::text(message.role)},
                        {"content", Value::text(message.content)}};
  if (!message.more.empty()) add(items, json_of(message.more, "more of a message", false));
  return Value::dict(std::move(items));
}

}  // namespace

ChatTemplate::ChatTemplate(const Vocabulary& vocabulary, std::string path)
    : path_(std::move(path)),
      begin_(piece_of(vocabulary, vocabulary.begin)),
      end_(piece_of(vocabulary, vocabulary.end)),
      template_(parsed(vocabulary.chat_template, path_)) {}

std::string ChatTemplate::render(std::span<const Message> messages,
                                 const ChatOptions& options) const {
  std::vector<Value> list;
  for (const Message& message : messages) list.push_back(value_of(message));
  jinja::Environment environment;
  const auto set = [&](const char* name, Value value) {
    environment.variables.emplace_back(name, std::move(value));
  };
  try {
    set("messages", Value::list(std::move(list)));
    set("add_generation_prompt", Value::boolean(true));
    set("bos_token", Value::text(begin_));
    set("eos_token", Value::text(end_));
    if (!options.tools.empty())
      set("tools", Value::from(json_of(options.tools, "the tools", true)));
    if (!options.variables.empty())
      add(environment.variables, json_of(options.variables, "the variables", false));
    return template_.render(environment);
  } catch (const jinja::Failure& failure) {
    throw core::error(core::Text::ModelTemplateRefuses, path_,
                      failure.refused ? std::string(failure.what()) : where(failure));
  }
}

}  // namespace hologram::llm
