#include "backends/webgpu/webgpu.hpp"

#include <fmt/format.h>

#include "backends/webgpu/program.hpp"
#include "core/host_memory.hpp"
#include "hologram/error.hpp"

namespace hologram::backends::webgpu {
namespace {

// As much of it as is free now, where it is the host's.
DeviceInfo as_of_now(DeviceInfo info) {
  if (info.unified_memory) info.free_memory = std::min(info.total_memory, core::host_memory().free);
  return info;
}

class WgDevice final : public hal::Device {
 public:
  explicit WgDevice(const Found& found)
      : session_(Session::open(found)), info_(as_of_now(found.info)) {}

  const DeviceInfo& info() const override { return info_; }

  std::optional<hal::Refusal> refuses(const program::Program& program) const override {
    const program::Needs& needs = program.needs();
    for (size_t t = 1; t < kDTypeCount; t++) {
      const auto type = static_cast<DType>(t);
      if ((needs.compute.has(type) && !info_.compute.has(type)) ||
          (needs.storage.has(type) && !info_.storage.has(type)))
        return hal::Refusal{fmt::format("it has no {}", name_of(type))};
    }
    return {};
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<WgBuffer>(session_, bytes);
  }
  bool divides_buffers() const override { return false; }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    return std::make_shared<WgProgram>(session_, program, options);
  }
  bool compiles_later() const override { return session_->starts(); }
  std::unique_ptr<hal::Stream> stream() override { return std::make_unique<WgStream>(session_); }
  bool asynchronous() const override { return true; }
  bool keeps_time() const override { return !kInPage && session_->has(kTimestamps); }

 private:
  std::shared_ptr<Session> session_;
  DeviceInfo info_;
};

class WgBackend final : public hal::Backend {
 public:
  BackendType type() const override { return BackendType::WebGpu; }

  hal::Expected<std::vector<DeviceInfo>> discover() override {
    const Driver& driver = Driver::instance();
    if (driver.adapters().empty()) return hal::Refusal{driver.reason()};
    std::vector<DeviceInfo> infos;
    for (const Found& found : driver.adapters()) infos.push_back(as_of_now(found.info));
    return infos;
  }

  hal::Expected<std::shared_ptr<hal::Device>> open(int index,
                                                   const BackendConfig& config) override {
    const Driver& driver = Driver::instance();
    if (driver.adapters().empty()) return hal::Refusal{driver.reason()};
    if (static_cast<size_t>(index) >= driver.adapters().size())
      return hal::Refusal{fmt::format("it has no device {}", index)};
    if (config.check)
      return hal::Refusal{"it cannot look for races, as HOLOGRAM_CHECK=1 asks for; the CPU can"};
    const Found& found = driver.adapters()[static_cast<size_t>(index)];
    try {
      return std::make_shared<WgDevice>(found);
    } catch (const Error& error) {
      return hal::Refusal{fmt::format("{} does not work: {}", found.info.name, error.what())};
    }
  }
};

}  // namespace

hal::Backend& backend() {
  static WgBackend instance;
  return instance;
}

}  // namespace hologram::backends::webgpu
