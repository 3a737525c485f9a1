// A transformer that looks at all of a text at once, as BERT does.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "llm/decoder.hpp"
#include "llm/encoder_source.hpp"

namespace hologram::llm {

class Encoder {
 public:
  // Reads the weights.
  Encoder(std::shared_ptr<const EncoderSource> source, const Executor& executor);

  const EncoderConfig& config() const { return source_->config(); }

  // The states behind the last layer, f32 [texts, length of the longest, width]; those of a shorter
  // text behind its end mean nothing.
  Tensor states(std::span<const std::vector<int32_t>> texts) const;

 private:
  struct Norm {
    Tensor weight, bias;
  };
  struct Layer {
    std::vector<Linear> inputs;  // queries, keys and values, as one or three
    Linear output, up, down;
    Norm attention_norm, output_norm;
  };
  Norm norm_of(const std::string& name) const;
  Tensor normalized(const Tensor& x, const Norm& norm) const;
  Tensor embed(std::span<const std::vector<int32_t>> texts, int64_t length) const;
  Tensor attend(const Layer& layer, const Tensor& x, int64_t texts, const Tensor& mask) const;

  std::shared_ptr<const EncoderSource> source_;
  Executor executor_;
  Stored words_, positions_;
  std::vector<float> type_;  // of all tokens, or nothing
  Norm embedding_norm_;
  std::vector<Layer> layers_;
};

}  // namespace hologram::llm
