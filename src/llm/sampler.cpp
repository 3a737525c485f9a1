#include "llm/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

constexpr size_t kLookedBack = 64;  // tokens that count as repeated

void require(bool right, const char* name, double value, const char* range) {
  if (!right) throw core::error(core::Text::ModelArgument, name, value, range);
}

void penalise(std::span<float> logits, std::span<const int32_t> before, double penalty) {
  const auto last = before.last(std::min(before.size(), kLookedBack));
  for (const int32_t id : std::set<int32_t>(last.begin(), last.end())) {
    float& logit = logits[static_cast<size_t>(id)];
    const auto by = static_cast<float>(penalty);
    logit = logit > 0 ? logit / by : logit * by;
  }
}

void penalise_answer(std::span<float> logits, std::span<const int32_t> answer,
                     const Sampling& how) {
  std::map<int32_t, int64_t> counts;
  for (const int32_t id : answer) counts[id]++;
  for (const auto& [id, count] : counts)
    logits[static_cast<size_t>(id)] -= static_cast<float>(
        how.presence_penalty + how.frequency_penalty * static_cast<double>(count));
}

bool is_greedy(const Sampling& how) { return how.greedy || how.temperature == 0; }

// So many; 0: all.
Likeliest likeliest_of(std::span<const float> logits, int64_t count) {
  Likeliest found;
  found.tokens.resize(logits.size());
  std::iota(found.tokens.begin(), found.tokens.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const size_t most =
      count == 0 ? logits.size() : std::min(logits.size(), static_cast<size_t>(count));
  std::partial_sort(found.tokens.begin(), found.tokens.begin() + static_cast<std::ptrdiff_t>(most),
                    found.tokens.end(), likelier);
  found.tokens.resize(most);
  for (const int32_t token : found.tokens)
    found.logits.push_back(logits[static_cast<size_t>(token)]);
  return found;
}

}  // namespace

Sampler::Sampler(const Sampling& how) : how_(how), random_(how.seed) {
  require(how.temperature >= 0, "the temperature", how.temperature, "0 or more");
  require(how.top_k >= 0, "top_k", static_cast<double>(how.top_k), "0 or more");
  require(how.top_p > 0 && how.top_p <= 1, "top_p", how.top_p, "more than 0, at most 1");
  require(how.min_p >= 0 && how.min_p <= 1, "min_p", how.min_p, "0 to 1");
  require(how.repetition_penalty > 0, "the repetition penalty", how.repetition_penalty,
          "more than 0, as 1.1");
  for (const double penalty : {how.presence_penalty, how.frequency_penalty})
    require(penalty >= -2 && penalty <= 2, "a penalty", penalty, "-2 to 2");
}

std::optional<int64_t> Sampler::needs() const {
  if (how_.repetition_penalty != 1 || how_.presence_penalty != 0 || how_.frequency_penalty != 0)
    return {};
  if (is_greedy(how_)) return 1;
  return how_.top_k > 0 ? std::optional(how_.top_k) : std::nullopt;
}

int32_t Sampler::choose(const NextLogits& next, std::span<const int32_t> before,
                        std::span<const int32_t> answer) {
  if (next.all.empty()) return is_greedy(how_) ? next.likeliest.tokens[0] : draw(next.likeliest);
  const std::span<float> logits = next.all;
  if (how_.repetition_penalty != 1) penalise(logits, before, how_.repetition_penalty);
  if (how_.presence_penalty != 0 || how_.frequency_penalty != 0)
    penalise_answer(logits, answer, how_);
  if (is_greedy(how_))
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  return draw(likeliest_of(logits, how_.top_k));
}

int32_t Sampler::draw(const Likeliest& likeliest) {
  const std::vector<float>& logits = likeliest.logits;
  const size_t most =
      how_.top_k == 0 ? logits.size() : std::min(logits.size(), static_cast<size_t>(how_.top_k));
  const double highest = logits[0];
  std::vector<double> shares(most);
  double sum = 0;
  for (size_t i = 0; i < most; i++) sum += shares[i] = std::exp(logits[i] - highest);
  size_t kept = 0;
  for (double together = 0; kept < most; kept++) {
    if (kept > 0 &&
        (shares[kept] == 0 || together >= how_.top_p * sum || shares[kept] < how_.min_p))
      break;
    together += shares[kept];
  }

  double all = 0;
  for (size_t i = 0; i < kept; i++)
    all += shares[i] = std::exp((logits[i] - highest) / how_.temperature);
  double drawn = static_cast<double>(random_() >> 11) * 0x1p-53 * all;
  for (size_t i = 0; i < kept; i++) {
    drawn -= shares[i];
    if (drawn < 0) return likeliest.tokens[i];
  }
  return likeliest.tokens[kept - 1];
}

}  // namespace hologram::llm
