// What the WebGPU backend makes of a library that fails. The library is emulated and computes
// nothing; each test wants a process of its own, as ctest gives it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <variant>
#include <vector>

#include "backends/webgpu/webgpu.hpp"
#include "fake_webgpu.hpp"
#include "hologram/error.hpp"
#include "hologram/ops.hpp"

namespace hologram {
namespace {

class WebGpuFaults : public testing::Test {
 public:
  WebGpuFaults() {
    setenv("HOLOGRAM_WEBGPU_LIBRARY", FAKE_WEBGPU, 1);
    setenv("FAKE_WEBGPU_MEMORY", "2147483648", 1);
    void* const library = dlopen(FAKE_WEBGPU, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)(FakeWebGpu*)>(dlsym(library, "fake_webgpu"))(&fake_);
    device_ = std::get<std::shared_ptr<hal::Device>>(backends::webgpu::backend().open(0, {}));
    stream_ = device_->stream();
  }
  ~WebGpuFaults() override {
    fake_.fail(nullptr, 0, 0);
    EXPECT_STREQ(fake_.wrong(), "");
  }

 protected:
  static std::vector<std::byte> bytes(size_t count) {
    std::vector<std::byte> values(count);
    for (size_t i = 0; i < count; i++) values[i] = static_cast<std::byte>(i * 7 + i / 251);
    return values;
  }
  void write(hal::Buffer& to, std::vector<std::byte> from) {
    hal::HostBuffer host(from.data(), from.size());
    stream_->copy({&to, 256, from.size()}, {&host, 0, from.size()});
  }
  std::vector<std::byte> read(hal::Buffer& from, size_t size) {
    std::vector<std::byte> to(size);
    hal::HostBuffer host(to.data(), size);
    stream_->copy({&host, 0, size}, {&from, 256, size});
    stream_->wait(stream_->submit(), {});
    return to;
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

  FakeWebGpu fake_;
  std::shared_ptr<hal::Device> device_;
  std::unique_ptr<hal::Stream> stream_;
};

// Work that is worth a submission begins before anybody waits for it. While one is at work, the
// next one is there already, and what comes then is gathered.
TEST_F(WebGpuFaults, LargeWorkIsHandedOverAheadOfTheDevice) {
  const Executor gpu(BackendType::WebGpu);
  const Tensor x = ops::zeros({12 << 20}, DType::F32, gpu).eval();
  gpu.synchronize();
  constexpr int kLooks = 4;  // each submission that would be one too many takes one
  fake_.work(kLooks);
  const auto submissions = [&, before = fake_.calls("wgpuQueueSubmit")] {
    return fake_.calls("wgpuQueueSubmit") - before;
  };
  std::vector<int> after;
  for (int i = 0; i < 8; i++) {
    static_cast<void>((x + i).eval());
    after.push_back(submissions());
  }
  EXPECT_EQ(after, (std::vector<int>{1, 2, 2, 2, 2, 3, 4, 4}));
  gpu.synchronize();
  EXPECT_EQ(submissions(), 5);
}

// Dawn tells of more than the largest buffer takes.
TEST_F(WebGpuFaults, TheMemoryOfTheAdapterIsTold) {
  const Executor gpu(BackendType::WebGpu);
  EXPECT_EQ(gpu.device().total_memory, uint64_t{2} << 30);
  EXPECT_EQ(gpu.device().max_allocation, uint64_t{1} << 30);
}

TEST_F(WebGpuFaults, SmallWorkIsGathered) {
  const Executor gpu(BackendType::WebGpu);
  const Tensor x = ops::zeros({1000}, DType::F32, gpu).eval();
  gpu.synchronize();
  const int before = fake_.calls("wgpuQueueSubmit");
  for (int i = 0; i < 8; i++) static_cast<void>((x + i).eval());
  EXPECT_EQ(fake_.calls("wgpuQueueSubmit"), before);
  gpu.synchronize();
  EXPECT_EQ(fake_.calls("wgpuQueueSubmit"), before + 1);
}

TEST_F(WebGpuFaults, ALaunchLikeTheLastOneSetsNothing) {
  const Program program = Program::parse(
      "program add(inout y: f32[n], a: f32) lanes(n) {\n  i = global_id.x\n"
      "  if i < n { y[i] = y[i] + a }\n}");
  const auto ready = device_->compile(program, {});
  const auto one = device_->allocate(512), other = device_->allocate(512);
  const auto launch = [&](hal::Buffer& buffer, uint32_t a) {
    const hal::Binding bindings[] = {{&buffer, 0, 512}};
    std::vector<uint64_t> scalars = {128, a};
    scalars.resize(program.scalars().size());
    hal::Launch launch;
    launch.executable = ready.get();
    launch.bindings = bindings;
    launch.scalars = scalars;
    stream_->launch(launch);
  };
  const auto calls = [&](const char* what) {
    return fake_.calls((std::string("wgpuComputePassEncoder") + what).c_str());
  };
  stream_->wait(stream_->submit(), {});
  const int pipelines = calls("SetPipeline"), groups = calls("SetBindGroup"),
            launches = calls("DispatchWorkgroups");
  for (int i = 0; i < 5; i++) launch(*one, 1);
  EXPECT_EQ(calls("SetBindGroup"), groups + 1);
  launch(*one, 2);
  EXPECT_EQ(calls("SetBindGroup"), groups + 2) << "other parameters";
  launch(*other, 2);
  EXPECT_EQ(calls("SetBindGroup"), groups + 3) << "another buffer";
  EXPECT_EQ(calls("SetPipeline"), pipelines + 1);
  stream_->wait(stream_->submit(), {});
  launch(*other, 2);
  EXPECT_EQ(calls("SetPipeline"), pipelines + 2) << "another pass";
  EXPECT_EQ(calls("SetBindGroup"), groups + 4);
  EXPECT_EQ(calls("DispatchWorkgroups"), launches + 8);
}

constexpr size_t kSmall = 1001, kLarge = (50 << 20) + 3;  // in one piece, and in more than are kept

TEST_F(WebGpuFaults, CopiesOfAnySizeTakeAFewPieces) {
  const auto buffer = device_->allocate(kLarge + 256);
  const int before = fake_.live();
  // Up to a piece, and a little more.
  for (const size_t size : {size_t{3}, kSmall, size_t{8} << 20, (size_t{8} << 20) + 1, kLarge}) {
    SCOPED_TRACE(size);
    const std::vector<std::byte> values = bytes(size);
    for (int again = 0; again < 2; again++) {
      write(*buffer, values);
      EXPECT_TRUE(read(*buffer, size) == values);
    }
  }
  EXPECT_LE(fake_.live() - before, 8);
  // Small ones go through the queue.
  const int queued = fake_.calls("wgpuQueueWriteBuffer");
  write(*buffer, bytes(kLarge));
  EXPECT_EQ(fake_.calls("wgpuQueueWriteBuffer"), queued);
  write(*buffer, bytes(kSmall));
  EXPECT_GT(fake_.calls("wgpuQueueWriteBuffer"), queued);
}

TEST_F(WebGpuFaults, WithLittleMemoryCopiesTakeFewerPieces) {
  const std::vector<std::byte> values = bytes(kLarge);
  for (const int pieces : {1, 2, 3}) {
    SCOPED_TRACE(pieces);
    const auto buffer = device_->allocate(kLarge + 256);
    fake_.fail("wgpuDeviceCreateBuffer", pieces, 1000);
    write(*buffer, values);
    fake_.fail("wgpuDeviceCreateBuffer", pieces, 1000);
    EXPECT_TRUE(read(*buffer, kLarge) == values);
    fake_.fail(nullptr, 0, 0);
  }
}

TEST_F(WebGpuFaults, WithoutMemoryForAPieceCopiesSaySo) {
  const auto buffer = device_->allocate(kLarge + 256);
  fake_.fail("wgpuDeviceCreateBuffer", 0, 1000);
  message([&] { write(*buffer, bytes(kLarge)); }, ErrorKind::OutOfMemory);
  message([&] { read(*buffer, kLarge); }, ErrorKind::OutOfMemory);
  fake_.fail(nullptr, 0, 0);
  write(*buffer, bytes(kLarge));
  EXPECT_TRUE(read(*buffer, kLarge) == bytes(kLarge));
}

TEST_F(WebGpuFaults, MappingsThatFailAreTold) {
  const auto buffer = device_->allocate(kLarge + 256);
  const std::vector<std::byte> values = bytes(kLarge);
  for (const char* const call : {"wgpuBufferMapAsync", "wgpuBufferGetMappedRange"})
    for (const int skip : {0, 1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << call << " after " << skip);
      fake_.fail(call, skip, 1);
      const auto twice = [&] {
        write(*buffer, values);
        write(*buffer, values);
      };
      const std::string text = message(twice, ErrorKind::DeviceLost);
      EXPECT_NE(text.find("wgpuBufferMapAsync"), std::string::npos) << text;
      fake_.fail(call, skip, 1);
      const std::string other = message([&] { read(*buffer, kLarge); }, ErrorKind::DeviceLost);
      EXPECT_NE(other.find("wgpuBufferMapAsync"), std::string::npos) << other;
      EXPECT_EQ(call == std::string("wgpuBufferMapAsync"),
                other.find("it may not be") != std::string::npos)
          << other;
      fake_.fail(nullptr, 0, 0);
      write(*buffer, values);
      EXPECT_TRUE(read(*buffer, kLarge) == values);
    }
}

TEST_F(WebGpuFaults, ADeviceThatIsLostIsTold) {
  const auto buffer = device_->allocate(kLarge + 256);
  write(*buffer, bytes(kLarge));
  fake_.lose("somebody pulled it out");
  for (int again = 0; again < 2; again++) {
    const auto text = message([&] { write(*buffer, bytes(kLarge)); }, ErrorKind::DeviceLost);
    EXPECT_NE(text.find("pulled it out"), std::string::npos) << text;
    message([&] { read(*buffer, kLarge); }, ErrorKind::DeviceLost);
  }
}

Executor executor() { return Executor(BackendType::WebGpu); }

// Of nothing that is right, as the library computes nothing.
std::vector<Tensor> several_kernels(const Executor& on) {
  const Tensor x = Tensor::from_vector(std::vector<float>(4000, 0.5f), {10, 400}, on);
  return {ops::softmax(x, 1), ops::sort(ops::tanh(x), 1), ops::cumsum(ops::exp(x), 0),
          ops::argmax(x, 0)};
}

TEST_F(WebGpuFaults, KernelsOfAnEvaluationAreMadeSideBySide) {
  const Executor on = executor();
  eval(several_kernels(on));
  EXPECT_GE(fake_.most_made(), 4);
  const int made = fake_.calls("wgpuDeviceCreateComputePipelineAsync");
  eval(several_kernels(on));
  EXPECT_EQ(fake_.calls("wgpuDeviceCreateComputePipelineAsync"), made);
}

TEST_F(WebGpuFaults, KernelsThatCannotBeMadeAreToldByTheEvaluation) {
  for (const int skip : {0, 1, 3}) {
    SCOPED_TRACE(skip);
    fake_.fail("wgpuDeviceCreateComputePipelineAsync", skip, 1000);
    const Executor on = executor();
    for (int again = 0; again < 2; again++) {
      const auto text = message([&] { eval(several_kernels(on)); }, ErrorKind::Internal);
      EXPECT_NE(text.find("does not compile"), std::string::npos) << text;
      EXPECT_NE(text.find("it is too hard"), std::string::npos) << text;
    }
  }
  fake_.fail(nullptr, 0, 0);
  eval(several_kernels(executor()));
}

TEST_F(WebGpuFaults, AProgramOfAUserIsToldWhenItIsCompiled) {
  const Program program = Program::parse(
      "program twice(inout y: f32[n]) lanes(n) { y[global_id.x] = y[global_id.x] * 2.0 }");
  fake_.fail("wgpuDeviceCreateComputePipelineAsync", 0, 1);
  const auto text = message([&] { device_->compile(program, {}); }, ErrorKind::Internal);
  EXPECT_NE(text.find("'twice' does not compile"), std::string::npos) << text;
  device_->compile(program, {});
}

}  // namespace
}  // namespace hologram
