#include "backends/rocm/rocm.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/driver/device.hpp"
#include "backends/rocm/driver.hpp"

namespace hologram::backends::rocm {
namespace {

namespace blaslt = libraries::blaslt;
using driver::Gpu;

// The matrix units of these GPUs take denormals of f16 and bf16 for 0.
constexpr std::string_view kFlushes = "gfx90a";

class RocmLibrary final : public hal::LibraryOps {
 public:
  RocmLibrary(HipGpu& gpu, const BackendConfig& config)
      : gpu_(gpu), manner_{.tensor_cores = config.enable_tensor_cores, .tf32 = config.allow_tf32} {}

  hal::Planned plan(const hal::OpDesc& any) override {
    return hal::answer(any, [&](const hal::GemmDesc& desc) { return product(desc); });
  }
  hal::Expected<std::shared_ptr<const hal::LibraryPlan>> with(
      const hal::LibraryPlan& plan, const hal::Epilogue& epilogue) override {
    auto answer = static_cast<const blaslt::GemmPlan&>(plan).with(epilogue);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    return std::get<std::shared_ptr<const blaslt::GemmPlan>>(std::move(answer));
  }

 private:
  hal::Planned product(const hal::GemmDesc& desc) {
    if (!manner_.tensor_cores)
      return hal::Refusal{"hipBLASLt: enable_tensor_cores is off, of which it cannot be told"};
    const bool half = desc.a == DType::F16 || desc.a == DType::BF16;
    if (half && gpu_.architecture().starts_with(kFlushes))
      return hal::Refusal{fmt::format("hipBLASLt: matrix units of {} take denormals of {} for 0",
                                      kFlushes, name_of(desc.a)),
                          true};
    gpu_.require_usable();
    const Gpu::Current current(gpu_);
    auto answer = gpu_.products().plan(desc, manner_);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    return std::get<std::shared_ptr<blaslt::GemmPlan>>(std::move(answer));
  }

  HipGpu& gpu_;
  const libraries::Manner manner_;
};

class RocmBackend final : public driver::Backend {
 public:
  RocmBackend() : Backend(kPlatform) {}

  // HIP is large, and installed on machines without an AMD GPU, too.
  std::string skip_reason() override {
    const std::string step = is_named() ? "" : missing_step();
    return step.empty() ? "" : fmt::format("{} ({})", kPlatform.no_device, step);
  }

  std::vector<LibraryInfo> libraries() override {
    std::string reason = skip_reason();
    if (reason.empty()) reason = absence();
    if (reason.empty()) return {the_hipblaslt().info()};
    return {
        {.name = "hipBLASLt", .version = {}, .path = {}, .reason = "not looked for: " + reason}};
  }

 private:
  const driver::Driver& driver() const override { return HipDriver::instance(); }
  // hipBLASLt cannot be kept from algorithms whose groups add to one sum as they come: its
  // interface in C says nothing of the order of sums, so that two runs may have other bits.
  std::unique_ptr<hal::LibraryOps> library(Gpu& gpu, const BackendConfig& config) override {
    if (config.reproducible || config.deterministic) return nullptr;
    return std::make_unique<RocmLibrary>(static_cast<HipGpu&>(gpu), config);
  }
};

}  // namespace

hal::Backend& backend() {
  static RocmBackend instance;
  return instance;
}

}  // namespace hologram::backends::rocm
