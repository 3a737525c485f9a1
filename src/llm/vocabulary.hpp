// The tokens of a model and what its tokenizer does with text, as one of several kinds of file
// says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "llm/pattern.hpp"

namespace hologram::files {
class Gguf;
}

namespace hologram::llm {

class Preparation;

enum class TokenizerKind : uint8_t {
  ByteBpe,    // pairs of bytes, of pieces that patterns cut, as in GPT-2
  ScoredBpe,  // pairs by their scores, as SentencePiece has it
  Unigram,    // the likeliest way to cut
  WordPiece,  // the longest piece of a word, again and again, as in BERT
};

enum class TokenKind : uint8_t { None, Normal, Unknown, Control, User, Unused, Byte };

// What WordPiece does with text before it is looked up.
struct WordRules {
  bool clean = true, separate_ideographs = true, strip_accents = true, lowercase = true;
  std::string begins, continues = "##";  // before pieces at the beginning of a word, and others
  size_t longest = 100;                  // characters of a word that is known
};

struct Vocabulary {
  TokenizerKind kind = TokenizerKind::ByteBpe;
  std::vector<std::string> pieces;  // as they are stored: of ByteBpe a character for each byte
  std::vector<float> scores;
  std::vector<TokenKind> kinds;
  std::unordered_map<std::string, int32_t> ids;
  std::unordered_map<std::string, int32_t> ranks;  // of merges: the two pieces with a space between
  std::vector<Pattern> patterns;
  std::vector<std::string> pattern_texts;  // that these were parsed from
  bool whole_words = false;  // a piece that a pattern cut is looked up before its bytes are
  WordRules words;           // of WordPiece
  std::shared_ptr<const Preparation> preparation;  // of Unigram, where a tokenizer.json has one
  int32_t begin = -1, end = -1, unknown = -1;
  std::vector<int32_t> ends;  // all tokens that end an answer
  bool add_begin = false, add_end = false, add_space = false;
  std::string chat_template;

  size_t size() const { return pieces.size(); }
  TokenKind kind_of(int32_t id) const { return kinds[static_cast<size_t>(id)]; }
  void add(std::string piece, float score, TokenKind token);
  std::optional<int32_t> byte_token(uint8_t byte) const;  // "<0x41>" of 0x41
  // A text with marks for spaces, and one in front where the model has that. `first`: nothing
  // stands before it.
  std::string marked(std::string_view text, bool first) const;
  void find_ends();  // by the names that models give them
};

// IoError, UnsupportedOperation.
Vocabulary read_vocabulary(const files::Gguf& file);
// A folder with tokenizer.json, tokenizer.model or vocab.txt.
Vocabulary read_vocabulary(const std::string& folder);

// The patterns of a pre-tokenizer by the name that GGUF has for it; empty if it is not known.
struct PreTokenizer {
  std::vector<std::string_view> patterns;
  bool whole_words = false;
  bool add_begin = false;  // unless the file says otherwise
};
const PreTokenizer* pre_tokenizer(std::string_view name);
// The name of one that cuts as these patterns do; "default" if there is none.
std::string_view pre_tokenizer_of(const std::vector<std::string>& patterns);
std::vector<Pattern> parse_patterns(const std::vector<std::string_view>& texts);

}  // namespace hologram::llm
