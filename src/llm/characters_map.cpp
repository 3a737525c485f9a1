#include "llm/characters_map.hpp"

#include <algorithm>
#include <span>

#include "files/bytes.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm {
namespace {

std::optional<std::string> decoded(std::string_view base64) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  while (base64.ends_with('=')) base64.remove_suffix(1);
  for (const char c : base64) {
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) return {};
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

struct Range {
  char32_t first, last;
};
template <size_t N>
bool is_in(char32_t point, const Range (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return point >= r.first && point <= r.last; });
}

// Characters that stand alone, whatever follows: controls and formats.
constexpr Range kAlone[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},
                            {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200b},
                            {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                            {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe001f}};
// Those that go with the one before them and are no marks.
constexpr Range kGoOn[] = {{0xe33, 0xe33},   {0xeb3, 0xeb3},     {0x200c, 0x200d},
                           {0xff9e, 0xff9f}, {0x1f3fb, 0x1f3ff}, {0xe0020, 0xe007f}};

bool goes_on(char32_t point) { return category_of(point) == Category::Mark || is_in(point, kGoOn); }

}  // namespace

std::optional<CharactersMap> CharactersMap::parse(std::string_view base64) {
  const std::optional<std::string> bytes = decoded(base64);
  if (!bytes || bytes->size() < 4) return {};
  const std::span<const std::byte> all = std::as_bytes(std::span(*bytes));
  const auto size = files::load_number<uint32_t>(all.data());
  if (size % 4 != 0 || size == 0 || size > all.size() - 4) return {};
  CharactersMap map;
  for (size_t at = 4; at < 4 + size_t{size}; at += 4)
    map.units_.push_back(files::load_number<uint32_t>(all.data() + at));
  map.texts_ = bytes->substr(4 + size);
  return map;
}

std::optional<std::string_view> CharactersMap::find(std::string_view text) const {
  const auto offset = [](uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); };
  size_t at = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    at ^= byte;
    if (byte == 0 || at >= units_.size()) return {};
    const uint32_t unit = units_[at];
    if ((unit & 0x800000ff) != byte) return {};
    at ^= offset(unit);
    if ((unit & 0x100) == 0) continue;
    const size_t place = at < units_.size() ? units_[at] & 0x7fffffff : texts_.size();
    if (place >= texts_.size()) return {};
    return std::string_view(texts_).substr(place, texts_.find('\0', place) - place);
  }
  return {};
}

std::string CharactersMap::normal(std::string_view text) const {
  constexpr size_t kLongest = 5;  // bytes of a cluster that is looked for as a whole
  const std::vector<char32_t> points = code_points(text);
  std::string made, cluster;
  for (size_t i = 0; i < points.size();) {
    size_t end = i + 1;
    if (points[i] == '\r' && end < points.size() && points[end] == '\n') end++;
    else if (!is_in(points[i], kAlone))
      while (end < points.size() && goes_on(points[end])) end++;
    const auto at = [&](size_t k) { return points.begin() + static_cast<std::ptrdiff_t>(k); };
    cluster = to_utf8(at(i), at(end));
    const auto whole = cluster.size() <= kLongest ? find(cluster) : std::nullopt;
    if (whole) {
      made += *whole;
    } else {
      for (size_t k = i; k < end; k++) {
        const std::string one = to_utf8(at(k), at(k + 1));
        made += find(one).value_or(one);
      }
    }
    i = end;
  }
  return made;
}

}  // namespace hologram::llm
