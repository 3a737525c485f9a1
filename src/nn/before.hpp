// What an optimizer's step changes, as it was before.
#pragma once

#include <vector>

#include "hologram/nn/training.hpp"

namespace hologram::nn {

inline std::vector<Tensor> values_of(const std::vector<Tensor*>& tensors) {
  std::vector<Tensor> values;
  values.reserve(tensors.size());
  for (const Tensor* t : tensors) values.push_back(*t);
  return values;
}

// Puts everything back at its end, unless told to forget it.
class Optimizer::Before {
 public:
  explicit Before(Optimizer& optimizer);
  ~Before();
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
  void forget() { forgotten_ = true; }

 private:
  Optimizer& optimizer_;
  LossScaleState scaling_;
  std::vector<Tensor*> tensors_;  // parameters, buffers, the number of steps
  std::vector<Tensor> values_;
  std::vector<std::vector<Tensor>> lists_;  // by kind
  bool forgotten_ = false;
};

}  // namespace hologram::nn
