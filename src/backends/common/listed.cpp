#include "backends/common/listed.hpp"

#include <fmt/format.h>

#include "hologram/config.hpp"
#include "hologram/program.hpp"

namespace hologram::backends::common {

std::optional<hal::Refusal> refuses_dtypes(const DeviceInfo& info,
                                           const program::Program& program) {
  const program::Needs& needs = program.needs();
  for (size_t t = 1; t < kDTypeCount; t++) {
    const auto type = static_cast<DType>(t);
    if ((needs.compute.has(type) && !info.compute.has(type)) ||
        (needs.storage.has(type) && !info.storage.has(type)))
      return hal::Refusal{fmt::format("it has no {}", name_of(type))};
  }
  return {};
}

std::optional<hal::Refusal> refuses_index(size_t devices, const std::string& no_devices, int index,
                                          const BackendConfig& config) {
  if (devices == 0) return hal::Refusal{no_devices};
  if (static_cast<size_t>(index) >= devices)
    return hal::Refusal{fmt::format("it has no device {}", index)};
  if (config.check)
    return hal::Refusal{"it cannot look for races, as HOLOGRAM_CHECK=1 asks for; the CPU can"};
  return {};
}

hal::Refusal broken(const DeviceInfo& info, const Error& error) {
  return {fmt::format("{} does not work: {}", info.name, error.what())};
}

}  // namespace hologram::backends::common
