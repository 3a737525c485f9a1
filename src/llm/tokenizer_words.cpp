// WordPiece: words are cut at spaces and punctuation, and taken apart into the longest pieces that
// the vocabulary has.
#include <algorithm>

#include "llm/tokenizer.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm {
namespace {

bool is_ideograph(char32_t point) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                               {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf},
                               {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const Range& r) { return point >= r.first && point <= r.last; });
}

bool stands_alone(char32_t point) {
  if (point >= 0x80) return is_punctuation(point);
  return (point >= '!' && point <= '/') || (point >= ':' && point <= '@') ||
         (point >= '[' && point <= '`') || (point >= '{' && point <= '~');
}

bool is_dropped(char32_t point) {
  if (point == '\t' || point == '\n' || point == '\r') return false;
  return point == 0 || point == 0xfffd || is_control(point);
}

class WordPieces : public Splitter {
 public:
  explicit WordPieces(const Vocabulary& vocabulary) : v_(vocabulary) {
    for (const std::string& piece : v_.pieces) longest_ = std::max(longest_, piece.size());
  }

  void split(std::string_view text, bool /*first*/, std::vector<int32_t>& to) const override {
    std::vector<char32_t> word;
    const auto end = [&] {
      if (!word.empty()) pieces(word, to);
      word.clear();
    };
    for (const char32_t point : normal(text)) {
      const bool alone = stands_alone(point);
      if (alone || is_space(point)) end();
      if (is_space(point)) continue;
      word.push_back(point);
      if (alone) end();
    }
    end();
  }

 private:
  std::vector<char32_t> normal(std::string_view text) const {
    const WordRules& rules = v_.words;
    std::vector<char32_t> points = code_points(text), next;
    const auto each = [&](bool wanted, const auto& change) {
      if (!wanted) return;
      next.clear();
      for (const char32_t point : points) change(point);
      points.swap(next);
    };
    each(rules.clean, [&](char32_t point) {
      if (!is_dropped(point)) next.push_back(point);
    });
    each(rules.separate_ideographs, [&](char32_t point) {
      const bool alone = is_ideograph(point);
      if (alone) next.push_back(' ');
      next.push_back(point);
      if (alone) next.push_back(' ');
    });
    each(rules.strip_accents, [&](char32_t point) { append_bare(next, point); });
    each(rules.lowercase, [&](char32_t point) { append_lower(next, point); });
    return points;
  }

  // The whole word is unknown if a part of it is.
  void pieces(const std::vector<char32_t>& word, std::vector<int32_t>& to) const {
    const size_t before = to.size();
    const auto unknown = [&] {
      to.resize(before);
      to.push_back(v_.unknown);
    };
    if (word.size() > v_.words.longest) return unknown();
    const std::string text = to_utf8(word.begin(), word.end());
    for (size_t at = 0; at < text.size();) {
      std::string piece = at == 0 ? v_.words.begins : v_.words.continues;
      const size_t mark = piece.size();
      piece += text.substr(at, longest_);
      while (piece.size() > mark && v_.ids.find(piece) == v_.ids.end()) piece.pop_back();
      if (piece.size() == mark) return unknown();
      to.push_back(v_.ids.find(piece)->second);
      at += piece.size() - mark;
    }
  }

  const Vocabulary& v_;
  size_t longest_ = 0;
};

}  // namespace

std::unique_ptr<const Splitter> word_pieces(const Vocabulary& vocabulary) {
  return std::make_unique<WordPieces>(vocabulary);
}

}  // namespace hologram::llm
