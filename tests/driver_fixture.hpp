// A test of a backend on an emulated driver, CUDA's or HIP's. Each test wants a process of its own,
// as a process has one driver of each: ctest gives it one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "fake_cuda.hpp"
#include "hologram/hologram.hpp"

namespace hologram {
namespace fs = std::filesystem;

inline constexpr int kIllegalAddress = 700, kOutOfMemory = 2, kNoImage = 200;

struct Emulation {
  BackendType backend;
  const char *library, *entry;                    // the file, and what tells how to steer it
  const char *driver_setting, *compiler_setting;  // where hologram looks for them
};
inline constexpr Emulation kCuda = {BackendType::Cuda, FAKE_CUDA, "fake_cuda",
                                    "HOLOGRAM_CUDA_LIBRARY", "HOLOGRAM_NVRTC_LIBRARY"};
#ifdef FAKE_HIP
inline constexpr Emulation kHip = {BackendType::Rocm, FAKE_HIP, "fake_hip", "HOLOGRAM_HIP_LIBRARY",
                                   "HOLOGRAM_HIPRTC_LIBRARY"};
#endif

inline Executor executor_on(BackendType backend, uint64_t timeout_ms = 0, int device = 0) {
  BackendConfig config;
  config.backend_type = backend;
  config.device_id = device;
  config.timeout_ms = timeout_ms;
  return Executor::from_config(config);
}

inline void PrintTo(const Emulation* emulation, std::ostream* out) {
  *out << name_of(emulation->backend);
}
// For the names of tests.
inline std::string name_of_backend(const testing::TestParamInfo<const Emulation*>& info) {
  return std::string(name_of(info.param->backend));
}

class DriverTest : public testing::Test {
 public:
  explicit DriverTest(const Emulation& emulation) {
    setenv(emulation.driver_setting, emulation.library, 1);
    setenv(emulation.compiler_setting, emulation.library, 1);
    setenv("HOLOGRAM_HIPBLASLT_LIBRARY", "none", 1);
    setenv("HOLOGRAM_ROCBLAS_LIBRARY", "none", 1);
    folder_ = fs::temp_directory_path() / ("hologram-driver-test-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    library_ = dlopen(emulation.library, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    reinterpret_cast<void (*)(FakeCuda*)>(dlsym(library_, emulation.entry))(&driver_);
  }
  ~DriverTest() override {
    driver_.fail(nullptr, 0, 0, 0);
    EXPECT_EQ(driver_.depth(), 0) << "a context was left behind";
    fs::remove_all(folder_);
  }

 protected:
  // A function of the driver, as the application calls it: by types of its own, which the sanitizer
  // of undefined behaviour would not let pass.
  template <class... Parameters>
#if defined(__clang__)
  __attribute__((no_sanitize("function")))
#endif
  int call(const char* name, Parameters... parameters) const {
    return reinterpret_cast<int (*)(Parameters...)>(dlsym(library_, name))(parameters...);
  }

  void* library_ = nullptr;
  FakeCuda driver_;
  fs::path folder_;
};

inline Program scale(const std::string& name = "scale") {
  return Program::parse("program " + name + R"((inout y: f32[n], a: f32) lanes(n) {
    i = global_id.x
    if i < n { y[i] = y[i] * a }
  })");
}

inline Array counting(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  return Array::from(numbers, {static_cast<int64_t>(count)});
}

template <class Work>
Error error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::Internal, "no error", ""};
}

inline void run(const Executor& executor, const Program& program = scale(),
                Array y = counting(300)) {
  executor.run(program, {{"y", std::move(y)}, {"a", 2}});
}

}  // namespace hologram
