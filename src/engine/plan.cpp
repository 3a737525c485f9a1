#include "engine/plan.hpp"

#include <algorithm>
#include <set>

namespace hologram::graph {
namespace {

PlannedStep planned(const Step& step) {
  PlannedStep made;
  if (step.epilogue) {
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

// All nodes that the kernel knows, if an earlier one has made one of its members.
std::vector<uint32_t> held_by(const Kernel& kernel, const std::set<const Node*>& made) {
  const auto is_made = [&](const Node* node) { return made.contains(node); };
  if (std::none_of(kernel.members.begin(), kernel.members.end(), is_made)) return {};
  std::vector<uint32_t> held;
  for (const Node* node : kernel.members) held.push_back(node->slot);
  for (const Node* node : kernel.loads) held.push_back(node->slot);
  for (const Number& number : kernel.numbers) held.push_back(number.node->slot);
  return held;
}

// The slots of all nodes must be their places.
Plan steps_of(const Schedule& schedule) {
  Plan plan;
  plan.steps.reserve(schedule.steps.size());
  std::set<const Node*> made;
  for (const Step& step : schedule.steps) {
    PlannedStep& here = plan.steps.emplace_back(planned(step));
    here.held = held_by(step.kernel, made);
    for (const Output& output : step.kernel.outputs) made.insert(output.target);
    if (step.opaque != nullptr) made.insert(step.opaque);
  }
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

Planned planned(const GraphSignature& signature, const ScheduleOptions& how) {
  Schedule fresh = schedule(signature.roots(), how);
  const GraphSignature::Places places(signature.nodes());
  Plan plan = steps_of(fresh);
  return {std::move(fresh), std::move(plan)};
}

}  // namespace

std::unordered_map<Node*, size_t> last_steps(const Plan& plan, const std::vector<Node*>& nodes) {
  std::unordered_map<Node*, size_t> last;
  for (size_t i = 0; i < plan.steps.size(); i++) {
    for (const PlannedStep::Made& made : plan.steps[i].made) last[nodes[made.place]] = i;
    for_each_read(plan.steps[i], nodes, [&](Node* node) { last[node] = i; });
  }
  return last;
}

Planned plan_of(const GraphSignature& signature, ScheduleOptions how, bool captured) {
  how.tracing = captured;
  // The scheduler knows what to say of what cannot run.
  if (!signature.can_run()) schedule(signature.roots(), how);
  if (!has_composites(signature.nodes())) return planned(signature, how);
  how.tracing = true;
  auto lowered = std::make_unique<Lowered>(signature.nodes(), signature.roots(), captured);
  GraphSignature below;
  below.walk(lowered->root_nodes(), true);
  Planned made = planned(below, how);
  lowered->set_plan(below.nodes(), made.plan);
  made.plan.lowered = std::move(lowered);
  return made;
}

}  // namespace hologram::graph
