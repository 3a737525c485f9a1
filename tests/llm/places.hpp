// Where language models are run: on the CPU, interpreted and compiled, and on the devices there
// are.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>

#include "hologram/error.hpp"
#include "hologram/executor_builder.hpp"
#include "webgpu_fixture.hpp"

namespace hologram::tests {

struct Place {
  const char* name;
  BackendType backend = BackendType::Cpu;
  Jit jit = Jit::Off;
  int threads = 1;
  bool check = false;  // each access
};
inline void PrintTo(const Place& place, std::ostream* to) { *to << place.name; }
inline constexpr Place kPlaces[] = {
    {"interpreted"},
    {"compiled", BackendType::Cpu, Jit::Always, 2},
    {"checked", BackendType::Cpu, Jit::Off, 2, true},
    {"cuda", BackendType::Cuda},
    {"opencl", BackendType::OpenCl},
    {"webgpu", BackendType::WebGpu},
};

// Skips where there is no such device.
class OnPlaces : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    if (GetParam().backend == BackendType::WebGpu) use_fetched_webgpu();
    try {
      executor_.emplace(builder().build());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static ExecutorBuilder builder() {
    return ExecutorBuilder()
        .backend(GetParam().backend)
        .jit(GetParam().jit)
        .threads(GetParam().threads)
        .check(GetParam().check);
  }
  const Executor& executor() const { return *executor_; }
  // In software they take seconds for each program.
  bool is_slow() const {
    return GetParam().backend == BackendType::WebGpu || GetParam().backend == BackendType::OpenCl;
  }

 private:
  std::optional<Executor> executor_;
};
inline std::string place_name(const testing::TestParamInfo<Place>& info) { return info.param.name; }

}  // namespace hologram::tests
