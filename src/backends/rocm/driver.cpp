#include "backends/rocm/driver.hpp"

#include <fmt/format.h>
#ifdef __linux__
#include <unistd.h>
#endif

#include <cstdlib>
#include <fstream>

#include "backends/rocm/translation.hpp"
#include "libraries/hiprtc/hiprtc.hpp"
#include "libraries/library.hpp"

namespace hologram::backends::rocm {
namespace {

using libraries::hiprtc::Hiprtc;

constexpr const char* kVariable = "HOLOGRAM_HIP_LIBRARY";

core::DynamicLibrary open_hip() {
#ifdef _WIN32
  return libraries::open(kVariable, {"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"});
#else
  return libraries::open(kVariable, {"libamdhip64.so.7", "/opt/rocm/lib/libamdhip64.so.7",
                                     "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so.6",
                                     "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so.5"});
#endif
}

}  // namespace

std::string missing_step() {
#ifdef __linux__
  constexpr const char* kDevice = "/dev/kfd";
  if (access(kDevice, F_OK) != 0 && access("/dev/dxg", F_OK) != 0)
    return fmt::format("there is no {}: the kernel's driver amdgpu has found none", kDevice);
  if (access(kDevice, F_OK) == 0 && access(kDevice, R_OK | W_OK) != 0)
    return fmt::format("{} may not be opened: the user has to be in the groups render and video",
                       kDevice);
#endif
  return {};
}

bool is_named() {
  const char* named = std::getenv(kVariable);
  return named != nullptr && *named != '\0';
}

const HipDriver& HipDriver::instance() {
  static const auto* const driver = new HipDriver;
  return *driver;
}

HipDriver::HipDriver() : Driver(kPlatform) {
  const std::string step = missing_step();
  const core::DynamicLibrary library = open_hip();
  if (!library.loaded()) {
    reason_ =
        fmt::format("{}HIP, which comes with ROCm, is not installed ({}); {} may say where it is",
                    step.empty() ? "" : fmt::format("{} ({}), and ", kPlatform.no_device, step),
                    library.reason(), kVariable);
    return;
  }
  std::string missing;
#define HOLOGRAM_FIND(member, symbol) library.get(#symbol, functions_.member, missing);
  HOLOGRAM_HIP_DRIVER(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
#define HOLOGRAM_FIND_OWN(result, member, symbol, parameters) \
  library.get(#symbol, own_.member, missing);
  HOLOGRAM_HIP_OWN(HOLOGRAM_FIND_OWN)
#undef HOLOGRAM_FIND_OWN
  std::string absent;
  library.get("hipGetDevicePropertiesR0600", own_.properties, absent);
  if (own_.properties == nullptr) library.get("hipGetDeviceProperties", own_.properties, missing);
  std::string no_graphs;
#define HOLOGRAM_FIND(member, symbol) library.get(#symbol, functions_.member, no_graphs);
  HOLOGRAM_HIP_GRAPHS(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (!no_graphs.empty()) functions_.graph_create = nullptr;
  if (!missing.empty()) {
    reason_ = fmt::format("HIP is too old: it lacks {}", missing);
    return;
  }
  int number = 0;
  functions_.version(&number);
  const int major = number / 10'000'000;
  translate(own_, major, functions_);
  start("HIP");
  if (reason_ == kPlatform.no_device && !step.empty()) reason_ += fmt::format(" ({})", step);
}

std::string HipDriver::release() const {
  return fmt::format("HIP {}.{}", version() / 10'000'000, version() / 100'000 % 100);
}

std::unique_ptr<driver::Gpu> HipDriver::make(int index, driver::DeviceNumber device,
                                             driver::Context /*context*/) const {
  return std::make_unique<HipGpu>(*this, index, device);
}

const libraries::blaslt::BlasLt& the_hipblaslt() {
  return libraries::blaslt::BlasLt::of_rocm(
      reinterpret_cast<const void*>(HipDriver::instance().own().init));
}

const libraries::rocblas::RocBlas& the_rocblas() {
  return libraries::rocblas::RocBlas::instance(
      reinterpret_cast<const void*>(HipDriver::instance().own().init));
}

HipGpu::HipGpu(const HipDriver& driver, int index, driver::DeviceNumber device)
    : Gpu(driver, Hiprtc::instance(driver.version()), index, device, nullptr),
      products_(the_hipblaslt, [this] { return settle(); }),
      rocblas_(the_rocblas) {
  driver.own().attribute(&wave_, kHipWave, device);
  architecture_ = architecture_of(driver.own(), device);
  if (architecture_.empty() && unusable_.empty())
    unusable_ = fmt::format("HIP does not tell the architecture of device {}", index);
}

void HipGpu::describe(DeviceInfo& info) const {
  info.compute_capability = architecture_.substr(0, architecture_.find(':'));
  info.driver += fmt::format(", waves of {}", wave_);
}

// An event, as the stream of the call may be captured, when the device is not to be waited for.
bool HipGpu::settle() const {
  driver::Event event = nullptr;
  if (driver_->event_create(&event, driver::kNoTiming) != driver::kSuccess) return false;
  const bool done = driver_->event_record(event, nullptr) == driver::kSuccess &&
                    driver_->event_synchronize(event) == driver::kSuccess;
  driver_->event_destroy(event);
  return done;
}

// As the kernel's driver tells it without starting the device.
uint64_t HipGpu::free_memory_at(const std::string& pci) const {
  const auto read = [&](const char* what) {
    uint64_t bytes = 0;
    std::ifstream(fmt::format("/sys/bus/pci/devices/{}/mem_info_vram_{}", pci, what)) >> bytes;
    return bytes;
  };
  const uint64_t total = read("total"), used = read("used");
  return total > used ? total - used : 0;
}

}  // namespace hologram::backends::rocm
