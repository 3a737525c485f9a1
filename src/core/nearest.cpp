#include "core/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace hologram::core {
namespace {

// Insertions, deletions and replacements that turn one word into the other (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); i++) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); j++) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known) {
  constexpr size_t kLongest = 64;  // nobody mistypes longer names by a letter
  if (wrong.empty() || wrong.size() > kLongest) return {};
  std::string_view best;
  size_t least = wrong.size() / 3 + 2;
  for (const std::string_view name : known) {
    if (name.empty() || name.size() > kLongest) continue;
    const size_t d = distance(wrong, name);
    if (d < least && d < name.size()) {
      least = d;
      best = name;
    }
  }
  return best;
}

}  // namespace hologram::core
