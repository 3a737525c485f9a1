// What a GGUF file says of a model that comes from a folder.
#pragma once

#include <string>

#include "files/gguf_writer.hpp"
#include "llm/config.hpp"
#include "llm/encoder_source.hpp"
#include "llm/vocabulary.hpp"

namespace hologram::llm {

void write_config(const Config& config, files::GgufWriter& to);
void write_config(const EncoderConfig& config, files::GgufWriter& to);
void write_vocabulary(const Vocabulary& vocabulary, files::GgufWriter& to);

}  // namespace hologram::llm
