// What a context asks the library of its device.
#include <utility>

#include "engine/context.hpp"

namespace hologram::graph {

hal::LibraryOps* Context::library() const { return state_.device->library(); }

hal::Refusal Context::no_library() const {
  return {config().reproducible ? "reproducible forbids libraries" : "the device has no library"};
}

std::shared_ptr<const hal::LibraryPlan> Context::library_of(const hal::OpDesc& desc) {
  if (library() == nullptr || has_programs_alone()) return nullptr;
  auto planned = library()->plan(desc);
  auto* const plan = std::get_if<std::shared_ptr<hal::LibraryPlan>>(&planned);
  return plan == nullptr ? nullptr : std::move(*plan);
}

bool Context::by_library(const hal::OpDesc& desc, std::initializer_list<hal::Binding> operands) {
  const auto plan = library_of(desc);
  if (plan == nullptr) return false;
  const Storage workspace = allocate(plan->workspace());
  runtime::Work work;
  for (const hal::Binding& operand : operands) work.bytes += static_cast<double>(operand.size);
  call(plan, {operands.begin(), operands.size()}, workspace.where, work);
  return true;
}

Candidates Context::candidates(const hal::OpDesc& desc, std::string program) {
  Candidates all;
  if (library() == nullptr) all.push_back({{}, no_library().reason, {}});
  else all = library()->candidates(desc);
  all.push_back({std::move(program), {}, {}});
  return all;
}

Candidates Context::candidates_of_bits(const hal::OpDesc& desc, std::string program) {
  if (library() != nullptr && has_programs_alone())
    return {{{}, "a library knows no checks and no limit of time", {}},
            {std::move(program), {}, {}}};
  return candidates(desc, std::move(program));
}

}  // namespace hologram::graph
