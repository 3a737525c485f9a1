// The ROCm backend on the emulated HIP: what is not the same as with CUDA.
#include <cstring>

#include "backends/rocm/rocm.hpp"
#include "backends/rocm/translation.hpp"
#include "driver_fixture.hpp"
#include "fake_hip.hpp"

namespace hologram {
namespace {

class Rocm : public DriverTest {
 public:
  Rocm() : DriverTest(kHip) {}

 protected:
  static Executor executor(uint64_t timeout_ms = 0, int device = 0) {
    return executor_on(BackendType::Rocm, timeout_ms, device);
  }
  static std::vector<DeviceInfo> devices() {
    return std::get<std::vector<DeviceInfo>>(backends::rocm::backend().discover());
  }
};

TEST_F(Rocm, TellsWhatIsThere) {
  const std::vector<DeviceInfo> found = devices();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].backend, BackendType::Rocm);
  EXPECT_EQ(found[0].name, "Emulated GPU");
  EXPECT_EQ(found[0].driver, "HIP 6.4, hipRTC 6.4.43484, PCI 0000:01:00.0, waves of 32");
  EXPECT_EQ(found[0].compute_capability, "gfx1100");
  EXPECT_EQ(found[0].compute_units, 96u);
  EXPECT_EQ(found[0].max_shared_bytes, 64u << 10);
  EXPECT_EQ(found[0].total_memory, 128u << 20);
  EXPECT_EQ(found[1].index, 1);
  EXPECT_EQ(found[1].name, "Second emulated GPU");
}

TEST_F(Rocm, CompilesForTheArchitectureWithItsFeaturesAndExactArithmetic) {
  setenv("FAKE_HIP_WAVE", "64", 1);
  EXPECT_EQ(devices()[0].compute_capability, "gfx90a");
  run(executor());
  const std::string options = driver_.options();
  EXPECT_EQ(options.find("--offload-arch=gfx90a:sramecc+:xnack- "), 0u) << options;
  for (const char* flag :
       {"-ffp-contract=off", "-fno-fast-math", "-fno-gpu-flush-denormals-to-zero"})
    EXPECT_NE(options.find(flag), std::string::npos) << flag;
}

TEST_F(Rocm, WithoutHipThereAreTheStepsThatLeadToIt) {
  setenv("HOLOGRAM_HIP_LIBRARY", "libnone.so", 1);
  const Error error = error_of([] { executor(); });
  EXPECT_EQ(error.kind(), ErrorKind::BackendUnavailable);
  const std::string what = error.what();
  EXPECT_EQ(what.find("ROCm backend not available: "), 0u) << what;
  EXPECT_NE(what.find("HIP, which comes with ROCm, is not installed (libnone"), std::string::npos)
      << what;
  EXPECT_NE(what.find("HOLOGRAM_HIP_LIBRARY"), std::string::npos) << what;
  if (!fs::exists("/dev/kfd") && !fs::exists("/dev/dxg")) {
    EXPECT_NE(what.find("no AMD GPU found (there is no /dev/kfd"), std::string::npos) << what;
  }
}

TEST_F(Rocm, WithoutADeviceThereIsAReason) {
  driver_.fail("hipInit", 0, 1, 100);
  const std::string what = error_of([] { executor(); }).what();
  EXPECT_EQ(what.find("ROCm backend not available: no AMD GPU found"), 0u) << what;
}

TEST_F(Rocm, WithoutACompilerThereIsAReason) {
  setenv("HOLOGRAM_HIPRTC_LIBRARY", "libnone.so", 1);
  const std::string what = error_of([] { executor(); }).what();
  EXPECT_NE(what.find("hipRTC, which compiles programs, is not found"), std::string::npos) << what;
  EXPECT_NE(what.find("HOLOGRAM_HIPRTC_LIBRARY"), std::string::npos) << what;
}

TEST_F(Rocm, WhatWasCompiledIsKeptOnDiskByArchitecture) {
  run(executor());
  run(executor());
  EXPECT_EQ(driver_.calls("hiprtcCompileProgram"), 1);
  driver_.fail("hipModuleLoadDataEx", 0, 1, kNoImage);
  run(executor());
  EXPECT_EQ(driver_.calls("hiprtcCompileProgram"), 2) << "what HIP does not take is made again";
}

TEST_F(Rocm, WhatDoesNotCompileIsToldWithTheFirstLinesOfTheLog) {
  driver_.fail("hiprtcCompileProgram", 0, 1, 6);
  EXPECT_STREQ(error_of([] { run(executor()); }).what(),
               "program 'scale' does not compile on Emulated GPU: hipRTC 6.4.43484, status 6\n"
               "program.cu(1): error: injected\n  here");
}

// A kernel looks at a word of the host; nothing has to be copied to the device, which may have no
// room for that beside the kernel.
TEST_F(Rocm, ALoopThatDoesNotEndIsStopped) {
  const Executor gpu = executor(50);
  driver_.hang(FakeHip::Obedient);
  const Error error = error_of([&] { run(gpu); });
  EXPECT_EQ(error.kind(), ErrorKind::Timeout) << error.what();
  driver_.hang(FakeHip::Never);
  run(gpu);
  driver_.hang(FakeHip::Stubborn);
  EXPECT_EQ(error_of([&] { run(gpu, scale("stubborn")); }).kind(), ErrorKind::Timeout);
  EXPECT_STREQ(error_of([&] { run(gpu); }).what(),
               "Emulated GPU is still busy with program 'stubborn', which ran over its time limit");
  driver_.hang(FakeHip::Never);
  run(gpu);
}

// HIP takes fewer than 2^32 threads a launch: the blocks share out what is more.
TEST_F(Rocm, LargeGridsAreOneLaunch) {
  const Executor gpu = executor();
  const Program marks =
      Program::parse(R"(program marks(inout y: u32[n], rows: i32) lanes(4096, rows) {
    if global_id.x < n { y[global_id.x] = 1 }
  })");
  gpu.run(marks, {{"y", Array::from(std::vector<uint32_t>(64), {64})}, {"rows", 16'000'000}});
  const uint64_t threads = uint64_t{driver_.ran(0).blocks} * driver_.ran(0).threads;
  EXPECT_LE(threads, UINT32_MAX);
  EXPECT_GE(threads, UINT32_MAX / 2);
}

TEST_F(Rocm, PinnedArraysAreCopiedAtOnce) {
  const Executor gpu = executor();
  Array from = gpu.pinned(DType::F32, {3, 1 << 20}), to = gpu.pinned(DType::F32, {3, 1 << 20});
  const std::span<float> values = from.mutable_as<float>();
  std::iota(values.begin(), values.end(), 1.0F);
  const int in = driver_.calls("hipMemcpyHtoDAsync");
  Tensor::from(from, gpu).copy_to(to.mutable_as<float>());
  EXPECT_EQ(std::memcmp(to.data(), from.data(), from.bytes()), 0);
  EXPECT_EQ(driver_.calls("hipMemcpyHtoDAsync"), in + 1);
}

TEST_F(Rocm, MemoryOfTheApplicationsIsATensor) {
  const Executor gpu = executor();
  const Array array = counting(300);
  const std::span<const float> numbers = array.as<float>();
  void* memory = nullptr;
  ASSERT_EQ(call("hipMalloc", &memory, numbers.size_bytes()), 0);
  ASSERT_EQ(call("hipMemcpyHtoDAsync", memory, numbers.data(), numbers.size_bytes(), nullptr), 0);
  bool released = false;
  {
    const Tensor t = Tensor::from_device_pointer(
        memory, {300}, DType::F32, [&](void*) { released = true; }, gpu);
    EXPECT_EQ(t.to_vector<float>()[299], 299);
  }
  EXPECT_TRUE(released);
  const std::string what = error_of([&] {
                             Tensor::from_device_pointer(memory, {400}, DType::F32, nullptr, gpu);
                           }).what();
  EXPECT_NE(what.find("1600 bytes are needed, and its allocation ends after 1200"),
            std::string::npos)
      << what;
  ASSERT_EQ(call("hipFree", memory), 0);
}

// HIP 5 has other numbers for kinds of memory, and another structure of properties.
TEST(HipTranslation, OfBothVersions) {
  using backends::driver::Address;
  static unsigned kind = 0;
  static size_t place = 0;
  backends::rocm::HipFunctions hip;
  hip.init = [](unsigned) { return 101; };
  hip.address_range = [](Address*, size_t*, Address) { return 1; };
  hip.pointer_attributes = [](unsigned, int*, void** values, Address) {
    *static_cast<unsigned*>(values[0]) = kind;
    return 0;
  };
  hip.properties = [](void* properties, int) {
    std::strcpy(static_cast<char*>(properties), "a gfx card");
    std::strcpy(static_cast<char*>(properties) + place, "gfx90a:sramecc+:xnack-");
    return 0;
  };
  backends::driver::DriverFunctions table;
  const auto kind_of = [&](int major, unsigned told) {
    backends::rocm::translate(hip, major, table);
    kind = told;
    int which = backends::driver::kMemoryType;
    unsigned type = 7;
    void* value = &type;
    EXPECT_EQ(table.pointer_attributes(1, &which, &value, 0), 0);
    return type;
  };
  using backends::driver::kDeviceMemory, backends::driver::kHostMemory;
  EXPECT_EQ(kind_of(5, 0), kHostMemory);
  EXPECT_EQ(kind_of(5, 1), kDeviceMemory);
  EXPECT_EQ(kind_of(6, 0), 0u);
  EXPECT_EQ(kind_of(6, 1), kHostMemory);
  EXPECT_EQ(kind_of(7, 2), kDeviceMemory);
  EXPECT_EQ(table.init(0), backends::driver::kNoDevice) << "as HIP 5 says it";
  for (const size_t at : {396u, 1160u}) {
    place = at;
    EXPECT_EQ(backends::rocm::architecture_of(hip, 0), "gfx90a:sramecc+:xnack-") << at;
  }
}

TEST_F(Rocm, TheCurrentDeviceIsTheApplicationsAgain) {
  const Executor second = executor(0, 1);
  ASSERT_EQ(call("hipSetDevice", 0), 0);
  run(second);
  int current = -1;
  ASSERT_EQ(call("hipGetDevice", &current), 0);
  EXPECT_EQ(current, 0);
}

TEST_F(Rocm, ContextsOfApplicationsAreRefused) {
  BackendConfig config;
  config.backend_type = BackendType::Rocm;
  int some = 0;
  const std::string what = error_of([&] { Executor::from_native(&some, nullptr, config); }).what();
  EXPECT_NE(what.find("it has no contexts that an application could share"), std::string::npos)
      << what;
}

// Kernels are captured from a stream, each as a graph in the graph.
TEST_F(Rocm, CapturedCalculationsAreOneCall) {
  BackendConfig config;
  config.backend_type = BackendType::Rocm;
  config.fusion = false;
  const Executor gpu = Executor::from_config(config);
  const auto chain = [](Tensor t) {
    for (int i = 0; i < 20; i++) t = ops::relu(t);
    return t;
  };
  const Tensor x = Tensor::from(counting(1000), gpu);
  const Graph graph = capture(chain, x);
  EXPECT_EQ(graph.note(), "a HIP graph of 20 nodes");
  graph.launch(x);
  const int launches = driver_.calls("hipModuleLaunchKernel"), ran = driver_.kernels();
  for (int i = 0; i < 5; i++) graph.launch(x);
  EXPECT_EQ(driver_.calls("hipGraphLaunch"), 5) << "once memory stays where it is";
  EXPECT_EQ(driver_.kernels(), ran + 100);
  EXPECT_LE(driver_.calls("hipModuleLaunchKernel"), launches + 10) << "results move, no more";
}

TEST_F(Rocm, ManyExecutorsLeaveNothingBehind) {
  for (int i = 0; i < 20; i++) run(executor(0, i % 2));
  EXPECT_EQ(driver_.calls("hipInit"), 1);
  EXPECT_EQ(driver_.live(nullptr), 0);
}

}  // namespace
}  // namespace hologram
