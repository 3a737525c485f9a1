#include "tensor/product_ways.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "algorithms/product.hpp"
#include "fusion/layout.hpp"
#include "graph/composite.hpp"
#include "graph/elementwise.hpp"
#include "hologram/linear.hpp"
#include "hologram/ops.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using graph::View;

namespace {

// Batch, row, column; the batch as one axis, which may repeat a matrix.
graph::Input as_three_axes(const Tensor& given, const Shape& batch) {
  const Tensor t = tensor::without_alias(given);
  const Shape three = {graph::element_count(batch), rows_of(t), columns_of(t)};
  if (t.rank() == 2 && batch.empty()) {
    graph::View view;
    view.shape = three;
    view.strides = {0, three[2], 1};
    if (const graph::View* part = tensor::Access::part(t)) {
      std::copy_n(part->strides.begin(), 2, view.strides.begin() + 1);
      view.offset = part->offset;
    }
    return {tensor::Access::node(t), std::move(view)};
  }
  Shape shape = batch;
  shape.insert(shape.end(), t.shape().end() - 2, t.shape().end());
  const Tensor repeated = t.broadcast_to(std::move(shape));
  if (graph::reshaped(tensor::Access::view(repeated), three))
    return tensor::input_of(repeated.reshape(three));
  return tensor::input_of(tensor::dense(repeated).reshape(three));
}

// Whether a GPU has a library for products of this type.
bool is_by_library(graph::Context& context, DType dtype) {
  return is_float(dtype) && graph::hints_of(context.device()).is_gpu_like &&
         context.executor().device->library() != nullptr;
}

graph::Input dense_copy(const graph::Input& matrix) {
  return tensor::input_of(tensor::dense(tensor::Access::make(matrix.node, matrix.view())));
}
// A copy that the library can read costs less than the general program.
graph::Input for_libraries(const graph::Input& matrix) {
  if (!is_by_library(*matrix.node->context, matrix.node->dtype) ||
      graph::is_for_libraries(matrix.view()))
    return matrix;
  return graph::SharedCopies::of(matrix, dense_copy);
}

// A matrix times a vector reads every element once: sums of rows by a kernel of our own are as fast
// as memory, which no library is always, and fuse with what comes before and after. Sums along the
// other axis of the matrix are left to the library.
bool are_sums_of_rows(const Tensor& matrix, int axis) {
  if (!is_float(matrix.dtype())) return false;
  if (matrix.shape().end()[axis] == 1) return true;
  const graph::View* const part = tensor::Access::part(matrix);
  return part != nullptr ? part->strides.end()[axis] == 1 : axis == -1 || columns_of(matrix) == 1;
}
// The last two axes of either may change places first.
Tensor sums_of_rows(const Tensor& matrix, bool turn_matrix, const Tensor& vector, bool turn_vector,
                    DType out) {
  static const graph::ElementwiseOp& mul = graph::elementwise("mul");
  const DType dtype = matrix.dtype(), wide = compute_type(dtype);
  const tensor::Converted wide_matrix(matrix, wide), wide_vector(vector, wide);
  const auto turned = [](const Tensor& t, bool turn) {
    graph::View view = tensor::Access::view(t);
    if (turn)
      for (auto* list : {&view.shape, &view.strides}) std::swap(list->end()[-1], list->end()[-2]);
    return view;
  };
  graph::View rows = turned(*wide_matrix, turn_matrix), same = turned(*wide_vector, turn_vector);
  const Shape shape = tensor::broadcast_shape("matmul", rows.shape, same.shape);
  auto product = std::make_unique<graph::Node>(graph::Kind::Elementwise, tensor::context_of(matrix),
                                               wide, shape);
  product->op = &mul;
  const auto add_input = [&](const Tensor& t, graph::View& view) {
    if (view.shape != shape) view = graph::expanded(view, shape);
    product->inputs.emplace_back(tensor::Access::node(t), std::move(view));
  };
  add_input(*wide_matrix, rows);
  add_input(*wide_vector, same);
  const int last[] = {static_cast<int>(shape.size()) - 1};
  return tensor::cast_to(
      tensor::reduce(tensor::finish(std::move(product)), program::Combine::Add, last), out);
}

// --- the ways

struct Factors {
  const Tensor &x, &y;
  DType out;
};

const char* refuses_rows_of_x(const Factors& f) {
  if (columns_of(f.y) != 1) return "b has more than one column";
  return are_sums_of_rows(f.x, -1) ? nullptr : "rows of a do not lie in one piece, or are integers";
}
Tensor rows_of_x(const Factors& f) {
  return sums_of_rows(f.x, false, f.y, true, f.out).unsqueeze(-1);
}

const char* refuses_columns_of_y(const Factors& f) {
  if (rows_of(f.x) != 1) return "a has more than one row";
  return are_sums_of_rows(f.y, -2) ? nullptr
                                   : "columns of b do not lie in one piece, or are integers";
}
Tensor columns_of_y(const Factors& f) {
  return sums_of_rows(f.y, true, f.x, false, f.out).unsqueeze(-2);
}

// Libraries give a small result to few processors of a GPU, each of which goes through sums of any
// length alone, unless they may add up parts in an order of their own. Parts of the sums are
// products beside each other, or, if they are very few, one reduction.
constexpr int64_t kLong = 1024, kOfAPart = 128, kParts = 512, kStep = 64;
constexpr int64_t kSide = 64, kFewTiles = 64, kFewElements = 16;

int64_t tiles_of(const Factors& f) {
  return ((rows_of(f.x) - 1) / kSide + 1) * ((columns_of(f.y) - 1) / kSide + 1);
}

// Of both ways by parts.
const char* refuses_parts(const Factors& f) {
  if (f.x.rank() != 2 || f.y.rank() != 2) return "there is a batch";
  if (columns_of(f.x) < kLong) return "sums are short";
  if (rows_of(f.x) * columns_of(f.y) == 0 || tiles_of(f) > kFewTiles)
    return "the result is large, or empty";
  return is_by_library(tensor::context_of(f.x), f.x.dtype())
             ? nullptr
             : "there is no GPU whose library computes floats";
}

const char* refuses_sums_of_products(const Factors& f) {
  if (const char* const reason = refuses_parts(f)) return reason;
  return rows_of(f.x) * columns_of(f.y) <= kFewElements ? nullptr
                                                        : "there are more than a few sums";
}
Tensor sums_of_products(const Factors& f) {
  const DType wide = compute_type(f.x.dtype());
  const Tensor products = f.x.to(wide).transpose().unsqueeze(-1) * f.y.to(wide).unsqueeze(1);
  return sum(products, 0).to(f.out);
}

const char* refuses_products_of_parts(const Factors& f) {
  if (const char* const reason = refuses_parts(f)) return reason;
  return compute_type(f.x.dtype()) == f.x.dtype() ? nullptr : "sums are wider than elements";
}
Tensor products_of_parts(const Factors& f) {
  const int64_t rows = rows_of(f.x), columns = columns_of(f.y), terms = columns_of(f.x);
  const DType dtype = f.x.dtype();
  const int64_t parts = std::min(terms / kOfAPart, kParts / tiles_of(f));
  const int64_t length = (terms / parts + kStep - 1) / kStep * kStep;
  const int64_t whole = terms / length * length, count = whole / length;
  const Tensor left = f.x.slice(1, {0, whole}).reshape({rows, count, length}).permute({1, 0, 2}),
               right = f.y.slice(0, {0, whole}).reshape({count, length, columns});
  Tensor most = sum(matmul(left, right, dtype), 0);
  if (whole == terms) return most;
  return most + matmul(f.x.slice(1, {whole, {}}), f.y.slice(0, {whole, {}}), dtype);
}

// Matrix units read rows that begin at multiples of 16 bytes: others cost a library five times as
// much, more than a copy of large factors, or of the result, with a gap behind each row.
constexpr int64_t kAlignment = 16, kLeastTerms = int64_t{1} << 31;

int64_t with_gap(int64_t length, DType dtype) {
  const int64_t step = kAlignment / static_cast<int64_t>(size_of(dtype));
  return (length + step - 1) / step * step;
}

// Of a matrix of three axes, the last of which lies in one piece; or the other, if `turned`.
bool is_aligned(const graph::View& v, DType dtype, bool turned) {
  const auto is_multiple = [dtype](int64_t elements) {
    return elements * static_cast<int64_t>(size_of(dtype)) % kAlignment == 0;
  };
  return is_multiple(v.offset) && is_multiple(v.strides[turned ? 2 : 1]);
}
bool is_turned(const graph::View& v) { return v.strides[2] != 1 && v.strides[1] == 1; }

graph::Input copy_with_gaps(const graph::Input& matrix) {
  const View& rows = matrix.view();
  const DType dtype = matrix.node->dtype;
  const int64_t step = with_gap(rows.shape[2], dtype);
  View to = rows;
  to.strides = {rows.shape[1] * step, step, 1};
  to.offset = 0;
  const Tensor made =
      tensor::assemble(dtype, {1, rows.shape[1], step},
                       {{tensor::Access::make(matrix.node, rows), to}}, *matrix.node->context);
  return {tensor::Access::node(made), std::move(to)};
}
graph::Input with_gaps(graph::Input matrix) {
  View view = matrix.view();
  const bool turned = is_turned(view);
  if (graph::is_for_libraries(view) && is_aligned(view, matrix.node->dtype, turned)) return matrix;
  const auto turn = [turned](View v) {
    if (turned) std::swap(v.shape[1], v.shape[2]), std::swap(v.strides[1], v.strides[2]);
    return v;
  };
  graph::Input copy =
      graph::SharedCopies::of({std::move(matrix.node), turn(std::move(view))}, copy_with_gaps);
  return {copy.node, turn(copy.view())};
}

// Rows of all of a batch that shares b, as one matrix; nothing where strides cannot say it.
std::optional<Tensor> all_rows(const Tensor& given) {
  if (given.rank() == 2) return given;
  const Tensor x = tensor::without_alias(given);
  const Shape two = {x.size() / columns_of(x), columns_of(x)};
  auto view = graph::reshaped(tensor::Access::view(x), two);
  if (!view) return {};
  return tensor::Access::make(tensor::Access::node(x), *std::move(view));
}

const char* refuses_gaps(const Factors& of_batch) {
  if (size_of(of_batch.x.dtype()) != 2) return "elements are not of two bytes";
  if (of_batch.y.rank() != 2 || of_batch.x.size() == 0) return "there is a batch, or nothing";
  const std::optional<Tensor> x = all_rows(of_batch.x);
  if (!x) return "there is a batch";
  const Factors f{*x, of_batch.y, of_batch.out};
  if (!is_by_library(tensor::context_of(f.x), f.x.dtype()))
    return "there is no GPU whose library computes floats";
  if (static_cast<double>(rows_of(f.x)) * static_cast<double>(columns_of(f.x)) *
          static_cast<double>(columns_of(f.y)) <
      static_cast<double>(kLeastTerms))
    return "it is small";
  const auto is_read_well = [](const Tensor& t) {
    const View view = as_three_axes(t, {}).view();
    return graph::is_for_libraries(view) && is_aligned(view, t.dtype(), is_turned(view));
  };
  const bool stored_well = with_gap(columns_of(f.y), f.out) == columns_of(f.y);
  return is_read_well(f.x) && is_read_well(f.y) && stored_well
             ? "rows begin at multiples of 16 bytes"
             : nullptr;
}
Tensor product_with_gaps(const Factors& of_batch) {
  const Tensor x = *all_rows(of_batch.x);
  const Factors f{x, of_batch.y, of_batch.out};
  const int64_t rows = rows_of(f.x), columns = columns_of(f.y), step = with_gap(columns, f.out);
  auto product = std::make_unique<graph::Node>(graph::Kind::Opaque, tensor::context_of(f.x), f.out,
                                               Shape{1, rows, step});
  product->work = graph::product_op();
  product->inputs.push_back(with_gaps(as_three_axes(f.x, {})));
  product->inputs.push_back(with_gaps(as_three_axes(f.y, {})));
  Shape shape(of_batch.x.shape().begin(), of_batch.x.shape().end());
  shape.back() = columns;
  View view({rows, columns}, {step, 1}, 0);
  return tensor::Access::make(tensor::Access::node(tensor::finish(std::move(product))),
                              *graph::reshaped(view, shape));
}

const char* takes_all(const Factors&) { return nullptr; }
Tensor one_product(const Factors& f) {
  Shape shape;
  if (f.x.rank() > 2 || f.y.rank() > 2)
    shape = tensor::broadcast_shape("matmul", Shape(f.x.shape().begin(), f.x.shape().end() - 2),
                                    Shape(f.y.shape().begin(), f.y.shape().end() - 2));
  const int64_t rows = rows_of(f.x), columns = columns_of(f.y);
  auto product = std::make_unique<graph::Node>(graph::Kind::Opaque, tensor::context_of(f.x), f.out,
                                               Shape{graph::element_count(shape), rows, columns});
  product->work = graph::product_op();
  product->inputs.push_back(for_libraries(as_three_axes(f.x, shape)));
  product->inputs.push_back(for_libraries(as_three_axes(f.y, shape)));
  shape.push_back(rows);
  shape.push_back(columns);
  return tensor::Access::make(tensor::Access::node(tensor::finish(std::move(product))),
                              graph::dense_view(shape));
}

struct Way {
  const char* name;
  const char* (*refuses)(const Factors&);  // why; null if it does not
  Tensor (*make)(const Factors&);
};

// The first that does not refuse is taken. All but the last are reductions and products of other
// shapes; who computes the last is a list of its own, that of graph::product_op.
constexpr Way kWays[] = {
    {"sums of rows of a", refuses_rows_of_x, rows_of_x},
    {"sums of columns of b", refuses_columns_of_y, columns_of_y},
    {"a sum of products", refuses_sums_of_products, sums_of_products},
    {"products of parts", refuses_products_of_parts, products_of_parts},
    {"one product of rows with gaps", refuses_gaps, product_with_gaps},
    {"one product", takes_all, one_product},
};

}  // namespace

int64_t rows_of(const Tensor& matrix) { return matrix.shape().end()[-2]; }
int64_t columns_of(const Tensor& matrix) { return matrix.shape().end()[-1]; }

Tensor product_of(const Tensor& x, const Tensor& y, DType out) {
  const Factors factors{x, y, out};
  const Way* way = kWays;
  while (way->refuses(factors) != nullptr) way++;
  return way->make(factors);
}

graph::Candidates product_ways(const Tensor& x, const Tensor& y, DType out) {
  const Factors factors{x, y, out};
  graph::Candidates all;
  for (const Way& way : kWays) {
    const char* const reason = way.refuses(factors);
    all.push_back({way.name, reason == nullptr ? "" : reason, {}});
  }
  return all;
}

}  // namespace hologram::ops
