// Elements at places, and the places of what is true, on the processor.
#include "loops_beside_programs.hpp"
#include "share.hpp"

namespace hologram {
namespace {

using tests::expect_same_everywhere;
using tests::kTypes;
using tests::numbers;
using tests::Way;
using tests::ways;

TEST(PlacesLoops, PlacesWithTheSameBits) {
  tests::Share share;
  for (const DType type : kTypes)
    for (const DType position : {DType::I32, DType::I64, DType::U8})
      for (const int axis : {0, 1, 2}) {
        if (!share.next()) continue;
        SCOPED_TRACE(testing::Message()
                     << name_of(type) << " at " << name_of(position) << ", axis " << axis);
        const Shape shape = {9, 31, 17};
        const int64_t length = shape[static_cast<size_t>(axis)];
        const Array x = numbers(type, shape, 4), values = numbers(type, shape, 5);
        expect_same_everywhere([&](const Executor& executor) {
          const Tensor t = Tensor::from(x, executor), v = Tensor::from(values, executor);
          // Several at one place, and from the end.
          const int64_t least = is_signed_integer(position) ? -length : 0;
          const Tensor numbered = ops::arange(0, count_of(shape), 1, DType::I64, executor);
          const Tensor at =
              (numbered * 7919 % (length - least) + least).reshape(shape).to(position);
          std::vector<Tensor> all = {
              ops::gather(t, at, axis), ops::gather(t, at.slice((axis + 1) % 3, {0, 1}), axis),
              ops::scatter(t, at, v, axis), ops::take(t, at.flatten().slice(0, {0, 40}), axis),
              ops::take(t, at.flatten().slice(0, {0, 40}))};
          if (type != DType::Bool && !is_float(type))
            all.push_back(ops::scatter_add(t, at, v, axis));
          if (is_float(type)) {
            const Tensor finite = ops::where(ops::isfinite(t), t, 1);
            all.push_back(ops::scatter_add(finite, at, ops::where(ops::isfinite(v), v, -3), axis));
          }
          return all;
        });
      }
}

// Each sum is rounded to what its element holds, from subnormal numbers to what is too large for
// it.
TEST(PlacesLoops, SumsOf16BitFloatsAreRoundedOneByOne) {
  const Shape shape = {20, 700};
  std::mt19937 random(11);
  for (const DType type : {DType::F16, DType::BF16})
    for (const bool grows : {false, true}) {
      SCOPED_TRACE(testing::Message() << name_of(type) << (grows ? ", to infinity" : ""));
      const auto finite = [&] {
        std::vector<double> values(static_cast<size_t>(count_of(shape)));
        for (double& v : values) {
          const double some = 1 + static_cast<double>(random() % 4096) / 4096;
          const int exponent = static_cast<int>(random() % 30) - (grows ? 14 : 24);
          v = std::ldexp(some, exponent) * (grows || random() % 2 == 0 ? 1 : -1);
        }
        return Tensor::from_vector(values, shape, ways()[0].executor).to(type).array();
      };
      const Array x = finite(), v = finite();
      expect_same_everywhere([&](const Executor& executor) {
        const Tensor at =
            ops::arange(0, count_of(shape), 1, DType::I64, executor).reshape(shape) * 7919 % 40;
        return std::vector<Tensor>{
            ops::scatter_add(Tensor::from(x, executor), at, Tensor::from(v, executor), 1)};
      });
    }
}

// Of any bytes that are not 0, in arrays of many axes, whose rows may be shorter than a word.
TEST(PlacesLoops, PlacesOfWhatIsTrue) {
  tests::Share share;
  for (const Shape& shape : {Shape{1}, Shape{13}, Shape{200'000}, Shape{300, 7}, Shape{9, 5000},
                             Shape{40'000, 3}, Shape{20, 30, 41}, Shape{2, 3, 4, 5, 6}})
    for (const int every : {1, 2, 50, 100'000}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << to_string(shape) << ", one in " << every);
      std::mt19937 random(3);
      Array flags(DType::Bool, shape);
      for (size_t i = 0; i < flags.bytes(); i++)
        flags.mutable_data()[i] =
            static_cast<std::byte>(random() % static_cast<uint32_t>(every) == 0 ? 1 << i % 8 : 0);
      flags.mutable_data()[flags.bytes() - 1] = std::byte{2};
      expect_same_everywhere([&](const Executor& executor) {
        return std::vector<Tensor>{ops::nonzero(Tensor::from(flags, executor))};
      });
    }
}

TEST(PlacesLoops, PlacesOutside) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const Tensor x = Tensor::from_vector<float>({1, 2, 3}, {3}, way.executor);
    for (const int64_t wrong : {3, -4, 1 << 30}) {
      const Tensor at = Tensor::from_vector<int64_t>({0, wrong}, {2}, way.executor);
      EXPECT_THROW(ops::take(x, at, 0).to_vector<float>(), Error);
      EXPECT_THROW(ops::scatter(x, at, 5, 0).to_vector<float>(), Error);
      EXPECT_THROW(ops::scatter_add(x, at, 5, 0).to_vector<float>(), Error);
    }
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3}));
    const Tensor none = ops::zeros({0}, DType::I64, way.executor);
    EXPECT_EQ(ops::take(x, none, 0).size(), 0);
    EXPECT_EQ(ops::scatter(x, none, 5, 0).to_vector<float>(), x.to_vector<float>());
    EXPECT_EQ(ops::sort(x.slice(0, {0, 0})).size(), 0);
  }
}

// Places that no cache holds are fetched before their turn.
TEST(PlacesLoops, ScattersOverManyPlaces) {
  constexpr int64_t kPlaces = 300'000, kCount = 100'001;
  std::vector<int64_t> at(kCount);
  std::vector<float> values(kCount), expected(kPlaces, 0.5f);
  for (int64_t i = 0; i < kCount; i++) {
    const int64_t place = i * i * 7919 % kPlaces;
    at[static_cast<size_t>(i)] = i % 3 == 0 ? place - kPlaces : place;
    values[static_cast<size_t>(i)] = static_cast<float>(i) * 0.1f;
    expected[static_cast<size_t>(place)] += values[static_cast<size_t>(i)];
  }
  const Executor cpu(BackendType::Cpu);
  const Tensor x = ops::full({kPlaces}, 0.5f, DType::F32, cpu),
               v = Tensor::from_vector(values, {kCount}, cpu);
  EXPECT_EQ(ops::scatter_add(x, Tensor::from_vector(at, {kCount}, cpu), v, 0).to_vector<float>(),
            expected);
  for (const int64_t wrong : {kPlaces, -kPlaces - 1, INT64_MAX, INT64_MIN}) {
    at[kCount / 2] = wrong;
    EXPECT_THROW(
        ops::scatter_add(x, Tensor::from_vector(at, {kCount}, cpu), v, 0).to_vector<float>(),
        Error);
  }
}

}  // namespace
}  // namespace hologram
