// Random numbers of captured calculations.
#pragma once

#include "tensor/access.hpp"

namespace hologram::tensor {

// As long as one lives, what its thread draws on an executor takes the key and the number of the
// operation from a tensor u32[4], which each launch of the graph gives anew: low and high words of
// the key, and of the number of the first operation.
class CapturedDraws {
 public:
  explicit CapturedDraws(Tensor words) : words_(std::move(words)), outer_(current_) {
    current_ = this;
  }
  ~CapturedDraws() { current_ = outer_; }
  CapturedDraws(const CapturedDraws&) = delete;
  CapturedDraws& operator=(const CapturedDraws&) = delete;

  // That of this thread and executor, or null.
  static CapturedDraws* of(const graph::Context& context);

  const Tensor& words() const { return words_; }
  uint32_t next() { return count_++; }  // the number of an operation, from the first
  uint32_t count() const { return count_; }

 private:
  const Tensor words_;
  uint32_t count_ = 0;
  CapturedDraws* const outer_;
  static inline thread_local CapturedDraws* current_ = nullptr;
};

}  // namespace hologram::tensor
