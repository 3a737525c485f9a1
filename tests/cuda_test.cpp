// The CUDA backend on an emulated driver (fake_cuda.cpp): everything but what kernels compute.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "backends/cuda/cuda.hpp"
#include "cuda_fixture.hpp"
#include "program/ir.hpp"

namespace hologram {
namespace {

using std::chrono::milliseconds;

using Cuda = CudaTest;

Program endless() {
  return Program::parse(R"(program endless(inout y: u32[n]) lanes(n) {
    i = global_id.x
    while y[i] != 7 { y[i] = y[i] + 2 }
  })");
}

RunOptions watched(Progress& progress) {
  RunOptions options;
  options.progress = &progress;
  return options;
}

TEST_F(Cuda, TellsWhatIsThere) {
  const auto found = std::get<std::vector<DeviceInfo>>(backends::cuda::backend().discover());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "Emulated GPU");
  EXPECT_EQ(found[0].driver, "CUDA 12.8, NVRTC 12.8, PCI 0000:01:00.0");
  EXPECT_EQ(found[0].compute_capability, "9.0");
  EXPECT_EQ(found[0].compute_units, 132u);
  EXPECT_EQ(found[0].total_memory, 128u << 20);
  EXPECT_EQ(found[1].index, 1);
  EXPECT_EQ(found[1].name, "Second emulated GPU");
  EXPECT_EQ(driver_.calls("cuDevicePrimaryCtxRetain"), 0) << "listing devices starts none";
}

TEST_F(Cuda, FreeMemoryIsThatOfTheMoment) {
  const Executor gpu = executor();
  const auto free = [] {
    return std::get<std::vector<DeviceInfo>>(backends::cuda::backend().discover())[0].free_memory;
  };
  const uint64_t before = free();
  const Tensor t = Tensor::from(counting(1 << 20), gpu);
  EXPECT_LE(free(), before - (4 << 20));
}

TEST_F(Cuda, WithoutADriverThereIsAReason) {
  setenv("HOLOGRAM_CUDA_LIBRARY", "libnone.so", 1);
  const auto found = backends::cuda::backend().discover();
  EXPECT_NE(
      std::get<hal::Refusal>(found).reason.find("the NVIDIA driver is not installed (libnone"),
      std::string::npos);
  EXPECT_EQ(Executor::from_config({}).device().backend, BackendType::Cpu);
  const Error error = error_of([] { executor(); });
  EXPECT_EQ(error.kind(), ErrorKind::BackendUnavailable);
  EXPECT_EQ(std::string(error.what()).find("CUDA backend not available: the NVIDIA driver"), 0u);
}

TEST_F(Cuda, WithoutADeviceThereIsAReason) {
  driver_.fail("cuInit", 0, 1, 100);
  EXPECT_STREQ(error_of([] { executor(); }).what(),
               "CUDA backend not available: No CUDA-capable device found");
}

TEST_F(Cuda, ADriverThatDoesNotStartSaysWhy) {
  driver_.fail("cuInit", 0, 1, 803);
  EXPECT_STREQ(error_of([] { executor(); }).what(),
               "CUDA backend not available: the NVIDIA driver does not start: an injected failure "
               "(CUDA_ERROR)");
}

TEST_F(Cuda, WithoutACompilerThereIsAReason) {
  setenv("HOLOGRAM_NVRTC_LIBRARY", "libnone.so", 1);
  const Error error = error_of([] { executor(); });
  EXPECT_NE(std::string(error.what()).find("NVRTC, which compiles programs, is not found"),
            std::string::npos);
  EXPECT_NE(std::string(error.what()).find("HOLOGRAM_NVRTC_LIBRARY"), std::string::npos);
}

TEST_F(Cuda, ADeviceOlderThanTheCompilerIsRefused) {
  setenv("FAKE_CUDA_CAPABILITY", "61", 1);
  EXPECT_NE(std::string(error_of([] { executor(); }).what())
                .find("its compute capability 6.1 is below 7.5, the least of NVRTC 12.8"),
            std::string::npos);
}

TEST_F(Cuda, ADeviceNewerThanTheCompilerGetsPtx) {
  setenv("FAKE_CUDA_CAPABILITY", "100", 1);
  run(executor());
  EXPECT_EQ(std::string(driver_.options()).find("--gpu-architecture=compute_90"), 0u);
  EXPECT_EQ(driver_.calls("nvrtcGetCUBIN"), 0);
  EXPECT_GT(driver_.calls("cuLaunchKernelEx"), 0) << "what the compiler was asked for waits";
}

// Of devices that can start a kernel while the one before it still runs.
TEST_F(Cuda, KernelsAreStartedEarlyWhereTheyWait) {
  run(executor());
  EXPECT_GT(driver_.calls("cuLaunchKernelEx"), 0);
  EXPECT_EQ(driver_.calls("cuLaunchKernel"), 0);
}

TEST_F(Cuda, KernelsAreStartedInTurnWhereTheyCannotWait) {
  setenv("FAKE_CUDA_CAPABILITY", "80", 1);
  run(executor());
  EXPECT_EQ(driver_.calls("cuLaunchKernelEx"), 0);
  EXPECT_GT(driver_.calls("cuLaunchKernel"), 0);
}

TEST_F(Cuda, CompilesForTheDeviceWithExactArithmetic) {
  run(executor());
  const std::string options = driver_.options();
  EXPECT_EQ(options.find("--gpu-architecture=sm_90"), 0u);
  for (const char* flag : {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"})
    EXPECT_NE(options.find(flag), std::string::npos) << flag;
}

TEST_F(Cuda, LaunchesAsManyBlocksAsThereIsWork) {
  const Executor gpu = executor();
  run(gpu, scale(), counting(100'000));
  const uint64_t threads = uint64_t{driver_.ran(0).blocks} * driver_.ran(0).threads;
  EXPECT_GE(threads * 8, 100'000u) << "a thread does 8 lanes at most";
  EXPECT_LE(threads, 101'000u);
  EXPECT_LE(driver_.ran(0).threads, 1024u);
  const int launches = driver_.calls("cuLaunchKernelEx");
  run(gpu, scale(), counting(0));
  EXPECT_EQ(driver_.calls("cuLaunchKernelEx"), launches) << "there is nothing to do";
}

// Kernels do nothing here, so that what went there comes back.
TEST_F(Cuda, BytesComeBackAsTheyWent) {
  const Executor gpu = executor();
  for (const size_t count : {1u, 1000u, 1u << 20, (1u << 20) + 1, (5u << 20) - 3}) {
    const Array original = counting(count);
    Array y = counting(count);
    run(gpu, scale(), y);
    const std::span<const float> got = y.as<float>(), wanted = original.as<float>();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin())) << count;
    EXPECT_EQ(Tensor::from(original, gpu).to_vector<float>().back(), wanted.back());
  }
}

// Memory that the device reads by itself needs no other on the way, and no copy in parts.
TEST_F(Cuda, PinnedArraysAreCopiedAtOnce) {
  const Shape shape{3, 1 << 20};
  Array kept;
  {
    const Executor gpu = executor();
    Array from = gpu.pinned(DType::F32, shape), to = gpu.pinned(DType::F32, shape);
    EXPECT_EQ(from.shape(), shape);
    ASSERT_TRUE(from.writable());
    const std::span<float> values = from.mutable_as<float>();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }));
    std::iota(values.begin(), values.end(), 1.0f);
    const int locked = driver_.calls("cuMemHostAlloc"), in = driver_.calls("cuMemcpyHtoDAsync_v2"),
              out = driver_.calls("cuMemcpyDtoHAsync_v2");
    const Tensor there = Tensor::from(from, gpu);
    there.copy_to(to.mutable_as<float>());
    EXPECT_EQ(std::memcmp(to.data(), from.data(), from.bytes()), 0);
    EXPECT_EQ(driver_.calls("cuMemHostAlloc"), locked);
    EXPECT_EQ(driver_.calls("cuMemcpyHtoDAsync_v2"), in + 1);
    EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2"), out + 1);
    EXPECT_EQ(gpu.pinned(DType::F16, {0, 5}).bytes(), 0u);
    kept = to;
  }
  EXPECT_EQ(kept.as<float>()[5], 6.0f);  // after its executor
  const int given_back = driver_.calls("cuMemFreeHost");
  kept = Array();
  EXPECT_EQ(driver_.calls("cuMemFreeHost"), given_back + 1);

  const Executor gpu = executor();
  driver_.fail("cuMemHostAlloc", 0, 1, 2);
  const Error error = error_of([&] { gpu.pinned(DType::F32, shape); });
  EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory) << error.what();
  // Elsewhere it is memory like any other.
  EXPECT_EQ(Executor(BackendType::Cpu).pinned(DType::I64, {4}).as<int64_t>()[3], 0);
}

TEST_F(Cuda, ManyExecutorsShareWhatTheDriverGave) {
  for (int i = 0; i < 20; i++) run(executor());
  EXPECT_EQ(driver_.calls("cuInit"), 1);
  EXPECT_EQ(driver_.calls("cuDevicePrimaryCtxRetain"), 1);
  EXPECT_EQ(driver_.live(nullptr), 0) << "what executors had that are gone";
}

TEST_F(Cuda, AnyThreadMayUseIt) {
  const Executor gpu = executor();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; i++) run(gpu, scale("scale" + std::to_string(t)));
      EXPECT_EQ(driver_.depth(), 0);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver_.calls("cuLaunchKernelEx"), 200);
}

TEST_F(Cuda, WhatWasCompiledIsKeptOnDisk) {
  run(executor());
  run(executor());
  EXPECT_EQ(driver_.calls("nvrtcCompileProgram"), 1);
  // An entry that the driver does not take is made again.
  driver_.fail("cuModuleLoadDataEx", 0, 1, kNoImage);
  run(executor());
  EXPECT_EQ(driver_.calls("nvrtcCompileProgram"), 2);
  for (const auto& entry : fs::recursive_directory_iterator(folder_))
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::binary) << "damaged";
  run(executor());
  EXPECT_EQ(driver_.calls("nvrtcCompileProgram"), 3);
}

TEST_F(Cuda, WhatDoesNotCompileIsToldWithTheFirstLinesOfTheLog) {
  driver_.fail("nvrtcCompileProgram", 0, 1, 6);
  const Executor gpu = executor();
  const Error error = error_of([&] { run(gpu); });
  EXPECT_STREQ(error.what(),
               "program 'scale' does not compile on Emulated GPU: NVRTC 12.8, status 6\n"
               "program.cu(1): error: injected\n  here");
  run(gpu);
}

TEST_F(Cuda, MemoryThatIsNotThereIsToldAndDoesNoHarm) {
  const Executor gpu = executor();
  EXPECT_EQ(error_of([&] { ops::exp(Tensor::from(counting(1 << 25), gpu)).eval(); }).kind(),
            ErrorKind::OutOfMemory);
  driver_.fail("cuMemAlloc_v2", 0, 100, kOutOfMemory);
  const Error error = error_of([&] { run(gpu); });
  EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory);
  EXPECT_NE(std::string(error.what()).find("Emulated GPU could not allocate"), std::string::npos);
  driver_.fail(nullptr, 0, 0, 0);
  run(gpu);
}

TEST_F(Cuda, AFailedLaunchNamesTheProgram) {
  const Executor gpu = executor();
  driver_.fail("cuLaunchKernelEx", 0, 1, 1);
  EXPECT_STREQ(error_of([&] { run(gpu); }).what(),
               "Emulated GPU failed in program 'scale': an injected failure (CUDA_ERROR)");
  driver_.fail("cuLaunchKernelEx", 0, 1, 701);
  const Error error = error_of([&] { run(gpu); });
  EXPECT_EQ(error.kind(), ErrorKind::UnsupportedOperation);
  EXPECT_NE(std::string(error.what()).find("program 'scale'"), std::string::npos);
  run(gpu);
}

TEST_F(Cuda, ALostDeviceSaysWhereAndStaysLost) {
  const Executor gpu = executor();
  const Tensor t = Tensor::from(counting(1000), gpu);
  driver_.fail("cuEventQuery", 0, 1 << 30, kIllegalAddress);
  const Error error = error_of([&] { ops::exp(t).to_vector<float>(); });
  EXPECT_EQ(error.kind(), ErrorKind::DeviceLost);
  const std::string what = error.what();
  EXPECT_EQ(what.find("Emulated GPU is lost: an illegal memory access was encountered "
                      "(CUDA_ERROR_ILLEGAL_ADDRESS) in program 'fused_exp'"),
            0u)
      << what;
  driver_.fail(nullptr, 0, 0, 0);
  EXPECT_EQ(error_of([&] { run(gpu); }).what(), what);
  EXPECT_EQ(error_of([&] { (t + 1).eval(); }).what(), what);
  EXPECT_NE(std::string(error_of([] { run(executor()); }).what()).find(what), std::string::npos);
}

TEST_F(Cuda, ALoopThatDoesNotEndIsStopped) {
  const Executor gpu = executor(50);
  const std::vector<uint32_t> zeros(64);
  driver_.hang(FakeCuda::Obedient);
  const auto start = std::chrono::steady_clock::now();
  const Error error = error_of([&] { gpu.run(endless(), {{"y", Array::from(zeros, {64})}}); });
  EXPECT_EQ(error.kind(), ErrorKind::Timeout);
  EXPECT_STREQ(error.what(), "program 'endless' ran longer than 50 ms on Emulated GPU");
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(50));
  driver_.hang(FakeCuda::Never);
  run(gpu);
}

TEST_F(Cuda, WhatDoesNotStopIsGivenUpAndTheDeviceWaitsForIt) {
  const Executor gpu = executor(20);
  driver_.hang(FakeCuda::Stubborn);
  EXPECT_EQ(error_of([&] { run(gpu, scale("stubborn")); }).kind(), ErrorKind::Timeout);
  const Error error = error_of([&] { run(gpu); });
  EXPECT_STREQ(error.what(),
               "Emulated GPU is still busy with program 'stubborn', which ran over its time limit");
  driver_.hang(FakeCuda::Never);  // it has come to its end
  run(gpu);
}

TEST_F(Cuda, WorkCanBeCancelled) {
  const Executor gpu = executor();
  driver_.hang(FakeCuda::Obedient);
  Progress progress;
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    progress.cancel = true;
  });
  const Error error = error_of([&] {
    gpu.run(scale(), {{"y", counting(10)}, {"a", 1}}, watched(progress));
  });
  other.join();
  EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
  driver_.hang(FakeCuda::Never);
  progress.cancel = false;
  gpu.run(scale(), {{"y", counting(10)}, {"a", 1}}, watched(progress));
  EXPECT_EQ(progress.done, progress.total);
}

TEST_F(Cuda, WhatTheCpuAloneCanDoIsRefused) {
  BackendConfig config;
  config.backend_type = BackendType::Cuda;
  config.check = true;
  EXPECT_EQ(error_of([&] { run(Executor::from_config(config)); }).kind(),
            ErrorKind::UnsupportedOperation);
  RunOptions options;
  options.budget = 10;
  EXPECT_EQ(error_of([&] {
              executor().run(scale(), {{"y", counting(10)}, {"a", 1}}, options);
            }).kind(),
            ErrorKind::UnsupportedOperation);
}

}  // namespace
}  // namespace hologram
