// The CUDA and ROCm backends on the emulated drivers where those execute kernels.
#include "driver_fixture.hpp"

namespace hologram {
namespace {

class EmulatedDriver : public DriverTest, public testing::WithParamInterface<const Emulation*> {
 public:
  EmulatedDriver() : DriverTest(*GetParam()) {
    setenv("HOLOGRAM_CUBLASLT_LIBRARY", "none", 1);
    setenv("HOLOGRAM_CUDNN_LIBRARY", "none", 1);
  }

 protected:
  void SetUp() override {
    how_.order = emulated::Order::Random;
    driver_.execute(&how_);
  }
  static Executor executor(uint64_t timeout_ms = 0, int device = 0) {
    return executor_on(GetParam()->backend, timeout_ms, device);
  }
  fake::Execution how_;
};

TEST_P(EmulatedDriver, Computes) {
  for (const unsigned wave : {32U, 64U}) {
    how_.wave = wave;
    driver_.execute(&how_);
    const Executor gpu = executor(), cpu(BackendType::Cpu);
    const auto work = [](const Executor& on) {
      const Tensor x = Tensor::from(counting(5000), on) * 0.01F;
      return ops::concat({ops::softmax(x, 0), ops::cumsum(x, 0), ops::sort(-x)}, 0)
          .to_vector<float>();
    };
    EXPECT_EQ(work(gpu), work(cpu));
  }
}

// Rows that a group walks by whole runs and a shorter last one, of narrow elements beside wide.
TEST_P(EmulatedDriver, ManyLongRowsAreSummedInTheOrderOfTheShape) {
  const auto work = [](const Executor& on, DType dtype) {
    const Tensor x = Tensor::from(counting(4352), on) * 0.01F;
    const Tensor rows = (Tensor::from(counting(2049), on) * 0.003F).reshape({2049, 1});
    const Tensor matrix = ops::sin(rows * x).to(dtype).eval();
    return ops::sum(matrix.to(DType::F32) * x, 1).to_vector<float>();
  };
  const Executor gpu = executor(), cpu(BackendType::Cpu);
  for (const DType dtype : {DType::F32, DType::BF16})
    EXPECT_EQ(work(gpu, dtype), work(cpu, dtype)) << name_of(dtype);
}

TEST_P(EmulatedDriver, EndlessLoopsAreStopped) {
  const Executor gpu = executor(50);
  const Program endless = Program::parse(R"(program endless(inout y: u32[n]) lanes(n) {
    i = global_id.x
    while y[i] != 7 { y[i] = y[i] + 2 }
  })");
  const std::vector<uint32_t> zeros(64);
  const Error error = error_of([&] { gpu.run(endless, {{"y", Array::from(zeros, {64})}}); });
  EXPECT_EQ(error.kind(), ErrorKind::Timeout) << error.what();
  const Tensor x = Tensor::from(counting(10), executor()) + 1;
  EXPECT_EQ(x.to_vector<float>()[9], 10);
}

TEST_P(EmulatedDriver, TensorsGoFromStreamToStream) {
  const Executor first = executor(), second = executor(0, 1), third = executor();
  Tensor x = Tensor::from(counting(1000), first);
  for (int i = 0; i < 20; i++) x = (((x + 1).to(second) + 1).to(third) + 1).to(first);
  EXPECT_EQ(x.to_vector<float>()[999], 999 + 60);
}

// A graph of the driver, whose memory is another one at each launch, or stays.
TEST_P(EmulatedDriver, CapturedStateIsTakenOver) {
  const Executor gpu = executor();
  Tensor cache = ops::copy(ops::zeros({30, 4}, DType::F32, gpu)).eval();
  Tensor at = ops::copy(ops::full({}, 0, DType::I32, gpu)).eval();
  const Graph step = capture(
      [](const Tensor& c, const Tensor& position, const Tensor& row) {
        const Tensor noise = ops::rand({4}, DType::F32, c.executor());
        return std::vector<Tensor>{ops::put_at(c, 0, position, row + noise), position + 1, noise};
      },
      {{0, 0}, {1, 1}}, cache, at, Tensor::from(counting(4), gpu));
  EXPECT_NE(step.note().find("graph of"), std::string::npos) << step.note();
  std::vector<float> expected;
  const void* where = nullptr;
  for (int k = 0; k < 30; k++) {
    auto results = step.launch(std::move(cache), std::move(at), Tensor::from(counting(4), gpu));
    cache = std::move(results[0]), at = std::move(results[1]);
    const std::vector<float> noise = results[2].to_vector<float>();
    for (size_t i = 0; i < 4; i++) expected.push_back(static_cast<float>(i) + noise[i]);
    if (k > 0) {
      EXPECT_EQ(cache.device_memory().address, where) << k;
    }
    where = cache.device_memory().address;
  }
  EXPECT_EQ(cache.to_vector<float>(), expected);
  EXPECT_EQ(at.item<int32_t>(), 30);
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

TEST_P(EmulatedDriver, CapturedGraphsComputeEachTime) {
  const Executor gpu = executor();
  const Tensor x = Tensor::from(counting(1000), gpu);
  const Graph graph = capture([](const Tensor& t) { return ops::cumsum(t, 0) + 1; }, x);
  for (int i = 1; i < 4; i++) {
    const Tensor y = Tensor::from(counting(1000), gpu) * static_cast<float>(i);
    const std::vector<float> sums = graph.launch(y)[0].to_vector<float>();
    EXPECT_EQ(sums[999], static_cast<float>(i) * 499500 + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(, EmulatedDriver, testing::Values(&kCuda, &kHip), name_of_backend);

}  // namespace
}  // namespace hologram
