#include "llm/scheduler.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "core/messages.hpp"
#include "hologram/ops.hpp"

namespace hologram::llm {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// More than so many tokens to choose from are found by the host, out of all logits.
constexpr int64_t kMostLikeliest = 256;

// The logits of a step for the host: all, or where a few tokens of each row are enough, those that
// the device finds.
class HostLogits {
 public:
  HostLogits(const Tensor& logits, std::optional<int64_t> likeliest)
      : of_row_(static_cast<size_t>(likeliest.value_or(logits.size(1)))), all_(!likeliest) {
    if (all_) {
      numbers_ = logits.to_vector<float>();
    } else if (likeliest == 1) {
      tokens_ = ops::argmax(logits, -1).to_vector<int64_t>();
      numbers_.resize(tokens_.size());  // one has all the probability, whatever its logit
    } else {
      const ops::TopK best = ops::topk(logits, *likeliest);
      eval({best.values, best.indices});
      numbers_ = best.values.to_vector<float>();
      tokens_ = best.indices.to_vector<int64_t>();
    }
  }
  NextLogits at(size_t row) {
    const size_t first = row * of_row_;
    const std::span<float> numbers = std::span(numbers_).subspan(first, of_row_);
    if (all_) return {numbers, {}};
    const std::span<const int64_t> tokens = std::span(tokens_).subspan(first, of_row_);
    return {{}, {{tokens.begin(), tokens.end()}, {numbers.begin(), numbers.end()}}};
  }

 private:
  const size_t of_row_;
  const bool all_;
  std::vector<float> numbers_;
  std::vector<int64_t> tokens_;
};

}  // namespace

Scheduler::Scheduler(Decoder& decoder, bool reproducible)
    : decoder_(decoder),
      reproducible_(reproducible),
      pages_(decoder.cache().pages),
      slots_(static_cast<size_t>(decoder.cache().sequences)) {}

int64_t Scheduler::running() const {
  return std::count_if(slots_.begin(), slots_.end(),
                       [](const AnswerPtr& a) { return a != nullptr; });
}

void Scheduler::submit(AnswerPtr answer) {
  decoder_.require_tokens(answer->tokens());
  if (answer->prompt_tokens() > decoder_.capacity())
    throw core::error(core::Text::ModelContext, answer->prompt_tokens(), decoder_.capacity());
  // The last new token is never put into the cache.
  const int64_t most =
      std::min(std::max(answer->most_tokens() - 1, answer->prompt_tokens()), decoder_.capacity());
  answer->reserved = CacheShape::pages_for(most);
  if (answer->reserved > pages_.count())
    throw core::error(core::Text::ModelContext, most, pages_.count() * kPage);
  waiting_.push_back(std::move(answer));
}

// First come, first served: who waits for much room is not overtaken.
void Scheduler::admit() {
  while (!waiting_.empty()) {
    const auto slot = std::find(slots_.begin(), slots_.end(), nullptr);
    Answer& answer = *waiting_.front();
    if (slot == slots_.end() || !pages_.reserve(answer.reserved)) return;
    answer.sequence = static_cast<int32_t>(slot - slots_.begin());
    *slot = std::move(waiting_.front());
    waiting_.pop_front();
  }
}

// Tokens that the cache does not have yet.
int64_t Scheduler::left_of(const Answer& answer) const {
  return static_cast<int64_t>(answer.tokens().size()) - answer.held.known;
}
bool Scheduler::is_prompt(const Answer& answer) const {
  return answer.held.known < answer.prompt_tokens() || left_of(answer) > 1;
}

// A text that has become long is computed once more, as keys of short ones are turned otherwise.
void Scheduler::begin_long() {
  for (const AnswerPtr& answer : slots_)
    if (answer && !answer->held.is_long && is_long(*answer)) pages_.release(answer->held);
}
bool Scheduler::is_long(const Answer& answer) const {
  return decoder_.config().is_long(static_cast<int64_t>(answer.tokens().size()));
}

// The next tokens of a sequence, with pages for them.
std::vector<Row> Scheduler::rows_of(Answer& answer, int64_t most) {
  if (answer.held.pages.empty()) {
    answer.held = pages_.find(answer.tokens(), is_long(answer));
    if (answer.made().tokens.empty()) answer.made().reused_tokens = answer.held.known;
  }
  const int64_t known = answer.held.known, count = std::min(most, left_of(answer));
  while (static_cast<int64_t>(answer.held.pages.size()) < CacheShape::pages_for(known + count))
    if (!pages_.add(answer.held)) throw core::error(core::Text::ModelContext, known + count, known);
  decoder_.set_pages(answer.sequence, answer.held.pages, answer.held.is_long);
  std::vector<Row> rows;
  for (int64_t i = known; i < known + count; i++)
    rows.push_back(
        {answer.tokens()[static_cast<size_t>(i)], answer.sequence, static_cast<int32_t>(i)});
  return rows;
}

void Scheduler::note(Answer& answer, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    pages_.note(answer.held, answer.tokens()[static_cast<size_t>(answer.held.known)]);
}

void Scheduler::give(Answer& answer, const NextLogits& next) {
  if (answer.only_logits) {
    answer.logits.assign(next.all.begin(), next.all.end());
    answer.end(FinishReason::Length);
  } else {
    try {
      answer.take(next, decoder_.capacity());
    } catch (...) {  // out of what its owner does with the text
      answer.fail(std::current_exception());
    }
  }
  if (answer.done()) finish(answer);
}

void Scheduler::finish(Answer& answer, bool keep) {
  pages_.release(answer.held, keep);
  pages_.unreserve(answer.reserved);
  slots_[static_cast<size_t>(answer.sequence)].reset();
}

void Scheduler::cancel(const AnswerPtr& answer) {
  if (answer->done()) return;
  answer->end(FinishReason::Cancelled);
  const auto at = std::find(waiting_.begin(), waiting_.end(), answer);
  if (at != waiting_.end()) waiting_.erase(at);
  else finish(*answer);
}

// Of those whose last token is in the step; a power of two, for which the device has its kernels.
std::optional<int64_t> Scheduler::likeliest_needed(const std::vector<Part>& parts) const {
  int64_t most = 1;
  for (const Part& part : parts) {
    if (left_of(*part.answer) > part.count) continue;
    const std::optional<int64_t> needs = part.answer->needs();
    if (!needs) return {};
    most = std::max(most, *needs);
  }
  if (most > kMostLikeliest) return {};
  return std::min(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(most))),
                  decoder_.config().vocabulary);
}

void Scheduler::start(const std::vector<Row>& rows, std::vector<Part> parts, bool all,
                      size_t least) {
  const auto now = Clock::now();
  const std::optional<int64_t> likeliest = likeliest_needed(parts);
  step_ = Step{decoder_.start(rows, all, least), likeliest, std::move(parts), now};
}

// A piece of one prompt; those who have one take turns.
bool Scheduler::prefill() {
  for (size_t i = 0; i < slots_.size(); i++) {
    const AnswerPtr answer = slots_[(turn_ + i) % slots_.size()];
    if (!answer || !is_prompt(*answer)) continue;
    turn_ = (turn_ + i + 1) % slots_.size();
    const std::vector<Row> rows = rows_of(*answer, decoder_.chunk());
    start(rows, {{answer, 1, static_cast<int64_t>(rows.size())}}, false);
    return true;
  }
  return false;
}

// One token of each that has its prompt behind it.
bool Scheduler::decode() {
  std::vector<Part> parts;
  std::vector<Row> rows;
  for (const AnswerPtr& answer : slots_) {
    if (!answer || is_prompt(*answer)) continue;
    rows.push_back(rows_of(*answer, 1)[0]);
    parts.push_back({answer, rows.size(), 1});
  }
  if (rows.empty()) return false;
  start(rows, std::move(parts), true);
  return true;
}

// Always kMostCaptured / 2 rows of the captured graph: new tokens first, then those of prompts.
bool Scheduler::fixed_step() {
  constexpr size_t kRows = Decoder::kMostCaptured / 2;
  std::vector<Part> parts;
  std::vector<Row> rows;
  for (const bool prompts : {false, true})
    for (size_t i = 0; i < slots_.size() && rows.size() < kRows; i++) {
      const AnswerPtr& answer = slots_[(turn_ + i) % slots_.size()];
      if (!answer || is_prompt(*answer) != prompts) continue;
      const std::vector<Row> more = rows_of(*answer, static_cast<int64_t>(kRows - rows.size()));
      rows.insert(rows.end(), more.begin(), more.end());
      parts.push_back({answer, rows.size(), static_cast<int64_t>(more.size())});
    }
  if (rows.empty()) return false;
  turn_ = (turn_ + 1) % slots_.size();
  start(rows, std::move(parts), true, kRows);
  return true;
}

void Scheduler::fail_all() {
  step_.reset();
  for (const AnswerPtr& answer : std::vector<AnswerPtr>(slots_)) {
    if (!answer) continue;
    answer->fail(std::current_exception());
    finish(*answer, false);
  }
}

bool Scheduler::begin() {
  if (step_) return true;
  admit();
  begin_long();
  try {
    if (reproducible_) return fixed_step();
    // Prompts and new tokens take turns, so that neither waits for long.
    prompts_next_ = !prompts_next_;
    return prompts_next_ ? prefill() || decode() : decode() || prefill();
  } catch (const std::exception&) {
    fail_all();
    return true;
  }
}

void Scheduler::end() {
  if (!step_) return;
  std::optional<HostLogits> logits;
  try {
    logits.emplace(step_->logits, step_->likeliest);
  } catch (const std::exception&) {
    return fail_all();
  }
  const Step step = std::move(*step_);
  step_.reset();
  const double seconds = seconds_since(step.start);
  for (const Part& part : step.parts) {
    if (part.answer->done()) continue;  // cancelled between the halves
    Generation& made = part.answer->made();
    (is_prompt(*part.answer) ? made.prefill_seconds : made.decode_seconds) += seconds;
    note(*part.answer, part.count);
    if (left_of(*part.answer) == 0) give(*part.answer, logits->at(part.end - 1));
  }
}

bool Scheduler::step() {
  const bool begun = begin();
  end();
  return begun;
}

}  // namespace hologram::llm
