// The Metal backend on the emulated Metal.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "metal_fixture.hpp"

namespace hologram {
namespace {

class Metal : public MetalTest {};

std::vector<std::byte> bytes(size_t count) {
  std::vector<std::byte> values(count);
  for (size_t i = 0; i < count; i++) values[i] = static_cast<std::byte>(i * 7 + i / 251);
  return values;
}

constexpr const char* kEndless = R"(program endless(inout y: u32[n]) workgroup(1) lanes(n) {
  i = global_id.x
  while y[i] != 7 { y[i] = y[i] + 2 }
})";

TEST(MetalElsewhere, SaysWhereItIs) {
  unsetenv("HOLOGRAM_METAL_LIBRARY");
  auto found = backends::metal::backend().discover();
  const auto* refusal = std::get_if<hal::Refusal>(&found);
  if (refusal == nullptr) GTEST_SKIP() << "this is an Apple platform";
  EXPECT_EQ(refusal->reason.find("Metal backend only available on Apple platforms: "), 0u);
  for (const char* step : {"Metal.framework", "HOLOGRAM_METAL_LIBRARY", "HOLOGRAM_OBJC_LIBRARY"})
    EXPECT_NE(refusal->reason.find(step), std::string::npos) << step;
  EXPECT_THROW(Executor{BackendType::Metal}, Error);
}

TEST_F(Metal, WithoutTheRuntimeThereIsAReason) {
  setenv("HOLOGRAM_OBJC_LIBRARY", "libnone.so", 1);
  EXPECT_EQ(message([] { executor(); }, ErrorKind::BackendUnavailable)
                .find("Metal backend not available: the runtime of Objective-C is not found "
                      "(libnone.so"),
            0u);
}

TEST_F(Metal, WithoutADeviceThereIsAReason) {
  fake_.fail("MTLCopyAllDevices", 0, 1, 0);
  fake_.fail("MTLCreateSystemDefaultDevice", 0, 1, 0);
  EXPECT_EQ(message([] { executor(); }, ErrorKind::BackendUnavailable),
            "Metal backend not available: No Metal device found");
}

TEST_F(Metal, FindsDevices) {
  auto found = backends::metal::backend().discover();
  const auto& devices = std::get<std::vector<DeviceInfo>>(found);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "Emulated Apple GPU");
  EXPECT_EQ(devices[0].compute_capability, "Apple7");
  EXPECT_TRUE(devices[0].unified_memory);
  EXPECT_EQ(devices[1].name, "Emulated discrete GPU");
  EXPECT_EQ(devices[1].compute_capability, "Mac2");
  EXPECT_FALSE(devices[1].unified_memory);
  for (const DeviceInfo& d : devices) {
    EXPECT_EQ(d.backend, BackendType::Metal);
    EXPECT_EQ(d.total_memory, uint64_t{128} << 20);
    EXPECT_LE(d.free_memory, d.total_memory);
    EXPECT_EQ(d.max_lanes, 1024u);
    EXPECT_EQ(d.max_shared_bytes, 32u << 10);
    EXPECT_EQ(d.max_bindings, 29u);
    EXPECT_EQ(d.numerics, Numerics::Relaxed) << "nobody has tried yet";
    EXPECT_FALSE(d.compute.has(DType::F64) || d.storage.has(DType::F64));
    EXPECT_TRUE(d.compute.has(DType::I64) && d.storage.has(DType::BF16));
  }
}

TEST_F(Metal, IsExactOnceATrialHasSeenIt) {
  EXPECT_EQ(executor().device().numerics, Numerics::Exact);
  // Of what computes nothing, a trial sees that as well.
  fake_.execute(nullptr);
  EXPECT_EQ(executor().device().numerics, Numerics::Relaxed);
}

TEST_F(Metal, CompilesWithSafeMathematics) {
  run(executor());
  EXPECT_STREQ(fake_.options(), "mathMode=0 functions=1 ");
}

TEST_F(Metal, CompilesWithSafeMathematicsOnOlderSystems) {
  fake_.fail("respondsToSelector:", 0, 1000, 0);
  run(executor());
  EXPECT_STREQ(fake_.options(), "fastMath=0 ");
}

TEST_F(Metal, ComputesWhatTheCpuDoes) {
  const Executor cpu(BackendType::Cpu);
  const auto work = [](const Executor& on) {
    const Tensor x = Tensor::from(counting(5000), on) * 0.01F;
    return ops::concat({ops::softmax(x, 0), ops::cumsum(x, 0), ops::sort(-x), ops::exp(-x)}, 0)
        .to_vector<float>();
  };
  for (const int index : {kUnified, kDiscrete}) EXPECT_EQ(work(executor(0, index)), work(cpu));
}

TEST_F(Metal, MemoryIsCopiedAndFilled) {
  for (const int index : {kUnified, kDiscrete}) {
    const auto on = device(index);
    const auto stream = on->stream();
    auto a = on->allocate(4096), b = on->allocate(4096);
    EXPECT_EQ(a->host() != nullptr, index == kUnified);
    std::vector<std::byte> source = bytes(1000), result(1000);
    {
      auto gone = std::make_unique<std::vector<std::byte>>(source);
      hal::HostBuffer host(gone->data(), 1000);
      stream->copy({a.get(), 256, 1000}, {&host, 0, 1000});
    }
    stream->copy({b.get(), 512, 1000}, {a.get(), 256, 1000});
    stream->fill({b.get(), 512 + 16, 40}, 0x01020304);
    stream->fill({b.get(), 512 + 100, 40}, 0x05050505);
    stream->fill({b.get(), 0, 0}, 1);
    hal::HostBuffer host(result.data(), 1000);
    stream->copy({&host, 0, 1000}, {b.get(), 512, 1000});
    EXPECT_EQ(stream->wait(stream->submit(), {}), hal::State::Done);
    for (size_t i = 0; i < 40; i++) source[16 + i] = static_cast<std::byte>(4 - i % 4);
    std::fill_n(source.begin() + 100, 40, std::byte{5});
    EXPECT_EQ(result, source);
    EXPECT_EQ(on->allocate(0)->size(), 0u);
  }
}

// Memory that the host does not reach is copied in pieces, whose number stays small.
TEST_F(Metal, CopiesOfAnySizeTakeAFewPieces) {
  constexpr size_t kLarge = (40 << 20) + 3;
  const auto on = device(kDiscrete);
  const auto stream = on->stream();
  const auto buffer = on->allocate(kLarge + 256);
  const int before = fake_.live("MTLBuffer");
  std::vector<std::byte> source = bytes(kLarge), result(kLarge);
  for (const size_t size : {size_t{1}, size_t{1001}, kLarge}) {
    hal::HostBuffer from(source.data(), size), to(result.data(), size);
    stream->copy({buffer.get(), 256, size}, {&from, 0, size});
    stream->copy({&to, 0, size}, {buffer.get(), 256, size});
    stream->wait(stream->submit(), {});
    EXPECT_TRUE(
        std::equal(result.begin(), result.begin() + static_cast<ptrdiff_t>(size), source.begin()));
  }
  EXPECT_LE(fake_.live("MTLBuffer"), before + 4);
}

// While kernels are under way, what the host brings must not come before they are done with what
// was there.
TEST_F(Metal, WritesWaitForTheWorkBeforeThem) {
  for (const int index : {kUnified, kDiscrete}) {
    const Executor gpu = executor(0, index);
    Tensor sum = ops::zeros({1000}, DType::F32, gpu);
    for (int i = 1; i <= 20; i++) {
      const Tensor x =
          Tensor::from_vector(std::vector<float>(1000, static_cast<float>(i)), {1000}, gpu);
      sum = (sum + x).eval();
    }
    EXPECT_EQ(sum.to_vector<float>(), std::vector<float>(1000, 210));
  }
}

TEST_F(Metal, SmallWorkIsOneCommandBuffer) {
  const Executor gpu = executor();
  const Tensor x = ops::zeros({1000}, DType::F32, gpu).eval();
  static_cast<void>((x + 1).eval());
  gpu.synchronize();
  const int commits = fake_.sent("commit"), encoders = fake_.sent("computeCommandEncoder");
  for (int i = 0; i < 8; i++) static_cast<void>((x + i).eval());
  EXPECT_EQ(fake_.sent("commit"), commits);
  gpu.synchronize();
  EXPECT_EQ(fake_.sent("commit"), commits + 1);
  EXPECT_EQ(fake_.sent("computeCommandEncoder"), encoders + 1);
}

// The system ends command buffers that take long.
TEST_F(Metal, MuchWorkIsSeveralCommandBuffers) {
  const auto on = device();
  const auto stream = on->stream();
  const auto ready = on->compile(scale(), {});
  const auto memory = on->allocate(1024);
  const hal::Binding bound[] = {{memory.get(), 0, 1024}};
  const uint64_t scalars[] = {256, 0};
  hal::Launch launch;
  launch.executable = ready.get();
  launch.bindings = bound;
  launch.scalars = scalars;
  const int commits = fake_.sent("commit");
  for (int i = 0; i < 1030; i++) stream->launch(launch);
  stream->wait(stream->submit(), {});
  EXPECT_EQ(fake_.sent("commit"), commits + 3);
}

TEST_F(Metal, PagesOfTheHostAreUsedWhereTheyAre) {
  constexpr size_t kBytes = 2 << 20;
  void* const pages =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const numbers = static_cast<float*>(pages);
  constexpr int64_t kCount = kBytes / sizeof(float) - 100;
  std::iota(numbers, numbers + kCount, 0.0f);
  const char* const selector = "newBufferWithBytesNoCopy:length:options:deallocator:";
  {
    const Executor gpu = executor(), discrete = executor(0, kDiscrete);
    Array y = Array::borrow(DType::F32, {kCount}, static_cast<void*>(numbers));
    gpu.run(scale(), {{"y", y}, {"a", 2}});
    EXPECT_EQ(fake_.sent(selector), 1);
    EXPECT_EQ(numbers[kCount - 1], 2 * (kCount - 1));
    // One that the device will not have is copied.
    fake_.fail(selector, 0, 1, 0);
    gpu.run(scale(), {{"y", y}, {"a", 0.5}});
    EXPECT_EQ(numbers[kCount - 1], kCount - 1);
    discrete.run(scale(), {{"y", y}, {"a", 2}});
    EXPECT_EQ(numbers[kCount - 1], 2 * (kCount - 1));
    EXPECT_EQ(fake_.sent(selector), 2);
    // Work that is still under way has them when nobody else does.
    for (int i = 0; i < 10; i++) {
      const Tensor sum = ops::sum(Tensor::from(y, gpu));
      static_cast<void>(sum.eval());
    }
  }
  munmap(pages, kBytes);
}

TEST_F(Metal, ProgramsMayHaveManyNumbers) {
  std::string parameters, sum = "0.0";
  std::vector<Argument> arguments;
  Array y = counting(4);
  arguments.push_back({"y", y});
  constexpr int kCount = 1100;
  for (int i = 0; i < kCount; i++) {
    const std::string name = "a" + std::to_string(i);
    parameters += ", " + name + ": f32";
    arguments.push_back({name, 1});
  }
  std::string body;
  for (int i = 0; i < kCount; i++) body += "  y[i] = y[i] + a" + std::to_string(i) + "\n";
  const Program program =
      Program::parse("program many(inout y: f32[n]" + parameters +
                     ") lanes(n) {\n  i = global_id.x\n  if i < n {\n" + body + "  }\n}");
  executor().run(program, arguments);
  EXPECT_EQ(y.as<float>()[3], 3 + kCount);
}

TEST_F(Metal, GroupsThatAreTooLargeAreRefused) {
  const Executor gpu = executor();
  fake_.limit(64);
  EXPECT_EQ(message([&] { run(gpu); }, ErrorKind::UnsupportedOperation),
            "program 'scale' needs 256 of lanes in a workgroup, Emulated Apple GPU has 64");
  fake_.limit(1024);
  run(gpu);
}

TEST_F(Metal, AnyThreadMayUseIt) {
  const Executor gpu = executor();
  run(gpu);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; i++) {
        run(gpu);
        const Tensor x = Tensor::from(counting(1000), gpu) + static_cast<float>(i);
        EXPECT_EQ(x.to_vector<float>()[999], static_cast<float>(999 + i));
      }
      EXPECT_EQ(fake_.pools(), 0);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Metal, TensorsGoFromDeviceToDevice) {
  const Executor first = executor(), second = executor(0, kDiscrete), third = executor();
  Tensor x = Tensor::from(counting(1000), first);
  for (int i = 0; i < 10; i++) x = (((x + 1).to(second) + 1).to(third) + 1).to(first);
  EXPECT_EQ(x.to_vector<float>()[999], 999 + 30);
}

TEST_F(Metal, ArraysOutliveWhatTheyWereReadFrom) {
  Array kept;
  {
    const Executor gpu = executor();
    const Tensor x = Tensor::from(counting(1000), gpu) + 1;
    kept = x.array();
    static_cast<void>((x * 2).eval());
  }
  EXPECT_EQ(kept.as<float>()[999], 1000);
}

TEST_F(Metal, TimesAreTheDevices) {
  BackendConfig config;
  config.backend_type = BackendType::Metal;
  config.enable_backend_profiling = true;
  const Executor timed = Executor::from_config(config);
  const Tensor x = Tensor::from(counting(1000), timed);
  for (int i = 0; i < 10; i++) static_cast<void>(ops::exp(x).eval());
  const Profile profile = timed.profile();
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].launches, 10u);
  EXPECT_NEAR(profile.kernels[0].seconds, 10 * 5e-6, 1e-9) << "as the emulated device says";
}

TEST_F(Metal, EndlessLoopsAreStopped) {
  const Executor gpu = executor(2);
  const Program endless = Program::parse(kEndless);
  const std::vector<uint32_t> zeros(2);
  const auto try_it = [&] { gpu.run(endless, {{"y", Array::from(zeros, {2})}}); };
  EXPECT_EQ(message(try_it, ErrorKind::Timeout).find("program 'endless' ran longer than 2 ms on"),
            0u);
  run(executor());
}

TEST_F(Metal, LoopsAreCounted) {
  const Executor gpu = executor();
  const std::vector<uint32_t> zeros(64);
  RunOptions options;
  options.budget = 1000;
  const auto try_it = [&] {
    gpu.run(Program::parse(kEndless), {{"y", Array::from(zeros, {64})}}, options);
  };
  EXPECT_EQ(message(try_it, ErrorKind::Timeout),
            "program 'endless' went through more than 1000 loop rounds");
  run(gpu);
}

TEST_F(Metal, LongWorkCanBeCancelled) {
  const Executor gpu = executor();
  Progress progress;
  RunOptions options;
  options.progress = &progress;
  fake_.hang(true);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    progress.cancel = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    fake_.hang(false);
  });
  Array y = counting(300);
  message([&] { gpu.run(scale(), {{"y", y}, {"a", 2}}, options); }, ErrorKind::Cancelled);
  other.join();
  run(gpu);
}

// What does not end keeps the device, and its memory, until it does.
TEST_F(Metal, WhatHangsKeepsTheDeviceBusy) {
  const Executor gpu = executor(20), other = executor();
  run(gpu);
  const auto on = device();
  const auto stream = on->stream();
  const auto ready = on->compile(scale(), {});
  const auto memory = on->allocate(1024);
  const hal::Binding bound[] = {{memory.get(), 0, 1024}};
  const uint64_t scalars[] = {256, 0};
  hal::Launch launch;
  launch.executable = ready.get();
  launch.bindings = bound;
  launch.scalars = scalars;
  // A launch without a limit, which hangs, before one that has one.
  fake_.hang(true);
  stream->launch(launch);
  stream->submit();
  EXPECT_EQ(stream->wait({1}, hal::Clock::now() + std::chrono::milliseconds(20)),
            hal::State::Pending);
  fake_.hang(false);
  EXPECT_EQ(stream->wait({1}, {}), hal::State::Done);
  run(other);
}

}  // namespace
}  // namespace hologram
