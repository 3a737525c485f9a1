// A test of the CUDA backend on the emulated driver.
#pragma once

#include "driver_fixture.hpp"

namespace hologram {

class CudaTest : public DriverTest {
 public:
  CudaTest() : DriverTest(kCuda) {
    setenv("HOLOGRAM_CUBLASLT_LIBRARY", "none", 1);
    setenv("HOLOGRAM_CUDNN_LIBRARY", "none", 1);
    unsetenv("FAKE_CUDA_CAPABILITY");
  }

 protected:
  static Executor executor(uint64_t timeout_ms = 0) {
    return executor_on(BackendType::Cuda, timeout_ms);
  }
};

}  // namespace hologram
