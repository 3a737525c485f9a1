// Convolutions of tensors by cuDNN, with a library (fake_cudnn.cpp) and a driver (fake_cuda.cpp)
// that are emulated. Kernels do nothing there: operands are what went to the device.
#include "cudnn_fixture.hpp"

namespace hologram {
namespace {

using cudnn_cases::axis;
using cudnn_cases::describe;
using cudnn_cases::Operands;
using cudnn_cases::rounding_of;
using hal::ConvDesc;

constexpr int kExecutionFailed = 5000, kInternalError = 4000, kNoDeviceMemory = 4004;

using CudnnTensors = CudnnTest;

// Images and weights of tensors, the latter with the outputs first.
struct Layer {
  ConvDesc desc;
  Operands values;
  Tensor x, by_output, w;
  Layer(const Executor& gpu, DType dtype, int64_t batch = 2, uint32_t seed = 9)
      : desc(describe({dtype, dtype}, batch, 2, 3, 2, axis(7, 3, 1, 1, 1, 1),
                      axis(6, 3, 2, 1, 0, 1))),
        values(desc, seed),
        x(tensor(0, {batch, 7, 6, 6}, gpu)),
        by_output(tensor(1, {4, 3, 3, 3}, gpu)),
        w(by_output.permute({1, 2, 3, 0})) {}
  Tensor tensor(size_t i, Shape shape, const Executor& gpu) const {
    Array array(desc.x, std::move(shape));
    std::memcpy(array.mutable_data(), values.memory[i].data(), array.bytes());
    return Tensor::from(array, gpu);
  }
  static ops::Conv2d options() {
    ops::Conv2d options;
    options.stride = {1, 2};
    options.padding = {1, 1, 0, 1};
    options.groups = 2;
    return options;
  }
  Tensor result() const { return ops::conv2d(x, w, options()); }
  double error(const Tensor& result) const {
    Operands with = values;
    const Array array = result.array();
    EXPECT_EQ(array.bytes(), with.memory[2].size());
    std::memcpy(with.memory[2].data(), array.data(), with.memory[2].size());
    return rounding_of(desc, with);
  }
};

TEST_F(CudnnTensors, TensorsAreConvolvedAsTheyLie) {
  const Executor gpu = Executor::from_config(config());
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    const Layer layer(gpu, dtype);
    EXPECT_LE(layer.error(layer.result()), size_of(dtype) < 4 ? 1 : 8) << name_of(dtype);
  }
  EXPECT_EQ(gpu.counters().library_calls, 4u);
  EXPECT_EQ(gpu.counters().launches, 0u);
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

TEST_F(CudnnTensors, WeightsAreBroughtIntoOrderOnce) {
  const Executor gpu = Executor::from_config(config());
  const Tensor x = ops::zeros({2, 8, 8, 6}, DType::F32, gpu).eval(),
               w = ops::zeros({3, 3, 6, 4}, DType::F32, gpu).eval();
  const uint64_t before = gpu.counters().launches;
  for (int i = 0; i < 5; i++) ops::conv2d(x, w).eval();
  EXPECT_EQ(gpu.counters().launches, before + 1);
  EXPECT_EQ(gpu.counters().library_calls, 5u);
  // A part of them are other weights.
  ops::conv2d(x.slice(3, {0, 5}), w.slice(2, {1, 6})).eval();
  EXPECT_EQ(gpu.counters().launches, before + 3) << "and a part of x is copied";
  EXPECT_EQ(gpu.counters().library_calls, 6u);
}

TEST_F(CudnnTensors, ImagesByPlanesAreWrittenByPixelsByWhatMadeThem) {
  const Executor gpu = Executor::from_config(config());
  const Tensor x = ops::zeros({2, 6, 8, 8}, DType::F16, gpu).eval(),
               w = ops::zeros({4, 6, 3, 3}, DType::F16, gpu).eval();
  const Tensor v = ops::zeros({5, 4, 3, 3}, DType::F16, gpu).eval();
  ops::Conv2d planes;
  planes.layout = ops::ImageLayout::Nchw;
  ops::conv2d(x, w, planes).eval();  // the weights are in order then
  const uint64_t before = gpu.counters().launches;
  const Tensor once = ops::conv2d(ops::relu(x) * 2, w, planes).eval();
  EXPECT_EQ(gpu.counters().launches, before + 1);
  // What comes out is read as it lies.
  ops::conv2d(once, v, planes).eval();
  EXPECT_EQ(gpu.counters().launches, before + 2) << "the other weights";
  EXPECT_EQ(gpu.counters().library_calls, 3u);
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

// Without tensor cores nothing is transposed, images, weights or results.
TEST_F(CudnnTensors, PlanesOfWideFloatsAreConvolvedAsTheyLie) {
  const Executor gpu = Executor::from_config(config());
  ops::Conv2d options = Layer::options();
  options.layout = ops::ImageLayout::Nchw;
  // Kernels of the emulated device do nothing.
  const Executor cpu = Executor::builder().backend(BackendType::Cpu).build();
  const auto in_order = [&](const Tensor& t, const std::vector<int>& axes) {
    return ops::copy(Tensor::from(t.array(), cpu).permute(axes));
  };
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Layer layer(gpu, dtype);
    const Tensor want = in_order(layer.result(), {0, 3, 1, 2}).to(DType::F64);
    const Tensor x = in_order(layer.x, {0, 3, 1, 2}).to(gpu).eval(),
                 w = in_order(layer.by_output, {0, 3, 1, 2}).to(gpu).eval();
    const uint64_t launches = gpu.counters().launches, calls = gpu.counters().library_calls;
    const Tensor got = ops::conv2d(x, w, options).eval();
    EXPECT_EQ(got.shape(), want.shape());
    EXPECT_EQ(Tensor::from(got.array(), cpu).to(DType::F64).to_vector<double>(),
              want.to_vector<double>())
        << name_of(dtype);
    EXPECT_EQ(gpu.counters().launches, launches);
    EXPECT_EQ(gpu.counters().library_calls, calls + 1);
  }
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

TEST_F(CudnnTensors, ABiasIsAddedToWhatIsNotRoundedYet) {
  const Executor gpu = Executor::from_config(config());
  const Layer layer(gpu, DType::F16);
  ops::Conv2d options = Layer::options();
  options.bias = ops::zeros({4}, DType::F16, gpu).eval();
  const uint64_t before = gpu.counters().launches;
  EXPECT_EQ(ops::conv2d(layer.x, layer.w, options).eval().dtype(), DType::F16);
  EXPECT_EQ(gpu.counters().library_calls, 1u);
  EXPECT_EQ(gpu.counters().launches, before + 1);
}

TEST_F(CudnnTensors, CapturedWeightsAreInOrderBefore) {
  const Executor gpu = Executor::from_config(config());
  const Tensor x = ops::zeros({2, 8, 8, 6}, DType::F32, gpu).eval(),
               w = ops::zeros({3, 3, 6, 4}, DType::F32, gpu).eval();
  const uint64_t before = gpu.counters().launches;
  const Graph graph = capture([&](const Tensor& t) { return ops::conv2d(t, w); }, x);
  EXPECT_EQ(gpu.counters().launches, before + 1);
  EXPECT_EQ(graph.note(), "a CUDA graph of 1 nodes");
  for (int i = 0; i < 3; i++) graph.launch(x);
  EXPECT_EQ(gpu.counters().launches, before + 1);
  EXPECT_EQ(gpu.counters().library_calls, 3u);
}

TEST_F(CudnnTensors, CapturedConvolutionsReadWhatEachLaunchGives) {
  const Executor gpu = Executor::from_config(config());
  const Layer first(gpu, DType::BF16), other(gpu, DType::BF16, 2, 10);
  const Graph graph = capture(
      [](const Tensor& x, const Tensor& w) {
        return ops::conv2d(x, w.permute({1, 2, 3, 0}), Layer::options());
      },
      first.x, first.by_output);
  EXPECT_EQ(graph.note(), "a CUDA graph of 1 nodes");
  std::vector<Tensor> results;
  for (int i = 0; i < 3; i++)
    for (const Layer* layer : {&first, &other})
      results.push_back(graph.launch(layer->x, layer->by_output)[0]);
  for (size_t i = 0; i < results.size(); i++)
    EXPECT_LE((i % 2 == 0 ? first : other).error(results[i]), 1);
}

TEST_F(CudnnTensors, IsLeftAloneWhereItIsNotAllowed) {
  BackendConfig how = config();
  how.enable_cudnn = false;
  how.strict = true;
  const Executor gpu = Executor::from_config(how);
  Layer(gpu, DType::F32).result().eval();
  EXPECT_EQ(gpu.counters().library_calls, 0u);
  EXPECT_EQ(gpu.counters().fallbacks, 0u) << "it was not expected";
  EXPECT_EQ(gpu.counters().launches, 1u);
  EXPECT_EQ(library_.calls("cudnnCreate"), 0);
}

TEST_F(CudnnTensors, WithoutItOurOwnProgramRunsAndThatIsTold) {
  setenv("HOLOGRAM_CUDNN_LIBRARY", "libnone.so", 1);
  std::vector<std::string> warnings;
  set_log_callback([&](LogLevel level, std::string_view message) {
    if (level == LogLevel::Warning) warnings.emplace_back(message);
  });
  const Executor gpu = Executor::from_config(config());
  const Layer layer(gpu, DType::F32);
  for (int i = 0; i < 3; i++) layer.result().eval();
  set_log_callback({});
  EXPECT_EQ(gpu.counters().fallbacks, 3u);
  EXPECT_EQ(gpu.counters().launches, 3u) << "nothing is copied for a library";
  ASSERT_EQ(warnings.size(), 1u) << "once";
  EXPECT_EQ(warnings[0].find("conv2d on Emulated GPU by a general program: cuDNN: not found "
                             "(libnone.so"),
            0u)
      << warnings[0];
  BackendConfig how = config();
  how.strict = true;
  const Executor strict = Executor::from_config(how);
  const Layer again(strict, DType::F32);
  const Error error = error_of([&] { again.result().eval(); });
  EXPECT_EQ(error.kind(), ErrorKind::UnsupportedOperation);
  const Tensor whole = ops::zeros({1, 8, 8, 1}, DType::I32, strict).eval();
  ops::conv2d(whole, ops::zeros({3, 3, 1, 1}, DType::I32, strict)).eval();
}

// One call after the other fails: the convolution goes by our own program, which is counted, or is
// an error that says what and what to do; and afterwards it succeeds.
TEST_F(CudnnTensors, EveryCallMayFail) {
  int own = 0, errors = 0;
  int64_t batch = 2;
  for (const char* call : {"cudnnCreate", "cudnnBackendCreateDescriptor",
                           "cudnnBackendSetAttribute", "cudnnBackendFinalize",
                           "cudnnBackendGetAttribute", "cudnnSetStream", "cudnnBackendExecute"})
    for (const int status : {kNoDeviceMemory, kInternalError})
      for (int skip = 0;; skip++) {
        SCOPED_TRACE(std::string(call) + ' ' + std::to_string(skip));
        const Executor gpu = Executor::from_config(config());
        const Layer layer(gpu, DType::F32, ++batch);  // planned for the first time
        const int before = library_.calls(call), alive = library_.alive();
        library_.fail(call, skip, 1, status);
        const Error error = error_of([&] { layer.result().eval(); });
        library_.fail(nullptr, 0, 0, 0);
        const Counters counted = gpu.counters();
        if (std::string(error.what()) != "no error") {
          errors++;
          EXPECT_FALSE(error.remedy().empty());
          EXPECT_EQ(error.kind() == ErrorKind::OutOfMemory, status == kNoDeviceMemory)
              << error.what();
        } else {
          EXPECT_EQ(counted.library_calls + counted.fallbacks, 1u);
          own += static_cast<int>(counted.fallbacks);
          if (counted.fallbacks > 0) {
            EXPECT_EQ(library_.alive(), alive) << "what was made for the plan is gone";
          }
        }
        EXPECT_LE(layer.error(layer.result()), 4);
        EXPECT_GT(gpu.counters().library_calls, 0u);
        if (library_.calls(call) - before <= skip) break;
      }
  EXPECT_GT(own, 60);
  EXPECT_GE(errors, 10);
}

TEST_F(CudnnTensors, AConvolutionThatFailsIsNamed) {
  const Executor gpu = Executor::from_config(config());
  const Layer layer(gpu, DType::F32);
  library_.fail("cudnnBackendExecute", 0, 1, kExecutionFailed);
  const Error error = error_of([&] { layer.result().eval(); });
  EXPECT_STREQ(error.what(),
               "cuDNN convolution f32 failed: status 5000 (CUDNN_STATUS_EXECUTION_FAILED)");
  EXPECT_NE(error.remedy().find("HOLOGRAM_CUDNN_LIBRARY=none"), std::string::npos);
  EXPECT_LE(layer.error(layer.result()), 4);
}

}  // namespace
}  // namespace hologram
