// The likeliest way to cut a text into pieces, by their logarithmic probabilities (Viterbi).
#include <algorithm>
#include <limits>

#include "core/messages.hpp"
#include "llm/preparation.hpp"
#include "llm/tokenizer.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm {
namespace {

class Unigram : public Splitter {
 public:
  explicit Unigram(const Vocabulary& vocabulary) : v_(vocabulary) {
    float least = 0;
    for (size_t i = 0; i < v_.size(); i++) {
      longest_ = std::max(longest_, v_.pieces[i].size());
      if (v_.kinds[i] == TokenKind::Normal) least = std::min(least, v_.scores[i]);
    }
    // As SentencePiece has it, and Hugging Face, which adds in f64.
    unknown_score_ = least - 10;
    if (prepared() && !v_.preparation->scores.empty())
      unknown_score_ =
          *std::min_element(v_.preparation->scores.begin(), v_.preparation->scores.end()) - 10;
  }

  void split(std::string_view text, bool first, std::vector<int32_t>& to) const override {
    if (prepared()) {
      for (const std::string& part : v_.preparation->parts(text, first)) cut(part, to);
      return;
    }
    cut(v_.marked(text, first), to);
  }

 private:
  bool prepared() const { return v_.preparation != nullptr; }
  double score_of(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return prepared() && i < v_.preparation->scores.size() ? v_.preparation->scores[i]
                                                           : v_.scores[i];
  }
  double sum(double a, double b) const {
    return prepared() ? a + b : static_cast<double>(static_cast<float>(a + b));
  }

  void cut(const std::string& marked, std::vector<int32_t>& to) const {
    struct Best {
      double score = -std::numeric_limits<double>::infinity();
      size_t from = 0;
      int32_t id = -1;
    };
    std::vector<Best> best(marked.size() + 1);
    best[0].score = 0;
    for (size_t i = 0; i < marked.size();) {
      const size_t character =
          std::min(std::max<size_t>(1, utf8_length(marked[i])), marked.size() - i);
      const auto reach = [&](size_t length, double score, int32_t id) {
        Best& end = best[i + length];
        const double all = sum(best[i].score, score);
        if (all > end.score) end = {all, i, id};
      };
      reach(character, unknown_score_, v_.unknown);
      for (size_t length = 1; length <= std::min(longest_, marked.size() - i); length++) {
        const auto found = v_.ids.find(marked.substr(i, length));
        if (found == v_.ids.end()) continue;
        const TokenKind kind = v_.kind_of(found->second);
        if (kind == TokenKind::Normal || kind == TokenKind::User)
          reach(length, score_of(found->second), found->second);
      }
      i += character;
    }
    std::vector<size_t> ends;
    for (size_t at = marked.size(); at > 0; at = best[at].from) ends.push_back(at);
    std::reverse(ends.begin(), ends.end());
    bool before = false;  // whether the one before is unknown: neighbours are one
    for (const size_t end : ends) {
      const Best& b = best[end];
      const bool unknown = b.id == v_.unknown;
      if (unknown && prepared() && v_.preparation->bytes && add_bytes(marked, b.from, end, to))
        continue;
      if (!unknown || !before) to.push_back(b.id);
      before = unknown;
    }
  }

  // The tokens of bytes, if they are all there.
  bool add_bytes(const std::string& text, size_t begin, size_t end,
                 std::vector<int32_t>& to) const {
    std::vector<int32_t> ids;
    for (size_t i = begin; i < end; i++) {
      const auto found = v_.byte_token(static_cast<uint8_t>(text[i]));
      if (!found) return false;
      ids.push_back(*found);
    }
    to.insert(to.end(), ids.begin(), ids.end());
    return true;
  }

  const Vocabulary& v_;
  size_t longest_ = 0;
  double unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<const Splitter> unigram(const Vocabulary& vocabulary) {
  return std::make_unique<Unigram>(vocabulary);
}

}  // namespace hologram::llm
