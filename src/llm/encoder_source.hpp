// Encoders as BERT is one, from the same kinds of file as decoders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hologram/embeddings.hpp"
#include "llm/source.hpp"

namespace hologram::llm {

struct EncoderConfig {
  std::string architecture;
  int64_t layers = 0, width = 0, feed_forward = 0, vocabulary = 0, context = 0, heads = 0;
  int64_t first_position = 0;  // the row of the first token's position
  double epsilon = 1e-12;
  Tensor (*activation)(const Operand& x) = nullptr;
  Pooling pooling = Pooling::Mean;
};

class EncoderSource : public Tensors {
 public:
  virtual const EncoderConfig& config() const = 0;
};

// Null if the file is of another kind of model. IoError, UnsupportedOperation.
std::unique_ptr<const EncoderSource> open_encoder(const std::string& path);
// How a folder says that vectors of tokens become one; else Mean of encoders, Last of decoders.
Pooling pooling_of_folder(const std::string& folder, Pooling otherwise);

}  // namespace hologram::llm
