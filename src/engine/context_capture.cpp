// Captured calculations: recorded once, launched as often as wanted.
#include <algorithm>

#include "core/messages.hpp"
#include "engine/context_lock.hpp"

namespace hologram::graph {

Context::Recording Context::record(const std::vector<NodeRef>& given,
                                   const std::vector<NodeRef>& roots,
                                   std::vector<Donated> donated) {
  std::vector<Node*> lazy;
  for (const NodeRef& root : roots)
    if (root->state.load(std::memory_order_acquire) == NodeState::Lazy) lazy.push_back(root.get());
  const Locked lock(*this);
  signature_.walk(lazy, true);
  auto [schedule, plan] = plan_of(signature_, options(), true);
  const Lowered* const lowered = plan.lowered.get();
  Recording made{roots,
                 lowered != nullptr ? lowered->nodes() : signature_.nodes(),
                 std::move(schedule),
                 std::move(plan),
                 {}};
  if (lowered != nullptr)
    for (size_t i = 0; i < roots.size(); i++) {
      const auto& walked = signature_.roots();
      const auto at = std::find(walked.begin(), walked.end(), roots[i].get());
      if (at != walked.end())
        made.roots[i] = lowered->roots()[static_cast<size_t>(at - walked.begin())];
    }
  for (Donated& each : donated) {
    const auto root = std::find_if(roots.begin(), roots.end(),
                                   [&](const NodeRef& node) { return node.get() == each.root; });
    each.root = made.roots[static_cast<size_t>(root - roots.begin())].get();
    each.refused = place_donation(made.schedule, made.plan, made.nodes, made.donated, each);
    if (each.refused.empty()) made.donated.push_back(std::move(each));
    else copy_donated(each.input, each.refused);
  }
  made.recorded = record_commands(made, given, made.roots);
  return made;
}

namespace {

// Whatever happens, the graph holds nothing of a launch afterwards.
struct Clean {
  const Context::Recording& recording;
  const std::vector<NodeRef>& given;
  ~Clean() {
    for (const PlannedStep& step : recording.plan.steps)
      for (const PlannedStep::Made& made : step.made) recording.nodes[made.place]->result = {};
    for (const NodeRef& node : given) node->result = {};
  }
};

// As libraries may count on.
bool are_aligned(std::span<const Storage> storages) {
  return std::all_of(storages.begin(), storages.end(),
                     [](const Storage& each) { return hal::alignment_of(each.where) >= 256; });
}

// Neither there already nor in the memory of what is.
bool is_to_be_made(const Node& root) {
  return root.state.load(std::memory_order_acquire) == NodeState::Lazy &&
         root.result.owner == nullptr;
}

}  // namespace

// Goes through the steps once without running them: each launch is recorded, with slots for what
// is given and what is asked for.
Recorded Context::record_commands(Recording& recording, const std::vector<NodeRef>& given,
                                  const std::vector<NodeRef>& roots) {
  if (!state_.device->lists()) return {};
  if (config().timeout_ms > 0) return Recorded{"each launch has a time limit"};
  if (state_.profiler != nullptr) return Recorded{"each launch is timed"};
  const Clean clean{recording, given};
  Recorder recorder;
  for (const NodeRef& node : given) node->result = recorder.slot(bytes_of(*node));
  for (const Donated& each : recording.donated) each.lay();
  for (const NodeRef& root : roots)
    if (is_to_be_made(*root)) root->result = recorder.slot(bytes_of(*root));
  const LastUses last(recording.plan, recording.nodes);
  try {
    recorder_ = &recorder;
    const struct On {
      Recorder*& place;
      ~On() { place = nullptr; }
    } on{recorder_};
    for (size_t i = 0; i < recording.plan.steps.size(); i++) {
      compute(recording.plan.steps[i], recording.nodes, &recording.schedule.steps[i]);
      for (Node* node : last.of(i)) node->result = {};
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::OutOfMemory) throw;
    return Recorded{error.what()};
  } catch (const Recorder::Refused& refused) {
    return Recorded{refused.reason};
  }
  return recorder.finish(stream());
}

// What does not lie there yet.
void Context::copy_into(std::span<const Storage> into, const std::vector<Storage>& results) {
  for (size_t i = 0; i < into.size(); i++)
    if (into[i].where.size > 0) copy(into[i], results[i]);
}

std::vector<Storage> Context::replay(Recording& recording, const std::vector<NodeRef>& given,
                                     const std::vector<Storage>& inputs,
                                     const std::vector<NodeRef>& roots,
                                     std::span<const Storage> into) {
  const Locked lock(*this);
  std::vector<Storage> results;
  results.reserve(roots.size());
  const bool straight = recording.recorded.calls == 0 || are_aligned(into);
  if (recording.recorded.list != nullptr) {
    bindings_.clear();
    std::vector<Storage> bound = inputs;
    for (Storage& input : bound) {
      // What libraries may count on in memory of the pool, somebody else's need not have.
      if (recording.recorded.calls > 0 && hal::alignment_of(input.where) < 256) {
        const Storage moved = allocate(input.where.size);
        copy(moved, input);
        input = moved;
      }
      bindings_.push_back(input.where);
    }
    for (const NodeRef& root : roots) {
      const auto donated =
          std::find_if(recording.donated.begin(), recording.donated.end(),
                       [&](const Donated& each) { return each.root == root.get(); });
      if (donated != recording.donated.end()) {
        results.push_back(bound[donated->input]);
      } else if (is_to_be_made(*root)) {
        results.push_back(straight && !into.empty() ? into[results.size()]
                                                    : allocate(bytes_of(*root)));
        bindings_.push_back(results.back().where);
      } else {
        results.push_back(root->result);
      }
    }
    state_.launches += recording.recorded.launches;
    state_.library_calls += recording.recorded.calls;
    state_.with_memory([&] { stream().replay(*recording.recorded.list, bindings_); });
    copy_into(into, results);
    for (const Recorded::Check& each : recording.recorded.checks)
      check(each.word, each.error, true);
    return results;
  }
  const Clean clean{recording, given};
  for (size_t i = 0; i < given.size(); i++) given[i]->result = inputs[i];
  for (const Donated& each : recording.donated) each.lay();
  for (size_t i = 0; i < recording.plan.steps.size(); i++)
    compute(recording.plan.steps[i], recording.nodes, &recording.schedule.steps[i]);
  for (const NodeRef& root : roots) results.push_back(root->result);
  copy_into(into, results);
  return results;
}

}  // namespace hologram::graph
