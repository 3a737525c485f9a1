#include "backends/driver/device.hpp"

#include <utility>

#include "backends/driver/stream.hpp"
#include "core/messages.hpp"

namespace hologram::backends::driver {

Device::Device(Gpu& gpu, std::unique_ptr<hal::LibraryOps> library,
               std::optional<NativeStream> native)
    : gpu_(gpu), native_(native), info_(gpu.describe()), library_(std::move(library)) {}

std::unique_ptr<hal::Buffer> Device::allocate(uint64_t bytes) {
  return std::make_unique<Memory>(gpu_, bytes);
}

std::shared_ptr<std::byte> Device::host_memory(uint64_t bytes) {
  return driver::host_memory(gpu_, bytes);
}

std::shared_ptr<hal::Executable> Device::compile(const program::Program& program,
                                                 const hal::CompileOptions& options) {
  if (options.check)
    throw core::error(core::Text::ProgramRefused, program.name(), info_.name,
                      "HOLOGRAM_CHECK=1 works on the CPU alone");
  return std::make_shared<DeviceProgram>(gpu_, program);
}

std::unique_ptr<hal::Stream> Device::stream() { return std::make_unique<Stream>(gpu_, native_); }

hal::Expected<std::unique_ptr<hal::Buffer>> Device::borrow(void* memory, uint64_t bytes,
                                                           std::function<void(void*)> release) {
  return driver::borrow(gpu_, memory, bytes, std::move(release));
}

bool Device::copies_to(const hal::Device& other) const {
  const auto* device = dynamic_cast<const Device*>(&other);
  return device != nullptr && &device->gpu_.driver() == &gpu_.driver();
}

std::string Backend::absence() const {
  if (const std::string& reason = driver().reason(); !reason.empty()) return reason;
  return driver().gpus().empty() ? platform_.no_device : "";
}

hal::Expected<std::vector<DeviceInfo>> Backend::discover() {
  if (std::string reason = absence(); !reason.empty()) return hal::Refusal{std::move(reason)};
  std::vector<DeviceInfo> devices;
  for (Gpu* gpu : driver().gpus()) devices.push_back(gpu->describe());
  if (const std::string& reason = driver().gpus().front()->compiler().reason(); !reason.empty())
    return hal::Refusal{reason};
  return devices;
}

hal::Expected<std::shared_ptr<hal::Device>> Backend::opened(int index,
                                                            std::optional<NativeStream> native,
                                                            const BackendConfig& config) {
  Gpu& gpu = *driver().gpus()[static_cast<size_t>(index)];
  if (std::string reason = gpu.open(); !reason.empty()) return hal::Refusal{std::move(reason)};
  gpu.require_usable();
  if (native && *native != nullptr && gpu.driver()->stream_context != nullptr) {
    const Gpu::Current current(gpu);
    Context its = nullptr;
    if (gpu.driver()->stream_context(*native, &its) != kSuccess)
      return hal::Refusal{"the driver does not know the stream"};
    if (its != gpu.context()) return hal::Refusal{"the stream is of another context"};
  }
  return std::make_shared<Device>(gpu, library(gpu, config), native);
}

hal::Expected<std::shared_ptr<hal::Device>> Backend::open(int index, const BackendConfig& config) {
  return opened(index, std::nullopt, config);
}

hal::Expected<std::shared_ptr<hal::Device>> Backend::open_on(int index, void* stream,
                                                             const BackendConfig& config) {
  return opened(index, static_cast<NativeStream>(stream), config);
}

}  // namespace hologram::backends::driver
