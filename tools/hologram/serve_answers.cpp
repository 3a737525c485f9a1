#include "serve_answers.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <random>

namespace hologram::tool {
namespace {

constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::string line(const Json& json) { return "data: " + dumped(json) + "\n\n"; }

std::string random_name(const char* front) {
  static std::atomic<uint64_t> count{std::random_device()()};
  return fmt::format("{}{:08x}{:08x}", front, std::random_device()(), ++count & 0xffffffff);
}

Json chance(const llm::TokenChance& c) {
  Json bytes = Json::array();
  for (const char byte : c.bytes) bytes.push_back(static_cast<uint8_t>(byte));
  return {{"token", c.bytes}, {"logprob", c.logprob}, {"bytes", bytes}};
}

Json chat_logprobs(const std::vector<llm::TokenLogprob>& tokens) {
  Json content = Json::array();
  for (const llm::TokenLogprob& each : tokens) {
    Json entry = chance(each.chosen);
    entry["top_logprobs"] = Json::array();
    for (const llm::TokenChance& other : each.likeliest)
      entry["top_logprobs"].push_back(chance(other));
    content.push_back(std::move(entry));
  }
  return {{"content", content}};
}

Json completion_logprobs(const std::vector<llm::TokenLogprob>& tokens) {
  Json all = {{"tokens", Json::array()},
              {"token_logprobs", Json::array()},
              {"top_logprobs", Json::array()},
              {"text_offset", Json::array()}};
  size_t offset = 0;
  for (const llm::TokenLogprob& each : tokens) {
    all["tokens"].push_back(each.chosen.bytes);
    all["token_logprobs"].push_back(each.chosen.logprob);
    Json likeliest = Json::object();
    for (const llm::TokenChance& other : each.likeliest)
      likeliest[dumped(other.bytes)] = other.logprob;
    all["top_logprobs"].push_back(std::move(likeliest));
    all["text_offset"].push_back(offset);
    offset += each.chosen.bytes.size();
  }
  return all;
}

// {"name", "arguments" or "parameters"} as a call; null if it is none.
Json call_of(std::string_view text) {
  const Json made = Json::parse(text, nullptr, false);
  if (!made.is_object() || !made.contains("name") || !made["name"].is_string()) return nullptr;
  const char* const key = made.contains("arguments") ? "arguments" : "parameters";
  const Json arguments = made.value(key, Json::object());
  return {
      {"id", random_name("call_")},
      {"type", "function"},
      {"function",
       {{"name", made["name"]},
        {"arguments", arguments.is_string() ? arguments.get<std::string>() : dumped(arguments)}}}};
}

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view without_spaces_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}
std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return without_spaces_behind(text);
}

}  // namespace

ToolCalls tool_calls_of(const std::string& text, ToolForm form) {
  ToolCalls found{text};
  if (form == ToolForm::Bare) {
    Json call = call_of(trimmed(text));
    if (!call.is_null()) found = {"", Json::array({std::move(call)})};
    return found;
  }
  if (form != ToolForm::Tagged) return found;
  for (size_t at = text.find(kOpen); at != std::string::npos; at = text.find(kOpen, at + 1)) {
    const size_t begin = at + kOpen.size(), end = std::min(text.find(kClose, begin), text.size());
    Json call = call_of(trimmed(std::string_view(text).substr(begin, end - begin)));
    if (call.is_null()) return {text};  // it is no call: as it was written
    found.calls.push_back(std::move(call));
  }
  if (!found.calls.empty())
    found.content = without_spaces_behind(std::string_view(text).substr(0, text.find(kOpen)));
  return found;
}

size_t plain_text(std::string_view text, ToolForm form) {
  if (form == ToolForm::None) return text.size();
  if (form == ToolForm::Bare)
    return trimmed(text).empty() || trimmed(text)[0] == '{' ? 0 : text.size();
  size_t end = std::min(text.find(kOpen), text.size());
  for (size_t n = std::min(kOpen.size() - 1, end); end == text.size() && n > 0; n--)
    if (text.ends_with(kOpen.substr(0, n))) end -= n;
  // Spaces before a call are no part of the text.
  return without_spaces_behind(text.substr(0, end)).size();
}

Answers::Answers(Asked asked, llm::Engine& engine, std::string model)
    : asked_(std::move(asked)),
      model_(std::move(model)),
      id_(random_name(asked_.chat ? "chatcmpl-" : "cmpl-")),
      created_(std::time(nullptr)) {
  try {
    submit(engine);
  } catch (...) {
    cancel();
    throw;
  }
}

Answers::~Answers() { cancel(); }

void Answers::submit(llm::Engine& engine) {
  const size_t count = asked_.prompts.size() * static_cast<size_t>(asked_.n);
  choices_.resize(count);
  inbox_->pending.resize(count);
  for (size_t i = 0; i < count; i++) {
    llm::GenerateOptions options = asked_.options;
    options.sampling.seed += i % static_cast<size_t>(asked_.n);
    // What they hold lives on until the engine has released them.
    options.on_token = [inbox = inbox_, i](const llm::TokenLogprob& token) {
      const std::lock_guard lock(inbox->mutex);
      inbox->pending[i].push_back(token);
    };
    options.on_text = [inbox = inbox_, cancelled = cancelled_, i](std::string_view text) {
      {
        const std::lock_guard lock(inbox->mutex);
        inbox->pieces.push_back({i, std::string(text), std::exchange(inbox->pending[i], {})});
      }
      inbox->came.notify_one();
      return !cancelled->load();
    };
    choices_[i].future =
        engine.submit(asked_.prompts[i / static_cast<size_t>(asked_.n)], std::move(options));
    left_++;
  }
}

void Answers::wait() {
  std::unique_lock lock(inbox_->mutex);
  inbox_->came.wait_for(lock, std::chrono::milliseconds(20),
                        [&] { return !inbox_->pieces.empty(); });
}

bool Answers::has_begun() {
  const std::lock_guard lock(inbox_->mutex);
  return !inbox_->pieces.empty() ||
         choices_[0].future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void Answers::check() {
  Choice& first = choices_[0];
  if (first.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  first.made = first.future.get();
  first.ended = true;
  left_--;
}

Json Answers::head(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

Json Answers::usage() const {
  int64_t prompt = 0, made = 0, reused = 0;
  for (size_t i = 0; i < choices_.size(); i++) {
    made += static_cast<int64_t>(choices_[i].made.tokens.size());
    reused += choices_[i].made.reused_tokens;
    if (i % static_cast<size_t>(asked_.n) == 0) prompt += choices_[i].made.prompt_tokens;
  }
  return {{"prompt_tokens", prompt},
          {"completion_tokens", made},
          {"total_tokens", prompt + made},
          {"prompt_tokens_details", {{"cached_tokens", std::min(reused, prompt)}}}};
}

namespace {
const char* finish_of(const llm::Generation& made) {
  return made.finish_reason == llm::FinishReason::EndOfText ||
                 made.finish_reason == llm::FinishReason::StopText
             ? "stop"
             : "length";
}
}  // namespace

std::string Answers::event(size_t i, Json delta, const Json& logprobs, const Json& finish) const {
  Json choice = {{"index", i}};
  if (asked_.chat) choice["delta"] = std::move(delta);
  else choice["text"] = delta.value("content", "");
  choice["logprobs"] = logprobs;
  choice["finish_reason"] = finish;
  Json all = head(asked_.chat ? "chat.completion.chunk" : "text_completion");
  all["choices"] = Json::array({std::move(choice)});
  if (asked_.usage) all["usage"] = nullptr;
  return line(all);
}

Json Answers::told_logprobs(const std::vector<llm::TokenLogprob>& tokens) const {
  return tokens.empty() ? Json()
         : asked_.chat  ? chat_logprobs(tokens)
                        : completion_logprobs(tokens);
}

std::string Answers::piece_event(const Piece& piece) {
  Choice& choice = choices_[piece.choice];
  choice.text += piece.text;
  std::string events;
  if (asked_.chat && !choice.begun)
    events += event(piece.choice, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  choice.begun = true;
  const size_t end = std::max(plain_text(choice.text, asked_.tools), choice.told);
  const Json logprobs = told_logprobs(piece.logprobs);
  if (end > choice.told || !logprobs.is_null())
    events += event(piece.choice, {{"content", choice.text.substr(choice.told, end - choice.told)}},
                    logprobs, nullptr);
  choice.told = end;
  return events;
}

std::string Answers::end_event(size_t i) {
  Choice& choice = choices_[i];
  std::string events;
  Json finish = finish_of(choice.made);
  if (asked_.chat && !choice.begun)
    events += event(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  // Of tokens that have no text, or whose text a stop is part of.
  std::vector<llm::TokenLogprob> left;
  {
    const std::lock_guard lock(inbox_->mutex);
    left.swap(inbox_->pending[i]);
  }
  if (!left.empty()) events += event(i, {{"content", ""}}, told_logprobs(left), nullptr);
  const ToolCalls found = tool_calls_of(choice.text, asked_.tools);
  if (!found.calls.empty()) {
    Json calls = found.calls;
    for (size_t k = 0; k < calls.size(); k++) calls[k]["index"] = k;
    events += event(i, {{"tool_calls", calls}}, nullptr, nullptr);
    finish = "tool_calls";
  } else if (choice.told < choice.text.size()) {
    events += event(i, {{"content", choice.text.substr(choice.told)}}, nullptr, nullptr);
  }
  return events + event(i, Json::object(), nullptr, finish);
}

std::string Answers::take_events() {
  // First who is done, then the pieces: those of the done ones are all there.
  std::vector<size_t> done;
  for (size_t i = 0; i < choices_.size(); i++)
    if (choices_[i].future.valid() &&
        choices_[i].future.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      done.push_back(i);
  std::deque<Piece> pieces;
  {
    const std::lock_guard lock(inbox_->mutex);
    pieces.swap(inbox_->pieces);
  }
  std::string events;
  for (const Piece& piece : pieces) events += piece_event(piece);
  for (Choice& choice : choices_)
    if (choice.ended && !choice.future.valid()) {
      choice.ended = false;  // found out by check()
      events += end_event(static_cast<size_t>(&choice - choices_.data()));
    }
  for (const size_t i : done) {
    left_--;
    try {
      choices_[i].made = choices_[i].future.get();
      events += end_event(i);
    } catch (const Error& error) {
      events += line(refusal_of(error).body());
    }
  }
  if (left_ > 0 || closed_) return events;
  closed_ = true;
  if (asked_.usage) {
    Json all = head(asked_.chat ? "chat.completion.chunk" : "text_completion");
    all["choices"] = Json::array();
    all["usage"] = usage();
    events += line(all);
  }
  return events + "data: [DONE]\n\n";
}

bool Answers::complete() {
  for (Choice& choice : choices_) {
    if (!choice.future.valid()) continue;
    if (choice.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
    choice.made = choice.future.get();
    left_--;
  }
  return true;
}

Json Answers::body() {
  Json all = head(asked_.chat ? "chat.completion" : "text_completion");
  all["choices"] = Json::array();
  for (size_t i = 0; i < choices_.size(); i++) {
    const llm::Generation& made = choices_[i].made;
    Json choice = {{"index", i}};
    Json finish = finish_of(made);
    if (asked_.chat) {
      const ToolCalls found = tool_calls_of(made.text, asked_.tools);
      Json message = {{"role", "assistant"}, {"content", found.content}, {"refusal", nullptr}};
      if (!found.calls.empty()) {
        if (found.content.empty()) message["content"] = nullptr;
        message["tool_calls"] = found.calls;
        finish = "tool_calls";
      }
      choice["message"] = std::move(message);
    } else {
      choice["text"] = made.text;
    }
    choice["logprobs"] = asked_.options.logprobs < 0 ? Json()
                         : asked_.chat               ? chat_logprobs(made.logprobs)
                                                     : completion_logprobs(made.logprobs);
    choice["finish_reason"] = finish;
    all["choices"].push_back(std::move(choice));
  }
  all["usage"] = usage();
  return all;
}

}  // namespace hologram::tool
