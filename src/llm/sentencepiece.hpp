// tokenizer.model: the protocol buffer of SentencePiece.
#pragma once

#include <string>

#include "llm/vocabulary.hpp"

namespace hologram::llm {

// IoError if it is damaged.
Vocabulary read_sentencepiece(const std::string& path);

}  // namespace hologram::llm
