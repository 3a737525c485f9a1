#include "backends/opencl/opencl.hpp"

#include <fmt/format.h>

#include <map>

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
  bool keeps_time() const override { return true; }

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

  std::string passed_over() override { return software_alone(); }

  hal::Expected<std::vector<DeviceInfo>> discover() override {
    const Driver& driver = Driver::instance();
    if (driver.devices().empty()) return hal::Refusal{driver.reason()};
    std::vector<DeviceInfo> infos;
    for (const Found& found : driver.devices()) {
      infos.push_back(found.info);
      infos.back().free_memory = driver.free_memory(found);
    }
    return infos;
  }

  hal::Expected<std::shared_ptr<hal::Device>> open(int index,
                                                   const BackendConfig& config) override {
    const Driver& driver = Driver::instance();
    if (driver.devices().empty()) return hal::Refusal{driver.reason()};
    if (static_cast<size_t>(index) >= driver.devices().size())
      return hal::Refusal{fmt::format("it has no device {}", index)};
    if (config.check)
      return hal::Refusal{"it cannot look for races, as HOLOGRAM_CHECK=1 asks for; the CPU can"};
    const Found& found = driver.devices()[static_cast<size_t>(index)];
    try {
      auto device = std::make_shared<ClDevice>(found);
      device->set_numerics(numerics_of(found, *device));
      return device;
    } catch (const Error& error) {
      return hal::Refusal{fmt::format("{} does not work: {}", found.info.name, error.what())};
    }
  }
};

}  // namespace

hal::Backend& backend() {
  static ClBackend instance;
  return instance;
}

}  // namespace hologram::backends::opencl
