#include "llm/pages.hpp"

#include <algorithm>

#include "llm/attention.hpp"

namespace hologram::llm {

Pages::Pages(int64_t count) : pages_(static_cast<size_t>(count)) {}

int64_t Pages::held() const {
  return std::count_if(pages_.begin(), pages_.end(), [](const Page& p) { return p.users > 0; });
}

bool Pages::reserve(int64_t pages) {
  if (reserved_ + pages > count()) return false;
  reserved_ += pages;
  return true;
}

// Of the pages behind `before`, that which has most of the tokens.
int32_t Pages::best(int32_t before, std::span<const int32_t> tokens, bool is_long,
                    size_t& same) const {
  int32_t found = -1;
  same = 0;
  for (size_t i = 0; i < pages_.size(); i++) {
    const Page& p = pages_[i];
    if (!p.listed || p.before != before || p.is_long != is_long) continue;
    const auto [a, b] =
        std::mismatch(p.tokens.begin(), p.tokens.end(), tokens.begin(), tokens.end());
    const auto equal = static_cast<size_t>(a - p.tokens.begin());
    if (equal <= same) continue;
    same = equal;
    found = static_cast<int32_t>(i);
  }
  return found;
}

Pages::Held Pages::find(std::span<const int32_t> tokens, bool is_long) {
  Held held;
  held.is_long = is_long;
  std::span<const int32_t> rest = tokens.first(tokens.size() - 1);
  for (int32_t before = -1; !rest.empty();) {
    size_t same = 0;
    const int32_t i = best(before, rest, is_long, same);
    if (i < 0) break;
    Page& p = page(i);
    const bool full = same == static_cast<size_t>(kPage);
    if (!full && p.users > 0) break;  // somebody goes on writing there, or reads on
    if (!full) {
      forget_behind(i);
      p.tokens.resize(same);
    }
    p.users++;
    p.used = ++clock_;
    held.pages.push_back(i);
    held.known += static_cast<int64_t>(same);
    if (!full) break;
    rest = rest.subspan(same);
    before = i;
  }
  return held;
}

void Pages::forget(int32_t i) {
  Page& p = page(i);
  if (p.listed && p.before >= 0) page(p.before).followers--;
  p.listed = false;
  p.before = -1;
  p.tokens.clear();
}

void Pages::forget_behind(int32_t i) {
  for (size_t k = 0; k < pages_.size() && page(i).followers > 0; k++) {
    if (!pages_[k].listed || pages_[k].before != i) continue;
    forget_behind(static_cast<int32_t>(k));
    forget(static_cast<int32_t>(k));
  }
}

bool Pages::add(Held& held) {
  int32_t oldest = -1;
  for (size_t i = 0; i < pages_.size(); i++) {
    const Page& p = pages_[i];
    if (p.users > 0 || p.followers > 0) continue;
    if (oldest < 0 || p.used < page(oldest).used) oldest = static_cast<int32_t>(i);
  }
  if (oldest < 0) return false;
  forget(oldest);
  Page& p = page(oldest);
  p.users = 1;
  p.used = ++clock_;
  held.pages.push_back(oldest);
  return true;
}

void Pages::note(Held& held, int32_t token) {
  const auto at = static_cast<size_t>(held.known / kPage);
  Page& p = page(held.pages[at]);
  if (!p.listed) {
    p.listed = true;
    p.is_long = held.is_long;
    p.before = at > 0 ? held.pages[at - 1] : -1;
    if (p.before >= 0) page(p.before).followers++;
  }
  p.tokens.push_back(token);
  held.known++;
}

void Pages::release(Held& held, bool keep) {
  for (size_t k = held.pages.size(); k-- > 0;) {
    const int32_t i = held.pages[k];
    Page& p = page(i);
    p.users--;
    if (!keep && p.users == 0) {
      forget_behind(i);
      forget(i);
    }
    if (p.users == 0 && !p.listed) p.used = 0;  // empty: the first to be taken
  }
  held = {};
}

}  // namespace hologram::llm
