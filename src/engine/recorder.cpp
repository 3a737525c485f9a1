#include "engine/recorder.hpp"

#include <unordered_map>

#include "core/log.hpp"

namespace hologram::graph {

Storage Recorder::slot(uint64_t bytes) {
  auto slot = std::make_shared<hal::Slot>(static_cast<uint32_t>(slots_.size()), bytes);
  slots_.push_back(slot);
  const hal::Binding where{slot.get(), 0, bytes};
  return {std::move(slot), where};
}

Storage Recorder::allocate(runtime::Pool& pool, uint64_t bytes) {
  if (precompiles_) return slot(bytes);
  std::shared_ptr<const runtime::Block>* best = nullptr;
  for (auto& block : memory_) {
    const uint64_t size = block->binding().size;
    if (block.use_count() > 1 || size < bytes || size / 2 > bytes) continue;
    if (best == nullptr || size < (*best)->binding().size) best = &block;
  }
  if (best == nullptr)
    best = &memory_.emplace_back(std::make_shared<const runtime::Block>(pool.allocate(bytes)));
  const hal::Binding& all = (*best)->binding();
  return {*best, {all.buffer, all.offset, bytes}};
}

void Recorder::launch(std::shared_ptr<const hal::Executable> executable,
                      const hal::Launch& launch) {
  launches_++;
  commands_.push_back({.executable = std::move(executable),
                       .plan = nullptr,
                       .grid = launch.grid,
                       .bindings = {launch.bindings.begin(), launch.bindings.end()},
                       .scalars = {launch.scalars.begin(), launch.scalars.end()}});
}

void Recorder::call(std::shared_ptr<const hal::LibraryPlan> plan,
                    std::span<const hal::Binding> operands, const hal::Binding& workspace) {
  calls_++;
  hal::Command& command = commands_.emplace_back();
  command.plan = std::move(plan);
  command.bindings = {operands.begin(), operands.end()};
  command.bindings.push_back(workspace);
}

void Recorder::copy(const hal::Binding& to, const hal::Binding& from) {
  commands_.emplace_back().bindings = {to, from};
}

void Recorder::fill(const hal::Binding& where, uint32_t pattern) {
  hal::Command& command = commands_.emplace_back();
  command.bindings = {where};
  command.pattern = pattern;
}

Recorded Recorder::finish(hal::Stream& stream) {
  auto made = stream.list(commands_);
  Recorded recorded;
  if (auto* refusal = std::get_if<hal::Refusal>(&made)) {
    recorded.reason = std::move(refusal->reason);
    return recorded;
  }
  recorded.list = std::move(std::get<std::unique_ptr<hal::CommandList>>(made));
  recorded.launches = launches_;
  recorded.calls = calls_;
  recorded.checks = std::move(checks_);
  recorded.memory.insert(recorded.memory.end(), slots_.begin(), slots_.end());
  recorded.memory.insert(recorded.memory.end(), memory_.begin(), memory_.end());
  recorded.memory.insert(recorded.memory.end(), held_.begin(), held_.end());
  return recorded;
}

LastUses::LastUses(const Plan& plan, const std::vector<Node*>& nodes) : ends_(plan.steps.size()) {
  std::unordered_map<Node*, size_t> last = last_steps(plan, nodes);
  // What was given, or is there already, is not the plan's to end.
  for (const PlannedStep& step : plan.steps)
    for (const PlannedStep::Made& made : step.made)
      if (const auto found = last.find(nodes[made.place]); found != last.end()) {
        ends_[found->second].push_back(found->first);
        last.erase(found);
      }
}

}  // namespace hologram::graph
