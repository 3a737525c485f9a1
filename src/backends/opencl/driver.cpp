#include "backends/opencl/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/dynamic_library.hpp"
#include "core/host_memory.hpp"
#include "core/messages.hpp"
#include "core/signal_handlers.hpp"
#include "dialects/dialect.hpp"

namespace hologram::backends::opencl {
namespace {

using core::Text;

// Drivers that run on the host's processor and say that they are something else.
constexpr const char* kSoftware[] = {"llvmpipe", "softpipe", "SwiftShader", "Oclgrind"};
constexpr uint64_t kExactFloat = kDenormals | kInfNan | kNearest | kFma | kCorrectDivide;
constexpr int kRegisters = 64;  // a lane, of the 65,536 that 1,024 lanes share on NVIDIA's devices
constexpr std::string_view kDivideFlag = "-cl-fp32-correctly-rounded-divide-sqrt";
constexpr uint64_t kExactDouble = kDenormals | kInfNan | kNearest | kFma;

std::atomic<bool> g_ending{false};

// Made after the drivers are loaded, so that it goes before anything of theirs does.
struct AtExit {
  ~AtExit() { g_ending = true; }
};

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

bool is_ending() { return g_ending; }

// The loader's list: files *.icd in a folder, each with the name of a driver's library.
std::string software_alone() {
  const char* const asked = std::getenv("OCL_ICD_VENDORS");
  std::error_code error;
  size_t drivers = 0;
  for (const auto& file : std::filesystem::directory_iterator(
           asked != nullptr ? asked : "/etc/OpenCL/vendors", error)) {
    if (file.path().extension() != ".icd") continue;
    std::string library;
    std::getline(std::ifstream(file.path()) >> std::ws, library);
    if (!has(library, "pocl")) return {};
    drivers++;
  }
  return drivers == 0 ? "" : "PoCL alone is installed, a software device, which has to be named";
}

const Driver& Driver::instance() {
  static const auto* const driver = new Driver;
  static const AtExit at_exit;
  return *driver;
}

Driver::Driver() {
  // PoCL brings LLVM, which takes a dozen signals for itself.
  const core::KeepSignalHandlers keep;
  const core::DynamicLibrary library({"libOpenCL.so.1", "libOpenCL.so"});
  if (!library.loaded()) {
    reason_ = fmt::format("there is no OpenCL loader ({})", library.reason());
    return;
  }
  std::string missing;
#define CALL(name) library.get(#name, api_.name, missing);
  HOLOGRAM_OPENCL_CALLS(CALL)
#undef CALL
  if (!missing.empty()) reason_ = fmt::format("{} lacks {}", library.path(), missing);
  if (reason_.empty()) find_devices();
}

void Driver::find_devices() {
  uint32_t count = 0;
  const int32_t status = api_.clGetPlatformIDs(0, nullptr, &count);
  if (status != kSuccess || count == 0) {
    reason_ = "no driver is installed for it: no platform found";
    if (status != kSuccess && status != kNoPlatform)
      reason_ = fmt::format("clGetPlatformIDs failed: {}", name_of_status(status));
    return;
  }
  std::vector<Platform*> platforms(count);
  api_.clGetPlatformIDs(count, platforms.data(), nullptr);
  std::string refused;
  for (Platform* platform : platforms) {
    uint32_t devices = 0;
    if (api_.clGetDeviceIDs(platform, kTypeAll, 0, nullptr, &devices) != kSuccess) continue;
    std::vector<Device*> ids(devices);
    api_.clGetDeviceIDs(platform, kTypeAll, devices, ids.data(), nullptr);
    for (Device* id : ids)
      if (const std::string why = take(platform, id); !why.empty())
        refused += (refused.empty() ? "" : ", ") + why;
  }
  std::stable_sort(devices_.begin(), devices_.end(), [](const Found& a, const Found& b) {
    return a.info.software < b.info.software;
  });
  for (size_t i = 0; i < devices_.size(); i++) devices_[i].info.index = static_cast<int>(i);
  if (devices_.empty())
    reason_ = refused.empty() ? fmt::format("no device found on {} platform(s)", count) : refused;
}

std::string Driver::text(Device* id, DeviceInfoName what) const {
  size_t size = 0;
  if (api_.clGetDeviceInfo(id, what, 0, nullptr, &size) != kSuccess) return {};
  std::string text(size, '\0');
  api_.clGetDeviceInfo(id, what, size, text.data(), nullptr);
  return trimmed(std::move(text));
}

// Why the device is none to us; empty if it was taken.
std::string Driver::take(Platform* platform, Device* id) {
  using N = DeviceInfoName;
  const std::string name = text(id, N::Name), version = text(id, N::Version);
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2 ||
      std::pair(major, minor) < std::pair(1, 2))
    return fmt::format("{} has {}, and 1.2 is needed", name, version);
  if (number<uint32_t>(id, N::Available) == kFalse) return name + " is not available";
  if (number<uint32_t>(id, N::CompilerAvailable) == kFalse) return name + " has no compiler";
  if (number<uint32_t>(id, N::LittleEndian) == kFalse) return name + " is not little-endian";

  char platform_name[256] = {};
  api_.clGetPlatformInfo(platform, PlatformInfo::Name, sizeof platform_name - 1, platform_name,
                         nullptr);
  const std::string extensions = text(id, N::Extensions);
  Found found{id,
              {},
              (number<uint64_t>(id, N::Type) & kTypeCpu) != 0,
              has(extensions, "cl_amd_device_attribute_query"),
              {},
              {}};
  DeviceInfo& info = found.info;
  info.backend = BackendType::OpenCl;
  info.name = name;
  if (found.asks_amd) {
    info.compute_capability = name;
    if (std::string board = text(id, N::AmdBoard); !board.empty()) info.name = board;
  }
  if (has(extensions, "cl_nv_device_attribute_query"))
    info.compute_capability = fmt::format("{}.{}", number<uint32_t>(id, N::NvidiaMajor),
                                          number<uint32_t>(id, N::NvidiaMinor));
  info.driver = fmt::format("{} {}", platform_name, text(id, N::DriverVersion));
  info.total_memory = number<uint64_t>(id, N::GlobalMemory);
  info.max_allocation = number<uint64_t>(id, N::MaxAllocation);
  info.compute_units = number<uint32_t>(id, N::ComputeUnits);
  std::array<size_t, 16> sizes = {};
  api_.clGetDeviceInfo(id, N::WorkItemSizes, sizeof sizes, sizes.data(), nullptr);
  info.max_lanes =
      static_cast<uint32_t>(std::min({number<size_t>(id, N::WorkGroupSize), sizes[0]}));
  info.max_shared_bytes =
      static_cast<uint32_t>(std::min<uint64_t>(number<uint64_t>(id, N::LocalMemory), UINT32_MAX));
  // A buffer takes a pointer, an offset and a length; some room is left for numbers.
  info.max_bindings = static_cast<uint32_t>(
      (std::max<size_t>(number<size_t>(id, N::ParameterSize), 512) - 256) / 24);
  info.binding_alignment = 16;
  info.unified_memory = number<uint32_t>(id, N::UnifiedMemory) != kFalse;
  info.software = found.cpu;
  for (const char* driver : kSoftware)
    info.software = info.software || has(name, driver) || has(info.driver, driver);
  const uint64_t doubles = number<uint64_t>(id, N::DoubleConfig);
  const uint64_t floats = number<uint64_t>(id, N::SingleConfig);
  // What a device cannot do, its compiler refuses to be asked for.
  for (const std::string& flag : dialects::compiler_flags(dialects::Language::OpenCl))
    if ((floats & kCorrectDivide) != 0 || flag != kDivideFlag)
      found.flags += (found.flags.empty() ? "" : " ") + flag;
  if (has(extensions, "cl_nv_compiler_options"))
    found.few_registers = fmt::format("-cl-nv-maxrregcount={}", kRegisters);
  const bool exact = (floats & kExactFloat) == kExactFloat &&
                     (doubles == 0 || (doubles & kExactDouble) == kExactDouble);
  info.numerics = exact ? Numerics::Exact : Numerics::Relaxed;
  for (size_t t = 1; t < kDTypeCount; t++) {
    const auto type = static_cast<DType>(t);
    if (type == DType::F64 && doubles == 0) continue;
    info.storage.add(type);
    if (is_compute_type(type)) info.compute.add(type);
  }
  devices_.push_back(std::move(found));
  return {};
}

uint64_t Driver::free_memory(const Found& device) const {
  const uint64_t total = device.info.total_memory;
  if (device.asks_amd)
    if (const auto kib = number<std::array<size_t, 2>>(device.id, DeviceInfoName::AmdFreeMemory);
        kib[0] > 0)
      return std::min<uint64_t>(total, kib[0] << 10);
  // OpenCL itself has no such question; what is the host's memory we know.
  return device.info.unified_memory ? std::min(total, core::host_memory().free) : total;
}

std::string name_of_status(int32_t status) {
  struct Row {
    int32_t status;
    const char* name;
  };
  static constexpr Row kRows[] = {
      {-1, "CL_DEVICE_NOT_FOUND"},
      {-2, "CL_DEVICE_NOT_AVAILABLE"},
      {-3, "CL_COMPILER_NOT_AVAILABLE"},
      {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {-5, "CL_OUT_OF_RESOURCES"},
      {-6, "CL_OUT_OF_HOST_MEMORY"},
      {-11, "CL_BUILD_PROGRAM_FAILURE"},
      {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {-30, "CL_INVALID_VALUE"},
      {-34, "CL_INVALID_CONTEXT"},
      {-36, "CL_INVALID_COMMAND_QUEUE"},
      {-38, "CL_INVALID_MEM_OBJECT"},
      {-42, "CL_INVALID_BINARY"},
      {-43, "CL_INVALID_BUILD_OPTIONS"},
      {-46, "CL_INVALID_KERNEL_NAME"},
      {-51, "CL_INVALID_ARG_SIZE"},
      {-52, "CL_INVALID_KERNEL_ARGS"},
      {-54, "CL_INVALID_WORK_GROUP_SIZE"},
      {-55, "CL_INVALID_WORK_ITEM_SIZE"},
      {-61, "CL_INVALID_BUFFER_SIZE"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
  };
  for (const Row& row : kRows)
    if (row.status == status) return row.name;
  return fmt::format("status {}", status);
}

void check(int32_t status, const char* call, const DeviceInfo& device) {
  if (status == kSuccess) return;
  if (status == kMemoryFailure || status == kOutOfHost)
    throw core::error(Text::DeviceMemory, device.name, call);
  throw core::error(Text::DriverFailed, device.name, call, name_of_status(status));
}

}  // namespace hologram::backends::opencl
