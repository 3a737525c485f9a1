#include "backends/rocm/rocm.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "backends/driver/device.hpp"
#include "backends/rocm/driver.hpp"

namespace hologram::backends::rocm {
namespace {

namespace blaslt = libraries::blaslt;
using driver::Gpu;

// The matrix units of these GPUs take denormals of f16 and bf16 for 0.
constexpr std::string_view kFlushes = "gfx90a";

// Products by hipBLASLt, and by rocBLAS what that has no algorithm for, or may not be asked for.
class RocmLibrary final : public hal::LibraryOps {
 public:
  RocmLibrary(HipGpu& gpu, const BackendConfig& config)
      : gpu_(gpu),
        manner_{.tensor_cores = config.enable_tensor_cores, .tf32 = config.allow_tf32},
        deterministic_(config.deterministic) {}

  hal::Planned plan(const hal::OpDesc& any) override {
    return hal::answer(any, [&](const hal::GemmDesc& desc) -> hal::Planned {
      if (auto refusal = unasked(desc)) return *std::move(refusal);
      hal::Planned first = by_hipblaslt(desc);
      auto* const refusal = std::get_if<hal::Refusal>(&first);
      if (refusal == nullptr) return first;
      hal::Planned second = by_rocblas(desc);
      if (auto* const other = std::get_if<hal::Refusal>(&second)) {
        if (other->reason != refusal->reason) refusal->reason += "; " + other->reason;
        const bool is_there = the_rocblas().info().reason.empty();
        refusal->is_fallback = refusal->is_fallback || (other->is_fallback && is_there);
        return first;
      }
      return second;
    });
  }
  std::vector<hal::Candidate> candidates(const hal::OpDesc& any) override {
    const auto* const desc = std::get_if<hal::GemmDesc>(&any);
    if (desc == nullptr) return LibraryOps::candidates(any);
    if (auto refusal = unasked(*desc)) return {{{}, std::move(refusal->reason), {}}};
    std::vector<hal::Candidate> all;
    for (hal::Planned planned : {by_hipblaslt(*desc), by_rocblas(*desc)}) {
      if (auto* const refusal = std::get_if<hal::Refusal>(&planned))
        all.push_back({{}, std::move(refusal->reason), {}});
      else all.push_back({std::get<std::shared_ptr<hal::LibraryPlan>>(planned)->name(), {}, {}});
    }
    return all;
  }
  hal::Expected<std::shared_ptr<const hal::LibraryPlan>> with(
      const hal::LibraryPlan& plan, const hal::Epilogue& epilogue) override {
    const auto* const product = dynamic_cast<const blaslt::GemmPlan*>(&plan);
    if (product == nullptr) return hal::Refusal{"rocBLAS: it has no epilogues"};
    auto answer = product->with(epilogue);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    return std::get<std::shared_ptr<const blaslt::GemmPlan>>(std::move(answer));
  }

 private:
  // What neither may be asked for.
  std::optional<hal::Refusal> unasked(const hal::GemmDesc& desc) const {
    if (!manner_.tensor_cores)
      return hal::Refusal{
          "hipBLASLt, rocBLAS: enable_tensor_cores is off, of which they cannot be told"};
    const bool half = desc.a == DType::F16 || desc.a == DType::BF16;
    if (half && gpu_.architecture().starts_with(kFlushes))
      return hal::Refusal{fmt::format("hipBLASLt, rocBLAS: matrix units of {} take denormals of {} "
                                      "for 0",
                                      kFlushes, name_of(desc.a)),
                          true};
    return {};
  }
  // It cannot be kept from algorithms whose groups add to one sum as they come: its interface in C
  // says nothing of the order of sums, so that two runs may have other bits.
  hal::Planned by_hipblaslt(const hal::GemmDesc& desc) {
    if (deterministic_) return hal::Refusal{"hipBLASLt: deterministic, of which it cannot be told"};
    gpu_.require_usable();
    const Gpu::Current current(gpu_);
    auto answer = gpu_.products().plan(desc, manner_);
    return std::visit([](auto& either) -> hal::Planned { return std::move(either); }, answer);
  }
  hal::Planned by_rocblas(const hal::GemmDesc& desc) {
    gpu_.require_usable();
    const Gpu::Current current(gpu_);
    auto answer = gpu_.plan_by_rocblas(desc);
    return std::visit([](auto& either) -> hal::Planned { return std::move(either); }, answer);
  }

  HipGpu& gpu_;
  const libraries::Manner manner_;
  const bool deterministic_;
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
    if (reason.empty()) return {the_hipblaslt().info(), the_rocblas().info()};
    std::vector<LibraryInfo> none;
    for (const char* name : {"hipBLASLt", "rocBLAS"})
      none.push_back(
          {.name = name, .version = {}, .path = {}, .reason = "not looked for: " + reason});
    return none;
  }

 private:
  const driver::Driver& driver() const override { return HipDriver::instance(); }
  std::unique_ptr<hal::LibraryOps> library(Gpu& gpu, const BackendConfig& config) override {
    if (config.reproducible) return nullptr;
    return std::make_unique<RocmLibrary>(static_cast<HipGpu&>(gpu), config);
  }
};

}  // namespace

hal::Backend& backend() {
  static RocmBackend instance;
  return instance;
}

}  // namespace hologram::backends::rocm
