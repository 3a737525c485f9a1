#include "llm/tokenizer.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "llm/unicode.hpp"

namespace hologram::llm {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

std::unique_ptr<const Splitter> splitter_of(const Vocabulary& v) {
  switch (v.kind) {
    case TokenizerKind::ByteBpe: return byte_bpe(v);
    case TokenizerKind::ScoredBpe: return scored_bpe(v);
    case TokenizerKind::Unigram: return unigram(v);
    case TokenizerKind::WordPiece: return word_pieces(v);
  }
  return nullptr;
}

// "<0x41>" is the byte 0x41.
std::string byte_piece(std::string_view piece) {
  return {static_cast<char>(std::stoi(std::string(piece.substr(3, 2)), nullptr, 16))};
}
bool is_byte_piece(std::string_view piece) {
  const auto hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
  };
  return piece.size() == 6 && piece.starts_with("<0x") && hex(piece[3]) && hex(piece[4]);
}

std::string with_spaces(std::string_view piece) {
  std::string text;
  for (size_t i = 0; i < piece.size();) {
    const bool mark = piece.substr(i).starts_with(kSpaceMark);
    text += mark ? ' ' : piece[i];
    i += mark ? kSpaceMark.size() : 1;
  }
  return text;
}

// A piece of a word, with a space before it where the word begins.
std::string word_text(const WordRules& rules, std::string_view piece) {
  const bool begins =
      rules.begins.empty() ? !piece.starts_with(rules.continues) : piece.starts_with(rules.begins);
  piece.remove_prefix(begins ? rules.begins.size() : rules.continues.size());
  return (begins ? " " : "") + std::string(piece);
}

struct Characters {
  std::array<std::string, 256> of;
  std::unordered_map<char32_t, uint8_t> back;
  Characters() {
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; byte++) {
      const bool printable =
          (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      const char32_t point = printable ? byte : next++;
      append_utf8(of[byte], point);
      back.emplace(point, static_cast<uint8_t>(byte));
    }
  }
};
const Characters& characters() {
  static const Characters all;
  return all;
}

}  // namespace

const std::string& character_of(uint8_t byte) { return characters().of[byte]; }

std::string bytes_of(std::string_view text) {
  std::string bytes;
  for (const char32_t point : code_points(text)) {
    const auto found = characters().back.find(point);
    if (found != characters().back.end()) bytes += static_cast<char>(found->second);
    else append_utf8(bytes, point);
  }
  return bytes;
}

struct Tokenizer::Fragment {
  std::string_view text;
  int32_t token = -1;  // instead of the text
};

Tokenizer::Tokenizer(Vocabulary vocabulary)
    : vocabulary_(std::move(vocabulary)), splitter_(splitter_of(vocabulary_)) {
  for (size_t i = 0; i < vocabulary_.size(); i++) {
    const TokenKind kind = vocabulary_.kinds[i];
    if ((kind == TokenKind::Control || kind == TokenKind::User || kind == TokenKind::Unknown) &&
        !vocabulary_.pieces[i].empty())
      special_.push_back(static_cast<int32_t>(i));
  }
  std::stable_sort(special_.begin(), special_.end(), [&](int32_t a, int32_t b) {
    return vocabulary_.pieces[static_cast<size_t>(a)].size() >
           vocabulary_.pieces[static_cast<size_t>(b)].size();
  });
}

bool Tokenizer::is_end(int32_t id) const {
  const auto& ends = vocabulary_.ends;
  return std::find(ends.begin(), ends.end(), id) != ends.end();
}

std::vector<Tokenizer::Fragment> Tokenizer::cut_special(std::string_view text, bool special) const {
  std::vector<Fragment> fragments = {{text}}, next;
  for (const int32_t id : special_) {
    if (!special && vocabulary_.kind_of(id) != TokenKind::User) continue;
    const std::string& piece = vocabulary_.pieces[static_cast<size_t>(id)];
    if (text.find(piece) == std::string_view::npos) continue;
    next.clear();
    for (const Fragment& fragment : fragments) {
      if (fragment.token >= 0) {
        next.push_back(fragment);
        continue;
      }
      std::string_view rest = fragment.text;
      for (size_t at = rest.find(piece); at != std::string_view::npos; at = rest.find(piece)) {
        if (at > 0) next.push_back({rest.substr(0, at)});
        next.push_back({{}, id});
        rest.remove_prefix(at + piece.size());
      }
      if (!rest.empty()) next.push_back({rest});
    }
    fragments.swap(next);
  }
  return fragments;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool ends, bool special) const {
  std::vector<int32_t> ids;
  if (ends && vocabulary_.add_begin && vocabulary_.begin >= 0) ids.push_back(vocabulary_.begin);
  bool first = true;
  for (const Fragment& fragment : cut_special(text, special)) {
    if (fragment.token >= 0) {
      ids.push_back(fragment.token);
      first = vocabulary_.preparation == nullptr;  // which looks at the whole text
      continue;
    }
    if (fragment.text.empty()) continue;
    splitter_->split(fragment.text, first, ids);
    first = false;
  }
  if (ends && vocabulary_.add_end && vocabulary_.end >= 0) ids.push_back(vocabulary_.end);
  return ids;
}

std::string Tokenizer::piece(int32_t id, bool special) const {
  if (id < 0 || id >= static_cast<int32_t>(vocabulary_.size())) return {};
  const std::string& piece = vocabulary_.pieces[static_cast<size_t>(id)];
  switch (vocabulary_.kind_of(id)) {
    case TokenKind::Control: return special ? piece : std::string();
    case TokenKind::Unknown: return special ? piece : "\u2047";
    case TokenKind::User: return piece;
    case TokenKind::Byte:
      if (is_byte_piece(piece)) return byte_piece(piece);
      break;
    default: break;
  }
  if (vocabulary_.kind == TokenizerKind::ByteBpe) return bytes_of(piece);
  if (vocabulary_.kind == TokenizerKind::WordPiece) return word_text(vocabulary_.words, piece);
  return with_spaces(piece);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool special) const {
  std::string text;
  for (const int32_t id : ids) text += piece(id, special);
  // The space that encoding put in front.
  const bool spaced = vocabulary_.add_space || vocabulary_.kind == TokenizerKind::WordPiece;
  if (spaced && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

std::string Stream::push(int32_t id) {
  held_ += tokenizer_.piece(id);
  const size_t whole = held_.size() - incomplete_tail(held_);
  std::string text = held_.substr(0, whole);
  held_.erase(0, whole);
  return text;
}

std::string Stream::rest() { return std::exchange(held_, {}); }

}  // namespace hologram::llm
