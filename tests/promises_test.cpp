// What mathematics promises of sums, scans, casts, means, norms and order, for every dtype.
#include "promises.hpp"

#include <algorithm>
#include <cmath>

namespace hologram::promises {
namespace {

std::vector<DType> floats() { return {DType::F16, DType::BF16, DType::F32, DType::F64}; }
std::string label(DType dtype, const Shape& shape, size_t profile) {
  return std::string(name_of(dtype)) + to_string(shape) + ", profile " + std::to_string(profile);
}

// The order of additions may be any, as long as one more term that is not negative never takes
// something away.
TEST_P(Promises, RunningSumsOfWhatIsNotNegativeNeverDecrease) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{5}, Shape{513}, Shape{1500}, Shape{20000}, Shape{140001},
                               Shape{700, 3}, Shape{2, 2050}})
      for (const uint32_t seed : {1u, 2u, 3u}) {
        if (!takes_part(number++, 41) || (seed > 1 && !on_cpu())) continue;
        if (!exact() && is_float(dtype)) continue;  // WGSL may add in another order
        const Tensor x = input(dtype, shape, Profile::Positive, seed);
        for (int axis = 0; axis < x.rank(); axis++) {
          const Tensor y = ops::cumsum(x, axis);
          const Tensor back = y.slice(axis, {1, {}}) < y.slice(axis, {{}, -1});
          EXPECT_EQ(ops::sum(back).item<int64_t>(), 0)
              << label(dtype, shape, seed) << ", axis " << axis;
        }
      }
}

TEST_P(Promises, SumsOfWhatIsNotNegativeAreNoLessThanTheirTerms) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape :
         {Shape{7}, Shape{3, 67}, Shape{601, 3}, Shape{3, 700}, Shape{17000}}) {
      if (!takes_part(number++, 41)) continue;
      const Tensor x = input(dtype, shape, Profile::Positive);
      const Tensor more = ops::sum(x, 0);
      EXPECT_TRUE(ops::all(more >= ops::max(x, 0)).item<bool>()) << label(dtype, shape, 0);
      if (dtype == DType::Bool) continue;
      // A term that grows.
      const Tensor grown = ops::maximum(x, input(dtype, shape, Profile::Positive, 2));
      EXPECT_TRUE(ops::all(ops::sum(grown, 0) >= more).item<bool>()) << label(dtype, shape, 1);
    }
}

TEST_P(Promises, NothingAddsNothing) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const bool first : {true, false})
      for (const int64_t n : {1, 3, 70, 601}) {
        if (!takes_part(number++, 23)) continue;
        const Tensor none = ops::zeros(first ? Shape{0, n} : Shape{n, 0}, dtype, executor());
        const int axis = first ? 0 : 1;
        const Tensor sum = ops::sum(none, axis), product = ops::prod(none, axis);
        const Tensor y = input(sum.dtype(), {n}, Profile::Offset);
        EXPECT_TRUE(same(sum + y, y)) << name_of(dtype) << n;
        EXPECT_TRUE(same(product * y, y)) << name_of(dtype) << n;
        const Tensor length = ops::norm(none, 2.0, axis);
        const Tensor z = input(length.dtype(), {n}, Profile::Offset);
        EXPECT_TRUE(same(length + z, z)) << name_of(dtype) << n;
        const Tensor truth = input(DType::Bool, {n}, Profile::Anything);
        EXPECT_TRUE(same(ops::any(none, axis) | truth, truth));
        EXPECT_TRUE(same(ops::all(none, axis) & truth, truth));
      }
}

TEST_P(Promises, TwoCastsAreTheTwoCastsReadInBetween) {
  size_t number = 0;
  for (const DType a : all_dtypes())
    for (const DType b : all_dtypes()) {
      if (!takes_part(number++, 53)) continue;
      const Tensor x = input(a, {65}, Profile::Anything, 1 + static_cast<uint32_t>(number));
      const Tensor read = x.to(b).eval();
      for (const DType c : all_dtypes()) {
        if (!takes_part(number + static_cast<size_t>(c), 4)) continue;
        EXPECT_TRUE(same(x.to(b).to(c), read.to(c)))
            << name_of(a) << " to " << name_of(b) << " to " << name_of(c);
      }
    }
}

TEST_P(Promises, MeansLieWithinTheRange) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape :
         {Shape{1}, Shape{2}, Shape{10}, Shape{3, 67}, Shape{601, 3}, Shape{17000}})
      for (const Profile profile :
           {Profile::Equal, Profile::Offset, Profile::Scaled, Profile::Positive, Profile::Anything})
        for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
          if (!takes_part(number++, 301)) continue;
          Tensor x = input(dtype, shape, profile, seed);
          if (is_float(dtype)) x = ops::where(ops::isfinite(x), x, 1);
          const Tensor mean = ops::mean(x, 0);
          const DType to = mean.dtype();
          const Tensor low = ops::min(x, 0).to(to), high = ops::max(x, 0).to(to);
          EXPECT_TRUE(ops::all((low <= mean) & (mean <= high)).item<bool>())
              << label(dtype, shape, static_cast<size_t>(profile)) << ", seed " << seed << ": "
              << static_cast<double>(reals(low)[0]) << " " << static_cast<double>(reals(mean)[0])
              << " " << static_cast<double>(reals(high)[0]);
        }
}

TEST_P(Promises, NormsScale) {
  size_t number = 0;
  for (const DType dtype : floats())
    for (const Shape& shape : {Shape{2}, Shape{70}, Shape{601, 3}, Shape{3, 700}, Shape{17000}})
      for (const double order : {2.0, 1.0, static_cast<double>(INFINITY)}) {
        const std::vector<double> scales =
            dtype == DType::F64   ? std::vector<double>{0x1p500, 0x1p-500, -8}
            : dtype == DType::F16 ? std::vector<double>{4, -0.25}
                                  : std::vector<double>{0x1p60, 0x1p-60, 0x1p100, -0x1p-100};
        for (const double c : scales) {
          if (!takes_part(number++, 53)) continue;
          const Tensor x = (input(dtype, shape, Profile::Positive) + 1).eval();
          const Tensor plain = ops::norm(x, order, 0).eval();
          EXPECT_TRUE(same(ops::norm((x * c).eval(), order, 0), (plain * std::fabs(c)).eval()))
              << label(dtype, shape, 0) << ", " << c << ", order " << order;
        }
      }
}

TEST_P(Promises, SortedIsInOrderAndTheSameElements) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{1}, Shape{65}, Shape{3, 67}, Shape{1030}, Shape{5000}})
      for (const bool descending : {false, true}) {
        if (!takes_part(number++, 53)) continue;
        const Tensor x = input(dtype, shape, Profile::Anything, 3);
        const Tensor sorted = ops::sort(x, -1, descending), order = ops::argsort(x, -1, descending);
        EXPECT_TRUE(same(ops::gather(x, order, -1), sorted)) << label(dtype, shape, descending);
        const Tensor a = sorted.slice(-1, {{}, -1}), b = sorted.slice(-1, {1, {}});
        const Tensor wrong = descending ? (a < b) | (ops::isnan(b) & !ops::isnan(a))
                                        : (b < a) | (ops::isnan(a) & !ops::isnan(b));
        EXPECT_FALSE(ops::any(wrong).item<bool>()) << label(dtype, shape, descending);
        // Every position once.
        const Tensor every = ops::arange(0, x.size(-1), 1, DType::I64, executor());
        EXPECT_TRUE(ops::all(ops::sort(order, -1) == every).item<bool>());
      }
}

TEST_P(Promises, SpreadsOfEqualNumbersAreNone) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{1}, Shape{10}, Shape{67}, Shape{601, 3}, Shape{17000}})
      for (const uint32_t seed : {1u, 2u, 3u}) {
        if (!takes_part(number++, 53)) continue;
        const Tensor x = input(dtype, {1}, seed == 3 ? Profile::Offset : Profile::Equal, seed)
                             .broadcast_to(shape);
        const Tensor there = ops::copy(x).eval();
        EXPECT_FALSE(ops::any(ops::var(there, 0)).item<bool>()) << label(dtype, shape, seed);
        EXPECT_FALSE(ops::any(ops::std(there, 0)).item<bool>()) << label(dtype, shape, seed);
      }
}

// A few elements whose sum is beyond the range, among many that are small.
TEST_P(Promises, SpreadsNearTheEndOfTheRangeAreAsExact) {
  std::vector<float> numbers(70);
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<float>(i) * 1e-6f;
  numbers[7] = 1.7f;
  numbers[30] = 1.2f;
  const Tensor x = Tensor::from_vector(numbers, {70}, executor());
  const Tensor far = (x * 0x1p127f).eval();
  const float near = ops::std(x, 0).item<float>();
  EXPECT_NEAR((ops::std(far, 0) * 0x1p-127f).item<float>(), near, 6e-7f * near);
  EXPECT_NEAR((ops::std(-far, 0) * 0x1p-127f).item<float>(), near, 6e-7f * near);
}

TEST_P(Promises, SpreadsOfIntegersDoNotMove) {
  size_t number = 0;
  for (const DType dtype : all_dtypes()) {
    if (!is_integer(dtype)) continue;
    for (const Shape& shape : {Shape{10}, Shape{601, 3}, Shape{3, 700}, Shape{17000}}) {
      if (!takes_part(number++, 23)) continue;
      const Tensor x = ops::rem(input(dtype, shape, Profile::Positive), 16);
      const auto shift = static_cast<int64_t>(uint64_t{3} << (8 * size_of(dtype) - 4));
      const Tensor moved = (x + shift).eval();
      const std::vector<Wide> here = reals(ops::var(x.eval(), 0)),
                              there = reals(ops::var(moved, 0));
      for (size_t k = 0; k < here.size(); k++)
        EXPECT_NEAR(static_cast<double>(there[k]), static_cast<double>(here[k]),
                    1e-6 * static_cast<double>(here[k]))
            << label(dtype, shape, 0);
    }
  }
}

TEST_P(Promises, ProductsThatMeetZeroStayZero) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const int64_t n : {3, 512, 513, 1500, 20000})
      for (const int64_t at : {int64_t{0}, n / 3}) {
        if (!takes_part(number++, 41)) continue;
        // Up to the zero nothing overflows.
        const Tensor before = ops::ones({at}, dtype, executor()),
                     zero = ops::zeros({1}, dtype, executor()),
                     behind = input(dtype, {n - at - 1}, Profile::Twos);
        const Tensor y = ops::cumprod(ops::concat({before, zero, behind}));
        EXPECT_TRUE(ops::all(y.slice(0, {at, {}}) == 0).item<bool>()) << name_of(dtype) << n;
      }
}

TEST_P(Promises, TheLargestIsWhereItIs) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{1}, Shape{65}, Shape{601, 3}, Shape{3, 700}, Shape{17000}}) {
      if (!takes_part(number++, 41)) continue;
      const Tensor x = input(dtype, shape, Profile::Anything, 5);
      for (int axis = 0; axis < x.rank(); axis++) {
        const Tensor at = ops::argmax(x, axis, true), least = ops::argmin(x, axis, true);
        EXPECT_TRUE(same(ops::gather(x, at, axis), ops::max(x, axis, true)))
            << label(dtype, shape, 0);
        EXPECT_TRUE(same(ops::gather(x, least, axis), ops::min(x, axis, true)))
            << label(dtype, shape, 1);
        EXPECT_FALSE(ops::any((at < 0) | (at >= x.size(axis))).item<bool>());
      }
    }
}

// Exactly what is left, with the divisor's sign.
TEST_P(Promises, RemaindersAreExact) {
  size_t number = 0;
  for (const DType dtype : floats())
    for (uint32_t seed = 1; seed < 5; seed++) {
      if (!takes_part(number++, 23) || !exact()) continue;
      const Tensor a = input(dtype, {2000}, Profile::Anything, seed),
                   b = input(dtype, {2000}, Profile::Anything, seed + 50);
      const std::vector<Wide> x = reals(a), y = reals(b), r = reals(ops::rem(a, b));
      for (size_t i = 0; i < r.size(); i++) {
        const auto p = static_cast<long double>(x[i]), q = static_cast<long double>(y[i]);
        if (!std::isfinite(p) || !std::isfinite(q) || q == 0) continue;
        Wide exact = std::fmod(p, q);
        if (exact != 0 && (exact < 0) != (q < 0)) exact += y[i];
        Array one(dtype, {1});  // rounded once
        conformance::put_real(dtype, one.mutable_data(), 0, static_cast<double>(exact));
        EXPECT_EQ(static_cast<double>(r[i]), static_cast<double>(reals(one)[0]))
            << name_of(dtype) << ": " << static_cast<double>(x[i]) << " % "
            << static_cast<double>(y[i]);
        if (HasFailure()) return;
      }
    }
}

TEST_P(Promises, SharesAddUpToOne) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{1}, Shape{65}, Shape{3, 67}, Shape{601, 3}, Shape{17000}})
      for (const Profile profile : {Profile::Moderate, Profile::Equal, Profile::Scaled}) {
        if (!takes_part(number++, 61)) continue;
        const Tensor x = input(dtype, shape, profile, 2);
        const Tensor shares = ops::softmax(x, 0), logs = ops::log_softmax(x, 0);
        EXPECT_TRUE(ops::all((shares >= 0) & (shares <= 1) & (logs <= 0)).item<bool>())
            << label(dtype, shape, static_cast<size_t>(profile));
        const double unit = dtype == DType::BF16 ? 0x1p-8 : dtype == DType::F16 ? 0x1p-11 : 1e-5;
        // f16 keeps less of shares that are small.
        const double lost = dtype == DType::F16 ? 0x1p-25 * static_cast<double>(shape[0]) : 0;
        for (const Wide sum : reals(ops::sum(shares.to(DType::F64), 0)))
          EXPECT_NEAR(static_cast<double>(sum), 1, unit + lost)
              << label(dtype, shape, static_cast<size_t>(profile));
      }
}

TEST_P(Promises, UniqueAndSearchsortedAgree) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const int64_t n : {1, 65, 1030, 5000}) {
      if (!takes_part(number++, 41)) continue;
      const Tensor x = input(dtype, {n}, n == 65 ? Profile::Anything : Profile::Moderate, 7);
      const ops::Unique unique = ops::unique(x);
      EXPECT_EQ(ops::sum(unique.counts).item<int64_t>(), n) << name_of(dtype) << n;
      const Tensor at = ops::searchsorted(unique.values, x);
      EXPECT_TRUE(same(ops::take(unique.values, at), x)) << name_of(dtype) << n;
      const Tensor sorted = ops::sort(x);
      const Tensor often = ops::searchsorted(sorted, unique.values, ops::Side::Right) -
                           ops::searchsorted(sorted, unique.values);
      EXPECT_TRUE(same(often, unique.counts)) << name_of(dtype) << n;
    }
}

TEST_P(Promises, ViewsAndPartsPutTogetherAreTheWhole) {
  size_t number = 0;
  for (const DType dtype : all_dtypes())
    for (const Shape& shape : {Shape{7}, Shape{3, 67}, Shape{601, 3}, Shape{0, 3}, Shape{1, 1}}) {
      if (!takes_part(number++, 41)) continue;
      const Tensor x = input(dtype, shape, Profile::Anything, 11);
      const Tensor read = ops::copy(x).eval();
      const int64_t half = x.size(0) / 2;
      EXPECT_TRUE(same(ops::concat({x.slice(0, {{}, half}), x.slice(0, {half, {}})}), read));
      EXPECT_TRUE(same(x.flip({0}).slice(0, {{}, {}, -1}), read));
      EXPECT_TRUE(same(ops::where(ops::isnan(x), x, x), read));
      EXPECT_TRUE(same(ops::roll(ops::roll(x, 5, 0), -5, 0), read));
      EXPECT_TRUE(same(ops::any(x), !ops::all(!x)));
      const Tensor y = ops::arange(0, x.size(0), 1, DType::I64, executor());
      EXPECT_TRUE(same(ops::take(x, y, 0), read));
      // Every second one from either end: each once or, in the middle, twice.
      EXPECT_EQ(x.slice(0, {{}, {}, 2}).size(0) + x.slice(0, {1, {}, 2}).size(0), x.size(0));
    }
}

INSTANTIATE_TEST_SUITE_P(Places, Promises, testing::ValuesIn(places()),
                         [](const auto& p) { return p.param.name; });

}  // namespace
}  // namespace hologram::promises
