#include "backends/metal/metal.hpp"

#include <unistd.h>

#include "backends/common/listed.hpp"
#include "backends/metal/program.hpp"
#include "hal/exactness.hpp"
#include "hologram/error.hpp"

namespace hologram::backends::metal {
namespace {

// Less is copied sooner than work that uses it can be waited for.
constexpr uint64_t kWorthAdopting = 1 << 20;

class MetalDevice final : public hal::Device {
 public:
  explicit MetalDevice(const Found& found) : session_(Session::open(found)), info_(found.info) {
    info_.free_memory = session_->free_memory();
  }

  const DeviceInfo& info() const override { return info_; }
  // A driver is taken at its word by nobody: once for each session.
  void try_out() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (!session_->exact) session_->exact = hal::computes_exactly(*this);
    info_.numerics = *session_->exact ? Numerics::Exact : Numerics::Relaxed;
  }

  std::optional<hal::Refusal> refuses(const program::Program& program) const override {
    return common::refuses_dtypes(info_, program);
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<MetalBuffer>(session_, bytes);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte* memory, uint64_t bytes) override {
    static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    if (!info_.unified_memory || bytes < kWorthAdopting ||
        reinterpret_cast<uintptr_t>(memory) % page != 0)
      return nullptr;
    auto buffer = session_->adopt(memory, (bytes + page - 1) / page * page);
    if (buffer == nullptr) return nullptr;
    return std::make_unique<MetalBuffer>(session_, bytes, memory, std::move(buffer));
  }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions&) override {
    return std::make_shared<MetalProgram>(session_, program);
  }
  std::unique_ptr<hal::Stream> stream() override { return std::make_unique<MetalStream>(session_); }
  bool asynchronous() const override { return true; }
  bool has_timestamps() const override { return true; }

 private:
  std::shared_ptr<Session> session_;
  DeviceInfo info_;
};

class MetalBackend final : public hal::Backend {
 public:
  BackendType type() const override { return BackendType::Metal; }

  hal::Expected<std::vector<DeviceInfo>> discover() override {
    const Driver& driver = Driver::instance();
    return common::discover_listed(driver.devices(), driver.reason(), [&](const Found& found) {
      DeviceInfo info = found.info;
      info.free_memory = driver.free_memory(found);
      return info;
    });
  }

  hal::Expected<std::shared_ptr<hal::Device>> open(int index,
                                                   const BackendConfig& config) override {
    const Driver& driver = Driver::instance();
    return common::open_listed(driver.devices(), driver.reason(), index, config,
                               [](const Found& found) {
                                 auto device = std::make_shared<MetalDevice>(found);
                                 device->try_out();
                                 return device;
                               });
  }
};

}  // namespace

hal::Backend& backend() {
  static MetalBackend instance;
  return instance;
}

}  // namespace hologram::backends::metal
