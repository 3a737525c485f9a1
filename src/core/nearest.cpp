#include "core/nearest.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace hologram::core {
namespace {

constexpr size_t kLongest = 64;  // nobody mistypes a longer name by a letter

// Letters to insert, remove, replace or swap with their neighbour (Damerau, 1964).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known) {
  std::string_view best;
  if (wrong.size() > kLongest) return best;
  size_t least = std::max<size_t>(1, wrong.size() / 3) + 1;
  for (const std::string_view name : known) {
    const size_t longer = std::max(wrong.size(), name.size());
    if (longer - std::min(wrong.size(), name.size()) > least) continue;
    const size_t d = distance(wrong, name);
    // Of names as near the first one that begins alike: people mistype beginnings least.
    const bool begins_better = d == least && !best.empty() && !wrong.empty() &&
                               name.front() == wrong.front() && best.front() != wrong.front();
    // A name of one letter is close to every other: that is no help.
    if ((d < least || begins_better) && d < longer) {
      best = name;
      least = d;
    }
  }
  return best;
}

}  // namespace hologram::core
