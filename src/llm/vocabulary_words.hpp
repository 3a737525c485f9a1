// Vocabularies of WordPiece beside a model.
#pragma once

#include <string>

#include "llm/json.hpp"
#include "llm/vocabulary.hpp"

namespace hologram::llm {

// The rules in a tokenizer.json, whose pieces have been read. UnsupportedOperation for others than
// BERT's.
void read_words(const std::string& folder, const Json& tokenizer, Vocabulary& v);
// A folder with vocab.txt: a piece a line.
Vocabulary read_word_list(const std::string& folder);

}  // namespace hologram::llm
