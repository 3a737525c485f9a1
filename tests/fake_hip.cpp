// What the emulated HIP has in another form than the emulated CUDA driver.
#include "fake_hip.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "fake_cuda_world.hpp"

// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr)
namespace hologram::fake {
namespace {

thread_local int t_device = 0;  // the current one

constexpr std::string_view kOfDevices[] = {"hipMem",    "hipMalloc", "hipFree",
                                           "hipHost",   "hipEvent",  "hipGraph",
                                           "hipModule", "hipStream", "hipDeviceSynchronize"};

int wave() { return number_from("WAVE", 32); }

}  // namespace

// The first device is current until another is made so.
Context current() { return context_of(t_device); }
int depth() { return t_device == 0 ? 0 : 1; }

bool uses_the_context(std::string_view name) {
  return std::any_of(std::begin(kOfDevices), std::end(kOfDevices), [&](std::string_view beginning) {
    return name.substr(0, beginning.size()) == beginning;
  });
}

}  // namespace hologram::fake

using namespace hologram;
using namespace hologram::fake;

extern "C" {

int hipSetDevice(int device) {
  ENTER;
  static_cast<void>(w);
  if (device < 0 || device > 1) return 101;
  t_device = device;
  return 0;
}
int hipGetDevice(int* device) {
  ENTER;
  static_cast<void>(w);
  *device = t_device;
  return 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  ENTER;
  static_cast<void>(w);
  const std::map<int, int> values = {{backends::rocm::kHipMaxThreads, 1024},
                                     {backends::rocm::kHipMaxShared, 64 << 10},
                                     {backends::rocm::kHipMultiprocessors, 96},
                                     {backends::rocm::kHipIntegrated, 0},
                                     {backends::rocm::kHipWave, wave()}};
  *value = values.at(attribute);
  return 0;
}
// As HIP 6 lays them out.
int hipGetDevicePropertiesR0600(void* properties, int device) {
  ENTER;
  static_cast<void>(w);
  constexpr size_t kBytes = 1472, kArchitecture = 1160;
  auto* const bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, kBytes);
  std::strcpy(bytes, device == 0 ? "Emulated GPU" : "Second emulated GPU");
  const char* const set = setting_of("ARCHITECTURE");
  std::strcpy(bytes + kArchitecture, set != nullptr ? set
                                     : wave() == 64 ? "gfx90a:sramecc+:xnack-"
                                                    : "gfx1100");
  return 0;
}
int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  ENTER;
  static_cast<void>(w);
  return flags != 0 ? 1 : peer == t_device ? 101 : 0;
}
int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                       NativeStream stream) {
  ENTER;
  return copy_peer(w, reinterpret_cast<Address>(to), context_of(to_device),
                   reinterpret_cast<Address>(from), context_of(from_device), bytes, stream);
}
int hipHostGetDevicePointer(Address* memory, void* host, unsigned flags) {
  ENTER;
  const auto* const found = around(w, reinterpret_cast<Address>(host), 1);
  if (found == nullptr || !found->second.host || flags != 0) return 1;
  *memory = reinterpret_cast<Address>(host);
  return 0;
}
int hipMemGetAddressRange(Address* start, size_t* bytes, Address inside) {
  ENTER;
  const auto* const found = around(w, inside, 1);
  if (found == nullptr || found->second.host) return 1;
  *start = found->first;
  *bytes = found->second.bytes;
  return 0;
}
const char* hipGetErrorName(int status) {
  return status == 700            ? "hipErrorIllegalAddress"
         : status == world().lost ? "hipErrorLaunchFailure"
                                  : "hipError";
}
const char* hipGetErrorString(int status) {
  return status == 700            ? "an illegal memory access was encountered"
         : status == world().lost ? "unspecified launch failure"
                                  : "an injected failure";
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
