#include "llm/steps.hpp"

#include "llm/model_state.hpp"

namespace hologram::llm {

Steps::Steps(const Model& model, std::vector<int32_t> prompt, GenerateOptions options)
    : model_(model.state_), answer_(model_->answer(std::move(prompt), std::move(options))) {
  const std::lock_guard lock(model_->mutex);
  model_->scheduler->submit(answer_);
}

Steps::~Steps() { cancel(); }

void Steps::cancel() {
  const std::lock_guard lock(model_->mutex);
  model_->scheduler->cancel(answer_);
}

void Steps::begin() {
  const std::lock_guard lock(model_->mutex);
  if (!answer_->done()) model_->scheduler->begin();
}

void Steps::end() {
  const std::lock_guard lock(model_->mutex);
  model_->scheduler->end();
}

bool Steps::done() const {
  const std::lock_guard lock(model_->mutex);
  answer_->rethrow();
  return answer_->done();
}

const Generation& Steps::made() const { return answer_->made(); }

}  // namespace hologram::llm
