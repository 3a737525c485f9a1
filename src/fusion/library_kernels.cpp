#include "fusion/library_kernels.hpp"

#include <algorithm>
#include <numeric>
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
  if (sum.kind != TermKind::Reduce || sum.is_guarded() || sum.combine != program::Combine::Add ||
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

LibraryKernel::Operand operand_of(const Term& load, int64_t offset) {
  return {load.buffer, static_cast<uint64_t>(offset) * size_of(load.dtype)};
}

std::optional<LibraryKernel> row_products_of(const Kernel& kernel, const Layout& l) {
  const size_t axes = l.outer.size();
  const bool pieces = l.chunk != 0;
  if (l.traversal != Traversal::GroupRows || l.held > 0 || !l.trusted || l.row.size() != 1 ||
      axes > (kernel.combines_partials ? 0
              : pieces                 ? 1
                                       : 2))
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
  const int64_t length = pieces ? l.chunk : l.row[0];
  const int64_t rows = pieces ? (l.row[0] - 1) / length + 1 : axes > 0 ? l.outer.back() : 1;
  const hal::RowReduceDesc desc = {.dtype = term->dtype,
                                   .products = loads.size() == 2,
                                   .batch = axes == 2 ? l.outer[0] : 1,
                                   .rows = rows,
                                   .length = length,
                                   .last = pieces ? l.row[0] - (rows - 1) * length : length,
                                   .step = step(a),
                                   .step_x = step(x),
                                   .stride_a = stride(a),
                                   .stride_x = stride(x),
                                   .lanes = l.lanes,
                                   .pieces = kernel.combines_partials};
  return LibraryKernel{desc, {operand_of(*a, view(a).offset), operand_of(*x, view(x).offset)}, 0};
}

// A lane a column, in pieces or not.
std::optional<LibraryKernel> columns_of(const Kernel& kernel, const Layout& l) {
  const bool pieces = l.chunk != 0;
  if (l.traversal != Traversal::LaneRows || !l.trusted || l.full || l.row.size() != 1 ||
      l.outer.size() != (pieces ? 2 : 1))
    return {};
  const Term* const term = summed(kernel);
  if (term == nullptr) return {};
  const std::vector<const Term*> loads = loaded(kernel, *term);
  if (loads.size() != 1) return {};
  const Term& load = *loads.front();
  const Lanes &x = l.views[load.view], &d = l.views[kernel.outputs.front().view];
  // Lanes may walk the pieces, if there are few columns.
  const auto piece = static_cast<size_t>(pieces ? l.pieces_axis : 1), column = 1 - piece;
  if (d.offset != 0 || x.outer[column] != 1 || d.outer[column] != 1 || x.row[0] <= 0 ||
      (pieces && (x.outer[piece] != 0 || d.outer[piece] != l.outer[column])))
    return {};
  const hal::ColumnReduceDesc desc = {.dtype = term->dtype,
                                      .rows = l.row[0],
                                      .columns = l.outer[column],
                                      .step = x.row[0],
                                      .piece = pieces ? l.chunk : l.row[0]};
  const LibraryKernel::Operand operand = operand_of(load, x.offset);
  return LibraryKernel{desc, {operand, operand}, 0};
}

std::optional<LibraryKernel> copy_of(const Kernel& kernel, const Layout& l) {
  if (kernel.outputs.size() != 1 || l.traversal != Traversal::Elements || !l.trusted ||
      l.outer.size() < 2)
    return {};
  const Output& output = kernel.outputs.front();
  const Term& made = kernel.terms[output.term];
  const bool copies = made.kind == TermKind::Apply && made.op == &source::kCopy;
  const Term& load = copies ? kernel.terms[made.operands.front()] : made;
  const DType stored = output.target->dtype;
  if (load.kind != TermKind::Load || kernel.loads[load.buffer]->dtype != stored) return {};
  const Lanes &x = l.views[load.view], &d = l.views[output.view];
  // The axes as they lie in the result; the layout has that of the lanes last.
  std::vector<size_t> axes(l.outer.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return d.outer[a] > d.outer[b]; });
  Shape lengths, of_x, of_d;
  for (const size_t axis : axes) {
    if (x.outer[axis] < 0 || d.outer[axis] < 0) return {};
    lengths.push_back(l.outer[axis]);
    of_x.push_back(x.outer[axis]);
    of_d.push_back(d.outer[axis]);
  }
  const LibraryKernel::Operand from = operand_of(load, x.offset);
  return LibraryKernel{hal::CopyDesc{stored, lengths, of_x, of_d},
                       {from, from},
                       static_cast<uint64_t>(d.offset) * size_of(stored)};
}

}  // namespace

std::optional<LibraryKernel> library_kernel_of(const Kernel& kernel, const Layout& layout) {
  if (auto rows = row_products_of(kernel, layout)) return rows;
  if (auto columns = columns_of(kernel, layout)) return columns;
  return copy_of(kernel, layout);
}

bool library_adds_row(hal::LibraryOps* library, const Node& pieces, const Node& sum) {
  if (library == nullptr || !library->adds_pieces(pieces.dtype) ||
      pieces.chunk != kLongestGroupRow || pieces.combine != program::Combine::Add ||
      pieces.shape.size() != 1 || sum.dtype != pieces.dtype)
    return false;
  const auto is_there = [&](const Input& input) {
    return input.node->slot == UINT32_MAX && input.node->dtype == pieces.dtype &&
           input.view().strides == dense_view(input.view().shape).strides;
  };
  const Input& row = pieces.inputs[0];
  static const ElementwiseOp& mul = elementwise("mul");
  const auto& factors = row.node->inputs;
  return is_there(row) || (row.node->kind == Kind::Elementwise && row.node->op == &mul &&
                           std::all_of(factors.begin(), factors.end(), is_there));
}

bool library_adds_rows(hal::LibraryOps* library, const Node& sum) {
  constexpr int64_t kShortest = 256, kFewest = int64_t{1} << 18;
  static const ElementwiseOp& mul = elementwise("mul");
  if (library == nullptr || !library->adds_pieces(sum.dtype) ||
      sum.combine != program::Combine::Add || sum.chunk != 0 || sum.is_guarded())
    return false;
  const Input& row = sum.inputs[0];
  const Shape shape = row.view().shape;
  if (row.node->op != &mul || element_count(shape) < kFewest || shape.back() < kShortest)
    return false;
  const auto& factors = row.node->inputs;
  return std::any_of(factors.begin(), factors.end(), [&](const Input& factor) {
    return factor.node->slot == UINT32_MAX && factor.node->dtype == sum.dtype &&
           element_count(factor.node->shape) >= element_count(shape);
  });
}

}  // namespace hologram::graph
