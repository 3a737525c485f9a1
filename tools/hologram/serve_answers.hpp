// Answers of `hologram serve`: what an engine makes, as JSON of OpenAI's interface.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve_requests.hpp"

namespace hologram::tool {

// The answers to one request while they are made. The engine's thread puts pieces in, the
// connection's takes them out.
class Answers {
 public:
  // Refusal or Error if the engine does not take them; none is under way then.
  Answers(Asked asked, llm::Engine& engine, std::string model);
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  void cancel() { cancelled_->store(true); }
  // Waits, for a moment at most, until there is something new.
  void wait();
  // Whether the first piece, or an end, has come.
  bool has_begun();
  // An answer that has ended by an error before anything of it was sent, as an Error.
  void check();

  // What is new, as events of a stream; the last ones once all are done.
  std::string take_events();
  bool done() const { return left_ == 0 && closed_; }
  // The whole, once all are done.
  bool complete();
  Json body();

 private:
  struct Piece {
    size_t choice;
    std::string text;
    std::vector<llm::TokenLogprob> logprobs;
  };
  struct Inbox {
    std::mutex mutex;
    std::condition_variable came;
    std::deque<Piece> pieces;
    std::vector<std::vector<llm::TokenLogprob>> pending;  // by choice: of text that is held back
  };
  struct Choice {
    std::future<llm::Generation> future;
    llm::Generation made;
    std::string text;  // of which
    size_t told = 0;   // bytes have been sent
    bool begun = false, ended = false;
  };
  void submit(llm::Engine& engine);
  Json head(const char* object) const;
  Json choice_json(size_t i, bool delta) const;
  std::string event(size_t i, Json delta, const Json& logprobs, const Json& finish) const;
  Json told_logprobs(const std::vector<llm::TokenLogprob>& tokens) const;
  std::string piece_event(const Piece& piece);
  std::string end_event(size_t i);
  Json usage() const;

  const Asked asked_;
  const std::string model_, id_;
  const int64_t created_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::vector<Choice> choices_;
  size_t left_ = 0;
  bool closed_ = false;  // the stream's end is told
};

// Calls of tools in the text of an answer, and the text without them.
struct ToolCalls {
  std::string content;
  Json calls = Json::array();
};
ToolCalls tool_calls_of(const std::string& text, ToolForm form);
// How much of an answer that goes on is text for sure.
size_t plain_text(std::string_view text, ToolForm form);

}  // namespace hologram::tool
