#include "graph/row_products.hpp"

#include <utility>
#include <vector>

#include "graph/elementwise.hpp"

namespace hologram::graph {
namespace {

// A row's result is the sum of this, all of one type; null if the kernel is anything else.
const Term* summed(const Kernel& kernel) {
  if (kernel.outputs.size() != 1) return nullptr;
  const Term& sum = kernel.terms[kernel.outputs.front().term];
  const DType dtype = sum.dtype;
  if (sum.kind != TermKind::Reduce || sum.combine != program::Combine::Add ||
      kernel.outputs.front().target->dtype != dtype || compute_type(dtype) != dtype)
    return nullptr;
  const Term& term = kernel.terms[sum.operands.front()];
  return term.dtype == dtype ? &term : nullptr;
}

// What is loaded: one thing, or two whose product it is. None if it is anything else.
std::vector<const Term*> loaded(const Kernel& kernel, const Term& summed) {
  static const ElementwiseOp& mul = elementwise("mul");
  std::vector<const Term*> loads = {&summed};
  if (summed.kind == TermKind::Apply && summed.op == &mul) {
    loads.clear();
    for (const uint32_t operand : summed.operands) loads.push_back(&kernel.terms[operand]);
  }
  for (const Term* load : loads)
    if (load->kind != TermKind::Load || load->dtype != summed.dtype || load->per_row ||
        kernel.loads[load->buffer]->dtype != summed.dtype)
      return {};
  return loads;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0; step *= shape[k])
    if (strides[k] != step) return false;
  return true;
}

}  // namespace

std::optional<RowProducts> row_products_of(const Kernel& kernel, const Layout& l) {
  const size_t axes = l.outer.size();
  const bool pieces = l.chunk != 0;
  if (l.walk != Walk::GroupRows || l.held > 0 || !l.trusted || l.row.size() != 1 ||
      axes > (pieces ? 1 : 2))
    return {};
  const Term* const term = summed(kernel);
  if (term == nullptr) return {};
  std::vector<const Term*> loads = loaded(kernel, *term);
  if (loads.empty()) return {};
  const Lanes& d = l.views[kernel.outputs.front().view];
  if (d.offset != 0 || !is_dense(l.outer, d.outer)) return {};
  const auto view = [&](const Term* load) -> const Lanes& { return l.views[load->view]; };
  for (const Term* load : loads)
    if (view(load).row[0] != 1) return {};
  const auto step = [&](const Term* load) {
    return pieces ? l.chunk : axes > 0 ? view(load).outer.back() : 0;
  };
  const auto stride = [&](const Term* load) { return axes == 2 ? view(load).outer[0] : 0; };
  // If the rows share one of the two, that is the vector.
  if (loads.size() == 2 && step(loads[0]) == 0) std::swap(loads[0], loads[1]);
  const Term *a = loads.front(), *x = loads.back();
  const int64_t rows = axes > 0 ? l.outer.back() : 1, length = pieces ? l.chunk : l.row[0];
  RowProducts made;
  made.desc = {.dtype = term->dtype,
               .products = loads.size() == 2,
               .batch = axes == 2 ? l.outer[0] : 1,
               .rows = rows,
               .length = length,
               .last = pieces ? l.row[0] - (rows - 1) * length : length,
               .step = step(a),
               .step_x = step(x),
               .stride_a = stride(a),
               .stride_x = stride(x),
               .lanes = l.lanes};
  made.a = {a->buffer, view(a).offset};
  made.x = {x->buffer, view(x).offset};
  return made;
}

}  // namespace hologram::graph
