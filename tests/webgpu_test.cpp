// The WebGPU backend: its declarations against the header of wgpu-native, where that was fetched;
// and its first adapter, where there is one, at what the runtime and a user ask of a device.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "backends/webgpu/program.hpp"
#include "backends/webgpu/webgpu.hpp"
#include "conformance_sample.hpp"
#include "hologram/error.hpp"
#include "hologram/memory.hpp"
#include "hologram/ops.hpp"
#include "progress_of_launches.hpp"
#include "runtime/pool.hpp"
#include "webgpu_fixture.hpp"

namespace hologram::backends::webgpu {
namespace {

TEST(WebGpuDiscovery, FindsAdaptersOrSaysWhyNot) {
  std::string reason;
  const std::vector<Found>& adapters = tests::webgpu_adapters(reason);
  EXPECT_EQ(adapters.empty(), !reason.empty());
  int index = 0;
  for (const Found& found : adapters) {
    const DeviceInfo& d = found.info;
    SCOPED_TRACE(d.name);
    EXPECT_EQ(d.backend, BackendType::WebGpu);
    EXPECT_EQ(d.index, index++);
    EXPECT_FALSE(d.name.empty() || d.driver.empty());
    EXPECT_GT(d.total_memory, 0u);
    EXPECT_LE(d.free_memory, d.total_memory);
    // What WebGPU promises of every adapter.
    EXPECT_GE(d.max_allocation, uint64_t{128} << 20);
    EXPECT_GE(d.max_lanes, 256u);
    EXPECT_GE(d.max_shared_bytes, 16u << 10);
    EXPECT_GE(d.max_bindings, 7u);
    EXPECT_LE(d.binding_alignment, 256u);
    EXPECT_EQ(d.numerics, Numerics::Relaxed);
    EXPECT_FALSE(d.compute.has(DType::F64) || d.storage.has(DType::F64));
    EXPECT_TRUE(d.compute.has(DType::I64) && d.storage.has(DType::BF16));
  }
}

class WebGpu : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (tests::webgpu_adapters(reason).empty()) GTEST_SKIP() << reason;
  }

  static Executor executor(uint64_t timeout_ms = 0, int device = 0) {
    BackendConfig config;
    config.backend_type = BackendType::WebGpu;
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

std::vector<std::byte> bytes(size_t count) {
  std::vector<std::byte> values(count);
  for (size_t i = 0; i < count; i++) values[i] = static_cast<std::byte>(i * 7 + i / 251);
  return values;
}

TEST_F(WebGpu, MemoryIsCopiedAndFilled) {
  const auto on = device();
  const auto stream = on->stream();
  // Sizes of every remainder of 4, and what takes several pieces.
  for (const size_t size : {1000u, 1001u, 1002u, 1003u, 3u, 5u << 20, (50u << 20) + 1}) {
    SCOPED_TRACE(size);
    auto a = on->allocate(size + 256), b = on->allocate(size + 512);
    EXPECT_EQ(a->size(), size + 256);
    EXPECT_EQ(a->host(), nullptr);
    std::vector<std::byte> source = bytes(size), result(size);
    {
      auto gone = std::make_unique<std::vector<std::byte>>(source);
      hal::HostBuffer host(gone->data(), size);
      stream->copy({a.get(), 256, size}, {&host, 0, size});
    }
    stream->copy({b.get(), 512, size}, {a.get(), 256, size});
    if (size > 100) stream->fill({b.get(), 512 + 16, 40}, 0x01020304);
    if (size > 100) stream->fill({b.get(), 512 + 56, 20}, 0);
    stream->fill({b.get(), 0, 0}, 1);
    hal::HostBuffer host(result.data(), size);
    stream->copy({&host, 0, size}, {b.get(), 512, size});
    EXPECT_EQ(stream->wait(stream->submit(), {}), hal::State::Done);
    for (size_t i = 0; size > 100 && i < 60; i++)
      source[16 + i] = static_cast<std::byte>(i < 40 ? 4 - i % 4 : 0);
    EXPECT_TRUE(result == source);
  }
  EXPECT_EQ(on->allocate(0)->size(), 0u);
  message([&] { on->allocate(uint64_t{1} << 60); }, ErrorKind::OutOfMemory);
}

// WebGPU refuses a buffer of which one part is written and another is only read.
TEST_F(WebGpu, EachBlockOfThePoolIsABufferThatIsUsedAgain) {
  const auto pool = runtime::Pool::make(device(), PoolConfig{});
  runtime::Block a = pool->allocate(100), b = pool->allocate(100);
  EXPECT_NE(a.binding().buffer, b.binding().buffer);
  EXPECT_EQ(a.binding().offset, 0u);
  const hal::Buffer* const first = a.binding().buffer;
  a.reset();
  EXPECT_EQ(pool->allocate(90).binding().buffer, first);
  EXPECT_EQ(pool->statistics().reuses, 1u);
}

TEST_F(WebGpu, TensorsAreComputed) {
  const auto compute = [](const Executor& where) {
    const Tensor x = Tensor::from_vector(numbers(30000), {100, 300}, where);
    const Tensor y = ops::abs(x) * 2.0 + x;
    return (ops::sum(y, {1}) + ops::max(x, {1})).to_vector<float>();
  };
  const auto found = compute(executor()), right = compute(Executor(BackendType::Cpu));
  ASSERT_EQ(found.size(), right.size());
  for (size_t i = 0; i < found.size(); i++)
    EXPECT_NEAR(found[i], right[i], std::abs(right[i]) * 1e-5f) << i;
}

// What an adapter says that it has is tried before it is used: Dawn's lavapipe has both.
TEST_F(WebGpu, FeaturesAreUsedWhereTheyWork) {
  std::string reason;
  const auto session = Session::open(tests::webgpu_adapters(reason)[0]);
  const Traits& traits = session->traits();
  RecordProperty("halves", traits.halves ? "yes" : "no");
  RecordProperty("subgroup", static_cast<int>(traits.subgroup));
  EXPECT_LE(traits.halves, session->has(kHalves));
  EXPECT_LE(traits.subgroup > 0, session->has(kSubgroups));
  const bool both = session->info().name.find("llvmpipe") != std::string::npos &&
                    Driver::instance().library().find("dawn") != std::string::npos;
  if (both) {
    EXPECT_TRUE(traits.halves);
    EXPECT_GE(traits.subgroup, 4u);
  }
}

// More launches than there are places for at a time; one that was limited is timed by the host.
TEST_F(WebGpu, TheProfilerHasTheTimesOfTheDevice) {
  if (!device()->has_timestamps()) GTEST_SKIP() << "this adapter has no clock";
  BackendConfig config;
  config.backend_type = BackendType::WebGpu;
  config.enable_backend_profiling = true;
  config.fusion = false;
  const Executor gpu = Executor::from_config(config);
  Tensor t = Tensor::from_vector(numbers(1 << 16), {1 << 16}, gpu);
  constexpr int kLaunches = 600;
  for (int i = 0; i < kLaunches; i++) t = ops::abs(t).eval();
  EXPECT_EQ(t.to_vector<float>()[0], 100);
  const Profile profile = gpu.profile();
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].launches, static_cast<uint64_t>(kLaunches));
  EXPECT_GT(profile.kernels[0].seconds, 0);
  EXPECT_LT(profile.kernels[0].seconds, 60);

  config.timeout_ms = 60'000;
  const Executor limited = Executor::from_config(config);
  ops::abs(Tensor::from_vector(numbers(1000), {1000}, limited)).eval();
  EXPECT_EQ(limited.profile().kernels[0].launches, 1u);
}

// Large evaluations begin before anybody waits for them, and what follows goes together.
TEST_F(WebGpu, EvaluationsThatTakeLongAreStarted) {
  const Executor gpu = executor();
  const size_t count = size_t{20} << 20;
  const Tensor x = ops::full({static_cast<int64_t>(count)}, 1.0, DType::F32, gpu).eval();
  std::vector<Tensor> results;
  results.reserve(5);
  for (int i = 0; i < 5; i++) results.push_back(ops::sum(x + static_cast<double>(i)).eval());
  for (int i = 0; i < 5; i++)
    EXPECT_EQ(results[static_cast<size_t>(i)].to_vector<float>()[0],
              static_cast<float>(count) * static_cast<float>(i + 1));
}

TEST_F(WebGpu, GridsOfThreeAxesAndMoreGroupsThanADispatchHas) {
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
  const Program many = Program::parse(
      "program many(out y: u8[n]) workgroup(8) lanes(n) { y[global_id.x] = u32(global_id.x % 251) "
      "}");
  constexpr int64_t kCount = 8 * 70000 + 3;
  options.shapes = {{"y", {kCount}}};
  const Array all = executor().run(many, {}, options).at("y");
  for (size_t k = 0; k < kCount; k++) ASSERT_EQ(all.as<uint8_t>()[k], k % 251);
}

// Of which more than there is room for are kept, in launches that are started together.
TEST_F(WebGpu, ManyLaunchesWithOtherParameters) {
  const Program program = Program::parse(
      "program add(inout y: i32[n], a: i32) lanes(n) { y[global_id.x] = y[global_id.x] + a }");
  const auto on = device();
  const auto y = on->allocate(256), other = on->allocate(256);
  const auto stream = on->stream();
  const auto ready = on->compile(program, {});
  constexpr int kLaunches = 3000;
  for (hal::Buffer* buffer : {y.get(), other.get()}) stream->fill({buffer, 0, 256}, 0);
  for (int k = 0; k < kLaunches; k++) {
    const hal::Binding where{(k % 3 == 0 ? other : y).get(), 0, 256};
    const uint64_t scalars[] = {64, static_cast<uint64_t>(k)};
    hal::Launch launch;
    launch.executable = ready.get();
    launch.bindings = {&where, 1};
    launch.scalars = std::span(scalars).first(program.scalars().size());
    stream->launch(launch);
  }
  int32_t sums[2] = {};
  hal::HostBuffer host(reinterpret_cast<std::byte*>(sums), sizeof sums);
  stream->copy({&host, 0, 4}, {y.get(), 100, 4});
  stream->copy({&host, 4, 4}, {other.get(), 100, 4});
  EXPECT_EQ(stream->wait(stream->submit(), {}), hal::State::Done);
  int32_t want[2] = {};
  for (int k = 0; k < kLaunches; k++) want[k % 3 == 0 ? 1 : 0] += k;
  EXPECT_EQ(sums[0], want[0]);
  EXPECT_EQ(sums[1], want[1]);
}

TEST_F(WebGpu, AProgramThatDoesNotEndTimesOutAndTheDeviceWorksOn) {
  const Program endless = Program::parse(R"(
program endless(in x: i32[n], out y: i32[n]) workgroup(64) lanes(n) {
  i = global_id.x
  var v = 0
  while v >= 0 { v = (v + x[i]) & 1 }
  y[i] = v
}
)");
  const Array x = Array::from(std::vector<int32_t>(100, 1), {100});
  RunOptions options;
  options.budget = 1000;
  EXPECT_NE(message(
                [&] {
                  executor().run(endless, {{"x", x}}, options);
                },
                ErrorKind::Timeout)
                .find("more than 1000 loop rounds"),
            std::string::npos);
  const Executor on = executor(50);
  const std::string text = message([&] { on.run(endless, {{"x", x}}); }, ErrorKind::Timeout);
  EXPECT_NE(text.find("'endless' ran longer than 50 ms"), std::string::npos) << text;
  if (!on.device().software) return;  // a GPU may take a while to come back
  for (;;) try {
      const Tensor ones = ops::ones({1000}, DType::F32, executor());
      EXPECT_EQ(ops::sum(ones).to_vector<float>()[0], 1000);
      break;
    } catch (const Error& error) {  // while it is at it
      ASSERT_EQ(error.kind(), ErrorKind::DeviceLost) << error.what();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

TEST_F(WebGpu, ProgressIsToldAndCancellingStops) { expect_progress_and_cancelling(executor()); }

TEST_F(WebGpu, WhatTheCompilerSaysIsPassedOn) {
  const auto session = Session::open(Driver::instance().adapters().front());
  dialects::Printed printed;
  printed.text = "@compute @workgroup_size(1) fn k() { let x = nothing; }";
  printed.entry = "k";
  const std::string text =
      message([&] { session->pipeline("culprit", printed); }, ErrorKind::Internal);
  for (const std::string part : {"'culprit'", session->info().name.c_str(), "nothing"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  printed.text = "@compute @workgroup_size(1) fn k() {}";
  printed.entry = "missing";
  EXPECT_NE(
      message([&] { session->pipeline("culprit", printed); }, ErrorKind::Internal).find("missing"),
      std::string::npos);
  // It is told once, and the device works on.
  session->check();
}

TEST_F(WebGpu, WhatGoesWrongInALaunchIsToldWithItsName) {
  const auto session = Session::open(Driver::instance().adapters().front());
  dialects::Printed printed;
  printed.text =
      "@group(0) @binding(0) var<storage, read_write> d: array<u32>;\n"
      "@group(0) @binding(1) var<uniform> p: vec4u;\n"
      "@compute @workgroup_size(1) fn k() { d[0] = p.x; }";
  printed.entry = "k";
  using Kind = dialects::Argument::Kind;
  printed.arguments.push_back({});
  printed.arguments.back().kind = Kind::Buffer;
  printed.block_binding = 1;
  printed.block_bytes = 16;
  const auto pipeline = session->pipeline("culprit", printed);
  const WgBuffer buffer(session, 64);
  const uint32_t parameters[4] = {77, 0, 0, 0};
  const auto launch = [&](uint64_t bytes_bound) {
    const Session::Bound bound{buffer.buffer(), 0, bytes_bound, true};
    session->launch("culprit", *pipeline, {&bound, 1}, std::as_bytes(std::span(parameters)), 1);
    session->wait(session->submit(), {}, nullptr);
    session->check();
  };
  EXPECT_NE(message([&] { launch(4096); }, ErrorKind::DeviceLost).find("'culprit'"),
            std::string::npos);
  launch(64);
  uint32_t found = 0;
  session->read(reinterpret_cast<std::byte*>(&found), buffer.buffer(), 0, sizeof found);
  EXPECT_EQ(found, 77u);
  const Session::Bound twice[] = {{buffer.buffer(), 0, 16, true}, {buffer.buffer(), 32, 16, false}};
  EXPECT_NE(
      message([&] { session->launch("culprit", *pipeline, twice, {}, 1); }, ErrorKind::Internal)
          .find("'culprit'"),
      std::string::npos);
}

TEST_F(WebGpu, ALostDeviceSaysSoAndANewOneIsMade) {
  const Found& found = Driver::instance().adapters().front();
  const auto session = Session::open(found);
  const WgBuffer buffer(session, 64);
  WgStream stream(session);
  session->api().wgpuDeviceDestroy(session->device());
  stream.wait(stream.submit(), hal::Clock::now() + std::chrono::milliseconds(100));
  std::byte there[4] = {};
  hal::HostBuffer host(there, 4);
  for (int again = 0; again < 2; again++)
    EXPECT_NE(message(
                  [&] {
                    stream.copy({&host, 0, 4}, {const_cast<WgBuffer*>(&buffer), 0, 4});
                  },
                  ErrorKind::DeviceLost)
                  .find("is lost"),
              std::string::npos);
  EXPECT_NE(Session::open(found), session);
  EXPECT_EQ(ops::sum(ops::ones({10}, DType::F32, executor())).to_vector<float>()[0], 10);
}

TEST_F(WebGpu, RefusesWhatItCannotDo) {
  BackendConfig config;
  config.backend_type = BackendType::WebGpu;
  config.check = true;
  const std::string text =
      message([&] { Executor::from_config(config); }, ErrorKind::BackendUnavailable);
  EXPECT_NE(text.find("HOLOGRAM_CHECK"), std::string::npos) << text;
  message([] { executor(0, 1000); }, ErrorKind::BackendUnavailable);
  EXPECT_FALSE(executor().device().software && best_available_backend() == BackendType::WebGpu);
  const Program wide = Program::parse(
      "program wide(in x: f64[n], out y: f64[n]) workgroup(8) lanes(n) { y[global_id.x] = "
      "x[global_id.x] }");
  const Array x = Array::from(std::vector<double>{1, 2}, {2});
  EXPECT_NE(message(
                [&] {
                  executor().run(wide, {{"x", x}});
                },
                ErrorKind::UnsupportedOperation)
                .find("f64"),
            std::string::npos);
}

TEST_F(WebGpu, ThreadsAndExecutorsShareADevice) {
  const Executor a = executor(), b = executor();
  const auto compute = [](const Executor& where, float scale) {
    Tensor x = Tensor::from_vector(numbers(10000), {10000}, where);
    for (int i = 0; i < 5; i++) x = ops::sqrt(ops::abs(x * scale)) + 1.0f;
    return x.to_vector<float>();
  };
  const auto right = compute(a, 2), other = compute(a, 3);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  threads.reserve(wrong.size());
  for (size_t t = 0; t < wrong.size(); t++)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; round++) {
        const bool first = (t + static_cast<size_t>(round)) % 2 == 0;
        wrong[t] += compute(t % 3 == 0 ? b : a, first ? 2 : 3) != (first ? right : other);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  // From one to the other, by way of the host.
  const Tensor x = Tensor::from_vector(numbers(100), {100}, a);
  EXPECT_EQ((x + 1.0f).to(b).to_vector<float>(), (x.to(b) + 1.0f).to_vector<float>());
}

class WebGpuConformance : public WebGpu, public testing::WithParamInterface<size_t> {};

TEST_P(WebGpuConformance, ASampleOfTheSuite) { tests::try_sample(executor(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Shares, WebGpuConformance,
                         testing::Range<size_t>(0, tests::kSampleShares));

}  // namespace
}  // namespace hologram::backends::webgpu
