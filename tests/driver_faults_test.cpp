// What the CUDA and ROCm backends make of a driver that fails: every call, one after the other.
#include <sys/wait.h>
#include <unistd.h>

#include <span>

#include "driver_fixture.hpp"

namespace hologram {
namespace {

// What an executor is used for; `numbers` is large enough to go through both halves of the memory
// that copies are staged in.
void elementwise(const Executor& gpu) {
  (Tensor::from(counting(1000), gpu) + 1).to_vector<float>();
}
void reduction(const Executor& gpu) {
  ops::sum(Tensor::from(counting(100'000), gpu)).to_vector<float>();
}
void copies(const Executor& gpu) {
  const Array numbers = counting(1'100'000);
  const Tensor t = Tensor::from(numbers, gpu);
  const std::vector<float> got = t.to_vector<float>();
  const std::span<const float> wanted = numbers.as<float>();
  EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
}
void captured(const Executor& gpu) {
  const Tensor t = Tensor::from(counting(1000), gpu);
  const Graph graph =
      capture([](const Tensor& x) { return ops::softmax(ops::cumsum(ops::exp(x), 0), 0); }, t);
  for (int i = 0; i < 3; i++) EXPECT_EQ(graph.launch(t)[0].to_vector<float>().size(), 1000u);
}
void product(const Executor& gpu) {
  const Tensor t = Tensor::from(counting(4096), gpu).reshape({64, 64});
  ops::matmul(t, t + 1).to_vector<float>();
}
void program(const Executor& gpu) { run(gpu); }
void limited(const Executor& gpu) { run(executor_on(gpu.device().backend, 10'000)); }

struct Job {
  const char* name;
  void (*work)(const Executor& gpu);
};
constexpr Job kJobs[] = {{"elementwise", elementwise}, {"reduction", reduction},
                         {"copies", copies},           {"captured", captured},
                         {"product", product},         {"program", program},
                         {"limited", limited}};

constexpr const char* kCudaCalls[] = {
    "cuDevicePrimaryCtxRetain",
    "cuCtxPushCurrent_v2",
    "cuMemAlloc_v2",
    "cuMemHostAlloc",
    "cuPointerGetAttributes",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD32Async",
    "cuModuleLoadDataEx",
    "cuModuleGetFunction",
    "cuLaunchKernelEx",
    "cuStreamCreate",
    "cuEventCreate",
    "cuEventRecord",
    "cuGraphCreate",
    "cuGraphAddKernelNode",
    "cuGraphAddDependencies_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphExecKernelNodeSetParams",
    "cuGraphUpload",
    "cuGraphLaunch",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
};
constexpr const char* kHipCalls[] = {
    "hipSetDevice",
    "hipGetDevice",
    "hipMalloc",
    "hipHostMalloc",
    "hipHostGetDevicePointer",
    "hipDrvPointerGetAttributes",
    "hipMemGetAddressRange",
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemcpyDtoDAsync",
    "hipMemsetD32Async",
    "hipModuleLoadDataEx",
    "hipModuleGetFunction",
    "hipModuleLaunchKernel",
    "hipStreamCreateWithFlags",
    "hipEventCreateWithFlags",
    "hipEventRecord",
    "hipGraphCreate",
    "hipStreamBeginCapture",
    "hipStreamEndCapture",
    "hipGraphAddChildGraphNode",
    "hipGraphInstantiateWithFlags",
    "hipGraphExecChildGraphNodeSetParams",
    "hipGraphUpload",
    "hipGraphLaunch",
    "hiprtcCreateProgram",
    "hiprtcCompileProgram",
    "hiprtcGetCodeSize",
    "hiprtcGetCode",
};

// Of the driver and its compiler, and the names of some that fail one by one.
struct Calls {
  std::span<const char* const> all;
  const char *allocate, *allocate_host, *copy_in, *load, *function, *launch, *record, *query;
  std::string_view compiler;  // what its names begin with
};
const Calls kCallsOfCuda = {kCudaCalls,           "cuMemAlloc_v2",
                            "cuMemHostAlloc",     "cuMemcpyHtoDAsync_v2",
                            "cuModuleLoadDataEx", "cuModuleGetFunction",
                            "cuLaunchKernelEx",   "cuEventRecord",
                            "cuEventQuery",       "nvrtc"};
const Calls kCallsOfHip = {kHipCalls,
                           "hipMalloc",
                           "hipHostMalloc",
                           "hipMemcpyHtoDAsync",
                           "hipModuleLoadDataEx",
                           "hipModuleGetFunction",
                           "hipModuleLaunchKernel",
                           "hipEventRecord",
                           "hipEventQuery",
                           "hiprtc"};

class DriverFaults : public DriverTest, public testing::WithParamInterface<const Emulation*> {
 public:
  DriverFaults() : DriverTest(*GetParam()) {
    setenv("HOLOGRAM_CUBLASLT_LIBRARY", "none", 1);
    setenv("HOLOGRAM_CUDNN_LIBRARY", "none", 1);
  }

 protected:
  static Executor executor() { return executor_on(GetParam()->backend); }
  const Calls& calls_ = GetParam() == &kCuda ? kCallsOfCuda : kCallsOfHip;
};

bool is_of_the_device(ErrorKind kind) {
  return kind == ErrorKind::OutOfMemory || kind == ErrorKind::DeviceLost ||
         kind == ErrorKind::BackendUnavailable || kind == ErrorKind::Internal;
}

// One call after the other fails: that is an error that says what and what to do, or does no harm;
// everything is given back, and afterwards the same work succeeds.
TEST_P(DriverFaults, EveryCallMayFail) {
  int failures = 0;
  for (const Job& job : kJobs)
    for (const char* call : calls_.all)
      for (int skip = 0;; skip++) {
        const int status = skip % 2 == 0 ? kOutOfMemory : 1;
        SCOPED_TRACE(std::string(job.name) + ", " + call + ' ' + std::to_string(skip) +
                     ", status " + std::to_string(status));
        fs::remove_all(folder_);
        const int before = driver_.calls(call);
        driver_.fail(call, skip, 1, status);
        const Error error = error_of([&] { job.work(executor()); });
        driver_.fail(nullptr, 0, 0, 0);
        const bool failed = std::string(error.what()) != "no error";
        ASSERT_EQ(driver_.live(nullptr), 0);
        ASSERT_EQ(driver_.depth(), 0);
        if (failed) {
          failures++;
          EXPECT_TRUE(is_of_the_device(error.kind())) << error.what();
          EXPECT_NE(std::string(error.what()).find("Emulated GPU"), std::string::npos)
              << error.what();
          EXPECT_FALSE(error.remedy().empty()) << error.what();
        }
        if (driver_.calls(call) - before <= skip) break;
        // More of the same does not get more interesting.
        if (skip >= 5) break;
      }
  for (const Job& job : kJobs) job.work(executor());
  EXPECT_GT(failures, 60);
}

TEST_P(DriverFaults, TheExecutorThatSawAFailureGoesOn) {
  const Executor gpu = executor();
  for (const Job& job : kJobs)
    for (const char* call : {calls_.allocate, calls_.launch, calls_.record, calls_.allocate_host,
                             calls_.copy_in, calls_.load}) {
      SCOPED_TRACE(std::string(job.name) + ", " + call);
      driver_.fail(call, 0, 1, 1);
      error_of([&] { job.work(gpu); });
      driver_.fail(nullptr, 0, 0, 0);
      job.work(gpu);
    }
}

TEST_P(DriverFaults, AFailureNamesTheProgram) {
  for (const char* call : {calls_.load, calls_.function, calls_.launch}) {
    fs::remove_all(folder_);
    driver_.fail(call, 0, 2, 1);
    const Error error = error_of([&] { run(executor()); });
    driver_.fail(nullptr, 0, 0, 0);
    EXPECT_NE(std::string(error.what()).find("program 'scale'"), std::string::npos) << error.what();
  }
}

// A failure that the driver calls sticky is told again by whatever is done later. Each in a process
// of its own, as the device is lost to it.
TEST_P(DriverFaults, AfterAStickyFailureEveryWorkSaysSo) {
  for (const Job& job : kJobs)
    for (const char* call : calls_.all) {
      if (std::string_view(call).starts_with(calls_.compiler)) continue;
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const int before = driver_.calls(call);
        driver_.fail(call, 1, 1 << 30, kIllegalAddress);
        const Error first = error_of([&] { job.work(executor()); });
        const bool met = driver_.calls(call) - before > 1;
        driver_.fail(nullptr, 0, 0, 0);
        const Error second = error_of([&] { run(executor()); });
        const std::string_view what = first.what(), again = second.what();
        // What only asks, or is done another way where it fails, need not notice.
        const bool noticed = what != "no error";
        const bool told = again.find("Emulated GPU is lost") != std::string_view::npos &&
                          !second.remedy().empty();
        if (met && noticed && !told)
          std::fprintf(stderr, "%s, %s: %s; then %s\n", job.name, call, what.data(), again.data());
        _exit(met && noticed && !told ? 1 : 0);
      }
      int end = 0;
      waitpid(child, &end, 0);
      EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0) << job.name << ", " << call;
    }
}

TEST_P(DriverFaults, WorkThatFailsOnTheDeviceLosesIt) {
  const Executor gpu = executor();
  const Tensor t = Tensor::from(counting(10), gpu), later = t * 2;
  driver_.fail(calls_.query, 0, 1, 719);
  const std::string first = error_of([&] { (t + 1).to_vector<float>(); }).what();
  EXPECT_EQ(first.find("Emulated GPU is lost: an injected failure ("), 0u) << first;
  EXPECT_NE(first.find("in program"), std::string::npos) << first;
  driver_.fail(nullptr, 0, 0, 0);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(error_of([&] { later.eval(); }).what(), first);
    EXPECT_EQ(error_of([&] { (void)t.to_vector<float>(); }).what(), first);
    EXPECT_EQ(error_of([&] { Tensor::from(counting(10), gpu); }).what(), first);
    EXPECT_EQ(error_of([&] { gpu.synchronize(); }).kind(), ErrorKind::DeviceLost);
  }
}

TEST_P(DriverFaults, ADeviceWithLittleMemory) {
  for (const char* setting : {"FAKE_CUDA_MEMORY_MB", "FAKE_HIP_MEMORY_MB"})
    setenv(setting, "64", 1);
  const Executor gpu = executor();
  const size_t mib = (1 << 20) / sizeof(float);
  const Error error = error_of([&] { Tensor::from(counting(65 * mib), gpu); });
  EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(std::string(error.what())
                .find("Emulated GPU could not allocate 68157440 bytes, more "
                      "than its 67108864 in all"),
            0u)
      << error.what();
  // What was let go is given back where something else needs it.
  for (const size_t size : {40, 50, 20, 60, 1, 30}) {
    const Array numbers = counting(size * mib);
    const Tensor t = Tensor::from(numbers, gpu);
    EXPECT_EQ(t.to_vector<float>().back(), numbers.as<float>().back()) << size;
  }
  Tensor held = Tensor::from(counting(40 * mib), gpu);
  EXPECT_EQ(error_of([&] { (held + 1).eval(); }).kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(held.to_vector<float>()[7], 7);
  held = Tensor();
  EXPECT_EQ(Tensor::from(counting(50 * mib), gpu).to_vector<float>()[9], 9);
}

// The driver takes memory for programs too.
TEST_P(DriverFaults, ProgramsGetMemoryThatIsKept) {
  const Executor gpu = executor();
  { const Tensor dropped = Tensor::from(counting(1 << 20), gpu); }
  EXPECT_GT(gpu.pool_statistics().cached_bytes, 0u);
  driver_.fail(calls_.load, 0, 1, kOutOfMemory);
  run(gpu);
  { const Tensor dropped = Tensor::from(counting(1 << 20), gpu); }
  driver_.fail(calls_.launch, 0, 1, kOutOfMemory);
  (Tensor::from(counting(10), gpu) + 1).eval();
}

INSTANTIATE_TEST_SUITE_P(, DriverFaults, testing::Values(&kCuda, &kHip), name_of_backend);

}  // namespace
}  // namespace hologram
