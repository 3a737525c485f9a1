#include "engine/donation.hpp"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "graph/opaque_op.hpp"

namespace hologram::graph {
namespace {

// Whether the input is all of its node, as it lies in memory, and the node is as large.
bool is_all_of(const Input& input, const Node& node) {
  const View view = input.view();
  const int64_t count = element_count(view.shape);
  return view.offset == 0 && is_dense(view) && count == element_count(input.node->shape) &&
         count == element_count(node.shape) && input.node->dtype == node.dtype;
}

// What the node is but for some elements; null if that is nothing.
Node* updated(const Node& node) {
  if (node.kind == Kind::Opaque && node.work->updates() && is_all_of(node.inputs[0], node))
    return node.inputs[0].node.get();
  if (node.kind == Kind::Assemble && node.parts[0] == dense_view(node.shape) &&
      is_all_of(node.inputs[0], node))
    return node.inputs[0].node.get();
  return nullptr;
}

bool makes(const PlannedStep& step, const std::vector<Node*>& nodes, const Node* node) {
  return std::any_of(step.made.begin(), step.made.end(),
                     [&](const PlannedStep::Made& made) { return nodes[made.place] == node; });
}
bool reads(const PlannedStep& step, const std::vector<Node*>& nodes, const Node* node) {
  bool found = false;
  for_each_read(step, nodes, [&](const Node* read) { found |= read == node; });
  return found;
}

// How a step that writes `to` reads `from`, which is the same memory.
enum class Reading : uint8_t { None, Copy, Elementwise, Update, Other };
Reading reading(const Step& step, const PlannedStep& planned, const std::vector<Node*>& nodes,
                const Node* from, const Node* to) {
  if (!reads(planned, nodes, from)) return Reading::None;
  if (step.epilogue) return Reading::Other;
  if (step.opaque != nullptr) {
    const auto& inputs = step.opaque->inputs;
    const bool again = std::any_of(inputs.begin() + 1, inputs.end(),
                                   [&](const Input& input) { return input.node.get() == from; });
    return updated(*step.opaque) == from && !again ? Reading::Update : Reading::Other;
  }
  const Kernel& kernel = step.kernel;
  if (kernel.row_axes > 0) return Reading::Other;
  const auto output = std::find_if(kernel.outputs.begin(), kernel.outputs.end(),
                                   [&](const Output& o) { return o.target == to; });
  for (const Term& term : kernel.terms)
    if (term.kind == TermKind::Load && kernel.loads[term.buffer] == from &&
        !(canonical(kernel.views[term.view]) == canonical(kernel.views[output->view])))
      return Reading::Other;
  const bool copies =
      kernel.outputs.size() == 1 && kernel.terms[output->term].kind == TermKind::Load;
  return copies ? Reading::Copy : Reading::Elementwise;
}

// The steps in an order that keeps that of makers and readers of a node, and in which those that
// read what is overwritten come before the first that does it. Empty if there is none.
std::vector<size_t> ordered(const Plan& plan, const std::vector<Node*>& nodes,
                            const std::vector<const Donated*>& all) {
  const size_t n = plan.steps.size();
  std::vector<std::set<size_t>> after(n);
  std::vector<size_t> waits(n);
  const auto before = [&](size_t a, size_t b) {
    if (a != b && after[a].insert(b).second) waits[b]++;
  };
  std::vector<std::vector<size_t>> makers(nodes.size());
  for (size_t i = 0; i < n; i++)
    for (const PlannedStep::Made& each : plan.steps[i].made) {
      auto& list = makers[each.place];
      if (!list.empty()) before(list.back(), i);  // the parts of one node, in their order
      list.push_back(i);
    }
  std::vector<std::pair<const Node*, size_t>> places;
  places.reserve(nodes.size());
  for (size_t k = 0; k < nodes.size(); k++) places.emplace_back(nodes[k], k);
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < n; i++)
    for_each_read(plan.steps[i], nodes, [&](const Node* node) {
      const auto at = std::lower_bound(places.begin(), places.end(), std::pair(node, size_t{0}));
      if (at == places.end() || at->first != node) return;
      for (const size_t maker : makers[at->second]) before(maker, i);
    });
  for (const Donated* each : all) {
    std::vector<const Node*> states = {each->given};
    states.insert(states.end(), each->between.rbegin(), each->between.rend());
    states.push_back(each->root);
    for (size_t k = 1; k < states.size(); k++) {
      const auto writer = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const auto& step) {
        return makes(step, nodes, states[k]);
      });
      for (size_t i = 0; i < n; i++)
        if (reads(plan.steps[i], nodes, states[k - 1]) && !makes(plan.steps[i], nodes, states[k]))
          before(i, static_cast<size_t>(writer - plan.steps.begin()));
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> next;
  for (size_t i = 0; i < n; i++)
    if (waits[i] == 0) next.push(i);
  std::vector<size_t> order;
  while (!next.empty()) {
    const size_t i = next.top();
    next.pop();
    order.push_back(i);
    for (const size_t k : after[i])
      if (--waits[k] == 0) next.push(k);
  }
  return order.size() == n ? order : std::vector<size_t>();
}

template <class T>
void reorder(std::vector<T>& list, const std::vector<size_t>& order) {
  std::vector<T> moved;
  moved.reserve(list.size());
  for (const size_t i : order) moved.push_back(std::move(list[i]));
  list = std::move(moved);
}

// Has the kernel write `to` into what it loads of `from`.
void overwrite(Step& step, PlannedStep& planned, const Node* from, const Node* to) {
  Kernel& kernel = step.kernel;
  const auto load = std::find(kernel.loads.begin(), kernel.loads.end(), from);
  for (size_t i = 0; i < kernel.outputs.size(); i++) {
    if (kernel.outputs[i].target != to) continue;
    kernel.outputs[i].in_place = static_cast<uint32_t>(load - kernel.loads.begin());
    planned.made[i].in_place = true;
  }
}

}  // namespace

void Donated::lay() const {
  root->result = given->result;
  for (Node* node : between) node->result = given->result;
}

std::string place_donation(Schedule& schedule, Plan& plan, const std::vector<Node*>& nodes,
                           const std::vector<Donated>& placed, Donated& donated) {
  std::vector<Node*> chain = {donated.root};  // backwards
  while (Node* const from = updated(*chain.back())) {
    if (from == donated.given) break;
    const bool is_made = std::any_of(plan.steps.begin(), plan.steps.end(),
                                     [&](const PlannedStep& s) { return makes(s, nodes, from); });
    if (!is_made) break;
    chain.push_back(from);
  }
  donated.between.assign(chain.begin() + 1, chain.end());
  std::vector<const Donated*> all = {&donated};
  for (const Donated& each : placed) all.push_back(&each);
  const std::vector<size_t> order = ordered(plan, nodes, all);
  if (order.empty())
    return "something needs the input after " + describe(*donated.root) + " is written";
  std::vector<size_t> done;
  struct InPlace {
    size_t step;
    const Node *from, *to;
  };
  std::vector<InPlace> in_place;
  for (const size_t i : order) {
    const Step& step = schedule.steps[i];
    const PlannedStep& planned = plan.steps[i];
    for (size_t k = 0; k < chain.size(); k++) {
      const Node* const from = k + 1 < chain.size() ? chain[k + 1] : donated.given;
      if (!makes(planned, nodes, chain[k])) continue;
      switch (reading(step, planned, nodes, from, chain[k])) {
        case Reading::None:
        case Reading::Update: break;
        case Reading::Copy: done.push_back(i); break;
        case Reading::Elementwise: in_place.push_back({i, from, chain[k]}); break;
        case Reading::Other: return describe(*chain[k]) + " reads other elements than it writes";
      }
    }
  }
  for (const size_t i : done) plan.steps[i].done = true;
  for (const InPlace& each : in_place)
    overwrite(schedule.steps[each.step], plan.steps[each.step], each.from, each.to);
  reorder(schedule.steps, order);
  reorder(plan.steps, order);
  return {};
}

}  // namespace hologram::graph
