// CUDA beside others: the application's context, stream and memory, several devices, and times by
// the device's clock.
#include <cstring>
#include <numeric>

#include "cuda_fixture.hpp"

namespace hologram {
namespace {

class CudaSharing : public CudaTest {
 protected:
  // What an application has.
  void* stream_in(void* context) {
    void* stream = nullptr;
    call("cuCtxPushCurrent_v2", context);
    EXPECT_EQ(call("cuStreamCreate", &stream, 1u), 0);
    call("cuCtxPopCurrent_v2", &context);
    return stream;
  }
  char* memory_in(void* context, const std::vector<float>& values) {
    unsigned long long memory = 0;
    call("cuCtxPushCurrent_v2", context);
    EXPECT_EQ(call("cuMemAlloc_v2", &memory, values.size() * sizeof(float)), 0);
    call("cuCtxPopCurrent_v2", &context);
    char* const bytes = reinterpret_cast<char*>(memory);  // NOLINT(performance-no-int-to-ptr)
    std::memcpy(bytes, values.data(), values.size() * sizeof(float));  // the emulated one's
    return bytes;
  }
  static Executor native(void* context, void* stream) {
    BackendConfig config;
    return Executor::from_native(context, stream, config);
  }
  static Executor on_stream(void* stream, int device = 0, BackendType type = BackendType::Cuda) {
    BackendConfig config;
    config.backend_type = type;
    config.device_id = device;
    return Executor::on_stream(stream, config);
  }
};

TEST_F(CudaSharing, AContextAndAStreamOfTheApplications) {
  void* const context = driver_.new_context(1);
  void* const stream = stream_in(context);
  {
    const Executor gpu = native(context, stream);
    EXPECT_EQ(gpu.device().name, "Second emulated GPU");
    EXPECT_EQ(gpu.why(), "cuda shares a context of the application");
    run(gpu);
    const Tensor t = Tensor::from(counting(1000), gpu);
    (t + 1).eval();
    EXPECT_EQ(t.to_vector<float>()[999], 999);
    EXPECT_EQ(driver_.live("stream"), 2) << "the application's, and one to stop work by";
    EXPECT_EQ(driver_.calls("cuDevicePrimaryCtxRetain"), 0) << "no context beside the given one";
  }
  EXPECT_EQ(driver_.live(nullptr), 1) << "its stream stays";
  // Again, on the default stream.
  run(native(context, nullptr));
  EXPECT_EQ(driver_.live(nullptr), 1);
}

TEST_F(CudaSharing, ThePrimaryContextIsTheOneThatEveryoneHas) {
  const Executor gpu = executor();
  void* primary = nullptr;
  call("cuDevicePrimaryCtxRetain", &primary, 7);
  const Executor same = native(primary, nullptr);
  EXPECT_EQ(same.device().name, "Emulated GPU");
  const Tensor t = Tensor::from(counting(10), gpu).to(same);
  EXPECT_EQ(t.to_vector<float>()[9], 9);
  EXPECT_EQ(driver_.calls("cuMemcpyPeerAsync"), 0);
}

// As another library has it, which gives memory and takes it back in the order of its stream.
TEST_F(CudaSharing, AGraphOnTheApplicationsStreamWaitsForNobody) {
  void* primary = nullptr;
  call("cuDevicePrimaryCtxRetain", &primary, 7);
  void* const stream = stream_in(primary);
  const Executor gpu = on_stream(stream);
  EXPECT_EQ(gpu.why(), "cuda shares a stream of the application");
  std::vector<float> values(1000), seen(1000);
  std::iota(values.begin(), values.end(), 3.f);
  char *const from = memory_in(primary, values), *const to = memory_in(primary, seen);
  const auto of = [&](char* memory) {
    return Tensor::from_device_pointer(memory, {1000}, DType::F32, {}, gpu);
  };
  const Graph graph =
      capture([](const Tensor& t) { return std::vector<Tensor>{ops::relu(t)}; }, of(from));
  driver_.copy(4000);  // what kernels do: the first argument into the second
  const auto waits = [&] {
    int count = 0;
    for (const char* name :
         {"cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuEventQuery"})
      count += driver_.calls(name);
    return count;
  };
  const int waited = waits(), launched = driver_.calls("cuGraphLaunch");
  for (int i = 0; i < 3; i++) graph.launch_into({of(from)}, {of(to)});
  EXPECT_EQ(waits(), waited);
  EXPECT_EQ(driver_.calls("cuGraphLaunch"), launched + 3);
  gpu.synchronize();
  std::memcpy(seen.data(), to, 4000);
  EXPECT_EQ(seen, values);

  // Memory whose values do not change, and other shapes.
  const Tensor own = Tensor::from(counting(1000), gpu);
  for (const std::vector<Tensor>& results :
       {std::vector<Tensor>{own}, {}, {of(to).reshape({10, 100})}})
    EXPECT_EQ(error_of([&] { graph.launch_into({of(from)}, results); }).kind(),
              ErrorKind::InvalidArgument);
  const Tensor host = Tensor::from(counting(1000), Executor(BackendType::Cpu));
  const Graph on_host = capture([](const Tensor& t) { return t + 1; }, host);
  EXPECT_EQ(error_of([&] { on_host.launch_into({host}, {host}); }).kind(),
            ErrorKind::InvalidArgument);
}

TEST_F(CudaSharing, StreamsThatWillNotDoAreTold) {
  const auto reason = [&](void* stream, int device) {
    return std::string(error_of([&] { on_stream(stream, device); }).what());
  };
  EXPECT_EQ(reason(stream_in(driver_.new_context(1)), 0),
            "CUDA backend not available: the stream is of another context");
  EXPECT_EQ(reason(&driver_, 0), "CUDA backend not available: the driver does not know the stream");
  EXPECT_NE(reason(nullptr, 9).find('9'), std::string::npos);
  run(on_stream(nullptr));
  EXPECT_EQ(error_of([&] { on_stream(nullptr, 0, BackendType::Cpu); }).kind(),
            ErrorKind::BackendUnavailable);
}

TEST_F(CudaSharing, WhatIsNoContextIsTold) {
  void* const context = driver_.new_context(0);
  void* const stream = stream_in(context);
  const auto reason = [&](void* c, void* s) {
    const Error error = error_of([&] { native(c, s); });
    EXPECT_EQ(error.kind(), ErrorKind::BackendUnavailable);
    return std::string(error.what());
  };
  EXPECT_EQ(reason(nullptr, nullptr), "CUDA backend not available: no context was given");
  EXPECT_EQ(reason(driver_.new_context(1), stream),
            "CUDA backend not available: the stream is of another context");
  EXPECT_EQ(reason(context, &driver_),
            "CUDA backend not available: the driver does not know the stream");
  driver_.fail("cuCtxPushCurrent_v2", 0, 1, 201);
  EXPECT_EQ(reason(context, stream),
            "CUDA backend not available: its context cannot be entered: an injected failure "
            "(CUDA_ERROR)");
  BackendConfig cpu;
  cpu.backend_type = BackendType::Cpu;
  EXPECT_EQ(error_of([&] { Executor::from_native(context, stream, cpu); }).kind(),
            ErrorKind::BackendUnavailable);
  run(native(context, stream));
}

TEST_F(CudaSharing, MemoryOfTheApplicationsIsATensor) {
  void* const context = driver_.new_context(0);
  const Executor gpu = native(context, stream_in(context));
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), 5.0f);
  char* const memory = memory_in(context, values);
  void* released = nullptr;
  const int uploads = driver_.calls("cuMemcpyHtoDAsync_v2");
  Tensor t = Tensor::from_device_pointer(
      memory, {10, 10}, DType::F32, [&](void* given) { released = given; }, gpu);
  EXPECT_EQ(t.to_vector<float>(), values);
  Tensor sum = (t + 1).eval();
  EXPECT_EQ(driver_.ran(0).arguments[0], reinterpret_cast<uint64_t>(memory));
  EXPECT_EQ(driver_.calls("cuMemcpyHtoDAsync_v2"), uploads) << "nothing is copied";
  const Tensor row = t.select(0, 3);
  // Assigning gives the tensor memory of its own.
  t.assign(t * 2);
  std::vector<float> now(100);
  std::memcpy(now.data(), memory, 400);
  EXPECT_EQ(now, values);
  t = Tensor();
  EXPECT_EQ(released, nullptr) << "a view still uses it";
  const_cast<Tensor&>(row) = Tensor();
  EXPECT_EQ(released, memory);
}

// Others read a result where it lies, and are done with it before its memory is anybody's again.
TEST_F(CudaSharing, AResultIsLentWhereItLies) {
  const Executor gpu = executor();
  std::vector<float> values(100), seen(100);
  std::iota(values.begin(), values.end(), 0.f);
  Tensor t = Tensor::from_vector(values, {10, 10}, gpu);
  const int downloads = driver_.calls("cuMemcpyDtoHAsync_v2");
  int waits = driver_.calls("cuCtxSynchronize");
  DeviceMemory lent = t.device_memory();
  EXPECT_GT(driver_.calls("cuCtxSynchronize"), waits);
  EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2"), downloads) << "nothing is copied";
  t = Tensor();
  std::memcpy(seen.data(), lent.address, 400);
  EXPECT_EQ(seen, values);
  waits = driver_.calls("cuCtxSynchronize");
  lent.owner.reset();
  EXPECT_EQ(driver_.calls("cuCtxSynchronize"), waits + 1);

  const Tensor host = Tensor::from_vector(values, {10, 10}, Executor(BackendType::Cpu));
  const DeviceMemory row = host.select(0, 3).device_memory();
  const auto* const begin = static_cast<const float*>(row.address);
  EXPECT_EQ(std::vector<float>(begin, begin + 10),
            std::vector<float>(values.begin() + 30, values.begin() + 40));
}

TEST_F(CudaSharing, MemoryThatWillNotDoIsTold) {
  const Executor gpu = executor();
  void* const other = driver_.new_context(1);
  void* primary = nullptr;
  call("cuDevicePrimaryCtxRetain", &primary, 7);
  char* const memory = memory_in(primary, std::vector<float>(100));
  char* const elsewhere = memory_in(other, std::vector<float>(100));
  std::vector<float> host(100);
  bool called = false;
  const auto reason = [&](void* given, int64_t count, const Executor& where) {
    const Error error = error_of([&] {
      Tensor::from_device_pointer(
          given, {count}, DType::F32, [&](void*) { called = true; }, where);
    });
    EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument);
    EXPECT_FALSE(error.remedy().empty());
    const std::string what = error.what();
    return what.substr(what.find(": ") + 2);
  };
  EXPECT_EQ(reason(host.data(), 100, gpu), "it is not memory of a device");
  EXPECT_EQ(reason(nullptr, 100, gpu), "it is not memory of a device");
  EXPECT_EQ(reason(elsewhere, 100, gpu), "it is memory of device 1");
  EXPECT_EQ(reason(memory, 101, gpu), "404 bytes are needed, and its allocation ends after 400");
  EXPECT_EQ(reason(memory + 16, 100, gpu),
            "400 bytes are needed, and its allocation ends after 384");
  EXPECT_EQ(reason(memory + 4, 99, gpu), "it is not aligned to 16 bytes");
  EXPECT_EQ(reason(memory, 100, Executor(BackendType::Cpu)),
            "the device has no pointers that others could give it");
  EXPECT_EQ(
      error_of([&] { Tensor::from_device_pointer(memory, {-1}, DType::F32, nullptr, gpu); }).kind(),
      ErrorKind::ShapeMismatch);
  EXPECT_FALSE(called);
  EXPECT_EQ(Tensor::from_device_pointer(memory + 16, {96}, DType::F32, nullptr, gpu).size(), 96);
  EXPECT_EQ(Tensor::from_device_pointer(nullptr, {0}, DType::F32, nullptr, gpu).size(), 0);
}

TEST_F(CudaSharing, FromOneDeviceToAnother) {
  BackendConfig config;
  config.backend_type = BackendType::Cuda;
  config.device_id = 1;
  const Executor first = executor(), second = Executor::from_config(config);
  const Tensor t = Tensor::from(counting(1000), first);
  const int downloads = driver_.calls("cuMemcpyDtoHAsync_v2");
  const Tensor there = t.to(second);
  EXPECT_EQ(there.executor().device().name, "Second emulated GPU");
  EXPECT_EQ(driver_.calls("cuMemcpyPeerAsync"), 1);
  EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2"), downloads) << "not through the host";
  EXPECT_EQ(there.to_vector<float>(), t.to_vector<float>());
  EXPECT_EQ(there.reshape({10, 100}).select(0, 2).to(first).shape(), Shape{100});
  EXPECT_EQ(Tensor::from(counting(0), first).to(second).size(), 0);
  EXPECT_EQ(driver_.calls("cuCtxEnablePeerAccess"), 2) << "once each way";
  // Where the driver cannot, the host can.
  driver_.fail("cuMemcpyPeerAsync", 0, 1, 217);
  EXPECT_EQ(t.to(second).to_vector<float>(), t.to_vector<float>());
  EXPECT_EQ(t.to(Executor(BackendType::Cpu)).to_vector<float>(), t.to_vector<float>());
}

// The emulated clock goes on by 5 us a kernel.
TEST_F(CudaSharing, TimesAreTheDevices) {
  BackendConfig config;
  config.backend_type = BackendType::Cuda;
  config.enable_backend_profiling = true;
  const Executor gpu = Executor::from_config(config);
  const Tensor t = Tensor::from(counting(1000), gpu);
  gpu.synchronize();
  const int waits = driver_.calls("cuEventSynchronize") + driver_.calls("cuEventQuery");
  for (int i = 0; i < 100; i++) ops::relu(t).eval();
  EXPECT_EQ(driver_.calls("cuEventSynchronize") + driver_.calls("cuEventQuery"), waits)
      << "nobody waits for a launch";
  run(gpu);
  for (int i = 0; i < 1000; i++) ops::relu(t).eval();
  const Profile profile = gpu.profile();
  ASSERT_EQ(profile.kernels.size(), 2u);
  EXPECT_EQ(profile.kernels[0].kernel, "fused_relu");
  EXPECT_EQ(profile.kernels[0].launches, 1100u);
  EXPECT_NEAR(profile.kernels[0].seconds, 1100 * 5e-6, 1e-9);
  EXPECT_NEAR(profile.kernels[0].shortest, 5e-6, 1e-9);
  EXPECT_EQ(profile.kernels[1].kernel, "scale");
  EXPECT_NEAR(profile.kernels[1].seconds, 5e-6, 1e-9);
  EXPECT_LT(driver_.live("event"), 1000) << "events are used again";
  double end = 0;
  for (const LaunchRecord& launch : profile.launches) {
    EXPECT_GE(launch.start, end - 1e-9);
    end = launch.start + launch.seconds;
  }
  // A launch that cannot be timed is done all the same.
  driver_.fail("cuEventCreate", 0, 1, 1);
  driver_.fail("cuEventElapsedTime", 0, 1, 1);
  ops::relu(t).eval();
  EXPECT_NO_THROW(static_cast<void>(gpu.profile()));
}

}  // namespace
}  // namespace hologram
