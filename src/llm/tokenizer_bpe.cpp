// Pieces made of pairs: by the ranks of merges of bytes, or by scores.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <queue>

#include "llm/tokenizer.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm {
namespace {

// A text as symbols, of which neighbours become one until no pair is known: the pair that is worth
// most first, of equals the leftmost.
class Merger {
 public:
  struct Symbol {
    size_t begin, length;  // no length: merged into another
    int previous, next;
  };
  // The worth of two neighbours; nothing if they are no pair.
  using Worth = std::function<std::optional<float>(std::string_view, std::string_view)>;

  Merger(std::string_view text, const Worth& worth) : text_(text), worth_(worth) {}

  void add(size_t length) {
    const int i = static_cast<int>(symbols_.size());
    const size_t begin = symbols_.empty() ? 0 : symbols_.back().begin + symbols_.back().length;
    if (!symbols_.empty()) symbols_.back().next = i;
    symbols_.push_back({begin, length, i - 1, -1});
  }

  void merge() {
    for (int i = 1; i < static_cast<int>(symbols_.size()); i++) look(i - 1, i);
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      Symbol &left = at(pair.left), &right = at(pair.right);
      if (left.length == 0 || right.length == 0 || left.length + right.length != pair.length)
        continue;
      left.length += right.length;
      right.length = 0;
      left.next = right.next;
      if (right.next >= 0) at(right.next).previous = pair.left;
      look(left.previous, pair.left);
      look(pair.left, left.next);
    }
  }

  template <class Each>
  void for_each(const Each& each) const {
    for (const Symbol& symbol : symbols_)
      if (symbol.length > 0) each(view(symbol));
  }

 private:
  struct Pair {
    int left, right;
    float worth;
    size_t length;
    bool operator<(const Pair& other) const {
      return worth < other.worth || (worth == other.worth && left > other.left);
    }
  };
  Symbol& at(int i) { return symbols_[static_cast<size_t>(i)]; }
  std::string_view view(const Symbol& s) const { return text_.substr(s.begin, s.length); }
  void look(int left, int right) {
    if (left < 0 || right < 0) return;
    const auto worth = worth_(view(at(left)), view(at(right)));
    if (worth) pairs_.push({left, right, *worth, at(left).length + at(right).length});
  }

  std::string_view text_;
  const Worth& worth_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> pairs_;
};

class ByteBpe : public Splitter {
 public:
  explicit ByteBpe(const Vocabulary& vocabulary) : v_(vocabulary) {}

  void split(std::string_view text, bool /*first*/, std::vector<int32_t>& to) const override {
    const std::vector<char32_t> points = code_points(text);
    std::vector<Piece> pieces = {{0, points.size(), false}};
    for (const Pattern& pattern : v_.patterns) {
      std::vector<Piece> finer;
      for (const Piece& piece : pieces)
        for (const Piece& part : cut(pattern, points, piece)) finer.push_back(part);
      pieces = std::move(finer);
    }
    for (const Piece& piece : pieces) {
      std::string word;
      const auto from = points.begin();
      for (const char byte : to_utf8(from + static_cast<std::ptrdiff_t>(piece.begin),
                                     from + static_cast<std::ptrdiff_t>(piece.end)))
        word += character_of(static_cast<uint8_t>(byte));
      split_word(word, to);
    }
  }

 private:
  void split_word(const std::string& word, std::vector<int32_t>& to) const {
    if (v_.whole_words)
      if (const auto known = v_.ids.find(word); known != v_.ids.end())
        return to.push_back(known->second);
    std::string key;
    const Merger::Worth worth = [&](std::string_view a, std::string_view b) {
      key.assign(a).append(" ").append(b);
      const auto found = v_.ranks.find(key);
      return found == v_.ranks.end() ? std::nullopt
                                     : std::optional(-static_cast<float>(found->second));
    };
    Merger merger(word, worth);
    for (size_t i = 0; i < word.size(); i += utf8_length(word[i])) merger.add(utf8_length(word[i]));
    merger.merge();
    merger.for_each([&](std::string_view symbol) {
      const auto found = v_.ids.find(std::string(symbol));
      if (found != v_.ids.end()) return to.push_back(found->second);
      for (size_t i = 0; i < symbol.size(); i += utf8_length(symbol[i])) {
        const auto one = v_.ids.find(std::string(symbol.substr(i, utf8_length(symbol[i]))));
        if (one != v_.ids.end()) to.push_back(one->second);
        else if (v_.unknown >= 0) to.push_back(v_.unknown);
      }
    });
  }

  const Vocabulary& v_;
};

class ScoredBpe : public Splitter {
 public:
  explicit ScoredBpe(const Vocabulary& vocabulary) : v_(vocabulary) {
    for (size_t byte = 0; byte < bytes_.size(); byte++)
      bytes_[byte] = v_.byte_token(static_cast<uint8_t>(byte)).value_or(v_.unknown);
  }

  void split(std::string_view text, bool first, std::vector<int32_t>& to) const override {
    const std::string marked = v_.marked(text, first);
    const Merger::Worth worth = [&](std::string_view a, std::string_view b) {
      const auto found = v_.ids.find(std::string(a) + std::string(b));
      return found == v_.ids.end() ? std::nullopt
                                   : std::optional(v_.scores[static_cast<size_t>(found->second)]);
    };
    Merger merger(marked, worth);
    for (size_t i = 0; i < marked.size();) {
      const size_t length =
          std::min(std::max<size_t>(1, utf8_length(marked[i])), marked.size() - i);
      merger.add(length);
      i += length;
    }
    merger.merge();
    merger.for_each([&](std::string_view symbol) {
      const auto found = v_.ids.find(std::string(symbol));
      if (found != v_.ids.end()) return to.push_back(found->second);
      for (const char byte : symbol) {
        const int32_t id = bytes_[static_cast<uint8_t>(byte)];
        if (id >= 0) to.push_back(id);
      }
    });
  }

 private:
  const Vocabulary& v_;
  std::array<int32_t, 256> bytes_{};
};

}  // namespace

std::unique_ptr<const Splitter> byte_bpe(const Vocabulary& vocabulary) {
  return std::make_unique<ByteBpe>(vocabulary);
}
std::unique_ptr<const Splitter> scored_bpe(const Vocabulary& vocabulary) {
  return std::make_unique<ScoredBpe>(vocabulary);
}

}  // namespace hologram::llm
