#include "backends/rocm/translation.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace hologram::backends::rocm {
namespace {

HipFunctions g_hip;
int g_major = 0;
constexpr Status kInvalidValue = 1;  // hipErrorInvalidValue

// Devices that were current before those that were entered.
thread_local int t_before[16];
thread_local size_t t_depth = 0;

Status init(unsigned flags) {
  const Status status = g_hip.init(flags);
  return status == kHip5NoDevice ? driver::kNoDevice : status;
}

int device_of(Context context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
}
// NOLINTNEXTLINE(performance-no-int-to-ptr)
void* pointer_to(Address address) { return reinterpret_cast<void*>(address); }

Status push(Context context) {
  if (t_depth == std::size(t_before)) return kInvalidValue;
  int before = 0;
  Status status = g_hip.get_device(&before);
  if (status == driver::kSuccess) status = g_hip.set_device(device_of(context));
  if (status == driver::kSuccess) t_before[t_depth++] = before;
  return status;
}

Status pop(Context* /*context*/) { return g_hip.set_device(t_before[--t_depth]); }

// The device starts with the first that is asked of it.
Status retain(Context* context, DeviceNumber device) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  *context = reinterpret_cast<Context>(static_cast<uintptr_t>(device) + 1);
  return driver::kSuccess;
}

Status device_attribute(int* value, int attribute, DeviceNumber device) {
  static constexpr std::pair<int, int> kNumbers[] = {
      {driver::kMaxThreads, kHipMaxThreads},
      {driver::kMaxShared, kHipMaxShared},
      {driver::kMultiprocessors, kHipMultiprocessors},
      {driver::kIntegrated, kHipIntegrated}};
  for (const auto& [cuda, hip] : kNumbers)
    if (cuda == attribute) return g_hip.attribute(value, hip, device);
  return kInvalidValue;
}

Status peer_enable(Context peer, unsigned flags) {
  return g_hip.enable_peer(device_of(peer), flags);
}

Status copy_peer(Address to, Context to_context, Address from, Context from_context, size_t bytes,
                 NativeStream stream) {
  return g_hip.copy_peer(pointer_to(to), device_of(to_context), pointer_to(from),
                         device_of(from_context), bytes, stream);
}

Status allocate_host(void** memory, size_t bytes, unsigned flags) {
  return g_hip.allocate_host(memory, bytes, flags | kHipCoherent);
}

// The attributes have CUDA's numbers, kinds of memory have others, and the size of an allocation is
// told with 32 bits. HIP 5 says of memory that it does not know what it says of the host's: whoever
// takes that for page-locked copies it all the same.
Status pointer_attributes(unsigned count, int* attributes, void** values, Address pointer) {
  const Status status = g_hip.pointer_attributes(count, attributes, values, pointer);
  if (status != driver::kSuccess) return status;
  const bool old = g_major < 6;
  for (unsigned i = 0; i < count; i++) {
    Address start = 0;
    size_t bytes = 0;
    const bool range = attributes[i] == driver::kRangeStart || attributes[i] == driver::kRangeSize;
    if (range && g_hip.address_range(&start, &bytes, pointer) != driver::kSuccess)
      start = bytes = 0;
    if (attributes[i] == driver::kRangeStart) *static_cast<Address*>(values[i]) = start;
    if (attributes[i] == driver::kRangeSize) *static_cast<size_t*>(values[i]) = bytes;
    if (attributes[i] != driver::kMemoryType) continue;
    unsigned& type = *static_cast<unsigned*>(values[i]);
    type = type == (old ? kHip5HostMemory : kHipHostMemory)       ? driver::kHostMemory
           : type == (old ? kHip5DeviceMemory : kHipDeviceMemory) ? driver::kDeviceMemory
                                                                  : 0;
  }
  return status;
}

Status error_name(Status status, const char** text) {
  *text = g_hip.error_name(status);
  return driver::kSuccess;
}
Status error_text(Status status, const char** text) {
  *text = g_hip.error_text(status);
  return driver::kSuccess;
}

}  // namespace

void translate(const HipFunctions& functions, int major, driver::DriverFunctions& table) {
  g_hip = functions;
  g_major = major;
  table.init = init;
  table.context_retain = retain;
  table.context_push = push;
  table.context_pop = pop;
  table.device_attribute = device_attribute;
  table.peer_enable = peer_enable;
  table.copy_peer = copy_peer;
  table.allocate_host = allocate_host;
  table.pointer_attributes = pointer_attributes;
  table.error_name = error_name;
  table.error_text = error_text;
}

std::string architecture_of(const HipFunctions& functions, int device) {
  std::vector<char> properties(kPropertiesBytes);
  if (functions.properties(properties.data(), device) != driver::kSuccess) return {};
  constexpr std::string_view kBegins = "gfx";
  const auto found = std::search(properties.begin() + kNameBytes, properties.end(), kBegins.begin(),
                                 kBegins.end());
  return {found, std::find_if_not(found, properties.end(), [](unsigned char c) {
            return std::isalnum(c) != 0 || c == ':' || c == '+' || c == '-';
          })};
}

}  // namespace hologram::backends::rocm
