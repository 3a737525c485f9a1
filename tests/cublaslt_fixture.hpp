// A test of cuBLASLt on the emulated driver, with the library emulated as well.
#pragma once

#include "backends/cuda/cuda.hpp"
#include "cuda_fixture.hpp"
#include "fake_cublaslt.hpp"
#include "product_cases.hpp"

namespace hologram {

class CublasLt : public CudaTest {
 public:
  CublasLt() {
    setenv("HOLOGRAM_CUBLASLT_LIBRARY", FAKE_CUBLASLT, 1);
    void* library = dlopen(FAKE_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)(FakeCublasLt*)>(dlsym(library, "fake_cublaslt"))(&library_);
  }
  ~CublasLt() override { EXPECT_STREQ(library_.wrong(), ""); }

 protected:
  static BackendConfig config() {
    BackendConfig config;
    config.backend_type = BackendType::Cuda;
    return config;
  }
  static std::shared_ptr<hal::Device> device(const BackendConfig& how = config()) {
    return std::get<std::shared_ptr<hal::Device>>(backends::cuda::backend().open(0, how));
  }
  static hal::Refusal refusal(const hal::GemmDesc& desc) {
    auto answer = device()->library()->plan(desc);
    auto* refused = std::get_if<hal::Refusal>(&answer);
    return refused == nullptr ? hal::Refusal{"nothing"} : *refused;
  }

  FakeCublasLt library_;
};

}  // namespace hologram
