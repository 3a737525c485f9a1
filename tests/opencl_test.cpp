// The OpenCL backend: its declarations against the Khronos headers, where those are installed; and
// its first device, where there is one, at what the runtime and a user ask of a device.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/opencl/opencl.hpp"
#include "backends/opencl/session.hpp"
#include "conformance_sample.hpp"
#include "hologram/error.hpp"
#include "hologram/ops.hpp"
#include "libraries/product.hpp"
#include "progress_of_launches.hpp"
#include "runtime/executor_state.hpp"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#define HOLOGRAM_HAS_OPENCL_HEADER
#endif

namespace hologram::backends::opencl {
namespace {

namespace fs = std::filesystem;

#ifdef HOLOGRAM_HAS_OPENCL_HEADER
// The same to a caller: enumerations are passed like integers, handles are pointers to structures.
template <class Ours, class Theirs>
struct Same : std::bool_constant<std::is_same_v<Ours, Theirs> ||
                                 (std::is_class_v<Ours> && std::is_class_v<Theirs> &&
                                  std::is_const_v<Ours> == std::is_const_v<Theirs>)> {};
template <class Ours, class Theirs>
requires std::is_enum_v<Ours>
struct Same<Ours, Theirs> : std::is_same<std::underlying_type_t<Ours>, Theirs> {
};
template <class Ours, class Theirs>
struct Same<Ours*, Theirs*> : Same<Ours, Theirs> {};
template <class Ours, class Theirs>
struct Same<Ours* const, Theirs* const> : Same<Ours, Theirs> {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct Same<R(P...), S(Q...)>
    : std::bool_constant<(Same<R, S>::value && ... && Same<P, Q>::value)> {
};
static_assert(Same<int(Memory*), int(cl_mem)>::value && !Same<int(Memory*), int(int*)>::value);
static_assert(!Same<int(const Memory*), int(cl_mem)>::value);
static_assert(!Same<int(Memory**), int(cl_mem)>::value);
static_assert(!Same<int(int), int()>::value);
static_assert(!Same<int(int64_t), int(int32_t)>::value);

#define CALL(name) static_assert(Same<call::name, decltype(::name)>::value, #name);
HOLOGRAM_OPENCL_CALLS(CALL)
#undef CALL

constexpr bool is(auto ours, auto theirs) {
  return static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
}
static_assert(is(kSuccess, CL_SUCCESS) && is(kMemoryFailure, CL_MEM_OBJECT_ALLOCATION_FAILURE));
static_assert(is(kOutOfHost, CL_OUT_OF_HOST_MEMORY));
static_assert(is(kInvalidBufferSize, CL_INVALID_BUFFER_SIZE));
static_assert(is(kNoPlatform, CL_PLATFORM_NOT_FOUND_KHR));
static_assert(is(kTypeCpu, CL_DEVICE_TYPE_CPU) && is(kTypeAll, CL_DEVICE_TYPE_ALL));
static_assert(is(kReadWrite, CL_MEM_READ_WRITE) && is(kUseHostMemory, CL_MEM_USE_HOST_PTR));
static_assert(is(kUndefinedContent, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED));
static_assert(is(kComplete, CL_COMPLETE) && is(kFalse, CL_FALSE) && is(kTrue, CL_TRUE));
static_assert(is(kDenormals, CL_FP_DENORM) && is(kInfNan, CL_FP_INF_NAN) && is(kFma, CL_FP_FMA));
static_assert(is(kNearest, CL_FP_ROUND_TO_NEAREST));
static_assert(is(kCorrectDivide, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT));
static_assert(is(PlatformInfo::Name, CL_PLATFORM_NAME));
using N = DeviceInfoName;
static_assert(is(N::Type, CL_DEVICE_TYPE) && is(N::ComputeUnits, CL_DEVICE_MAX_COMPUTE_UNITS));
static_assert(is(N::WorkGroupSize, CL_DEVICE_MAX_WORK_GROUP_SIZE));
static_assert(is(N::WorkItemSizes, CL_DEVICE_MAX_WORK_ITEM_SIZES));
static_assert(is(N::MaxAllocation, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
static_assert(is(N::ParameterSize, CL_DEVICE_MAX_PARAMETER_SIZE));
static_assert(is(N::SingleConfig, CL_DEVICE_SINGLE_FP_CONFIG));
static_assert(is(N::DoubleConfig, CL_DEVICE_DOUBLE_FP_CONFIG));
static_assert(is(N::GlobalMemory, CL_DEVICE_GLOBAL_MEM_SIZE));
static_assert(is(N::LocalMemory, CL_DEVICE_LOCAL_MEM_SIZE));
static_assert(is(N::LittleEndian, CL_DEVICE_ENDIAN_LITTLE));
static_assert(is(N::Available, CL_DEVICE_AVAILABLE));
static_assert(is(N::CompilerAvailable, CL_DEVICE_COMPILER_AVAILABLE));
static_assert(is(N::Name, CL_DEVICE_NAME) && is(N::DriverVersion, CL_DRIVER_VERSION));
static_assert(is(N::Version, CL_DEVICE_VERSION) && is(N::Extensions, CL_DEVICE_EXTENSIONS));
static_assert(is(N::UnifiedMemory, CL_DEVICE_HOST_UNIFIED_MEMORY));
static_assert(is(N::NvidiaMajor, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV));
static_assert(is(N::NvidiaMinor, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
static_assert(is(N::AmdBoard, CL_DEVICE_BOARD_NAME_AMD));
static_assert(is(N::AmdFreeMemory, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD));
static_assert(is(ProgramInfo::BinarySizes, CL_PROGRAM_BINARY_SIZES));
static_assert(is(ProgramInfo::Binaries, CL_PROGRAM_BINARIES));
static_assert(is(BuildInfo::Log, CL_PROGRAM_BUILD_LOG));
static_assert(is(BuildInfo::Options, CL_PROGRAM_BUILD_OPTIONS));
static_assert(is(KernelInfo::WorkGroupSize, CL_KERNEL_WORK_GROUP_SIZE));
static_assert(is(EventTime::Start, CL_PROFILING_COMMAND_START));
static_assert(is(EventTime::End, CL_PROFILING_COMMAND_END));
static_assert(kKeepTimes == CL_QUEUE_PROFILING_ENABLE);
static_assert(is(EventInfo::Status, CL_EVENT_COMMAND_EXECUTION_STATUS));
#endif

TEST(OpenClHeaders, SayTheSame) {
#ifndef HOLOGRAM_HAS_OPENCL_HEADER
  GTEST_SKIP() << "opencl-headers is not installed";
#endif
}

TEST(OpenClDiscovery, FindsDevicesOrSaysWhyNot) {
  auto found = backend().discover();
  if (const auto* refusal = std::get_if<hal::Refusal>(&found)) {
    EXPECT_FALSE(refusal->reason.empty());
    EXPECT_THROW(Executor{BackendType::OpenCl}, Error);
    return;
  }
  int index = 0;
  for (const DeviceInfo& d : std::get<std::vector<DeviceInfo>>(found)) {
    SCOPED_TRACE(d.name);
    EXPECT_EQ(d.backend, BackendType::OpenCl);
    EXPECT_EQ(d.index, index++);
    EXPECT_FALSE(d.name.empty() || d.driver.empty());
    EXPECT_GT(d.total_memory, 0u);
    EXPECT_LE(d.free_memory, d.total_memory);
    EXPECT_GE(d.max_allocation, d.total_memory / 4);  // OpenCL promises as much
    EXPECT_GT(d.compute_units, 0u);
    EXPECT_GE(d.max_lanes, 64u);
    EXPECT_GE(d.max_shared_bytes, 16u << 10);
    EXPECT_GE(d.max_bindings, 8u);
    EXPECT_TRUE(d.compute.has(DType::I64) && d.storage.has(DType::BF16));
  }
}

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    auto found = backend().discover();
    if (const auto* refusal = std::get_if<hal::Refusal>(&found)) GTEST_SKIP() << refusal->reason;
  }

  static Executor executor(uint64_t timeout_ms = 0, int device = 0) {
    BackendConfig config;
    config.backend_type = BackendType::OpenCl;
    config.device_id = device;
    config.timeout_ms = timeout_ms;
    return Executor::from_config(config);
  }
  static std::shared_ptr<hal::Device> device() {
    auto opened = backend().open(0, {});
    return std::get<std::shared_ptr<hal::Device>>(opened);
  }
  static std::string message(const std::function<void()>& what, ErrorKind kind) {
    try {
      what();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
};

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) values[i] = static_cast<float>(i % 977) * 0.37f - 100;
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr const char* kEndless = R"(
program endless(in x: i32[n], out y: i32[n]) workgroup(64) lanes(n) {
  i = global_id.x
  var v = 0
  while v >= 0 { v = (v + x[i]) & 1 }
  y[i] = v
}
)";

// What kernels take by the clock of the device is less than what the host waits for, and nobody
// waits for one of them.
TEST_F(OpenCl, TimesAreTheDevices) {
  BackendConfig config = executor().config();
  config.enable_backend_profiling = true;
  const Executor timed = Executor::from_config(config);
  const Tensor x = Tensor::from_vector(numbers(100'000), {100'000}, timed);
  timed.synchronize();
  const auto start = hal::Clock::now();
  const std::vector<float> first = ops::exp(x).to_vector<float>();
  for (int i = 0; i < 99; i++) ops::exp(x).eval();
  timed.synchronize();
  const double all = std::chrono::duration<double>(hal::Clock::now() - start).count();
  const Profile profile = timed.profile();
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].kernel, "fused_exp");
  EXPECT_EQ(profile.kernels[0].launches, 100u);
  EXPECT_GT(profile.kernels[0].shortest, 0);
  EXPECT_LT(profile.kernels[0].seconds, all);
  EXPECT_TRUE(same_bits(first, ops::exp(x).to_vector<float>()));
}

TEST_F(OpenCl, MemoryIsCopiedAndFilled) {
  const auto on = device();
  const auto stream = on->stream();
  auto a = on->allocate(4096), b = on->allocate(4096);
  EXPECT_EQ(a->size(), 4096u);
  EXPECT_EQ(a->host(), nullptr);
  std::vector<std::byte> source(1000), result(1000);
  for (size_t i = 0; i < source.size(); i++) source[i] = static_cast<std::byte>(i * 7);
  {
    auto gone = std::make_unique<std::vector<std::byte>>(source);
    hal::HostBuffer host(gone->data(), 1000);
    stream->copy({a.get(), 256, 1000}, {&host, 0, 1000});
  }
  stream->copy({b.get(), 512, 1000}, {a.get(), 256, 1000});
  stream->fill({b.get(), 512 + 16, 40}, 0x01020304);
  stream->fill({b.get(), 0, 0}, 1);
  hal::HostBuffer host(result.data(), 1000);
  stream->copy({&host, 0, 1000}, {b.get(), 512, 1000});
  EXPECT_EQ(stream->wait(stream->submit(), {}), hal::State::Done);
  for (size_t i = 0; i < 40; i++) source[16 + i] = static_cast<std::byte>(4 - i % 4);
  EXPECT_EQ(result, source);
  EXPECT_EQ(on->allocate(0)->size(), 0u);
  message([&] { on->allocate(uint64_t{1} << 60); }, ErrorKind::OutOfMemory);
}

TEST_F(OpenCl, AnExactDeviceHasTheBitsOfTheCpu) {
  const Executor on = executor(), cpu(BackendType::Cpu);
  if (on.device().numerics != Numerics::Exact) GTEST_SKIP() << on.device().name << " is relaxed";
  const auto compute = [](const Executor& where) {
    const Tensor x = Tensor::from_vector(numbers(30000), {100, 300}, where);
    const Tensor y = ops::exp(ops::sin(x)) / (x * x + 1.0) - ops::tanh(x);
    return ops::sum(y * ops::softmax(x, 1), {1}).to_vector<float>();
  };
  EXPECT_TRUE(same_bits(compute(on), compute(cpu)));
}

// The program that devices with many threads are given, on any device, and the general one.
TEST_F(OpenCl, TilesOfAProductHaveTheBitsOfTheCpu) {
  constexpr int64_t kM = 150, kN = 129, kK = 100;
  libraries::Product product;
  product.a = {DType::F32, 0, kK, 1, 0};
  product.b = {DType::F32, 0, 1, kK, 0};
  product.d = {DType::F32, 0, kN, 1, 0};
  product.accumulate = DType::F32;
  product.m = kM;
  product.n = kN;
  product.k = kK;
  const auto compute = [&](const Executor& on, bool is_gpu_like) {
    const libraries::ProductLaunch launch = libraries::product_launch(product, is_gpu_like);
    EXPECT_EQ(launch.key.tiled, is_gpu_like);
    std::vector<Array> arrays;
    for (const int64_t count : {kM * kK, kK * kN, kM * kN}) {
      arrays.emplace_back(DType::F32, Shape{count});
      const auto values = numbers(static_cast<size_t>(count));
      std::copy(values.begin(), values.end(), arrays.back().mutable_as<float>().begin());
    }
    on.state()->launch(libraries::product_program(launch.key), arrays, launch.scalars, launch.grid,
                       {});
    const auto d = arrays[2].as<float>();
    return std::vector<float>(d.begin(), d.end());
  };
  EXPECT_TRUE(same_bits(compute(executor(), true), compute(Executor(BackendType::Cpu), false)));
}

TEST_F(OpenCl, GridsOfThreeAxesAndManyGroups) {
  const Program program = Program::parse(R"(
program where(out y: i32[d, h, w]) workgroup(4, 2) lanes(w, h, d) {
  if global_id.x < w { if global_id.y < h { if global_id.z < d {
    y[global_id.z, global_id.y, global_id.x] = global_id.x + 1000 * (global_id.y + 100 * global_id.z)
  } } }
}
)");
  RunOptions options;
  options.shapes = {{"y", {5, 33, 301}}};
  const Array y = executor().run(program, {}, options).at("y");
  const auto found = y.as<int32_t>();
  size_t i = 0;
  for (int32_t z = 0; z < 5; z++)
    for (int32_t v = 0; v < 33; v++)
      for (int32_t x = 0; x < 301; x++) ASSERT_EQ(found[i++], x + 1000 * (v + 100 * z));
  options.shapes = {{"y", {5, 0, 301}}};
  EXPECT_EQ(executor().run(program, {}, options).at("y").size(), 0u);
}

TEST_F(OpenCl, AProgramThatDoesNotEndTimesOutAndTheDeviceWorksOn) {
  const Executor on = executor(200);
  const Program endless = Program::parse(kEndless);
  const auto compiled = device()->compile(endless, {});
  if (!static_cast<const ClProgram&>(*compiled).may_go_on())
    GTEST_SKIP() << "loops that go on for ever are not stopped yet";
  const Array x = Array::from(std::vector<int32_t>(100, 1), {100});
  const std::string text = message([&] { on.run(endless, {{"x", x}}); }, ErrorKind::Timeout);
  EXPECT_NE(text.find("'endless' ran longer than 200 ms"), std::string::npos) << text;
  if (!on.device().software) return;  // a GPU may take a while to come back
  const Array minus = Array::from(std::vector<int32_t>(100, -1), {100});
  EXPECT_EQ(on.run(Program::parse("program copy(in x: i32[n], out y: i32[n]) workgroup(64) "
                                  "lanes(n) { y[global_id.x] = x[global_id.x] }"),
                   {{"x", minus}})
                .at("y")
                .as<int32_t>()[99],
            -1);
  EXPECT_EQ(ops::sum(Tensor::from_vector(numbers(1000), {1000}, on)).to_vector<float>().size(), 1u);
}

TEST_F(OpenCl, ProgressIsToldAndCancellingStops) { expect_progress_and_cancelling(executor()); }

TEST_F(OpenCl, WhatTheCompilerSaysIsPassedOn) {
  const Session session(Driver::instance().devices().front());
  const std::string text = message(
      [&] {
        build(session, "culprit", "kernel void k(global int* x) {\n  x[0] = nothing;\n}\n", 1);
      },
      ErrorKind::Internal);
  for (const std::string part : {"'culprit'", session.info().name.c_str(), "nothing"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

// Division is only right where the compiler was asked for it.
TEST_F(OpenCl, TheCompilerIsToldToBeExact) {
  Session session(Driver::instance().devices()[0]);
  const auto program = build(session, "nothing", "kernel void k(global int* x) {}\n", 1);
  char options[256] = {};
  ASSERT_EQ(session.api().clGetProgramBuildInfo(program.get(), session.id(), BuildInfo::Options,
                                                sizeof options - 1, options, nullptr),
            kSuccess);
  for (const std::string& flag : dialects::compiler_flags(dialects::Language::OpenCl)) {
    if (session.info().numerics == Numerics::Exact) {
      EXPECT_NE(std::string(options).find(flag), std::string::npos) << options;
    }
  }
}

TEST_F(OpenCl, RefusesWhatItCannotDo) {
  BackendConfig config;
  config.backend_type = BackendType::OpenCl;
  config.check = true;
  const std::string text =
      message([&] { Executor::from_config(config); }, ErrorKind::BackendUnavailable);
  EXPECT_NE(text.find("HOLOGRAM_CHECK"), std::string::npos) << text;
  message([] { executor(0, 1000); }, ErrorKind::BackendUnavailable);
  EXPECT_FALSE(executor().device().software && best_available_backend() == BackendType::OpenCl);
}

TEST_F(OpenCl, CompiledProgramsAreKeptAndDamagedOnesMadeAgain) {
  std::string folder = (fs::temp_directory_path() / "hologram-opencl-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before != nullptr ? before : "";
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const auto run = [] {
    const auto out = executor().run(
        Program::parse("program kept(in x: f32[n], out y: f32[n]) workgroup(64) lanes(n) "
                       "{ y[global_id.x] = x[global_id.x] * 3.0 }"),
        {{"x", Array::from(std::vector<float>{1, 2}, {2})}});
    return out.at("y").as<float>()[1];
  };
  EXPECT_EQ(run(), 6);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  EXPECT_FALSE(files.empty());
  for (const fs::path& file : files) fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_EQ(run(), 6);
  EXPECT_EQ(run(), 6);
  for (const fs::path& file : files) EXPECT_TRUE(fs::exists(file));
  if (before != nullptr) setenv("XDG_CACHE_HOME", saved.c_str(), 1);
  else unsetenv("XDG_CACHE_HOME");
  fs::remove_all(folder);
}

// Large launches that have nothing to do with each other run side by side, those that have do not.
TEST_F(OpenCl, LargeLaunchesSideBySideHaveTheirResults) {
  const Executor on = executor();
  constexpr int64_t kCount = 5 << 20;
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> sums;
  for (int i = 0; i < 3; i++) {
    inputs.push_back(Tensor::from_vector(numbers(kCount), {kCount}, on) + static_cast<double>(i));
    inputs.back().eval();
    sums.push_back(ops::sum(inputs.back()).to_vector<float>());
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < 30; i++) {
    results.push_back(ops::sum(inputs[i % 3]));
    results.back().eval();
  }
  for (size_t i = 0; i < results.size(); i++)
    EXPECT_TRUE(same_bits(results[i].to_vector<float>(), sums[i % 3])) << i;
  const auto mix = [&](const auto& between) {
    Tensor a = inputs[0], b = inputs[1];
    for (int i = 0; i < 6; i++) {
      Tensor c = a * 0.5, d = b + 1.0;
      between(c);
      between(d);
      a = c - d;
      between(a);
      if (i % 2 == 0) b = d.flip({0});
      between(b);
    }
    return a.to_vector<float>();
  };
  const auto right = mix([&](const Tensor& t) { t.eval(), on.synchronize(); });
  EXPECT_TRUE(same_bits(mix([](const Tensor& t) { t.eval(); }), right));
}

TEST_F(OpenCl, ThreadsAndExecutorsShareADevice) {
  const Executor a = executor(), b = executor();
  const auto compute = [](const Executor& where, float scale) {
    Tensor x = Tensor::from_vector(numbers(10000), {10000}, where);
    for (int i = 0; i < 5; i++) x = ops::sqrt(ops::abs(x * scale)) + 1.0f;
    return x.to_vector<float>();
  };
  const auto right = compute(a, 2), other = compute(a, 3);
  std::vector<int> wrong(6, 0);
  std::vector<std::thread> threads;
  threads.reserve(wrong.size());
  for (size_t t = 0; t < wrong.size(); t++)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; round++) {
        const bool first = (t + static_cast<size_t>(round)) % 2 == 0;
        wrong[t] += !same_bits(compute(t % 3 == 0 ? b : a, first ? 2 : 3), first ? right : other);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(6, 0));
  // From one to the other, by way of the host.
  const Tensor x = Tensor::from_vector(numbers(100), {100}, a);
  EXPECT_TRUE(same_bits((x + 1.0f).to(b).to_vector<float>(), (x.to(b) + 1.0f).to_vector<float>()));
}

class OpenClConformance : public OpenCl, public testing::WithParamInterface<size_t> {};

TEST_P(OpenClConformance, ASampleOfTheSuite) { tests::try_sample(executor(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Shares, OpenClConformance,
                         testing::Range<size_t>(0, tests::kSampleShares));

}  // namespace
}  // namespace hologram::backends::opencl
