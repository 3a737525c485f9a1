#include "backends/cuda/cuda.hpp"

#include <utility>

#include "backends/cuda/driver.hpp"
#include "backends/driver/device.hpp"

namespace hologram::backends::cuda {
namespace {

namespace blaslt = libraries::blaslt;
namespace cudnn = libraries::cudnn;
using driver::Gpu;

const cudnn::Cudnn& the_cudnn() { return cudnn::Cudnn::instance(CudaDriver::instance().major()); }

const blaslt::BlasLt& the_cublaslt() {
  return blaslt::BlasLt::of_cuda(CudaDriver::instance().major());
}

class CudaLibrary final : public hal::LibraryOps {
 public:
  CudaLibrary(CudaGpu& gpu, const BackendConfig& config)
      : gpu_(gpu),
        manner_{.tensor_cores = config.enable_tensor_cores,
                .tf32 = config.allow_tf32,
                .winograd = config.allow_winograd},
        asks_cudnn_(config.enable_cudnn),
        deterministic_(config.deterministic) {}

  hal::Planned plan(const hal::OpDesc& any) override {
    using hal::Planned;
    return hal::answer(
        any,
        [&](const hal::GemmDesc& d) -> Planned {
          return asked([&] { return gpu_.products().plan(d, manner_); });
        },
        [&](const hal::ConvDesc& d) -> Planned {
          if (!asks_cudnn_) return hal::Refusal{"cuDNN: enable_cudnn is off"};
          return asked([&] { return gpu_.convolutions().plan(d, manner_); });
        },
        [&](const hal::AttentionDesc& d) -> Planned {
          if (!asks_cudnn_) return hal::Refusal{"cuDNN: enable_cudnn is off"};
          if (!manner_.tensor_cores) return hal::Refusal{"cuDNN: enable_tensor_cores is off"};
          return asked([&] { return gpu_.attentions().plan(d, deterministic_); });
        });
  }
  bool has_epilogues() override { return the_cublaslt().info().reason.empty(); }
  hal::Expected<std::shared_ptr<const hal::LibraryPlan>> with(
      const hal::LibraryPlan& plan, const hal::Epilogue& epilogue) override {
    gpu_.require_usable();
    const auto& product = static_cast<const blaslt::GemmPlan&>(plan);
    const Gpu::Current current(gpu_);
    auto answer = product.with(epilogue);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    auto ended = std::get<std::shared_ptr<const blaslt::GemmPlan>>(std::move(answer));
    if (!ended->is_trusted()) {
      std::string reason = gpu_.epilogues().refuses(gpu_, product, epilogue);
      if (!reason.empty()) return hal::Refusal{std::move(reason)};
      ended->trust();
    }
    return ended;
  }
  bool wants_dense_images() override { return asks_cudnn_ && the_cudnn().info().reason.empty(); }
  // Tensor cores are for channels as neighbours; other engines are no slower with planes, which
  // are not transposed.
  bool takes_planes(DType type) override {
    const bool wide = type == DType::F64 || (type == DType::F32 && !manner_.tf32);
    return wide && wants_dense_images();
  }

 private:
  // With the context of the GPU.
  template <class Ask>
  hal::Planned asked(const Ask& ask) {
    gpu_.require_usable();
    const Gpu::Current current(gpu_);
    auto answer = ask();
    return std::visit([](auto& either) -> hal::Planned { return std::move(either); }, answer);
  }

  CudaGpu& gpu_;
  const libraries::Manner manner_;
  const bool asks_cudnn_, deterministic_;
};

class CudaBackend final : public driver::Backend {
 public:
  CudaBackend() : Backend(kPlatform) {}

  std::vector<LibraryInfo> libraries() override {
    std::string reason = absence();
    if (reason.empty()) return {the_cublaslt().info(), the_cudnn().info()};
    reason = "not looked for: " + reason;
    return {{.name = "cuBLASLt", .version = {}, .path = {}, .reason = reason},
            {.name = "cuDNN", .version = {}, .path = {}, .reason = reason}};
  }

  hal::Expected<std::shared_ptr<hal::Device>> adopt(void* context, void* stream,
                                                    const BackendConfig& config) override {
    auto answer = CudaDriver::instance().gpu_of(static_cast<driver::Context>(context));
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    Gpu& gpu = *std::get<Gpu*>(answer);
    gpu.require_usable();
    const Gpu::Current current(gpu);
    auto* const native = static_cast<driver::NativeStream>(stream);
    driver::Context its = gpu.context();
    if (native != nullptr && gpu.driver()->stream_context(native, &its) != driver::kSuccess)
      return hal::Refusal{"the driver does not know the stream"};
    if (its != gpu.context()) return hal::Refusal{"the stream is of another context"};
    return std::make_shared<driver::Device>(gpu, library(gpu, config), native);
  }

 private:
  const driver::Driver& driver() const override { return CudaDriver::instance(); }
  std::unique_ptr<hal::LibraryOps> library(Gpu& gpu, const BackendConfig& config) override {
    if (config.reproducible) return nullptr;
    return std::make_unique<CudaLibrary>(static_cast<CudaGpu&>(gpu), config);
  }
};

}  // namespace

hal::Backend& backend() {
  static CudaBackend instance;
  return instance;
}

}  // namespace hologram::backends::cuda
