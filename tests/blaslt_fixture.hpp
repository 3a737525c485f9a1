// A test of cuBLASLt or hipBLASLt, both emulated, each on its emulated driver.
#pragma once

#include "backends/cuda/cuda.hpp"
#include "backends/rocm/rocm.hpp"
#include "driver_fixture.hpp"
#include "fake_blaslt.hpp"
#include "libraries/blaslt/vendor.hpp"
#include "product_cases.hpp"

namespace hologram {

struct BlasLtEmulation {
  const libraries::blaslt::Vendor& vendor;
  const Emulation& driver;
  const char *library, *entry;
  hal::Backend& (*backend)();
};
inline constexpr BlasLtEmulation kOfCuda = {libraries::blaslt::kCublasLt, kCuda, FAKE_CUBLASLT,
                                            "fake_cublaslt", backends::cuda::backend};
inline constexpr BlasLtEmulation kOfRocm = {libraries::blaslt::kHipblasLt, kHip, FAKE_HIPBLASLT,
                                            "fake_hipblaslt", backends::rocm::backend};

inline void PrintTo(const BlasLtEmulation* emulation, std::ostream* out) {
  *out << emulation->vendor.name;
}

class OnBlasLt : public DriverTest {
 public:
  explicit OnBlasLt(const BlasLtEmulation& emulation)
      : DriverTest(emulation.driver), of_(emulation) {
    setenv("HOLOGRAM_CUDNN_LIBRARY", "none", 1);
    setenv(of_.vendor.variable, of_.library, 1);
    void* library = dlopen(of_.library, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)(FakeBlasLt*)>(dlsym(library, of_.entry))(&library_);
  }
  ~OnBlasLt() override { EXPECT_STREQ(library_.wrong(), ""); }

 protected:
  BackendConfig config() const {
    BackendConfig config;
    config.backend_type = of_.driver.backend;
    return config;
  }
  std::shared_ptr<hal::Device> device(const BackendConfig& how) const {
    return std::get<std::shared_ptr<hal::Device>>(of_.backend().open(0, how));
  }
  std::shared_ptr<hal::Device> device() const { return device(config()); }
  hal::Refusal refusal(const hal::GemmDesc& desc) const {
    auto answer = device()->library()->plan(desc);
    auto* refused = std::get_if<hal::Refusal>(&answer);
    if (refused == nullptr) return {"nothing"};
    // What AMD's other library says, which is not there, follows.
    refused->reason = refused->reason.substr(0, refused->reason.find("; rocBLAS: "));
    return *refused;
  }
  // With the library's name before what is the same of both.
  std::string name(const char* rest) const { return std::string(of_.vendor.prefix) + rest; }
  std::string named(const std::string& rest) const { return of_.vendor.name + rest; }

  const BlasLtEmulation& of_;
  FakeBlasLt library_;
};

}  // namespace hologram
