// Captured calculations with state: parts that begin where the device says, and results in the
// memory of inputs.
#include <gtest/gtest.h>

#include <numeric>

#include "hologram/hologram.hpp"

namespace hologram {
namespace {

std::vector<Donation> only(size_t input, size_t result) { return {{input, result}}; }

class Capture : public testing::TestWithParam<BackendType> {
 protected:
  void SetUp() override {
    try {
      executor_ = Executor::builder().backend(GetParam()).build();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Tensor numbers(const Shape& shape, float first = 0) const {
    const auto count = static_cast<size_t>(
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return ops::copy(Tensor::from_vector(values, shape, *executor_)).eval();
  }
  Tensor whole(int64_t n) const { return ops::full({}, n, DType::I32, *executor_).eval(); }
  uint64_t fallbacks() const { return executor_->counters().fallbacks; }

  std::optional<Executor> executor_;
};

TEST_P(Capture, PartsBeginWhereTheDeviceSays) {
  for (const DType dtype : {DType::F32, DType::I8, DType::F16, DType::I64})
    for (const int axis : {0, 1, 2})
      for (const int64_t start : {0, 1, -2}) {
        const Tensor x = numbers({5, 4, 6}).to(dtype), at = whole(start);
        const int64_t n = x.size(axis), first = start < 0 ? start + n : start;
        const Tensor part = ops::slice_at(x, axis, at, 2);
        EXPECT_TRUE(ops::array_equal(part, x.slice(axis, {first, first + 2})).item<bool>())
            << name_of(dtype) << ' ' << axis << ' ' << start;
        const Tensor put = ops::put_at(x, axis, at, part * 2);
        std::vector<Slice> where(3);
        where[static_cast<size_t>(axis)] = {first, first + 2};
        EXPECT_TRUE(ops::array_equal(put, ops::put(x, where, part * 2)).item<bool>());
        EXPECT_TRUE(ops::array_equal(ops::put_at(x, axis, start, part * 2), put).item<bool>());
      }
}

// A step of a language model would read its weights as f32, and have them in memory twice.
TEST_P(Capture, NarrowConstantsStayNarrow) {
  constexpr int64_t kRows = 256, kColumns = 512;
  const Tensor w = (numbers({kRows, kColumns}) * 1e-3).to(DType::BF16).eval(),
               x = numbers({kColumns});
  const std::vector<float> want = ops::matmul(w, x).to_vector<float>();
  const uint64_t before = executor_->pool_statistics().live_bytes;
  const Graph graph = capture([&](const Tensor& in) { return ops::matmul(w, in); }, x);
  const std::vector<float> got = graph.launch(x)[0].to_vector<float>();
  EXPECT_EQ(got, want);
  EXPECT_LT(executor_->pool_statistics().live_bytes - before, uint64_t{kRows * kColumns * 2});
  // What somebody else holds as well is computed once, and kept.
  const Tensor wide = w.to(DType::F32);
  const Graph shared = capture([&](const Tensor& in) { return ops::matmul(wide, in); }, x);
  EXPECT_EQ(shared.launch(x)[0].to_vector<float>(), want);
}

TEST_P(Capture, PartsOutsideAreErrorsAndWriteNothing) {
  const Tensor x = numbers({5, 2});
  for (const int64_t start : {4, -6, 100}) {
    EXPECT_THROW(ops::slice_at(x, 0, whole(start), 2).to_vector<float>(), Error) << start;
    EXPECT_THROW(ops::put_at(x, 0, whole(start), numbers({2, 2})).to_vector<float>(), Error);
  }
  EXPECT_THROW(ops::slice_at(x, 0, 0, 6), Error);
  EXPECT_THROW(ops::put_at(x, 0, 0.5, x), Error);
  EXPECT_THROW(ops::put_at(x, 0, numbers({1}), x), Error);
}

// A cache that grows by a row a step: one buffer all the time, and nothing but rows is written.
TEST_P(Capture, StateStaysWhereItIs) {
  constexpr int64_t kRows = 40, kWidth = 8;
  Tensor cache = ops::zeros({kRows, kWidth}, DType::F32, *executor_).eval();
  cache = ops::copy(cache).eval();
  Tensor at = ops::copy(whole(0)).eval();
  const Graph step = capture(
      [](const Tensor& c, const Tensor& position, const Tensor& row) {
        const Tensor now = ops::put_at(c, 0, position, row);
        return std::vector<Tensor>{now, position + 1, ops::sum(now)};
      },
      {{0, 0}, {1, 1}}, cache, at, numbers({kWidth}));
  const uint64_t before = fallbacks();
  double total = 0;
  const void* where = nullptr;
  const bool known = GetParam() == BackendType::Cpu;
  for (int64_t k = 0; k < kRows; k++) {
    const Tensor row = numbers({kWidth}, static_cast<float>(k));
    auto results = step.launch(std::move(cache), std::move(at), row);
    cache = std::move(results[0]);
    at = std::move(results[1]);
    total += kWidth * static_cast<double>(k) + kWidth * (kWidth - 1) / 2.0;
    EXPECT_EQ(results[2].item<float>(), static_cast<float>(total)) << k;
    if (!known) continue;
    const void* const here = cache.device_memory().address;
    if (where != nullptr) {
      EXPECT_EQ(here, where) << k;
    }
    where = here;
  }
  EXPECT_EQ(at.item<int32_t>(), kRows);
  EXPECT_EQ(fallbacks(), before);
  std::vector<float> expected;
  for (int64_t k = 0; k < kRows; k++)
    for (int64_t i = 0; i < kWidth; i++) expected.push_back(static_cast<float>(k + i));
  EXPECT_EQ(cache.to_vector<float>(), expected);
}

TEST_P(Capture, WhatSomebodyElseHoldsIsCopied) {
  const Tensor held = numbers({6});
  const Graph step = capture([](const Tensor& x) { return x + 1; }, only(0, 0), held);
  const uint64_t before = fallbacks();
  const Tensor y = step.launch(held)[0];
  EXPECT_EQ(fallbacks(), before + 1);
  EXPECT_EQ(held.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const Executor strict = Executor::builder().backend(GetParam()).strict(true).build();
  const Tensor there = ops::copy(ops::zeros({6}, DType::F32, strict)).eval();
  const Graph refusing = capture([](const Tensor& x) { return x + 1; }, only(0, 0), there);
  EXPECT_THROW(refusing.launch(there), Error);
}

// Two states that change places, one that others read beside, one that is put into twice.
TEST_P(Capture, NothingIsReadAfterItIsOverwritten) {
  const Graph swap = capture(
      [](const Tensor& x, const Tensor& y) {
        return std::vector<Tensor>{y + 1, x * 2};
      },
      {{0, 0}, {1, 1}}, numbers({500}), numbers({500}));
  const auto swapped = swap.launch(numbers({500}), numbers({500}, 1000));
  EXPECT_LE(fallbacks(), 1u);  // of two kernels one has to be last
  EXPECT_TRUE(ops::array_equal(swapped[0], numbers({500}, 1001)).item<bool>());
  EXPECT_TRUE(ops::array_equal(swapped[1], numbers({500}) * 2).item<bool>());

  const Graph beside = capture(
      [](const Tensor& x) {
        return std::vector<Tensor>{
            ops::put_at(x, 0, 1, ops::zeros({2, 3}, DType::F32, x.executor())), ops::sum(x, 0),
            x.transpose() + 1};
      },
      only(0, 0), numbers({4, 3}));
  const auto results = beside.launch(numbers({4, 3}));
  EXPECT_EQ(results[0].to_vector<float>(),
            (std::vector<float>{0, 1, 2, 0, 0, 0, 0, 0, 0, 9, 10, 11}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{18, 22, 26}));
  EXPECT_TRUE(ops::array_equal(results[2], numbers({4, 3}).transpose() + 1).item<bool>());

  const uint64_t before = fallbacks();
  const Graph twice = capture(
      [](const Tensor& x, const Tensor& row) {
        const Tensor once = ops::put(x, {{0, 1}}, row);
        return ops::put(once, {{2, 3}}, once.slice(0, {2, 3}) + row);
      },
      only(0, 0), numbers({4, 3}), numbers({1, 3}));
  EXPECT_EQ(twice.launch(numbers({4, 3}), numbers({1, 3}, 50))[0].to_vector<float>(),
            (std::vector<float>{50, 51, 52, 3, 4, 5, 56, 58, 60, 9, 10, 11}));
  EXPECT_EQ(fallbacks(), before);
}

// What cannot lie there is right all the same.
TEST_P(Capture, WhatReadsOtherElementsGetsMemoryOfItsOwn) {
  const uint64_t before = fallbacks();
  const Graph turned =
      capture([](const Tensor& x) { return x.transpose() + x; }, only(0, 0), numbers({3, 3}));
  EXPECT_EQ(fallbacks(), before + 1);
  EXPECT_EQ(turned.launch(numbers({3, 3}))[0].to_vector<float>(),
            (std::vector<float>{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  const Graph rows =
      capture([](const Tensor& x) { return ops::softmax(x, 1); }, only(0, 0), numbers({3, 3}));
  EXPECT_TRUE(ops::array_equal(rows.launch(numbers({3, 3}))[0], ops::softmax(numbers({3, 3}), 1))
                  .item<bool>());
}

TEST_P(Capture, DonationsAreBetweenWhatIsAlike) {
  const auto made = [&](const std::vector<Donation>& donated) {
    return capture(
        [](const Tensor& x, const Tensor& y) {
          return std::vector<Tensor>{x + 1, y + 1};
        },
        donated, numbers({3}), numbers({4}));
  };
  EXPECT_NO_THROW(made({{0, 0}, {1, 1}}));
  EXPECT_THROW(made({{0, 1}}), Error);
  EXPECT_THROW(made({{2, 0}}), Error);
  EXPECT_THROW(made({{0, 2}}), Error);
  EXPECT_THROW(made({{0, 0}, {0, 0}}), Error);
}

// A launch draws what calling the function would.
TEST_P(Capture, RandomNumbersAreDrawnAnew) {
  const auto step = [&](const Tensor& x) {
    const Tensor mask = ops::rand(x.shape(), DType::F32, *executor_) < 0.5;
    return std::vector<Tensor>{ops::where(mask, x, 0), ops::randn({1000}, DType::F32, *executor_),
                               ops::randint(-5, 1000, {77}, DType::I32, *executor_)};
  };
  const Graph graph = capture(step, numbers({2000}));
  for (const uint64_t seed : {7u, 8u}) {
    std::vector<std::vector<float>> first, second;
    const auto collect = [](const std::vector<Tensor>& results, auto& list) {
      for (const Tensor& t : results) list.push_back(t.to(DType::F32).to_vector<float>());
    };
    ops::seed(seed, *executor_);
    for (int k = 0; k < 3; k++) collect(graph.launch(numbers({2000})), first);
    ops::seed(seed, *executor_);
    for (int k = 0; k < 3; k++) collect(step(numbers({2000})), second);
    EXPECT_EQ(first, second);
    EXPECT_NE(first[0], first[3]);
  }
}

// ---- Programs over tensors ----------------------------------------------------------------------

constexpr std::string_view kTwice =
    R"(program twice(in x: f32[n], out y: f32[n], by: f32 = 2.0) lanes(n) {
  i = global_id.x
  if i < n { y[i] = by * x[i] }
})";
// Several results, of different sizes and types, one of which is read and written.
constexpr std::string_view kParts =
    R"(program parts(in x: f32[n], inout z: f32[n], out odd: i8[n], out twice: f32[n]) lanes(n) {
  i = global_id.x
  if i < n {
    z[i] = z[i] + x[i]
    odd[i] = i32(x[i]) % 2
    twice[i] = 2.0 * x[i]
  }
})";

TEST_P(Capture, NumbersBesideNarrowFloatsAreNotRounded) {
  for (const DType dtype : {DType::BF16, DType::F16}) {
    // 9984 is the bf16 nearest to 10000, 4100 the f16 nearest to 4099.
    const double number = dtype == DType::BF16 ? 10000 : 4099;
    const Tensor x = ops::full({3}, number, dtype, *executor_).eval();
    const Graph equal = capture([&](const Tensor& t) { return ops::eq(t, number); }, x);
    EXPECT_FALSE(ops::any(ops::eq(x, number)).item<bool>());
    EXPECT_FALSE(ops::any(equal.launch(x)[0]).item<bool>());
    const Graph rest = capture([&](const Tensor& t) { return t - number; }, x);
    EXPECT_TRUE(ops::array_equal(rest.launch(x)[0], (x - number).eval()).item<bool>());
    EXPECT_NE(rest.launch(x)[0].to(DType::F32).to_vector<float>()[0], 0);
  }
}

TEST_P(Capture, ProgramsRunOnTensors) {
  const Program twice = Program::parse(kTwice);
  const Tensor x = numbers({2, 3}).flatten();
  EXPECT_EQ(launch(twice, {{"x", x}}).at("y").to_vector<float>(),
            (std::vector<float>{0, 2, 4, 6, 8, 10}));
  const Tensor turned = numbers({2, 3}).transpose().flatten();  // no view that a program could read
  EXPECT_EQ(launch(twice, {{"x", turned}, {"by", 10}}).at("y").to_vector<float>(),
            (std::vector<float>{0, 30, 10, 40, 20, 50}));
  const Tensor z = numbers({6}, 100);
  const auto results = launch(Program::parse(kParts), {{"x", x}, {"z", z}});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ((results.at("twice") + 1).to_vector<float>(), (std::vector<float>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(results.at("odd").to_vector<int8_t>(), (std::vector<int8_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(results.at("z").to_vector<float>(), (std::vector<float>{100, 102, 104, 106, 108, 110}));
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{100, 101, 102, 103, 104, 105}));
  EXPECT_THROW(launch(twice, {}), Error);
  EXPECT_THROW(launch(twice, {{"x", x.to(DType::F64)}}), Error);
  EXPECT_THROW(launch(twice, {{"x", x}, {"w", x}}), Error);
  const auto loss = [&](const std::vector<Tensor>& t) {
    return ops::sum(launch(twice, {{"x", t[0]}}).at("y"));
  };
  EXPECT_THROW(gradient(loss, {x}), Error);
}

TEST_P(Capture, ProgramsAreCaptured) {
  const Program parts = Program::parse(kParts);
  const Graph step = capture(
      [&](const Tensor& x, const Tensor& z) {
        auto results = launch(parts, {{"x", x + 1}, {"z", z}});
        return std::vector<Tensor>{results.at("z"), ops::sum(results.at("odd").to(DType::I64)),
                                   results.at("twice") * 0.5};
      },
      numbers({64}), numbers({64}));
  Tensor z = ops::zeros({64}, DType::F32, *executor_);
  for (int k = 0; k < 5; k++) {
    const auto results = step.launch(numbers({64}, static_cast<float>(k)), z);
    z = results[0];
    EXPECT_EQ(results[1].item<int64_t>(), 32);
    EXPECT_TRUE(
        ops::array_equal(results[2], numbers({64}, static_cast<float>(k + 1))).item<bool>());
  }
  EXPECT_TRUE(ops::array_equal(z, numbers({64}) * 5 + 15).item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Backends, Capture,
                         testing::Values(BackendType::Cpu, BackendType::Cuda, BackendType::OpenCl,
                                         BackendType::WebGpu),
                         [](const auto& p) { return std::string(name_of(p.param)); });

}  // namespace
}  // namespace hologram
