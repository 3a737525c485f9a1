#include "libraries/library.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "libraries/host_plan.hpp"

namespace hologram::libraries {

hal::Expected<std::shared_ptr<HostPlan>> HostLibrary::plan(const hal::ConvDesc&) const {
  return hal::Refusal{info_.reason.empty() ? "it has no convolutions" : info_.reason};
}

core::DynamicLibrary open(const char* variable, std::initializer_list<const char*> names) {
  const char* only = std::getenv(variable);
  if (only != nullptr && *only != '\0') return core::DynamicLibrary({only});
  return core::DynamicLibrary(names);
}

hal::Refusal no_such_product(const hal::GemmDesc& desc) {
  return {fmt::format("no product of {} and {} to {}", name_of(desc.a), name_of(desc.b),
                      name_of(desc.d))};
}

bool all_of_type(const hal::GemmDesc& desc, DType type) {
  return desc.a == type && desc.b == type && desc.d == type && desc.accumulate == type;
}

}  // namespace hologram::libraries
