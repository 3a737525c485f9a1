#include "program/text/excerpt.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace hologram::program {
namespace {

// Of a longer line only the surroundings of the culprit are shown.
constexpr size_t kShownBefore = 70;
constexpr size_t kShownAfter = 60;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

size_t characters(std::string_view s) {
  return s.size() - static_cast<size_t>(std::count_if(s.begin(), s.end(), continues_character));
}

// Tabs stay, so that the caret below them stands right; other control characters do not belong on a
// terminal.
std::string printable(std::string_view s) {
  std::string shown(s);
  for (char& c : shown)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  return shown;
}

struct Line {
  size_t number;
  std::string_view text;
  size_t offset;  // of its first byte
};

Line line_at(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  const size_t before = text.substr(0, offset).rfind('\n');
  const size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const size_t end = std::min(text.find('\n', begin), text.size());
  const auto number = 1 + std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n');
  return {static_cast<size_t>(number), text.substr(begin, end - begin), begin};
}

std::string shown(const Line& line, size_t column, size_t length) {
  size_t begin = column > kShownBefore ? column - kShownBefore : 0;
  size_t end = std::min(line.text.size(), column + kShownAfter);
  while (begin > 0 && continues_character(line.text[begin])) begin--;
  while (end < line.text.size() && continues_character(line.text[end])) end++;
  std::string out =
      fmt::format("\n{:5} | {}", line.number, printable(line.text.substr(begin, end - begin)));
  if (length == 0) return out;
  std::string under;
  for (const char c : line.text.substr(begin, column - begin))
    if (!continues_character(c)) under += c == '\t' ? '\t' : ' ';
  const size_t width = characters(
      line.text.substr(std::min(column, end), std::min(length, end - std::min(column, end))));
  under += '^';
  if (width > 1) under.append(width - 1, '~');
  return out + "\n      | " + under;
}

}  // namespace

std::string excerpt(std::string_view text, uint32_t line) {
  size_t offset = 0;
  for (uint32_t n = 1; n < line; n++) {
    const size_t end = text.find('\n', offset);
    if (end == std::string_view::npos) return {};
    offset = end + 1;
  }
  return line == 0 ? std::string() : shown(line_at(text, offset), 0, 0);
}

Error at_line(const Error& error, std::string_view text, std::string_view file, uint32_t line) {
  return Error(error.kind(),
               fmt::format("{}:{}: {}{}", file, line, error.what(), excerpt(text, line)),
               error.remedy());
}

Error at_place(const Error& error, std::string_view text, std::string_view file, size_t offset,
               size_t length) {
  const Line line = line_at(text, offset);
  const size_t column = std::min(offset, text.size()) - line.offset;
  return Error(
      error.kind(),
      fmt::format("{}:{}:{}: {}{}", file, line.number, characters(line.text.substr(0, column)) + 1,
                  error.what(), shown(line, column, std::max<size_t>(1, length))),
      error.remedy());
}

}  // namespace hologram::program
