// Which tokens an answer may have, where it has to be JSON.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/grammar.hpp"

namespace hologram::llm {

class Tokenizer;

// The bytes of all tokens in their order, each with how many it shares with the one before.
struct TokenList {
  struct Entry {
    std::string bytes;
    int32_t id;
    size_t shared;
  };
  std::vector<Entry> entries;
};
std::shared_ptr<const TokenList> token_list(const Tokenizer& tokenizer);

// A JSON schema's language, between two texts. All answers to one request share it, and the one who
// runs them.
class ConstraintGrammar {
 public:
  // InvalidArgument, which names it, for what is no schema or has parts that are not known.
  ConstraintGrammar(std::string_view schema, std::string_view before, std::string_view behind,
                    std::shared_ptr<const TokenList> tokens);

  Grammar& grammar() { return grammar_; }
  int start() { return grammar_.start(root_); }
  // By token, whether it fits; tokens of no bytes never do.
  const std::vector<bool>& fitting(int state, size_t vocabulary);

 private:
  Grammar grammar_;
  int root_;
  const std::shared_ptr<const TokenList> tokens_;
  std::map<int, std::vector<bool>> known_;
};

class Constraint {
 public:
  explicit Constraint(std::shared_ptr<ConstraintGrammar> grammar)
      : grammar_(std::move(grammar)), state_(grammar_->start()) {}

  bool finished() const;  // nothing can follow
  // What does not fit becomes minus infinity.
  void mask(std::span<float> logits, const Tokenizer& tokenizer);
  void accept(std::string_view bytes) { state_ = grammar_->grammar().next(state_, bytes); }

 private:
  std::shared_ptr<ConstraintGrammar> grammar_;
  int state_;
};

}  // namespace hologram::llm
