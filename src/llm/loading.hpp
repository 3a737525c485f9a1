// Layers out of a source's tensors.
#pragma once

#include "hologram/llm.hpp"
#include "llm/decoder.hpp"

namespace hologram::llm {

// Weights by their names.
class TensorLoader {
 public:
  TensorLoader(const Tensors& tensors, const Executor& executor,
               Activations activations = Activations::Exact)
      : tensors_(tensors), executor_(executor), activations_(activations) {}

  Tensor vector(const std::string& name, int64_t length) const;
  Tensor optional_vector(const std::string& name, int64_t length) const;  // or none
  Weight weight(const std::string& name, int64_t rows, int64_t columns, int64_t count = 1) const;
  Linear linear(const std::string& name, int64_t rows, int64_t columns) const;
  // One matrix of those that take the same input, where they are stored alike; else each for
  // itself.
  std::vector<Linear> joined(const std::vector<std::string>& names,
                             const std::vector<int64_t>& rows, int64_t columns) const;

  // How many matrices there are, and of those how many get what they are multiplied with in bytes.
  int64_t matrices() const { return matrices_; }
  int64_t by_bytes() const { return by_bytes_; }

 private:
  Weight weight_of(const std::vector<Stored>& parts) const;
  Weight stored_weight(const std::vector<Stored>& parts) const;
  // With what `name.lora_a` and `name.lora_b` add, where there are such.
  void adapt(Linear& linear, const std::vector<std::string>& names,
             const std::vector<int64_t>& rows, int64_t columns) const;

  const Tensors& tensors_;
  const Executor& executor_;
  const Activations activations_;
  mutable Room room_;
  mutable int64_t matrices_ = 0, by_bytes_ = 0;
};

// Those of a decoder.
class Loader : public TensorLoader {
 public:
  Loader(const Source& source, const Executor& executor, Activations activations)
      : TensorLoader(source, executor, activations), source_(source) {}
  Layer layer(int64_t number) const;

 private:
  const Source& source_;
};

}  // namespace hologram::llm
