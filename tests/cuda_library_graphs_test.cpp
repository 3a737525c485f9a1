// Captured calculations on CUDA with more in them than kernels: products by a library, copies,
// gathers. The driver and the library are emulated; kernels do nothing there but what they are
// told.
#include <functional>

#include "cublaslt_fixture.hpp"

namespace hologram {
namespace {

class CudaLibraryGraphs : public CublasLt {
 protected:
  static constexpr int64_t kSide = 12;
  CudaLibraryGraphs() : gpu_(Executor::from_config(config())), w_(matrix(gpu_, 1)) {}

  static Tensor matrix(const Executor& on, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(kSide * kSide);
    for (float& v : values) v = static_cast<float>(random() % 17) - 8;
    return Tensor::from_vector(values, {kSide, kSide}, on);
  }
  Graph squares() const {
    return capture([this](const Tensor& t) { return ops::matmul(ops::matmul(t, w_), w_); },
                   matrix(gpu_, 2));
  }
  std::vector<float> expected(const Tensor& t) const {
    return ops::matmul(ops::matmul(t, w_), w_).to_vector<float>();
  }
  // Until results lie where the last ones lay, so that the graph has been told.
  static void launch_often(const Graph& graph, const Tensor& x) {
    for (int i = 0; i < 4; i++) graph.launch(x);
  }
  int captures() const { return driver_.calls("cuStreamBeginCapture_v2"); }

  const Executor gpu_;
  const Tensor w_;
};

TEST_F(CudaLibraryGraphs, ProductsAreNodes) {
  const Graph graph = squares();
  EXPECT_EQ(graph.note(), "a CUDA graph of 2 nodes");
  const Counters before = gpu_.counters();
  std::vector<Tensor> inputs, results;
  for (uint32_t i = 0; i < 5; i++) {
    inputs.push_back(matrix(gpu_, 10 + i));
    results.push_back(graph.launch(inputs.back())[0]);
  }
  EXPECT_EQ(driver_.calls("cuGraphLaunch"), 0) << "each has other memory: piece by piece";
  EXPECT_EQ(captures(), 2) << "when it was made";
  EXPECT_EQ(gpu_.counters().library_calls, before.library_calls + 10);
  for (size_t i = 0; i < 5; i++) EXPECT_EQ(results[i].to_vector<float>(), expected(inputs[i])) << i;
  launch_often(graph, inputs[0]);
  EXPECT_GE(driver_.calls("cuGraphLaunch"), 2) << "once memory stays where it is";
  EXPECT_EQ(graph.launch(inputs[0])[0].to_vector<float>(), results[0].to_vector<float>());
  // What came out goes in.
  Tensor t = inputs[0];
  for (int i = 0; i < 3; i++) t = graph.launch(t)[0];
  Tensor same = inputs[0];
  for (int i = 0; i < 3; i++) same = ops::matmul(ops::matmul(same, w_), w_);
  EXPECT_EQ(t.to_vector<float>(), same.to_vector<float>());
}

TEST_F(CudaLibraryGraphs, OnlyWhatHasOtherMemoryIsCapturedAnew) {
  const Graph graph = capture(
      [this](const Tensor& t) {
        Tensor product = t;
        for (int i = 0; i < 6; i++) product = ops::matmul(product, w_);
        return product;
      },
      w_);
  EXPECT_EQ(captures(), 6);
  const Tensor x = matrix(gpu_, 3), other = matrix(gpu_, 4);
  graph.launch(x);
  EXPECT_EQ(captures(), 6) << "memory may be another one the next time";
  launch_often(graph, x);
  EXPECT_EQ(captures(), 8) << "the first and the last";
  launch_often(graph, x);
  EXPECT_EQ(captures(), 8) << "the result's memory is what the last launch gave back";
  launch_often(graph, other);
  EXPECT_EQ(captures(), 9);
  EXPECT_EQ(driver_.calls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(driver_.live("graph"), 1);
}

TEST_F(CudaLibraryGraphs, WhatCannotBeToldIsBuiltAnew) {
  const Graph graph = squares();
  const Tensor x = matrix(gpu_, 5), y = matrix(gpu_, 6);
  for (int i = 0; i < 2; i++) {
    launch_often(graph, y);
    driver_.fail("cuGraphExecChildGraphNodeSetParams", 1 - i, 1, 910);
    launch_often(graph, x);
    for (const Tensor& t : {x, y}) EXPECT_EQ(graph.launch(t)[0].to_vector<float>(), expected(t));
  }
  EXPECT_EQ(driver_.calls("cuGraphInstantiateWithFlags"), 3);
  EXPECT_EQ(driver_.live("graph"), 1);
  EXPECT_EQ(driver_.live("ready graph"), 1);
}

TEST_F(CudaLibraryGraphs, WithoutANodeForItItGoesStepByStep) {
  const Tensor x = matrix(gpu_, 5);
  for (const char* call :
       {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphAddChildGraphNode"}) {
    driver_.fail(call, 1, 1, 1);
    const Graph graph = squares();
    EXPECT_EQ(graph.note(),
              "step by step: Emulated GPU failed in making a CUDA graph: an injected failure "
              "(CUDA_ERROR)");
    EXPECT_EQ(driver_.live("graph") + driver_.live("ready graph"), 0) << call;
    EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), expected(x));
  }
  library_.fail("cublasLtMatmul", 1, 1, kInternalError);
  const Graph graph = squares();
  EXPECT_EQ(graph.note(),
            "step by step: cuBLASLt f32 failed: status 14 (CUBLAS_STATUS_INTERNAL_ERROR)");
  EXPECT_EQ(driver_.live("graph") + driver_.live("ready graph"), 0);
  EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), expected(x));
  // The stream that is captured has no capture left.
  EXPECT_EQ(squares().note(), "a CUDA graph of 2 nodes");
}

TEST_F(CudaLibraryGraphs, ALaunchThatFailsIsToldAndTheNextIsRight) {
  const Graph graph = squares();
  std::vector<Tensor> held = {matrix(gpu_, 5)};  // so that each launch has other memory
  graph.launch(held[0]);
  const auto failing = [&](const std::string& what, const std::function<void()>& arm) {
    const Tensor x = held.emplace_back(matrix(gpu_, 7));
    arm();
    const Error error = error_of([&] { launch_often(graph, x); });
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    EXPECT_EQ(driver_.live("graph"), 1);
    EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), expected(x));
  };
  const std::string in_graph = "in a CUDA graph up to program 'cuBLASLt f32'";
  for (const char* call : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphLaunch"})
    failing(in_graph, [&] { driver_.fail(call, 0, 1, 1); });
  failing("cuBLASLt f32 failed: status 13 (CUBLAS_STATUS_EXECUTION_FAILED)",
          [&] { library_.fail("cublasLtMatmul", 0, 1, kExecutionFailed); });
  failing("memory", [&] { library_.fail("cublasLtMatmul", 0, 1, kAllocFailed); });
  // Piece by piece, too.
  held.push_back(matrix(gpu_, 8));
  library_.fail("cublasLtMatmul", 0, 1, kExecutionFailed);
  EXPECT_NE(std::string(error_of([&] { graph.launch(held.back()); }).what()).find("status 13"),
            std::string::npos);
  EXPECT_EQ(graph.launch(held.back())[0].to_vector<float>(), expected(held.back()));
  // Building it anew fails as well, and succeeds the next time.
  const Tensor x = held.emplace_back(matrix(gpu_, 9));
  driver_.fail("cuGraphExecChildGraphNodeSetParams", 0, 1, 910);
  driver_.fail("cuGraphInstantiateWithFlags", 0, 1, 1);
  EXPECT_NE(std::string(error_of([&] { launch_often(graph, x); }).what()).find(in_graph),
            std::string::npos);
  EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), expected(x));
  launch_often(graph, x);
  EXPECT_EQ(driver_.live("graph"), 1);
  EXPECT_EQ(driver_.live("ready graph"), 1);
}

// The library was promised memory of the pool; this begins 16 bytes behind a multiple of 256.
TEST_F(CudaLibraryGraphs, SomebodyElsesMemoryIsMovedForALibrary) {
  const Graph graph = squares();
  const Tensor x = matrix(gpu_, 5);
  const std::vector<float> values = x.to_vector<float>();
  unsigned long long memory = 0;
  void* context = reinterpret_cast<void*>(uintptr_t{7});  // NOLINT(performance-no-int-to-ptr)
  EXPECT_EQ(call("cuCtxPushCurrent_v2", context), 0);
  EXPECT_EQ(call("cuMemAlloc_v2", &memory, size_t{4096}), 0);
  EXPECT_EQ(call("cuCtxPopCurrent_v2", &context), 0);
  char* const shifted = reinterpret_cast<char*>(memory) + 16;  // NOLINT(performance-no-int-to-ptr)
  std::memcpy(shifted, values.data(), values.size() * sizeof(float));
  const Tensor borrowed =
      Tensor::from_device_pointer(shifted, {kSide, kSide}, DType::F32, nullptr, gpu_);
  EXPECT_EQ(graph.launch(borrowed)[0].to_vector<float>(), expected(x));
  EXPECT_EQ(expected(borrowed), expected(x));
}

TEST_F(CudaLibraryGraphs, GathersAreNodesAndWrongPositionsAreErrorsOfTheNextWait) {
  const Tensor positions = Tensor::from({1, 2, 3}, {3}, gpu_);
  const auto take = [&](const Tensor& t) { return ops::take(t, positions, 0); };
  const Tensor x = matrix(gpu_, 5);
  const Graph right = capture(take, x);
  EXPECT_EQ(right.note(), "a CUDA graph of 2 nodes") << "a word is cleared before";
  for (int i = 0; i < 2; i++) EXPECT_EQ(right.launch(x)[0].shape(), Shape({3, kSide}));
  EXPECT_EQ(driver_.calls("cuGraphLaunch"), 2);
  // Kernels say that a position is wrong, in the word that is their third buffer.
  const Graph wrong = capture(take, x);
  const int waits = driver_.calls("cuEventSynchronize") + driver_.calls("cuStreamSynchronize");
  driver_.mark(2);
  wrong.launch(x);
  EXPECT_EQ(driver_.calls("cuEventSynchronize") + driver_.calls("cuStreamSynchronize"), waits);
  const std::string message = error_of([&] { gpu_.synchronize(); }).what();
  EXPECT_NE(message.find("take"), std::string::npos) << message;
  // Or by the next launch, if it is known by then.
  wrong.launch(x);
  driver_.mark(-1);
  const Error error = error_of([&] {
    right.launch(x);
    gpu_.synchronize();
  });
  EXPECT_NE(std::string(error.what()).find("take"), std::string::npos) << error.what();
  EXPECT_EQ(right.launch(x)[0].shape(), Shape({3, kSide}));
  gpu_.synchronize();
  // More than are kept at a time, and one that nobody waits for.
  for (int i = 0; i < 1500; i++) right.launch(x);
  gpu_.synchronize();
}

TEST_F(CudaLibraryGraphs, CopiesAreNodes) {
  const Tensor positions = ops::zeros({2, kSide}, DType::I64, gpu_).eval(),
               values = ops::zeros({2, kSide}, DType::F32, gpu_).eval();
  const Graph graph =
      capture([&](const Tensor& t) { return ops::scatter(t, positions, values, 0); }, w_);
  EXPECT_EQ(graph.note().find("a CUDA graph of "), 0u) << graph.note();
  for (uint32_t i = 0; i < 3; i++) {
    const Tensor x = matrix(gpu_, 20 + i);
    EXPECT_EQ(graph.launch(x)[0].to_vector<float>(), x.to_vector<float>());
  }
}

}  // namespace
}  // namespace hologram
