// The CUDA backend on the emulated driver where that executes kernels.
#include "cuda_fixture.hpp"

namespace hologram {
namespace {

class EmulatedCuda : public CudaTest {
 protected:
  void SetUp() override {
    how_.order = emulated::Order::Random;
    driver_.execute(&how_);
  }
  fake::Execution how_;
};

TEST_F(EmulatedCuda, Computes) {
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

TEST_F(EmulatedCuda, EndlessLoopsAreStopped) {
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

TEST_F(EmulatedCuda, TensorsGoFromStreamToStream) {
  BackendConfig config;
  config.backend_type = BackendType::Cuda;
  config.device_id = 1;
  const Executor first = executor(), second = Executor::from_config(config), third = executor();
  Tensor x = Tensor::from(counting(1000), first);
  for (int i = 0; i < 20; i++) x = (((x + 1).to(second) + 1).to(third) + 1).to(first);
  EXPECT_EQ(x.to_vector<float>()[999], 999 + 60);
}

TEST_F(EmulatedCuda, CapturedGraphsComputeEachTime) {
  const Executor gpu = executor();
  const Tensor x = Tensor::from(counting(1000), gpu);
  const Graph graph = capture([](const Tensor& t) { return ops::cumsum(t, 0) + 1; }, x);
  for (int i = 1; i < 4; i++) {
    const Tensor y = Tensor::from(counting(1000), gpu) * static_cast<float>(i);
    const std::vector<float> sums = graph.launch(y)[0].to_vector<float>();
    EXPECT_EQ(sums[999], static_cast<float>(i) * 499500 + 1);
  }
}

}  // namespace
}  // namespace hologram
