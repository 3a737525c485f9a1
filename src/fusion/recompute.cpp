#include "fusion/recompute.hpp"

#include <algorithm>
#include <vector>

#include "fusion/staged_rows.hpp"
#include "graph/elementwise.hpp"

namespace hologram::graph {
namespace {

bool is_function(const Term& term) {
  return term.kind == TermKind::Apply && (term.op->ulps > 0.5 || term.op->draws);
}

// What a kernel costs for each element of its row. A row is walked once for the reductions of each
// level, and once more for results that differ along it.
class Walks {
 public:
  Walks(const Kernel& kernel, const Costs& costs)
      : kernel_(kernel), costs_(costs), met_(kernel.terms.size()), kept_(kernel.terms.size()) {
    for (const Output& output : kernel.outputs) outputs_.push_back(output.term);
  }

  // Of the whole kernel, where `there` is read.
  double cost(uint32_t there) { return cost_of_targets(outputs_, there); }
  // Of one that makes this term alone.
  double cost_to_make(uint32_t term) { return cost_of_targets({term}, kNone); }

  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  double cost_of_targets(const std::vector<uint32_t>& targets, uint32_t there) {
    const std::vector<bool> needed = needed_for(targets, there);
    uint8_t last = 0;
    for (uint32_t t = 0; t < needed.size(); t++)
      if (needed[t] && kernel_.terms[t].kind == TermKind::Reduce)
        last = std::max(last, kernel_.terms[t].level);
    function_ = last > 0 ? costs_.in_rows : costs_.function;
    double sum = 0;
    for (uint8_t level = 1; level <= last; level++) {
      std::fill(met_.begin(), met_.end(), false);
      double walk = 0;
      for (uint32_t t = 0; t < needed.size(); t++) {
        const Term& term = kernel_.terms[t];
        if (!needed[t] || term.kind != TermKind::Reduce || term.level != level) continue;
        for (const uint32_t operand : term.operands) walk += met(operand, there);
      }
      constexpr double kSeldom = 1.0 / 16;  // guards look first
      sum += is_guarded(kernel_, level) ? walk * kSeldom : walk;
    }
    // Functions of the last walk may wait in the memory of the results.
    if (!is_guarded(kernel_, last)) kept_ = met_;
    std::fill(met_.begin(), met_.end(), false);
    for (const uint32_t t : targets) sum += met(t, there);
    std::fill(kept_.begin(), kept_.end(), false);
    return sum;
  }

  std::vector<bool> needed_for(const std::vector<uint32_t>& targets, uint32_t there) const {
    std::vector<bool> needed(kernel_.terms.size());
    std::vector<uint32_t> todo = targets;
    while (!todo.empty()) {
      const uint32_t t = todo.back();
      todo.pop_back();
      if (needed[t]) continue;
      needed[t] = true;
      if (t != there)
        todo.insert(todo.end(), kernel_.terms[t].operands.begin(), kernel_.terms[t].operands.end());
    }
    return needed;
  }

  // What the element of this term costs on the walk under way, once.
  double met(uint32_t first, uint32_t there) {
    double sum = 0;
    std::vector<uint32_t> todo = {first};
    while (!todo.empty()) {
      const uint32_t t = todo.back();
      todo.pop_back();
      const Term& term = kernel_.terms[t];
      if (term.per_row || met_[t]) continue;
      met_[t] = true;
      const bool waits = kept_[t] && is_function(term);
      sum += is_function(term) && t != there && !waits ? function_ : 1;
      if (t != there && !waits) todo.insert(todo.end(), term.operands.begin(), term.operands.end());
    }
    return sum;
  }

  const Kernel& kernel_;
  const Costs& costs_;
  double function_ = 0;  // in the kernel that is looked at
  std::vector<uint32_t> outputs_;
  std::vector<bool> met_;   // on the walk under way
  std::vector<bool> kept_;  // from the walk before it
};

}  // namespace

const Node* worth_keeping(const Kernel& kernel, const Costs& costs) {
  if (kernel.row_axes == 0 || kernel.chunk != 0) return nullptr;
  Walks walks(kernel, costs);
  const double launch =
      costs.launch / static_cast<double>(std::max<int64_t>(1, element_count(kernel.domain)));
  const Node* best = nullptr;
  const double whole = walks.cost(Walks::kNone);
  double least = whole;
  for (uint32_t t = 0; t < kernel.terms.size(); t++) {
    const Term& term = kernel.terms[t];
    if (term.kind != TermKind::Apply || term.per_row || term.node == nullptr) continue;
    const auto is_result = [t](const Output& output) { return output.term == t; };
    if (std::any_of(kernel.outputs.begin(), kernel.outputs.end(), is_result)) continue;
    // What rows share is made once for all of them, but little of it hides behind memory as it is.
    const double share = static_cast<double>(element_count(term.node->shape)) /
                         static_cast<double>(std::max<int64_t>(1, element_count(kernel.domain)));
    const double split =
        walks.cost(t) + (walks.cost_to_make(t) + costs.pass) * std::min(share, 1.0) + launch;
    if (share < 1 && split > costs.share * whole) continue;
    if (split < least) {
      least = split;
      best = term.node;
    }
  }
  return best;
}

}  // namespace hologram::graph
