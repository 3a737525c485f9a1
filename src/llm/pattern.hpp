// The regular expressions that tokenizers cut text with before they look for tokens: code points,
// classes of Unicode, alternatives, repetitions that take as much as they can or, with +, keep it,
// looking ahead, and (?i:…). No groups that are remembered, and nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::llm {

class Pattern {
 public:
  // Nothing if there is something in it that is not known here.
  static std::optional<Pattern> parse(std::string_view text);
  // What matches at `at`, as its end; nothing where nothing does, or where looking for it takes
  // longer than any honest pattern does.
  std::optional<size_t> match(const std::vector<char32_t>& text, size_t at) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
};

// Cuts [begin, end) into what matches and what lies between.
struct Piece {
  size_t begin, end;
  bool matched;
};
std::vector<Piece> cut(const Pattern& pattern, const std::vector<char32_t>& text, Piece piece);

}  // namespace hologram::llm
