#include "backends/opencl/opencl.hpp"

#include <map>

#include "backends/common/listed.hpp"
#include "backends/opencl/session.hpp"
#include "hal/exactness.hpp"
#include "hologram/error.hpp"

namespace hologram::backends::opencl {
namespace {

class ClDevice final : public hal::Device {
 public:
  explicit ClDevice(const Found& found)
      : session_(std::make_shared<Session>(found)), info_(found.info) {
    info_.free_memory = Driver::instance().free_memory(found);
  }

  const DeviceInfo& info() const override { return info_; }
  void set_numerics(Numerics numerics) { info_.numerics = numerics; }

  std::optional<hal::Refusal> refuses(const program::Program& program) const override {
    return common::refuses_dtypes(info_, program);
  }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<ClBuffer>(session_, bytes);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions&) override {
    return std::make_shared<ClProgram>(session_, program);
  }
  std::unique_ptr<hal::Stream> stream() override { return std::make_unique<ClStream>(session_); }
  bool asynchronous() const override { return true; }
  bool overlaps_launches() const override { return true; }
  bool has_timestamps() const override { return true; }

 private:
  std::shared_ptr<Session> session_;
  DeviceInfo info_;
};

// What the test of a device found, for the life of the process.
Numerics numerics_of(const Found& found, ClDevice& device) {
  static std::mutex mutex;
  static auto* const known = new std::map<Device*, Numerics>;
  const std::lock_guard lock(mutex);
  if (const auto seen = known->find(found.id); seen != known->end()) return seen->second;
  const bool exact = hal::computes_exactly(device) && found.info.numerics == Numerics::Exact;
  return known->emplace(found.id, exact ? Numerics::Exact : Numerics::Relaxed).first->second;
}

class ClBackend final : public hal::Backend {
 public:
  BackendType type() const override { return BackendType::OpenCl; }

  std::string skip_reason() override { return software_alone(); }

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
                                 auto device = std::make_shared<ClDevice>(found);
                                 device->set_numerics(numerics_of(found, *device));
                                 return device;
                               });
  }
};

}  // namespace

hal::Backend& backend() {
  static ClBackend instance;
  return instance;
}

}  // namespace hologram::backends::opencl
