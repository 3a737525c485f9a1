// Captured calculations on CUDA: one graph of the driver's for all kernels of a launch.
#include "cuda_fixture.hpp"

namespace hologram {
namespace {

class CudaGraphs : public CudaTest {
 protected:
  // With fusion off, each operation is a kernel.
  static Executor unfused() {
    BackendConfig config;
    config.backend_type = BackendType::Cuda;
    config.fusion = false;
    return Executor::from_config(config);
  }
  static Tensor chain(const Tensor& x, int length) {
    Tensor t = x;
    for (int i = 0; i < length; i++) t = ops::relu(t);
    return t;
  }
  static std::vector<float> numbers(size_t count, float first) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
};

TEST_F(CudaGraphs, AChainIsOneCall) {
  const Executor gpu = unfused();
  const Tensor x = Tensor::from(counting(1000), gpu);
  const Graph graph = capture([](const Tensor& t) { return chain(t, 100); }, x);
  EXPECT_EQ(graph.note(), "a CUDA graph of 100 nodes");
  const int launches = driver_.calls("cuLaunchKernelEx");
  const uint64_t counted = gpu.counters().launches;
  for (int i = 0; i < 5; i++) graph.launch(x);
  EXPECT_EQ(driver_.calls("cuGraphLaunch"), 5);
  EXPECT_EQ(driver_.calls("cuLaunchKernelEx"), launches);
  EXPECT_EQ(gpu.counters().launches, counted + 500);
}

// Kernels of the emulated driver copy their first argument to their second, so that what comes out
// is what went in, if every node was given the right memory.
TEST_F(CudaGraphs, EveryLaunchHasItsOwnInputsAndResults) {
  const Executor gpu = unfused();
  const size_t count = 1000;
  const Tensor example = Tensor::from(counting(count), gpu);
  const Graph graph = capture(
      [](const Tensor& t) {
        const Tensor half = chain(t, 5);
        return std::vector<Tensor>{half, chain(half, 6), t};
      },
      example);
  driver_.copy(count * sizeof(float));
  std::vector<std::vector<Tensor>> results;
  results.reserve(4);
  for (int i = 0; i < 4; i++)
    results.push_back(graph.launch(
        Tensor::from_vector(numbers(count, static_cast<float>(1000 * i)), {1000}, gpu)));
  for (int i = 0; i < 4; i++)
    for (const Tensor& result : results[static_cast<size_t>(i)])
      EXPECT_EQ(result.to_vector<float>(), numbers(count, static_cast<float>(1000 * i)));
  // What came out goes in.
  Tensor t = Tensor::from_vector(numbers(count, 7), {1000}, gpu);
  for (int i = 0; i < 10; i++) t = graph.launch(t)[1];
  EXPECT_EQ(t.to_vector<float>(), numbers(count, 7));
}

TEST_F(CudaGraphs, OnlyNodesWhoseMemoryHasChangedAreTold) {
  const Executor gpu = unfused();
  const Tensor x = Tensor::from(counting(1000), gpu), other = Tensor::from(counting(1000), gpu);
  const Graph graph = capture([](const Tensor& t) { return chain(t, 50); }, x);
  const int before = driver_.calls("cuGraphExecKernelNodeSetParams");
  graph.launch(x);
  const int told = driver_.calls("cuGraphExecKernelNodeSetParams");
  EXPECT_EQ(told, before + 2) << "the first and the last";
  graph.launch(x);
  EXPECT_EQ(driver_.calls("cuGraphExecKernelNodeSetParams"), told);
  graph.launch(other);
  EXPECT_EQ(driver_.calls("cuGraphExecKernelNodeSetParams"), told + 1);
}

TEST_F(CudaGraphs, MemoryBetweenKernelsIsUsedAgain) {
  const Executor gpu = unfused();
  const Tensor x = Tensor::from(counting(1 << 18), gpu);  // 1 MiB
  {
    const Graph graph = capture([](const Tensor& t) { return chain(t, 100); }, x);
    EXPECT_EQ(gpu.pool_statistics().live_bytes, 3u << 20) << "two take turns";
    // What is computed beside it leaves that memory alone.
    driver_.copy(1 << 20);
    const Tensor held = ops::relu(x).eval(), y = graph.launch(x)[0];
    EXPECT_EQ(held.to_vector<float>(), x.to_vector<float>());
    EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  }
  EXPECT_EQ(gpu.pool_statistics().live_bytes, 1u << 20);
}

TEST_F(CudaGraphs, MemoryIsFilledInAGraph) {
  const Executor gpu = executor();
  // This driver's kernels copy: whatever they make of zeros is no position outside.
  const Tensor x = Tensor::from_vector(std::vector<float>(100'000), {100'000}, gpu);
  const Tensor at = Tensor::from_vector<int32_t>({0, 0}, {2}, gpu);
  const int before = driver_.calls("cuGraphAddMemsetNode");
  const Graph graph = capture([&](const Tensor& t) { return ops::take(t, at, 0); }, x);
  EXPECT_EQ(graph.note().find("a CUDA graph of "), 0u) << graph.note();
  graph.launch(x);
  EXPECT_GT(driver_.calls("cuGraphAddMemsetNode"), before);
}

TEST_F(CudaGraphs, WhatAGraphCannotHoldIsDoneStepByStep) {
  const Executor limited = executor(10'000);
  const Tensor y = Tensor::from(counting(100), limited);
  EXPECT_EQ(capture([](const Tensor& t) { return t * 2; }, y).note(),
            "step by step: each launch has a time limit");
}

TEST_F(CudaGraphs, WithoutAGraphOfTheDriversItGoesStepByStep) {
  const Executor gpu = unfused();
  const Tensor x = Tensor::from(counting(1000), gpu);
  driver_.copy(4000);
  for (const char* call :
       {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphUpload"}) {
    driver_.fail(call, 0, 1, 1);
    const Graph graph = capture([](const Tensor& t) { return chain(t, 3); }, x);
    EXPECT_EQ(graph.note(),
              "step by step: Emulated GPU failed in making a CUDA graph: an injected failure "
              "(CUDA_ERROR)");
    EXPECT_EQ(driver_.live("graph") + driver_.live("ready graph"), 0);
    EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), x.to_vector<float>());
  }
  // One that fails later is told, and is as good as new afterwards.
  const Graph graph = capture([](const Tensor& t) { return chain(t, 3); }, x);
  for (const char* call : {"cuGraphExecKernelNodeSetParams", "cuGraphLaunch"}) {
    driver_.fail(call, call[11] == 'K' ? 1 : 0, 1, 1);
    const Error error = error_of([&] { graph.launch(Tensor::from(counting(1000), gpu)); });
    EXPECT_NE(std::string(error.what()).find("in a CUDA graph up to program 'fused_"),
              std::string::npos)
        << error.what();
    EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), x.to_vector<float>());
  }
}

TEST_F(CudaGraphs, ConstantsAndEmptyTensorsAreFine) {
  const Executor gpu = executor();
  const Tensor x = Tensor::from(counting(10), gpu), constant = Tensor::from(counting(10), gpu);
  const Graph graph = capture(
      [&](const Tensor& t) {
        return std::vector<Tensor>{constant, t.slice(0, {0, 0}) + 1, t + constant};
      },
      x);
  driver_.copy(0);
  const std::vector<Tensor> results = graph.launch(x);
  EXPECT_EQ(results[1].size(), 0);
  EXPECT_EQ(results[2].size(), 10);
}

}  // namespace
}  // namespace hologram
