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

// Matrix units take eight narrow elements at a time: where rows do not begin at multiples of 16
// bytes, or sums and rows of the result are of another length than a multiple of eight, a library
// needs five times as long. That is more than copies of large factors, and of the result.
constexpr int64_t kAtOnce = 8, kLeastTerms = int64_t{1} << 31;

int64_t whole(int64_t length) { return (length + kAtOnce - 1) / kAtOnce * kAtOnce; }

// Whether it is the rows of a matrix of three axes that lie one element apart.
bool is_turned(const View& v) { return v.strides[2] != 1 && v.strides[1] == 1; }
View turned(View v) {
  std::swap(v.shape[1], v.shape[2]);
  std::swap(v.strides[1], v.strides[2]);
  return v;
}
bool is_aligned(const View& v) {
  return graph::is_for_libraries(v) && v.offset % kAtOnce == 0 &&
         v.strides[is_turned(v) ? 2 : 1] % kAtOnce == 0;
}

// With zeros behind each row and behind the last one.
graph::Input copy_with_zeros(const graph::Input& matrix) {
  const View from = matrix.view();
  const DType dtype = matrix.node->dtype;
  const int64_t rows = from.shape[1], columns = from.shape[2];
  const Shape shape = {1, whole(rows), whole(columns)};
  const graph::Strides strides = graph::dense_strides(shape);
  std::vector<tensor::Part> parts = {
      {tensor::Access::make(matrix.node, from), View(from.shape, strides, 0)}};
  const auto add_zeros = [&](const Shape& part, int64_t offset) {
    const Tensor zero = tensor::full_like_number(0, dtype, *matrix.node->context);
    if (graph::element_count(part) > 0)
      parts.push_back({zero.broadcast_to(part), View(part, strides, offset)});
  };
  add_zeros({1, rows, shape[2] - columns}, columns);
  add_zeros({1, shape[1] - rows, shape[2]}, rows * shape[2]);
  return tensor::input_of(tensor::assemble(dtype, shape, parts, *matrix.node->context));
}
// A part, from the first element on, of such a copy.
graph::Input with_zeros(graph::Input matrix, int64_t rows, int64_t columns) {
  const View view = matrix.view();
  const bool turn = is_turned(view);
  const graph::Input copy = graph::SharedCopies::of(
      {std::move(matrix.node), turn ? turned(view) : View(view)}, copy_with_zeros);
  View part = turn ? turned(copy.view()) : copy.view();
  part.shape = {1, rows, columns};
  return {copy.node, std::move(part)};
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

// How the factors have to be copied, if they have to.
struct WithZeros {
  graph::Input x, y;
  int64_t terms, columns;  // as they become
  bool copies_x, copies_y;

  WithZeros(const Tensor& a, const Tensor& b)
      : x(as_three_axes(a, {})),
        y(as_three_axes(b, {})),
        terms(columns_of(a)),
        columns(whole(columns_of(b))) {
    const View of_x = x.view(), of_y = y.view();
    const bool sums = (!is_turned(of_x) || is_turned(of_y)) && terms % kAtOnce != 0;
    if (sums) terms = whole(terms);
    copies_x = sums || !is_aligned(of_x);
    copies_y = sums || !is_aligned(of_y) || columns != columns_of(b);
  }
};

const char* refuses_zeros(const Factors& f) {
  if (size_of(f.x.dtype()) != 2) return "elements are not of two bytes";
  if (f.y.rank() != 2 || f.x.size() == 0) return "there is a batch, or nothing";
  const std::optional<Tensor> x = all_rows(f.x);
  if (!x) return "there is a batch";
  if (!is_by_library(tensor::context_of(f.x), f.x.dtype()))
    return "there is no GPU whose library computes floats";
  if (static_cast<double>(x->size()) * static_cast<double>(columns_of(f.y)) <
      static_cast<double>(kLeastTerms))
    return "it is small";
  const WithZeros factors(*x, f.y);
  return factors.copies_x || factors.copies_y ? nullptr : "rows are whole multiples of 16 bytes";
}
Tensor product_with_zeros(const Factors& f) {
  const Tensor x = *all_rows(f.x);
  WithZeros factors(x, f.y);
  const int64_t rows = rows_of(x);
  auto product = std::make_unique<graph::Node>(graph::Kind::Opaque, tensor::context_of(x), f.out,
                                               Shape{1, rows, factors.columns});
  product->work = graph::product_op();
  product->inputs.push_back(factors.copies_x ? with_zeros(std::move(factors.x), rows, factors.terms)
                                             : std::move(factors.x));
  product->inputs.push_back(factors.copies_y
                                ? with_zeros(std::move(factors.y), factors.terms, factors.columns)
                                : std::move(factors.y));
  Shape shape(f.x.shape().begin(), f.x.shape().end());
  shape.back() = columns_of(f.y);
  const View part({rows, shape.back()}, {factors.columns, 1}, 0);
  return tensor::Access::make(tensor::Access::node(tensor::finish(std::move(product))),
                              *graph::reshaped(part, shape));
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
    {"one product, with zeros to multiples of eight", refuses_zeros, product_with_zeros},
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
