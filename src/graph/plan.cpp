#include "graph/plan.hpp"

#include <algorithm>

namespace hologram::graph {
namespace {

PlannedStep planned(const Step& step) {
  PlannedStep made;
  if (step.ending) {
    made.product = step.opaque->slot;
  } else if (step.opaque != nullptr) {
    made.opaque = true;
    made.made.push_back({step.opaque->slot, true});
    return made;
  }
  const Kernel& kernel = step.kernel;
  for (const Node* node : kernel.loads) made.loads.push_back(node->slot);
  for (const Output& output : kernel.outputs) made.made.push_back({output.target->slot, true});
  for (const Number& number : kernel.numbers)
    made.numbers.push_back({0, number.node->slot, number.attribute});
  return made;
}

}  // namespace

Plan plan_of(const Schedule& schedule) {
  Plan plan;
  plan.steps.reserve(schedule.steps.size());
  for (const Step& step : schedule.steps) plan.steps.push_back(planned(step));
  // What is put together from parts is complete with the last of them.
  std::vector<uint32_t> later;
  for (size_t i = plan.steps.size(); i-- > 0;) {
    for (size_t k = plan.steps[i].made.size(); k-- > 0;) {
      PlannedStep::Made& made = plan.steps[i].made[k];
      made.complete = std::find(later.begin(), later.end(), made.place) == later.end();
      later.push_back(made.place);
    }
  }
  return plan;
}

}  // namespace hologram::graph
