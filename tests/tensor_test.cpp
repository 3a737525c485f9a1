// Tensors as users meet them: values, views, promotion, fusion, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "faulty_device.hpp"
#include "hologram/error.hpp"
#include "hologram/graph.hpp"
#include "hologram/ops.hpp"
#include "message_of.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

std::vector<float> floats(const Tensor& t) { return t.to(DType::F32).to_vector<float>(); }
std::vector<float> list(std::initializer_list<float> values) { return values; }

uint64_t launches_of(const Tensor& t) {
  const uint64_t before = t.executor().counters().launches;
  t.eval();
  return t.executor().counters().launches - before;
}

TEST(Tensor, ComputesWhenRead) {
  const Tensor a = Tensor::from({1.0f, 2.0f, 3.0f});
  const Tensor b = a * 2 + 1;
  EXPECT_FALSE(b.ready());
  EXPECT_EQ(floats(b), list({3, 5, 7}));
  EXPECT_TRUE(b.ready());
}

TEST(Tensor, FusesAChainIntoOneLaunch) {
  const Tensor a = ops::rand({100000}).eval(), b = ops::rand({100000}).eval(),
               c = ops::rand({100000}).eval();
  EXPECT_EQ(launches_of(ops::sigmoid(a * b + c) * a - c), 1u);
}

TEST(Tensor, SoftmaxIsOneLaunch) {
  for (const int64_t n : {5, 1000}) {
    const Tensor x = ops::randn({20, n}).eval();
    EXPECT_EQ(launches_of(ops::softmax(x)), 1u) << n;
    EXPECT_EQ(launches_of(ops::log_softmax(x + 1)), 1u) << n;
  }
}

TEST(Tensor, NormalisationOfRowsIsOneLaunch) {
  const Tensor x = ops::randn({20, 1000}).eval();
  const Tensor mean = ops::mean(x, -1, true);
  EXPECT_EQ(launches_of((x - mean) / ops::sqrt(ops::var(x, -1, 0, true) + 1e-5)), 1u);
}

TEST(Tensor, AValueUsedTwiceIsWrittenOnceAndReadTwice) {
  const Tensor x = ops::rand({64}).eval();
  const Tensor shared = ops::exp(x), left = shared + 1, right = ops::sum(shared);
  const uint64_t before = x.executor().counters().launches;
  eval({left, right, shared});
  EXPECT_EQ(x.executor().counters().launches - before, 3u);
  EXPECT_TRUE(shared.ready());
}

TEST(Tensor, ResultsOfOneShapeComeFromOneKernel) {
  const Tensor x = ops::rand({64}).eval();
  const Tensor first = x * 2, second = first + 1;
  const uint64_t before = x.executor().counters().launches;
  eval({first, second});
  EXPECT_EQ(x.executor().counters().launches - before, 1u);
  EXPECT_EQ(floats(second), floats(first + 1));
}

// A device that takes few buffers a launch.
class NarrowDevice : public FaultyDevice {
 public:
  NarrowDevice(std::shared_ptr<hal::Device> device, uint32_t most)
      : FaultyDevice(std::move(device)), info_(FaultyDevice::info()) {
    info_.max_bindings = most;
  }
  const DeviceInfo& info() const override { return info_; }

 private:
  DeviceInfo info_;
};

TEST(Tensor, KernelsTakeAsManyBuffersAsTheDevice) {
  constexpr int kInputs = 40;
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  const auto launches = [&](uint32_t most) {
    const Executor executor(std::make_shared<Executor::State>(
        config, std::make_shared<NarrowDevice>(runtime::select(config).device, most), ""));
    Tensor sum = Tensor::from({0.0f, 0.5f}, {}, executor);
    for (int k = 1; k < kInputs; k++) {
      const auto value = static_cast<float>(k);
      sum += Tensor::from({value, value * 2}, {}, executor);
    }
    // A kernel that has too many is refused when it is launched.
    EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{780, 1560.5f})) << most;
    return executor.counters().launches;
  };
  EXPECT_EQ(launches(4), 20u);  // three inputs, one of them the sum so far, and the result
  EXPECT_EQ(launches(8), 7u);
  EXPECT_EQ(launches(16), 3u);
  EXPECT_EQ(launches(UINT32_MAX), 1u);
}

TEST(Tensor, PromotesLikeTheArrayApi) {
  EXPECT_EQ(promote(DType::I8, DType::U8), DType::I16);
  EXPECT_EQ(promote(DType::U32, DType::I8), DType::I64);
  EXPECT_EQ(promote(DType::F16, DType::BF16), DType::F32);
  EXPECT_EQ(promote(DType::I64, DType::F16), DType::F16);
  EXPECT_THROW(promote(DType::U64, DType::I8), Error);
  const Tensor half = ops::ones({2}, DType::F16), byte = ops::ones({2}, DType::U8);
  EXPECT_EQ((half * 2.5).dtype(), DType::F16);
  EXPECT_EQ((byte + 1).dtype(), DType::U8);
  EXPECT_EQ((byte + 1.5).dtype(), DType::F32);
  EXPECT_EQ((byte / ops::ones({2}, DType::U8)).dtype(), DType::F32);
  EXPECT_NE(message_of([&] { (void)(byte + 300); }).find("300 is not a value of type u8"),
            std::string::npos);
}

TEST(Tensor, NarrowIntegersWrapInFusedChainsToo) {
  const Tensor x = Tensor::from_vector<uint8_t>({250, 255}, {2});
  EXPECT_EQ(((x + 10) / 2.0).to_vector<float>(), list({2, 4.5f}));
}

TEST(Tensor, Views) {
  const Tensor x = ops::arange(24).reshape({2, 3, 4});
  EXPECT_EQ(x.permute({2, 0, 1}).select(0, 1).flatten().to_vector<int64_t>(),
            (std::vector<int64_t>{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(x.slice({{}, {2, {}, -2}, {-2, {}}}).flatten().to_vector<int64_t>(),
            (std::vector<int64_t>{10, 11, 2, 3, 22, 23, 14, 15}));
  EXPECT_EQ(x.flip({0, 2}).select(0, 0).select(0, 0).to_vector<int64_t>(),
            (std::vector<int64_t>{15, 14, 13, 12}));
  EXPECT_EQ(x.slice(1, {5, 9}).size(), 0);
  EXPECT_EQ(x.unsqueeze(1).squeeze(1).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(x.reshape({-1, 6}).shape(), (Shape{4, 6}));
  EXPECT_EQ(x.transpose().reshape({24}).to_vector<int64_t>()[1], 4);
  EXPECT_EQ(ops::sum(ops::ones({3, 1}).broadcast_to({2, 3, 4})).item<float>(), 24);
}

TEST(Tensor, ViewsOfLazyValuesAreFollowedThrough) {
  const Tensor x = ops::arange(12, 24).reshape({3, 4}).to(DType::F32).eval();
  const Tensor y = (x * 2).transpose().slice(0, {{}, {}, -1}) + 1;
  EXPECT_EQ(launches_of(y), 1u);
  EXPECT_EQ(floats(y.select(0, 0)), list({31, 39, 47}));
}

// Integers of 64 bits are divided as floats where they are small enough.
template <class T>
void expect_quotients(Jit jit) {
  const Executor cpu = Executor::builder().backend(BackendType::Cpu).jit(jit).build();
  std::mt19937_64 random(7);
  std::vector<T> a, b;
  for (int k = 0; k < 20000; k++) {
    // Sixteen at a time are of about one size.
    const int bits = k / 16 % 2 == 0 ? 49 + k / 32 % 5 : 1 + k / 32 % 64;
    const auto up_to = [&](int n) { return static_cast<T>(static_cast<T>(random()) >> (64 - n)); };
    const T divisor = up_to(1 + static_cast<int>(random() % static_cast<unsigned>(bits)));
    const T times = divisor == 0 || divisor == static_cast<T>(-1) ? 0 : up_to(bits) / divisor;
    const auto multiple = static_cast<uint64_t>(times) * static_cast<uint64_t>(divisor);
    b.push_back(divisor);
    a.push_back(k % 3 == 0 ? up_to(bits) : static_cast<T>(multiple + (k % 3 == 1 ? 0 : ~0ull)));
  }
  const auto n = static_cast<int64_t>(a.size());
  const Tensor x = Tensor::from_vector(a, {n}, cpu), y = Tensor::from_vector(b, {n}, cpu);
  const auto quotients = ops::floor_div(x, y).template to_vector<T>();
  const auto rests = (x % y).template to_vector<T>();
  for (size_t k = 0; k < a.size(); k++) {
    if (b[k] == static_cast<T>(-1) && a[k] == std::numeric_limits<T>::min()) continue;  // wraps
    T q = b[k] == 0 ? 0 : a[k] / b[k], r = b[k] == 0 ? 0 : a[k] % b[k];
    if (r != 0 && (r < 0) != (b[k] < 0)) q--, r += b[k];
    ASSERT_EQ(quotients[k], q) << a[k] << " / " << b[k];
    ASSERT_EQ(rests[k], r) << a[k] << " % " << b[k];
  }
}

TEST(Tensor, QuotientsOfWideIntegers) {
  for (const Jit jit : {Jit::Off, Jit::Always}) {
    expect_quotients<int64_t>(jit);
    expect_quotients<uint64_t>(jit);
  }
}

// A processor reads what is too much for its caches by tiles.
TEST(Tensor, ColumnsOfLargeMatrices) {
  for (const int threads : {1, 3}) {
    const Executor cpu =
        Executor::builder().backend(BackendType::Cpu).threads(threads).jit(Jit::Always).build();
    for (const Shape& shape : {Shape{1100, 130}, {2000, 65}, {1025, 64}, {1031, 1}, {1500, 257}}) {
      const int64_t rows = shape[0], columns = shape[1];
      const Tensor all = ops::arange(0, rows * columns, 1, DType::F32, cpu).eval();
      const Tensor x = all.reshape(shape), y = all.reshape({columns, rows});
      const auto both = floats(x.transpose() + x.transpose() * 2), one = floats(x.transpose() - y);
      for (int64_t i = 0; i < columns; i++)
        for (int64_t j = 0; j < rows; j++) {
          const auto at = static_cast<size_t>(i * rows + j);
          const auto turned = static_cast<float>(j * columns + i);
          ASSERT_EQ(both[at], turned * 3) << to_string(shape) << ' ' << at;
          ASSERT_EQ(one[at], turned - static_cast<float>(at)) << to_string(shape) << ' ' << at;
        }
    }
  }
}

TEST(Tensor, NumbersInMemoryReachEveryPieceOfALongRow) {
  const Tensor number = ops::full({}, 2).eval();
  for (const int64_t n : {16384, 16385, 100000})
    EXPECT_EQ(ops::sum(ops::ones({n}).eval() * number).item<float>(), static_cast<float>(2 * n));
  const Tensor column = ops::arange(3).to(DType::F32).reshape({3, 1}).eval();
  EXPECT_EQ(floats(ops::sum(ops::ones({3, 40000}).eval() * column, 1)), list({0, 40000, 80000}));
}

TEST(Tensor, Reductions) {
  const Tensor x = ops::arange(1, 7).reshape({2, 3});
  EXPECT_EQ(ops::sum(x).item<int64_t>(), 21);
  EXPECT_EQ(ops::prod(x, 1).to_vector<int64_t>(), (std::vector<int64_t>{6, 120}));
  EXPECT_EQ(floats(ops::mean(x, 0)), list({2.5, 3.5, 4.5}));
  EXPECT_EQ(floats(ops::max(x, {0, 1}, true)), list({6}));
  EXPECT_EQ(ops::argmin(x, 0).to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(ops::argmax(x).item<int64_t>(), 5);
  EXPECT_FALSE(ops::all(x > 1).item<bool>());
  EXPECT_TRUE(ops::any(x > 5).item<bool>());
  EXPECT_EQ(ops::sum(ops::zeros({0, 3}), 0).to_vector<float>(), list({0, 0, 0}));
  EXPECT_TRUE(std::isnan(ops::mean(ops::zeros({0})).item<float>()));
  EXPECT_NE(message_of([] { ops::max(ops::zeros({0})); }).find("max of no elements"),
            std::string::npos);
  EXPECT_NEAR(ops::logsumexp(ops::full({1000}, 100.0)).item<float>(), 106.907755f, 1e-4);
}

TEST(Tensor, LongSumsAreAccurate) {
  for (const int64_t n : {1000, 16384, 16385, 1000000}) {
    const Tensor x = ops::rand({n}).eval();
    const std::vector<float> values = x.to_vector<float>();
    const double exact = std::accumulate(values.begin(), values.end(), 0.0);
    EXPECT_NEAR(ops::sum(x).item<double>(), exact,
                2 * 0x1p-23 * std::log2(static_cast<double>(n)) * exact);
    const Tensor rows = x.unsqueeze(1);
    EXPECT_NEAR(ops::sum(rows, 0).item<double>(), exact,
                2 * 0x1p-23 * std::log2(static_cast<double>(n)) * exact);
  }
}

TEST(Tensor, Products) {
  const Tensor a = ops::arange(6).reshape({2, 3}), b = ops::arange(12).reshape({3, 4});
  for (const DType t : {DType::F32, DType::F64, DType::I32, DType::F16, DType::U8}) {
    const Tensor c = ops::matmul(a.to(t), b.to(t));
    EXPECT_EQ(c.dtype(), t);
    EXPECT_EQ(floats(c), list({20, 23, 26, 29, 56, 68, 80, 92})) << name_of(t);
    EXPECT_EQ(floats(ops::matmul(b.to(t).transpose(), a.to(t).transpose())),
              list({20, 56, 23, 68, 26, 80, 29, 92}));
  }
  EXPECT_EQ(ops::matmul(ops::ones({5, 1, 2, 3}), ops::ones({7, 3, 4})).shape(),
            (Shape{5, 7, 2, 4}));
  EXPECT_EQ(ops::matmul(ops::ones({3}), ops::ones({3})).item<float>(), 3);
  EXPECT_EQ(floats(ops::matmul(ops::ones({2, 0}), ops::ones({0, 2}))), list({0, 0, 0, 0}));
  const Tensor v = ops::arange(3).to(DType::F32);
  EXPECT_EQ(floats(ops::gemv(ops::eye(3), v, ops::ones({3}), 2, -1)), list({-1, 1, 3}));
  EXPECT_EQ(ops::dot(v, v).item<float>(), 5);
  EXPECT_EQ(floats(ops::outer(v, v).select(0, 2)), list({0, 2, 4}));
  EXPECT_EQ(ops::tensordot(ops::ones({2, 3, 4}), ops::ones({4, 3, 5}), {1, 2}, {1, 0}).shape(),
            (Shape{2, 5}));
  EXPECT_NE(message_of([&] { ops::matmul(a, a); }).find("[2, 3] and [2, 3]"), std::string::npos);
}

TEST(Tensor, ValuesStayValues) {
  Tensor a = ops::ones({3});
  const Tensor b = a;
  a += 1;
  EXPECT_EQ(floats(a), list({2, 2, 2}));
  EXPECT_EQ(floats(b), list({1, 1, 1}));
}

TEST(Tensor, AssignUsesItsMemoryAgain) {
  Tensor out = ops::zeros({1000}).eval();
  const void* memory = out.array().data();
  out.assign(ops::arange(1000));
  EXPECT_EQ(out.array().data(), memory);
  EXPECT_EQ(out.dtype(), DType::F32);
  const Tensor shared = out;
  out.assign(out + 1);
  EXPECT_NE(out.array().data(), memory);
  EXPECT_EQ(shared.select(0, 5).item<float>(), 5);
  EXPECT_EQ(out.select(0, 5).item<float>(), 6);
  const std::vector<float> lent = {1, 2};
  Tensor borrowed = Tensor::from_span<float>(lent, {2});
  borrowed.assign(7);
  EXPECT_EQ(lent, list({1, 2}));
  EXPECT_EQ(floats(borrowed), list({7, 7}));
}

TEST(Tensor, CaptureReplaysWithOtherInputs) {
  const Tensor w = ops::rand({8, 3}) * 2;
  const auto step = [&](const Tensor& x, const Tensor& b) {
    return ops::softmax(ops::matmul(x, w) + b, -1);
  };
  Tensor x = ops::rand({5, 8}), b = ops::rand({3});
  const Graph graph = capture(step, x, b);
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(floats(graph.launch(x, b)[0]), floats(step(x, b)));
    x = ops::rand({5, 8});
    b = ops::rand({6}).slice({{{}, {}, 2}});
  }
  EXPECT_NE(message_of([&] { graph.launch(x); }).find("1 inputs for a graph of 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { graph.launch(x, w); }).find("has shape [8, 3], not [3]"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              capture([](const Tensor& t) { return t * ops::sum(t).item<float>(); }, x);
            }).find("yet to be given"),
            std::string::npos);
  const Graph both = capture(
      [&](const Tensor& t) {
        return std::vector<Tensor>{t, ops::concat({t, t + 1}), ops::ones({2})};
      },
      b);
  const auto results = both.launch(b);
  EXPECT_EQ(floats(results[0]), floats(b));
  EXPECT_EQ(results[1].shape(), (Shape{6}));
  EXPECT_EQ(floats(results[2]), list({1, 1}));
}

TEST(Tensor, AMillionNodes) {
  const char* fewer = std::getenv("HOLOGRAM_TEST_NODES");
  const int n = fewer != nullptr ? std::atoi(fewer) : 1000000;
  Tensor x = ops::zeros({2});
  for (int i = 0; i < n; i++) x += 1;
  EXPECT_EQ(floats(x), std::vector<float>(2, static_cast<float>(n)));
}

TEST(Tensor, RandomNumbersDependOnSeedAndOrderOnly) {
  ops::seed(7);
  const auto first = ops::rand({1000}).to_vector<float>(),
             second = ops::rand({1000}).to_vector<float>();
  ops::seed(7);
  const Tensor lazy = ops::rand({1000}), later = ops::rand({1000});
  EXPECT_EQ(later.to_vector<float>(), second);
  EXPECT_EQ(lazy.to_vector<float>(), first);
  EXPECT_NEAR(ops::mean(ops::randn({100000})).item<double>(), 0, 0.02);
  const Tensor dice = ops::randint(1, 7, {10000});
  EXPECT_EQ(ops::min(dice).item<int64_t>(), 1);
  EXPECT_EQ(ops::max(dice).item<int64_t>(), 6);
}

TEST(Tensor, ErrorsComeFromTheCall) {
  const Tensor a = ops::ones({2, 3});
  EXPECT_NE(
      message_of([&] { a + ops::ones({2}); }).find("add: shapes [2, 3] and [2] do not go together"),
      std::string::npos);
  EXPECT_NE(message_of([&] { ops::sum(a, 2); }).find("sum: there is no axis 2: the tensor has 2"),
            std::string::npos);
  EXPECT_NE(message_of([&] { Tensor() + 1; }).find("empty Tensor"), std::string::npos);
  EXPECT_NE(message_of([&] { a.to_vector<double>(); }).find("f32"), std::string::npos);
  EXPECT_NE(message_of([] {
              ops::zeros({1 << 20, 1 << 20, 1 << 10});
            }).find("does not fit"),
            std::string::npos);
  EXPECT_NE(message_of([&] { ops::bitwise_and(a, a); }).find("bitwise_and is not defined for f32"),
            std::string::npos);
}

TEST(Tensor, TheProfilerCountsTraffic) {
  BackendConfig config;
  config.enable_backend_profiling = true;
  const Executor executor = Executor::from_config(config);
  const Tensor x = Tensor::from_vector(std::vector<float>(1000, 2), {1000}, executor);
  EXPECT_EQ(ops::sum(x * x).item<float>(), 4000);
  const std::vector<KernelProfile> kernels = executor.profile().kernels;
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels[0].launches, 1u);
  EXPECT_EQ(kernels[0].bytes, 4004);
}

TEST(Tensor, MemoryGoesBack) {
  const Executor executor(BackendType::Cpu);
  {
    Tensor x = ops::ones({1 << 20}, DType::F32, executor);
    for (int i = 0; i < 10; i++) x = ops::cumsum(x * 0.5, 0).eval();
    EXPECT_GT(executor.pool_statistics().live_bytes, 0u);
  }
  EXPECT_EQ(executor.pool_statistics().live_bytes, 0u);
  EXPECT_GT(executor.trim(), 0u);
  EXPECT_EQ(executor.pool_statistics().cached_bytes, 0u);
}

TEST(Tensor, WithoutMemoryNothingIsLost) {
  BackendConfig config;
  config.cache_size_mb = 8;
  const Executor executor = Executor::from_config(config);
  const Tensor x = ops::arange(0, 1 << 20, 1, DType::F32, executor).eval();
  const Tensor parts = ops::concat({x * 2, x + 1, x});
  EXPECT_NE(message_of([&] { parts.eval(); }).find("bytes"), std::string::npos);
  EXPECT_EQ(ops::sum(x.slice(0, {0, 4})).item<float>(), 6);
  EXPECT_FALSE(parts.ready());
}

TEST(Tensor, ThreadsShareTensorsAndExecutors) {
  const Tensor shared = ops::exp(ops::rand({10000}));
  std::vector<std::thread> threads;
  std::vector<double> sums(8);
  threads.reserve(sums.size());
  for (double& sum : sums)
    threads.emplace_back([&shared, &sum] {
      for (int k = 0; k < 5; k++) sum = ops::sum(shared * 2).item<double>();
    });
  for (std::thread& t : threads) t.join();
  for (const double s : sums) EXPECT_EQ(s, sums[0]);
}

}  // namespace
}  // namespace hologram
