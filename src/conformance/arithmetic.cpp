#include "conformance/arithmetic.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace hologram::conformance {
namespace {

constexpr const char* kProgram = R"(
program arithmetic(in a: f32[n], in b: f32[n], out sum: f32[n], out product: f32[n],
                   out quotient: f32[n], out root: f32[n], out converted: f32[n])
    workgroup(64) lanes(n) {
  i = global_id.x
  if i < n {
    sum[i] = a[i] + b[i]
    product[i] = a[i] * b[i]
    quotient[i] = a[i] / b[i]
    root[i] = sqrt(a[i])
    converted[i] = f32(bits_u32(a[i]))
  }
}
)";

// Every pair of what is special, then numbers of every size and such as are close to each other.
std::vector<float> operands(bool second) {
  constexpr float kLimits[] = {0.F,       -0.F, 1.F,       -3.F,       INFINITY,
                               -INFINITY, NAN,  0x1p-126F, -0x1p-127F, 0x1.fffffep127F,
                               0x1p-149F};
  constexpr size_t kMany = std::size(kLimits);
  std::vector<float> values;
  for (size_t i = 0; i < kMany * kMany; i++)
    values.push_back(kLimits[second ? i / kMany : i % kMany]);
  uint64_t state = second ? 7 : 3;
  while (values.size() < 8192) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    auto bits = static_cast<uint32_t>((state ^ state >> 29) >> 32);
    if (values.size() % 2 == 0) bits = (bits & 0x807fffffu) | (126 + (bits >> 23) % 4) << 23;
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

bool is_special(float x) { return !std::isfinite(x); }
bool is_denormal(float x) { return x != 0 && std::fabs(x) < 0x1p-126F; }
bool same(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) ||
         (std::isnan(x) && std::isnan(y));
}

}  // namespace

std::string Arithmetic::text() const {
  std::string all;
  const auto say = [&](bool so, const char* what) {
    if (!so) all.append(all.empty() ? "" : "; ").append(what);
  };
  say(!flushes, "denormals may become 0");
  say(divides, "quotients within 2.5 ulp");
  say(roots, "square roots within 4.5 ulp");
  say(converts, "integers become either f32 beside them");
  say(specials, "NaN and infinities are not kept");
  return all;
}

Arithmetic arithmetic_of(const Executor& executor) {
  Arithmetic found;
  if (executor.device().numerics == Numerics::Exact) return found;
  const std::vector<float> a = operands(false), b = operands(true);
  const auto count = static_cast<int64_t>(a.size());
  const auto results =
      executor.run(Program::parse(kProgram, "arithmetic"),
                   {{"a", Array::from(a, {count})}, {"b", Array::from(b, {count})}});
  const auto result = [&](const char* name, size_t i) {
    float value = 0;
    std::memcpy(&value, results.at(name).data() + i * sizeof value, sizeof value);
    return value;
  };
  for (size_t i = 0; i < a.size(); i++) {
    const auto compare = [&](const char* name, float want, bool special, bool denormal,
                             bool& rounded) {
      const float have = result(name, i);
      if (same(have, want)) return;
      if (denormal || is_denormal(want)) found.flushes = true;
      else if (special || is_special(want) || is_special(have)) found.specials = false;
      else rounded = false;
    };
    const bool special = is_special(a[i]) || is_special(b[i]);
    const bool denormal = is_denormal(a[i]) || is_denormal(b[i]);
    bool sums = true;  // of which nothing is taken back
    compare("sum", a[i] + b[i], special, denormal, sums);
    compare("product", a[i] * b[i], special, denormal, sums);
    if (!(std::fabs(b[i]) > kLargestDivisor))
      compare("quotient", a[i] / b[i], special, denormal, found.divides);
    compare("root", std::sqrt(a[i]), is_special(a[i]), is_denormal(a[i]), found.roots);
    compare("converted", static_cast<float>(std::bit_cast<uint32_t>(a[i])), false, false,
            found.converts);
  }
  return found;
}

}  // namespace hologram::conformance
