#include "llm/constraint.hpp"

#include <algorithm>
#include <limits>

#include "llm/json_schema.hpp"
#include "llm/tokenizer.hpp"

namespace hologram::llm {

std::shared_ptr<const TokenList> token_list(const Tokenizer& tokenizer) {
  auto list = std::make_shared<TokenList>();
  const auto count = static_cast<int32_t>(tokenizer.vocabulary().size());
  for (int32_t id = 0; id < count; id++) {
    std::string bytes = tokenizer.is_end(id) ? std::string() : tokenizer.piece(id);
    if (!bytes.empty()) list->entries.push_back({std::move(bytes), id, 0});
  }
  auto& entries = list->entries;
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  for (size_t i = 1; i < entries.size(); i++) {
    const std::string &a = entries[i - 1].bytes, &b = entries[i].bytes;
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    entries[i].shared = static_cast<size_t>(differ.first - a.begin());
  }
  return list;
}

ConstraintGrammar::ConstraintGrammar(std::string_view schema, std::string_view before,
                                     std::string_view behind,
                                     std::shared_ptr<const TokenList> tokens)
    : root_(add_json_schema(grammar_, schema, before, behind)), tokens_(std::move(tokens)) {}

const std::vector<bool>& ConstraintGrammar::fitting(int state, size_t vocabulary) {
  constexpr size_t kMostKept = 2048;
  if (known_.size() > kMostKept) known_.clear();
  const auto [at, fresh] = known_.try_emplace(state);
  std::vector<bool>& fits = at->second;
  if (!fresh) return fits;
  fits.resize(vocabulary);
  // States behind each byte of a token; those of what it shares with the one before are known.
  std::vector<int> states = {state};
  for (const TokenList::Entry& entry : tokens_->entries) {
    if (entry.shared + 1 < states.size()) states.resize(entry.shared + 1);
    while (states.size() <= entry.bytes.size() && states.back() != Grammar::kDead)
      states.push_back(
          grammar_.next(states.back(), static_cast<uint8_t>(entry.bytes[states.size() - 1])));
    if (states.size() > entry.bytes.size() && states.back() != Grammar::kDead)
      fits[static_cast<size_t>(entry.id)] = true;
  }
  return fits;
}

bool Constraint::finished() const {
  return state_ == Grammar::kDead || grammar_->grammar().must_end(state_);
}

void Constraint::mask(std::span<float> logits, const Tokenizer& tokenizer) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const std::vector<bool>& fits = grammar_->fitting(state_, logits.size());
  const bool can_end = grammar_->grammar().can_end(state_);
  bool any = false;
  for (size_t i = 0; i < logits.size(); i++) {
    const bool allowed = fits[i] || (can_end && tokenizer.is_end(static_cast<int32_t>(i)));
    if (!allowed) logits[i] = kNever;
    any = any || allowed;
  }
  if (any) return;
  // A vocabulary without a token for some byte: the answer ends here.
  const int32_t end = tokenizer.vocabulary().end;
  if (end >= 0) logits[static_cast<size_t>(end)] = 0;
}

}  // namespace hologram::llm
