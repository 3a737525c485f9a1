// What a model and its engine share.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hologram/llm.hpp"
#include "llm/chat.hpp"
#include "llm/scheduler.hpp"

namespace hologram::llm {

struct Model::State {
  std::shared_ptr<const Source> source;
  std::unique_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Decoder> decoder;
  std::unique_ptr<Scheduler> scheduler;
  double load_seconds = 0;
  std::mutex mutex;  // of the decoder, the scheduler and its answers

  std::once_flag chat_made, tokens_made;
  std::optional<ChatTemplate> chat;
  std::shared_ptr<const TokenList> tokens;

  static std::shared_ptr<State> of(std::shared_ptr<const Source> source, Vocabulary vocabulary,
                                   const ModelOptions& options, const Executor& executor,
                                   std::chrono::steady_clock::time_point start);
  std::shared_ptr<Answer> answer(std::vector<int32_t> prompt, GenerateOptions options);
  void run(const std::shared_ptr<Answer>& answer);
};

}  // namespace hologram::llm
