#include "llm/unicode.hpp"

#include <algorithm>
#include <iterator>

namespace hologram::llm {
namespace {

// Where the category changes: the code point times 8 plus the category, ascending.
constexpr uint32_t kChanges[] = {
#include "llm/unicode_classes.inc"
};

struct Letter {
  char32_t from, to;
};
#include "llm/unicode_bare.inc"
#include "llm/unicode_lower.inc"
#include "llm/unicode_words.inc"

template <size_t N>
bool is_within(const char32_t (&edges)[N], char32_t point) {
  const auto* const next = std::upper_bound(std::begin(edges), std::end(edges), point);
  return (next - std::begin(edges)) % 2 == 1;
}

template <size_t N>
void append_changed(const Letter (&table)[N], std::vector<char32_t>& to, char32_t point) {
  const auto* row = std::lower_bound(std::begin(table), std::end(table), point,
                                     [](const Letter& a, char32_t b) { return a.from < b; });
  if (row == std::end(table) || row->from != point) return to.push_back(point);
  for (; row != std::end(table) && row->from == point; row++) to.push_back(row->to);
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

Category category_of(char32_t point) {
  const uint32_t wanted = static_cast<uint32_t>(point) * 8 + 7;
  const auto* const next = std::upper_bound(std::begin(kChanges), std::end(kChanges), wanted);
  return static_cast<Category>(*std::prev(next) & 7);
}

bool is_space(char32_t point) {
  return (point >= 9 && point <= 13) || point == 0x20 || point == 0x85 || point == 0xa0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

bool is_nonspacing(char32_t point) { return is_within(kNonspacing, point); }
bool is_punctuation(char32_t point) { return is_within(kPunctuation, point); }
bool is_control(char32_t point) { return is_within(kControl, point); }

void append_bare(std::vector<char32_t>& to, char32_t point) {
  // Syllables of Hangul are numbered by their 19 first, 21 middle and 28 last parts, the first of
  // which is none.
  constexpr char32_t kSyllables = 0xac00, kFirst = 0x1100, kMiddle = 0x1161, kLast = 0x11a7;
  if (point >= kSyllables && point < kSyllables + 19 * 21 * 28) {
    const char32_t number = point - kSyllables, last = number % 28;
    to.push_back(kFirst + number / 28 / 21);
    to.push_back(kMiddle + number / 28 % 21);
    if (last != 0) to.push_back(kLast + last);
  } else if (!is_nonspacing(point)) {
    append_changed(kBare, to, point);
  }
}

void append_lower(std::vector<char32_t>& to, char32_t point) { append_changed(kLower, to, point); }

size_t utf8_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

size_t incomplete_tail(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); back++) {
    const char byte = text[text.size() - back];
    if (continues(byte)) continue;
    return utf8_length(byte) > back ? back : 0;
  }
  return 0;
}

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  points.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text[i]);
    bool whole = length > 0 && length <= text.size() - i;
    for (size_t k = 1; whole && k < length; k++) whole = continues(text[i + k]);
    if (!whole) {
      points.push_back(0xfffd);
      i++;
      continue;
    }
    constexpr uint8_t kOfFirst[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    auto point = static_cast<char32_t>(static_cast<uint8_t>(text[i]) & kOfFirst[length]);
    for (size_t k = 1; k < length; k++)
      point = point << 6 | static_cast<char32_t>(static_cast<uint8_t>(text[i + k]) & 0x3f);
    points.push_back(point);
    i += length;
  }
  return points;
}

void append_utf8(std::string& to, char32_t point) {
  const auto put = [&](char32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3f));
  } else {
    put(0xf0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3f));
    put(0x80 | (point >> 6 & 0x3f));
  }
  put(0x80 | (point & 0x3f));
}

std::string to_utf8(std::vector<char32_t>::const_iterator begin,
                    std::vector<char32_t>::const_iterator end) {
  std::string text;
  for (; begin != end; ++begin) append_utf8(text, *begin);
  return text;
}

}  // namespace hologram::llm
