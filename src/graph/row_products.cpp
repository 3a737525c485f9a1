#include "graph/row_products.hpp"

#include "graph/elementwise.hpp"

namespace hologram::graph {
namespace {

// Two loads, their product, its sum and a row's result, all of one type.
const Term* product_of(const Kernel& kernel) {
  static const ElementwiseOp& mul = elementwise("mul");
  if (kernel.terms.size() != 4 || kernel.outputs.size() != 1) return nullptr;
  const Term& sum = kernel.terms[kernel.outputs.front().term];
  const DType dtype = sum.dtype;
  if (sum.kind != TermKind::Reduce || sum.combine != program::Combine::Add ||
      kernel.outputs.front().target->dtype != dtype || compute_type(dtype) != dtype)
    return nullptr;
  const Term& product = kernel.terms[sum.operands.front()];
  if (product.kind != TermKind::Apply || product.op != &mul || product.dtype != dtype)
    return nullptr;
  for (const uint32_t operand : product.operands) {
    const Term& load = kernel.terms[operand];
    if (load.kind != TermKind::Load || load.dtype != dtype || load.per_row ||
        kernel.loads[load.buffer]->dtype != dtype)
      return nullptr;
  }
  return &product;
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
  if (l.walk != Walk::GroupRows || l.held > 0 || l.chunk != 0 || !l.trusted || l.row.size() != 1 ||
      axes < 1 || axes > 2)
    return {};
  const Term* const product = product_of(kernel);
  if (product == nullptr) return {};
  const Lanes& d = l.views[kernel.outputs.front().view];
  if (d.offset != 0 || !is_dense(l.outer, d.outer)) return {};
  const auto of = [&](size_t operand) -> const Term& {
    return kernel.terms[product->operands[operand]];
  };
  // The vector is the one that the rows share.
  const bool turned = l.views[of(0).view].outer.back() == 0;
  const Term &a = of(turned ? 1 : 0), &x = of(turned ? 0 : 1);
  const Lanes &rows = l.views[a.view], &vector = l.views[x.view];
  if (vector.outer.back() != 0 || rows.row[0] != 1 || vector.row[0] != 1) return {};
  RowProducts made;
  made.desc = {.dtype = product->dtype,
               .batch = axes == 2 ? l.outer[0] : 1,
               .rows = l.outer.back(),
               .length = l.row[0],
               .step = rows.outer.back(),
               .stride_a = axes == 2 ? rows.outer[0] : 0,
               .stride_x = axes == 2 ? vector.outer[0] : 0,
               .lanes = l.lanes};
  made.a = {a.buffer, rows.offset};
  made.x = {x.buffer, vector.offset};
  return made;
}

}  // namespace hologram::graph
