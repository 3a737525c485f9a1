// A test of the Metal backend on the emulated Metal. Each test wants a process of its own, as a
// process has one driver: ctest gives it one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <variant>

#include "backends/metal/metal.hpp"
#include "emulated/kernel_library.hpp"
#include "fake_metal.hpp"
#include "hologram/hologram.hpp"

namespace hologram {

class MetalTest : public testing::Test {
 public:
  MetalTest() {
    setenv("HOLOGRAM_METAL_LIBRARY", FAKE_METAL, 1);
    setenv("HOLOGRAM_OBJC_LIBRARY", FAKE_METAL, 1);
    setenv("FAKE_METAL_ORDER", "random", 1);
    library_ = dlopen(FAKE_METAL, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    reinterpret_cast<void (*)(FakeMetal*)>(dlsym(library_, "fake_metal"))(&fake_);
  }
  // Whatever a test did, it has released everything and kept to the rules.
  ~MetalTest() override {
    fake_.fail(nullptr, 0, 0, 0);
    fake_.hang(false);
    EXPECT_STREQ(fake_.faults(), "");
    EXPECT_EQ(fake_.live(nullptr), 0) << "objects are left";
    EXPECT_EQ(fake_.pools(), 0) << "a pool is left";
  }

 protected:
  void SetUp() override {
    const emulated::KernelLibrary library(EMULATED_KERNELS, {},
                                          emulated::KernelLibrary::Text::Metal);
    if (!library.reason().empty()) GTEST_SKIP() << library.reason();
  }

  static constexpr int kUnified = 0, kDiscrete = 1;  // devices

  static Executor executor(uint64_t timeout_ms = 0, int device = kUnified) {
    BackendConfig config;
    config.backend_type = BackendType::Metal;
    config.device_id = device;
    config.timeout_ms = timeout_ms;
    return Executor::from_config(config);
  }
  static std::shared_ptr<hal::Device> device(int index = kUnified) {
    auto opened = backends::metal::backend().open(index, {});
    if (const auto* refusal = std::get_if<hal::Refusal>(&opened)) {
      ADD_FAILURE() << refusal->reason;
      return nullptr;
    }
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

  void* library_ = nullptr;
  FakeMetal fake_;
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

inline void run(const Executor& executor, const Program& program = scale()) {
  Array y = counting(300);
  executor.run(program, {{"y", y}, {"a", 2}});
  EXPECT_EQ(y.as<float>()[299], 598);
}

}  // namespace hologram
