#include "backends/webgpu/webgpu.hpp"

#include "backends/common/listed.hpp"
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
    return common::refuses_dtypes(info_, program);
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<WgBuffer>(session_, bytes);
  }
  bool suballocates() const override { return false; }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    return std::make_shared<WgProgram>(session_, program, options);
  }
  bool compiles_async() const override { return session_->starts(); }
  std::unique_ptr<hal::Stream> stream() override { return std::make_unique<WgStream>(session_); }
  bool asynchronous() const override { return true; }
  bool has_timestamps() const override { return !kInPage && session_->has(kTimestamps); }

 private:
  std::shared_ptr<Session> session_;
  DeviceInfo info_;
};

class WgBackend final : public hal::Backend {
 public:
  BackendType type() const override { return BackendType::WebGpu; }

  hal::Expected<std::vector<DeviceInfo>> discover() override {
    const Driver& driver = Driver::instance();
    return common::discover_listed(driver.adapters(), driver.reason(),
                                   [](const Found& found) { return as_of_now(found.info); });
  }

  hal::Expected<std::shared_ptr<hal::Device>> open(int index,
                                                   const BackendConfig& config) override {
    const Driver& driver = Driver::instance();
    return common::open_listed(
        driver.adapters(), driver.reason(), index, config,
        [](const Found& found) { return std::make_shared<WgDevice>(found); });
  }
};

}  // namespace

hal::Backend& backend() {
  static WgBackend instance;
  return instance;
}

}  // namespace hologram::backends::webgpu
