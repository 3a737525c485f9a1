// The values of inputs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "conformance/wide.hpp"
#include "graphs/description.hpp"

namespace hologram::graphs {
namespace {

using conformance::Integer;
using conformance::largest_of;
using conformance::put_real;
using conformance::put_whole;
using conformance::smallest_of;
using Random = std::mt19937_64;

double uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

double any_real(DType dtype, Random& random) {
  const double small = smallest_of(dtype), large = largest_of(dtype);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const double specials[] = {0.0, -0.0, 1, -1, kInfinity, -kInfinity, kNan, small, -small, large,
                             -large, small / 4, 0.5, -2.5, 0x1p31, 0x1p63, -0x1p31, 300, 65541,
                             -129,
                             // Numbers that stand beside tensors, here as those of the dtype.
                             0.1, 1e4, -7.25, 3, 0x1p-20};
  if (random() % 4 == 0) return specials[random() % std::size(specials)];
  const double from = std::log2(small) - 3, to = std::log2(large);
  const double size = random() % 3 == 0 ? std::exp2(from + (to - from) * uniform(random))
                                        : std::exp2(24 * uniform(random) - 8);
  return random() % 2 == 0 ? size : -size;
}

Integer any_whole(DType dtype, Random& random) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  const Integer top = Integer{1} << (is_signed_integer(dtype) ? bits - 1 : bits);
  const Integer low = is_signed_integer(dtype) ? -top : 0;
  const Integer specials[] = {0,       1,  2,   low, low + 1, top - 1, top - 2,
                              top / 2, -1, 127, 128, 255,     300};
  if (random() % 4 == 0) return specials[random() % std::size(specials)];
  return static_cast<Integer>(static_cast<int64_t>(random())) >> random() % 64;
}

double real_value(Profile profile, DType dtype, double fixed, size_t place, Random& random) {
  switch (profile) {
    case Profile::Moderate: return (static_cast<double>(random() % 4001) - 2000) / 512;
    case Profile::Positive: return random() % 16 == 0 ? 0 : uniform(random);
    case Profile::Scaled:
      return std::ldexp(1 + uniform(random), static_cast<int>(fixed)) *
             (random() % 4 == 0 ? -1 : 1);
    case Profile::Twos: {
      const double rare[] = {0, 1, -1, 0.5, 1, 1, 2, 1};
      return random() % 64 == 0 ? rare[random() % 8] : 2;
    }
    case Profile::Waves: return place / static_cast<size_t>(260 + 2 * fixed) % 2 == 1 ? 0.5 : 2;
    case Profile::Equal: return fixed / 10;
    case Profile::Offset:
      return std::ldexp(1.0, conformance::digits_of(dtype) - 2) * 1.25 +
             static_cast<double>(random() % 16);
    default: return any_real(dtype, random);
  }
}

Integer whole_value(Profile profile, DType dtype, double fixed, Random& random) {
  const int bits = static_cast<int>(8 * size_of(dtype));
  switch (profile) {
    case Profile::Moderate:
      return static_cast<Integer>(random() % 97) - (is_signed_integer(dtype) ? 48 : 0);
    case Profile::Positive: return static_cast<Integer>(random() % 100);
    case Profile::Scaled: return Integer{1} << static_cast<int>(std::fabs(fixed)) % bits;
    case Profile::Twos:
    case Profile::Waves: return random() % 32 == 0 ? static_cast<Integer>(random() % 3) : 2;
    case Profile::Equal: return static_cast<Integer>(fixed);
    case Profile::Offset: return (Integer{13} << (bits - 5)) + static_cast<Integer>(random() % 10);
    default: return any_whole(dtype, random);
  }
}

}  // namespace

Array values_of(const Step& input) {
  if (input.values != nullptr) return *input.values;
  Array array(input.dtype, input.shape);
  if (array.size() == 0) return array;
  Random random(input.seed);
  std::byte* const data = array.mutable_data();
  const auto reach = is_float(input.dtype)
                         ? static_cast<uint64_t>(std::log2(largest_of(input.dtype))) - 2
                         : uint64_t{30};
  const double fixed =
      input.profile == Profile::Scaled
          ? static_cast<double>(random() % (2 * reach)) - static_cast<double>(reach)
          : static_cast<double>(random() % 100);
  for (size_t i = 0; i < array.size(); i++) {
    if (input.dtype == DType::Bool) put_whole(input.dtype, data, i, random() % 3 == 0 ? 1 : 0);
    else if (is_float(input.dtype))
      put_real(input.dtype, data, i, real_value(input.profile, input.dtype, fixed, i, random));
    else put_whole(input.dtype, data, i, whole_value(input.profile, input.dtype, fixed, random));
  }
  if (input.profile != Profile::Ascending) return array;
  // As sort does it: NaN last.
  std::vector<std::pair<conformance::Wide, uint64_t>> order;
  const size_t size = size_of(input.dtype);
  for (size_t i = 0; i < array.size(); i++) {
    uint64_t bits = 0;
    std::copy_n(data + i * size, size, reinterpret_cast<std::byte*>(&bits));
    order.emplace_back(conformance::real_at(input.dtype, data, i), bits);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return conformance::is_nan(b.first) ? !conformance::is_nan(a.first) : a.first < b.first;
  });
  for (size_t i = 0; i < array.size(); i++)
    std::copy_n(reinterpret_cast<const std::byte*>(&order[i].second), size, data + i * size);
  return array;
}

}  // namespace hologram::graphs
