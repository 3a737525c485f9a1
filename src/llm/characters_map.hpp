// SentencePiece's maps of characters, as tokenizer.json has them: texts of some bytes, and what
// stands for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::llm {

class CharactersMap {
 public:
  // Of base64; nothing if it does not parse.
  static std::optional<CharactersMap> parse(std::string_view base64);

  // The text with its clusters of characters, else its characters, replaced that the map has.
  std::string normal(std::string_view text) const;

 private:
  // What stands for the shortest text of the map that `text` begins with, as Hugging Face has it.
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units_;  // a double-array trie, as Darts-clone writes it
  std::string texts_;            // each ends with a 0
};

}  // namespace hologram::llm
