// A test of a library of CUDA's on the emulated driver, with the library emulated as well.
#pragma once

#include "backends/cuda/cuda.hpp"
#include "cuda_fixture.hpp"

namespace hologram {

// `Fake` is the table of functions that `entry` of the emulation at `path` fills; the library is
// looked for where `variable` says.
template <class Fake>
class CudaLibraryTest : public CudaTest {
 public:
  CudaLibraryTest(const char* variable, const char* path, const char* entry) {
    setenv(variable, path, 1);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)(Fake*)>(dlsym(library, entry))(&library_);
  }
  ~CudaLibraryTest() override { EXPECT_STREQ(library_.wrong(), ""); }

 protected:
  static BackendConfig config() {
    BackendConfig config;
    config.backend_type = BackendType::Cuda;
    return config;
  }
  static std::shared_ptr<hal::Device> device(const BackendConfig& how = config()) {
    return std::get<std::shared_ptr<hal::Device>>(backends::cuda::backend().open(0, how));
  }

  Fake library_;
};

}  // namespace hologram
