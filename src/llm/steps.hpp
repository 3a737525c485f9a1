// An answer in steps, for those who cannot wait for a device within a call.
#pragma once

#include <memory>
#include <vector>

#include "llm/answer.hpp"

namespace hologram::llm {

class Steps {
 public:
  // As Model::generate.
  Steps(const Model& model, std::vector<int32_t> prompt, GenerateOptions options);
  ~Steps();  // cancels
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // The halves of a step, by which all answers of the model go on; each may have to be called
  // again, see Scheduler.
  void begin();
  void end();
  void cancel();
  // Throws the error that it ended with.
  bool done() const;
  const Generation& made() const;

 private:
  std::shared_ptr<Model::State> model_;
  std::shared_ptr<Answer> answer_;
};

}  // namespace hologram::llm
