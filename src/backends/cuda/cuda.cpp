#include "backends/cuda/cuda.hpp"

#include "backends/cuda/stream.hpp"
#include "core/messages.hpp"

namespace hologram::backends::cuda {
namespace {

class CudaDevice final : public hal::Device {
 public:
  explicit CudaDevice(Gpu& gpu) : gpu_(gpu), info_(gpu.describe()) {}

  const DeviceInfo& info() const override { return info_; }
  std::optional<hal::Refusal> refuses(const program::Program&) const override { return {}; }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<Memory>(gpu_, bytes);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    if (options.check)
      throw core::error(core::Text::ProgramRefused, program.name(), info_.name,
                        "HOLOGRAM_CHECK=1 works on the CPU alone");
    return std::make_shared<CudaProgram>(gpu_, program);
  }
  std::unique_ptr<hal::Stream> stream() override { return std::make_unique<CudaStream>(gpu_); }
  bool asynchronous() const override { return true; }
  bool lists() const override { return true; }

 private:
  Gpu& gpu_;
  const DeviceInfo info_;
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

  hal::Expected<std::shared_ptr<hal::Device>> open(int index, const BackendConfig&) override {
    Gpu& gpu = *Gpu::all()[static_cast<size_t>(index)];
    if (std::string reason = gpu.open(); !reason.empty()) return hal::Refusal{std::move(reason)};
    gpu.require_usable();
    return std::make_shared<CudaDevice>(gpu);
  }
};

}  // namespace

hal::Backend& backend() {
  static CudaBackend instance;
  return instance;
}

}  // namespace hologram::backends::cuda
