// Tests that run on every backend but the CPU, where there is such a device; else they are skipped
// with the reason.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "hal/exactness.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "runtime/executor_state.hpp"

namespace hologram::tests {

class OnDevice : public testing::TestWithParam<BackendType> {
 protected:
  void SetUp() override {
    try {
      device_.emplace(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::optional<Executor> device_;
};

// Of relaxed devices nothing is promised, but those of WebGPU are seen to have the CPU's bits but
// for denormals; a device that divides carelessly is no match.
class OnExactDevice : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!device_) return;
    exact_ = device_->device().numerics == Numerics::Exact ||
             hal::computes_exactly(*device_->state()->device);
    if (!exact_ && device_->device().backend != BackendType::WebGpu)
      GTEST_SKIP() << "it does not compute exactly";
  }

  bool exact_ = false;  // denormals, too
};

inline auto all_devices() {
  return testing::Values(BackendType::Cuda, BackendType::Rocm, BackendType::Metal,
                         BackendType::OpenCl, BackendType::WebGpu);
}
inline std::string device_name(const testing::TestParamInfo<BackendType>& info) {
  return std::string(name_of(info.param));
}

}  // namespace hologram::tests
