// Text to tokens and back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/vocabulary.hpp"

namespace hologram::llm {

// What cuts text, in which there are no special tokens any more, into tokens.
class Splitter {
 public:
  virtual ~Splitter() = default;
  // `first`: nothing but special tokens stands before it.
  virtual void split(std::string_view text, bool first, std::vector<int32_t>& to) const = 0;
};
std::unique_ptr<const Splitter> byte_bpe(const Vocabulary& vocabulary);
std::unique_ptr<const Splitter> scored_bpe(const Vocabulary& vocabulary);
std::unique_ptr<const Splitter> unigram(const Vocabulary& vocabulary);
std::unique_ptr<const Splitter> word_pieces(const Vocabulary& vocabulary);

class Tokenizer {
 public:
  explicit Tokenizer(Vocabulary vocabulary);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  bool is_end(int32_t id) const;

  // `ends`: with the tokens that the model wants before and behind. `special`: text that spells a
  // control token is that token, as templates of chats want it.
  std::vector<int32_t> encode(std::string_view text, bool ends, bool special) const;
  // The bytes that a token stands for, which may be part of a character; of control tokens none,
  // unless they are wanted.
  std::string piece(int32_t id, bool special = false) const;
  std::string decode(std::span<const int32_t> ids, bool special = false) const;

 private:
  struct Fragment;
  std::vector<Fragment> cut_special(std::string_view text, bool special) const;

  const Vocabulary vocabulary_;
  std::unique_ptr<const Splitter> splitter_;
  std::vector<int32_t> special_;  // the longest first
};

// Text that comes token by token: what is not a whole character yet is held back.
class Stream {
 public:
  explicit Stream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string push(int32_t id);
  std::string rest();  // what will never be complete

 private:
  const Tokenizer& tokenizer_;
  std::string held_;
};

// GPT-2's character for each byte, and back.
const std::string& character_of(uint8_t byte);
std::string bytes_of(std::string_view text);

}  // namespace hologram::llm
