#include "llm/answer.hpp"

#include <algorithm>
#include <cmath>

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

// Where one of the texts begins in an answer, or npos.
size_t find_stop(const std::string& text, const std::vector<std::string>& stops) {
  size_t first = std::string::npos;
  for (const std::string& stop : stops)
    if (!stop.empty()) first = std::min(first, text.find(stop));
  return first;
}

// How many bytes at the end of a text may be the beginning of one that ends it.
size_t maybe_stop(const std::string& text, const std::vector<std::string>& stops) {
  size_t most = 0;
  for (const std::string& stop : stops)
    for (size_t n = std::min(stop.size(), text.size()); n > most; n--)
      if (text.compare(text.size() - n, n, stop, 0, n) == 0) most = n;
  return most;
}

}  // namespace

Answer::Answer(std::vector<int32_t> prompt, GenerateOptions options, const Tokenizer& tokenizer,
               std::shared_ptr<ConstraintGrammar> grammar)
    : options_(std::move(options)),
      tokenizer_(tokenizer),
      tokens_(std::move(prompt)),
      sampler_(options_.sampling),
      stream_(tokenizer) {
  if (tokens_.empty())
    throw core::error(core::Text::ModelArgument, "the prompt", "empty", "one token or more");
  made_.prompt_tokens = static_cast<int64_t>(tokens_.size());
  if (grammar) constraint_.emplace(std::move(grammar));
}

void Answer::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

bool Answer::tell(size_t end) {
  const bool goes_on = end <= told_ || !options_.on_text ||
                       options_.on_text(std::string_view(made_.text).substr(told_, end - told_));
  told_ = std::max(told_, end);
  return goes_on;
}

void Answer::fail(std::exception_ptr error) {
  error_ = std::move(error);
  done_ = true;
}

void Answer::end(FinishReason reason) {
  if (done_) return;
  done_ = true;
  made_.finish_reason = reason;
  if (reason != FinishReason::StopText) made_.text += stream_.rest();
  if (reason != FinishReason::Cancelled) tell(made_.text.size());
}

// With the probabilities that the model itself gives, before anything is left out.
void Answer::tell_logprobs(std::span<const float> logits, int32_t token) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - highest);
  const double of_all = highest + std::log(sum);
  const auto choice = [&](int32_t id) {
    return TokenChance{id, tokenizer_.piece(id, true), logits[static_cast<size_t>(id)] - of_all};
  };
  TokenLogprob entry{choice(token), {}};
  const size_t most = std::min(static_cast<size_t>(options_.logprobs), logits.size());
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int32_t>(i);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)],
                                  y = logits[static_cast<size_t>(b)];
                      return x > y || (x == y && a < b);
                    });
  for (size_t i = 0; i < most; i++) entry.likeliest.push_back(choice(order[i]));
  if (options_.on_token) options_.on_token(entry);
  made_.logprobs.push_back(std::move(entry));
}

std::optional<int64_t> Answer::needs() const {
  return only_logits || constraint_ || options_.logprobs >= 0 ? std::nullopt : sampler_.needs();
}

FinishReason Answer::next(const NextLogits& next, int64_t context, bool& goes_on) {
  goes_on = false;
  if (static_cast<int64_t>(made_.tokens.size()) >= options_.max_tokens) return FinishReason::Length;
  if (constraint_ && constraint_->finished()) return FinishReason::EndOfText;
  std::vector<float> before;
  if (options_.logprobs >= 0) before.assign(next.all.begin(), next.all.end());
  if (constraint_) constraint_->mask(next.all, tokenizer_);
  const int32_t token = sampler_.choose(next, tokens_, made_.tokens);
  if (tokenizer_.is_end(token)) return FinishReason::EndOfText;
  if (constraint_) constraint_->accept(tokenizer_.piece(token));
  made_.tokens.push_back(token);
  tokens_.push_back(token);
  if (options_.logprobs >= 0) tell_logprobs(before, token);
  made_.text += stream_.push(token);
  if (const size_t stop = find_stop(made_.text, options_.stop); stop != std::string::npos) {
    made_.text.resize(std::max(stop, told_));
    return FinishReason::StopText;
  }
  if (!tell(made_.text.size() - maybe_stop(made_.text, options_.stop)))
    return FinishReason::Cancelled;
  if (static_cast<int64_t>(made_.tokens.size()) == options_.max_tokens) return FinishReason::Length;
  if (constraint_ && constraint_->finished()) return FinishReason::EndOfText;
  if (static_cast<int64_t>(tokens_.size()) > context) return FinishReason::Context;
  goes_on = true;
  return FinishReason::Length;
}

bool Answer::take(const NextLogits& next_logits, int64_t context) {
  bool goes_on = false;
  const FinishReason reason = next(next_logits, context, goes_on);
  if (!goes_on) end(reason);
  return goes_on;
}

}  // namespace hologram::llm
