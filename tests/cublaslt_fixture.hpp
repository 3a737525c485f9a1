// A test of cuBLASLt on the emulated driver, with the library emulated as well.
#pragma once

#include "cuda_library_fixture.hpp"
#include "fake_blaslt.hpp"
#include "product_cases.hpp"

namespace hologram {

inline constexpr int kAllocFailed = 3, kExecutionFailed = 13,
                     kInternalError = 14;  // cublasStatus_t

class CublasLt : public CudaLibraryTest<FakeBlasLt> {
 public:
  CublasLt() : CudaLibraryTest("HOLOGRAM_CUBLASLT_LIBRARY", FAKE_CUBLASLT, "fake_cublaslt") {}

 protected:
  static hal::Refusal refusal(const hal::GemmDesc& desc) {
    auto answer = device()->library()->plan(desc);
    auto* refused = std::get_if<hal::Refusal>(&answer);
    return refused == nullptr ? hal::Refusal{"nothing"} : *refused;
  }
};

}  // namespace hologram
