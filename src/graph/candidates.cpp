#include "graph/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hologram::graph {
namespace {

using hal::Candidate;

auto chosen_of(const Candidates& candidates) {
  return std::find_if(candidates.begin(), candidates.end(),
                      [](const Candidate& c) { return c.refusal.empty(); });
}

// Of one who has no name there is only what it says: the device without a library.
std::string reason_of(const Candidate& c) {
  return c.name.empty() ? c.refusal : fmt::format("{}: {}", c.name, c.refusal);
}

}  // namespace

Candidates only(std::string name) { return {{std::move(name), {}, {}}}; }

std::string doer(const Candidates& candidates) {
  const auto chosen = chosen_of(candidates);
  if (chosen == candidates.end()) return "by nobody";
  const bool last = chosen + 1 == candidates.end();
  std::string text = "by " + chosen->name;
  // Who could do as well needs no excuse: only the program at the end is there for want of others.
  for (auto c = candidates.begin(); last && c != chosen; ++c)
    text += (c == candidates.begin() ? ": " : "; ") + reason_of(*c);
  return text;
}

std::string in_lines(const Candidates& candidates) {
  const auto chosen = chosen_of(candidates);
  std::string text;
  size_t number = 0;
  for (auto c = candidates.begin(); c != candidates.end(); ++c) {
    std::string note = c->refusal.empty() ? c->note : c->refusal;
    if (note.empty() && c > chosen) note = "is not asked";
    text += fmt::format("   {} {}. {}{}{}\n", c == chosen ? '*' : ' ', ++number,
                        c->name.empty() ? "a library" : c->name, note.empty() ? "" : ": ", note);
  }
  return text;
}

}  // namespace hologram::graph
