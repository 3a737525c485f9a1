#include "fusion/staged_rows.hpp"

#include <algorithm>
#include <optional>

#include "graph/elementwise.hpp"

namespace hologram::graph {

uint8_t last_level(const Kernel& kernel) {
  uint8_t last = 0;
  for (const Term& t : kernel.terms)
    if (t.kind == TermKind::Reduce) last = std::max(last, t.level);
  return last;
}

bool is_guarded(const Kernel& kernel, uint8_t level) {
  return std::all_of(kernel.terms.begin(), kernel.terms.end(), [level](const Term& t) {
    return t.kind != TermKind::Reduce || t.level != level || t.is_guarded();
  });
}

bool same_along_row(const Layout& layout, const Output& output) {
  const Strides& along = layout.views[output.view].row;
  return std::all_of(along.begin(), along.end(), [](int64_t s) { return s == 0; });
}

std::vector<bool> reduced_terms(const Kernel& kernel) {
  std::vector<bool> needed(kernel.terms.size());
  for (size_t t = kernel.terms.size(); t-- > 0;) {  // operands come before those who use them
    if (kernel.terms[t].kind != TermKind::Reduce && !needed[t]) continue;
    for (const uint32_t operand : kernel.terms[t].operands) needed[operand] = true;
  }
  return needed;
}

std::map<size_t, uint32_t> kept_terms(const Kernel& kernel, const Layout& layout) {
  std::map<size_t, uint32_t> kept;
  if ((layout.traversal != Traversal::LaneRows && layout.traversal != Traversal::GroupRows) ||
      layout.held > 0)
    return kept;
  const uint8_t last = last_level(kernel);
  if (is_guarded(kernel, last)) return kept;  // the walk may not take place
  std::vector<bool> walked(kernel.terms.size(), false);
  for (size_t t = kernel.terms.size(); t-- > 0;) {
    const Term& term = kernel.terms[t];
    if (!(term.kind == TermKind::Reduce && term.level == last) && !walked[t]) continue;
    for (const uint32_t operand : term.operands)
      if (!kernel.terms[operand].per_row) walked[operand] = true;
  }
  for (size_t i = 0; i < kernel.outputs.size(); i++) {
    const Output& output = kernel.outputs[i];
    const DType dtype = output.target->dtype;
    if (size_of(dtype) < 4 || same_along_row(layout, output)) continue;
    std::optional<uint32_t> found;
    bool reads = false;
    std::vector<uint32_t> todo = {output.term};
    while (!todo.empty()) {
      const uint32_t t = todo.back();
      todo.pop_back();
      const Term& term = kernel.terms[t];
      if (term.per_row) continue;
      const bool fits = walked[t] && term.kind == TermKind::Apply && term.dtype == dtype;
      if (fits && term.op->ulps > 0.5 && found.value_or(t) == t) found = t;
      else if (term.kind == TermKind::Load) reads = true;
      else todo.insert(todo.end(), term.operands.begin(), term.operands.end());
    }
    if (found && !reads && *found != output.term) kept[i] = *found;
  }
  return kept;
}

}  // namespace hologram::graph
