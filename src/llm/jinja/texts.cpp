// What methods and filters do with texts.
#include <algorithm>

#include "llm/jinja/library.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm::jinja {
namespace {

using Points = std::vector<char32_t>;

// Letters whose cases differ by a constant: Latin, Greek, Cyrillic.
struct Cases {
  char32_t first, last, step;  // of capitals, to small ones
};
constexpr Cases kCases[] = {{'A', 'Z', 32},     {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},
                            {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32}, {0x410, 0x42f, 32},
                            {0x400, 0x40f, 80}};
char32_t lower_of(char32_t c) {
  for (const Cases& each : kCases)
    if (c >= each.first && c <= each.last) return c + each.step;
  return c;
}
char32_t upper_of(char32_t c) {
  for (const Cases& each : kCases)
    if (c >= each.first + each.step && c <= each.last + each.step) return c - each.step;
  return c;
}
std::string each_character(const std::string& text, char32_t (*change)(char32_t)) {
  std::string to;
  for (const char32_t c : code_points(text)) append_utf8(to, change(c));
  return to;
}

}  // namespace

std::string stripped(const std::string& text, const std::string& characters, bool front,
                     bool back) {
  const Points points = code_points(text), away = code_points(characters);
  const auto goes = [&](char32_t c) {
    return away.empty() ? is_space(c) || (c >= 0x1c && c <= 0x1f)
                        : std::find(away.begin(), away.end(), c) != away.end();
  };
  size_t begin = 0, end = points.size();
  while (front && begin < end && goes(points[begin])) begin++;
  while (back && end > begin && goes(points[end - 1])) end--;
  return to_utf8(points.begin() + static_cast<std::ptrdiff_t>(begin),
                 points.begin() + static_cast<std::ptrdiff_t>(end));
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to,
                     int64_t most) {
  std::string made;
  if (from.empty()) {  // between all characters
    for (const Value& each : elements(Value::text(text))) {
      if (most != 0) made += to;
      if (most > 0) most--;
      made += each.as_text();
      require_size(static_cast<double>(made.size()));
    }
    return most != 0 ? made + to : made;
  }
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string::npos && most != 0; most--) {
    made.append(text, begin, at - begin).append(to);
    require_size(static_cast<double>(made.size()));
    begin = at + from.size();
    at = text.find(from, begin);
  }
  return made.append(text, begin);
}

std::string lower(const std::string& text) { return each_character(text, lower_of); }
std::string upper(const std::string& text) { return each_character(text, upper_of); }
std::string capitalized(const std::string& text) {
  std::string to;
  for (const char32_t c : code_points(text))
    append_utf8(to, to.empty() ? upper_of(c) : lower_of(c));
  return to;
}
std::string title(const std::string& text) {
  std::string to;
  bool inside = false;
  for (const char32_t c : code_points(text)) {
    append_utf8(to, inside ? lower_of(c) : upper_of(c));
    inside = category_of(c) == Category::Letter;
  }
  return to;
}

void require_size(double bytes) {
  if (bytes > static_cast<double>(kMostBytes)) throw Failure("a value would be too large");
}

}  // namespace hologram::llm::jinja
