#include "backends/cuda/cuda.hpp"

#include "backends/cuda/stream.hpp"
#include "core/messages.hpp"

namespace hologram::backends::cuda {
namespace {

namespace cublaslt = libraries::cublaslt;
namespace cudnn = libraries::cudnn;

const cudnn::Cudnn& the_cudnn() {
  return cudnn::Cudnn::instance(Driver::instance().version() / 1000);
}

const cublaslt::CublasLt& the_cublaslt() {
  return cublaslt::CublasLt::instance(Driver::instance().version() / 1000);
}

class CudaLibrary final : public hal::LibraryOps {
 public:
  CudaLibrary(Gpu& gpu, const BackendConfig& config)
      : gpu_(gpu),
        manner_{.tensor_cores = config.enable_tensor_cores, .tf32 = config.allow_tf32},
        convolves_(config.enable_cudnn) {}

  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::GemmDesc& desc) override {
    gpu_.require_usable();
    const Gpu::Current current(gpu_);
    auto answer = gpu_.products().plan(desc, manner_);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    return std::get<std::shared_ptr<cublaslt::GemmPlan>>(std::move(answer));
  }
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::ConvDesc& desc) override {
    if (!convolves_) return hal::Refusal{"cuDNN: enable_cudnn is off"};
    gpu_.require_usable();
    const Gpu::Current current(gpu_);
    auto answer = gpu_.convolutions().plan(desc, manner_);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    return std::get<std::shared_ptr<cudnn::ConvolutionPlan>>(std::move(answer));
  }
  bool has_epilogues() override { return the_cublaslt().info().reason.empty(); }
  hal::Expected<std::shared_ptr<const hal::LibraryPlan>> with(
      const hal::LibraryPlan& plan, const hal::Epilogue& epilogue) override {
    gpu_.require_usable();
    const auto& product = static_cast<const cublaslt::GemmPlan&>(plan);
    const Gpu::Current current(gpu_);
    auto answer = product.with(epilogue);
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    auto ended = std::get<std::shared_ptr<const cublaslt::GemmPlan>>(std::move(answer));
    if (!ended->is_trusted()) {
      std::string reason = gpu_.epilogues().refuses(gpu_, product, epilogue);
      if (!reason.empty()) return hal::Refusal{std::move(reason)};
      ended->trust();
    }
    return ended;
  }
  bool wants_dense_images() override { return convolves_ && the_cudnn().info().reason.empty(); }

 private:
  Gpu& gpu_;
  const libraries::Manner manner_;
  const bool convolves_;
};

class CudaDevice final : public hal::Device {
 public:
  CudaDevice(Gpu& gpu, const BackendConfig& config, std::optional<NativeStream> native = {})
      : gpu_(gpu), native_(native), info_(gpu.describe()), library_(gpu, config) {}

  const DeviceInfo& info() const override { return info_; }
  std::optional<hal::Refusal> refuses(const program::Program&) const override { return {}; }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<Memory>(gpu_, bytes);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<std::byte> host_memory(uint64_t bytes) override {
    return cuda::host_memory(gpu_, bytes);
  }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    if (options.check)
      throw core::error(core::Text::ProgramRefused, program.name(), info_.name,
                        "HOLOGRAM_CHECK=1 works on the CPU alone");
    return std::make_shared<CudaProgram>(gpu_, program);
  }
  std::unique_ptr<hal::Stream> stream() override {
    return std::make_unique<CudaStream>(gpu_, native_);
  }
  hal::Expected<std::unique_ptr<hal::Buffer>> borrow(void* memory, uint64_t bytes,
                                                     std::function<void(void*)> release) override {
    return cuda::borrow(gpu_, memory, bytes, std::move(release));
  }
  bool keeps_time() const override { return true; }
  bool copies_to(const hal::Device& other) const override {
    return dynamic_cast<const CudaDevice*>(&other) != nullptr;
  }
  bool asynchronous() const override { return true; }
  bool lists() const override { return true; }
  hal::LibraryOps* library() override { return &library_; }

 private:
  Gpu& gpu_;
  const std::optional<NativeStream> native_;  // the application's
  const DeviceInfo info_;
  CudaLibrary library_;
};

class CudaBackend final : public hal::Backend {
 public:
  BackendType type() const override { return BackendType::Cuda; }

  hal::Expected<std::vector<DeviceInfo>> discover() override {
    if (const std::string& reason = Driver::instance().reason(); !reason.empty())
      return hal::Refusal{reason};
    std::vector<DeviceInfo> devices;
    for (Gpu* gpu : Gpu::all()) devices.push_back(gpu->describe());
    if (devices.empty()) return hal::Refusal{"No CUDA-capable device found"};
    if (const std::string& reason = Gpu::all().front()->compiler().reason(); !reason.empty())
      return hal::Refusal{reason};
    return devices;
  }

  hal::Expected<std::shared_ptr<hal::Device>> open(int index,
                                                   const BackendConfig& config) override {
    Gpu& gpu = *Gpu::all()[static_cast<size_t>(index)];
    if (std::string reason = gpu.open(); !reason.empty()) return hal::Refusal{std::move(reason)};
    gpu.require_usable();
    return std::make_shared<CudaDevice>(gpu, config);
  }

  std::vector<LibraryInfo> libraries() override {
    const Driver& driver = Driver::instance();
    std::string reason = driver.reason();
    if (reason.empty() && Gpu::all().empty()) reason = "No CUDA-capable device found";
    if (reason.empty()) return {the_cublaslt().info(), the_cudnn().info()};
    reason = "not looked for: " + reason;
    return {{.name = "cuBLASLt", .version = {}, .path = {}, .reason = reason},
            {.name = "cuDNN", .version = {}, .path = {}, .reason = reason}};
  }

  hal::Expected<std::shared_ptr<hal::Device>> adopt(void* context, void* stream,
                                                    const BackendConfig& config) override {
    auto answer = Gpu::of(static_cast<Context>(context));
    if (auto* refusal = std::get_if<hal::Refusal>(&answer)) return std::move(*refusal);
    Gpu& gpu = *std::get<Gpu*>(answer);
    gpu.require_usable();
    const Gpu::Current current(gpu);
    auto* const native = static_cast<NativeStream>(stream);
    Context its = gpu.context();
    if (native != nullptr && Driver::instance()->stream_context(native, &its) != kSuccess)
      return hal::Refusal{"the driver does not know the stream"};
    if (its != gpu.context()) return hal::Refusal{"the stream is of another context"};
    return std::make_shared<CudaDevice>(gpu, config, native);
  }
};

}  // namespace

hal::Backend& backend() {
  static CudaBackend instance;
  return instance;
}

}  // namespace hologram::backends::cuda
