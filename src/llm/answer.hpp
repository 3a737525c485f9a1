// An answer as it grows: what becomes of the logits behind its last token.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "hologram/llm.hpp"
#include "llm/constraint.hpp"
#include "llm/pages.hpp"
#include "llm/sampler.hpp"
#include "llm/tokenizer.hpp"

namespace hologram::llm {

class Answer {
 public:
  // `vocabulary` lasts as long as it. InvalidArgument for options that make no sense.
  Answer(std::vector<int32_t> prompt, GenerateOptions options, const Tokenizer& tokenizer,
         std::shared_ptr<ConstraintGrammar> grammar);

  const std::vector<int32_t>& tokens() const { return tokens_; }  // the prompt's and the new ones
  int64_t prompt_tokens() const { return made_.prompt_tokens; }
  int64_t most_tokens() const { return made_.prompt_tokens + options_.max_tokens; }
  bool done() const { return done_; }
  // So many of the likeliest tokens are enough for `take`; none: all logits are needed.
  std::optional<int64_t> needs() const;
  // Chooses a token; false if the answer has ended, by that or before. `context`: the most tokens.
  bool take(const NextLogits& next, int64_t context);
  void end(FinishReason reason);
  void fail(std::exception_ptr error);
  const Generation& made() const { return made_; }
  Generation& made() { return made_; }
  void rethrow() const;

  // What the scheduler knows of it.
  Pages::Held held;
  int32_t sequence = -1;
  int64_t reserved = 0;
  bool only_logits = false;  // it ends with those of the prompt, which are kept
  std::vector<float> logits;

 private:
  bool tell(size_t end);
  void tell_logprobs(std::span<const float> logits, int32_t token);
  FinishReason next(const NextLogits& next, int64_t context, bool& goes_on);

  const GenerateOptions options_;
  const Tokenizer& tokenizer_;
  std::vector<int32_t> tokens_;
  Generation made_;
  Sampler sampler_;
  Stream stream_;
  std::optional<Constraint> constraint_;
  std::exception_ptr error_;
  size_t told_ = 0;  // bytes of the text
  bool done_ = false;
};

}  // namespace hologram::llm
