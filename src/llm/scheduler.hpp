// Several answers at a time: each step takes one token of every sequence, and in between pieces of
// prompts. Sequences come and go between steps.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "llm/answer.hpp"
#include "llm/decoder.hpp"
#include "llm/pages.hpp"

namespace hologram::llm {

// Not safe for threads: its owner holds a lock.
class Scheduler {
 public:
  // `reproducible`: all steps have the same shape, so that what becomes of a token does not depend
  // on what else is computed beside it.
  Scheduler(Decoder& decoder, bool reproducible);

  // It waits until there is room. ModelContext if it never fits.
  void submit(std::shared_ptr<Answer> answer);
  // One step; false if there is nothing to do. What fails, fails all answers that are under way.
  bool step();
  // Its two halves, for those who cannot wait within a call: `begin` starts what the device has to
  // do, unless it is under way already, and `end` goes on with its logits. What is thrown and is no
  // std::exception goes through either of them, which is to be called again then.
  bool begin();
  void end();
  void cancel(const std::shared_ptr<Answer>& answer);

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t running() const;

 private:
  using AnswerPtr = std::shared_ptr<Answer>;
  void admit();
  // The rows of one answer in a step.
  struct Part {
    AnswerPtr answer;
    size_t end = 0;     // of its rows in the logits
    int64_t count = 0;  // of its tokens
  };
  struct Step {
    Tensor logits;
    std::optional<int64_t> likeliest;  // so many of each row are enough; none: all logits
    std::vector<Part> parts;
    std::chrono::steady_clock::time_point start;
  };
  void begin_long();
  bool prefill();
  bool decode();
  bool fixed_step();
  void start(const std::vector<Row>& rows, std::vector<Part> parts, bool all, size_t least = 1);
  void fail_all();
  std::vector<Row> rows_of(Answer& answer, int64_t most);
  void note(Answer& answer, int64_t count);
  void give(Answer& answer, const NextLogits& next);
  void finish(Answer& answer, bool keep = true);
  bool is_prompt(const Answer& answer) const;
  bool is_long(const Answer& answer) const;
  int64_t left_of(const Answer& answer) const;
  std::optional<int64_t> likeliest_needed(const std::vector<Part>& parts) const;

  Decoder& decoder_;
  const bool reproducible_;
  Pages pages_;
  std::deque<AnswerPtr> waiting_;
  std::vector<AnswerPtr> slots_;  // by their sequence; null where there is room
  size_t turn_ = 0;               // whose prompt goes on
  bool prompts_next_ = true;
  std::optional<Step> step_;  // that is under way
};

}  // namespace hologram::llm
