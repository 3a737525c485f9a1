// Functions of expressions: order, counts, parts of matrices, linear algebra.
#include "expression/functions.hpp"
#include "hologram/linalg.hpp"
#include "hologram/ops.hpp"

namespace hologram::expression {
namespace {

using A = Along;
using C = const Call&;

std::optional<int> axis_of(C c, size_t i) {
  return c.given(i) ? std::optional(c.axis(i)) : std::nullopt;
}
std::optional<double> real_of(C c, size_t i) {
  return c.given(i) ? std::optional(c.real(i)) : std::nullopt;
}
Value listed(const std::vector<Tensor>& tensors) {
  return std::vector<Value>(tensors.begin(), tensors.end());
}
Value of_both(C c, Tensor (*function)(const Tensor&, const Tensor&)) {
  const std::vector<Tensor> both = c.together({0, 1});
  return function(both[0], both[1]);
}
// Of numbers alone the operands are numbers; lists meet what stands beside them.
std::pair<Operand, Operand> operands(C c) {
  if (c.values()[0].is_number() && c.values()[1].is_number()) return {c.tensor(0), c.tensor(1)};
  const std::vector<Tensor> both = c.together({0, 1});
  return {both[0], both[1]};
}
Value close(C c) {
  const auto both = operands(c);
  return ops::isclose(both.first, both.second, c.real(2), c.real(3), c.flag(4));
}
Value all_close(C c) {
  const auto both = operands(c);
  return ops::allclose(both.first, both.second, c.real(2), c.real(3), c.flag(4));
}

// x, q, axis, keepdims, interpolation
using Quantiles = Tensor (*)(const Tensor&, const std::vector<double>&, std::optional<int>, bool,
                             ops::Interpolation);
Value quantiles(C c, Quantiles of) {
  const auto how =
      c.given(4)
          ? ops::Interpolation(c.choice(4, {"linear", "lower", "higher", "midpoint", "nearest"}))
          : ops::Interpolation::Linear;
  const Tensor all = of(c.tensor(0), c.reals(1), axis_of(c, 2), c.flag(3), how);
  return c.values()[1].list() == nullptr ? all.select(0, 0) : all;
}
Value counted(C c) {
  if (!c.given(1)) return ops::bincount(c.tensor(0), c.integer(2));
  return ops::bincount(c.tensor(0), c.tensor(1), c.integer(2));
}
// x, bins, range
Value histogram(C c) {
  const bool edges = c.values()[1].operand() == nullptr || c.values()[1].is_tensor();
  if (edges) {
    const std::vector<Tensor> both = c.together({0, 1});
    const ops::Histogram made = ops::histogram(both[0], both[1]);
    return listed({made.counts, made.edges});
  }
  std::optional<std::pair<double, double>> range;
  if (c.given(2)) {
    const std::vector<double> ends = c.reals(2);
    if (ends.size() != 2) c.refuse(2, "a list of two numbers");
    range = {ends[0], ends[1]};
  }
  const ops::Histogram made = ops::histogram(c.tensor(0), c.integer(1), range);
  return listed({made.counts, made.edges});
}
Value put(C c) {
  const std::vector<Value>* const list = c.values()[1].list();
  if (list == nullptr) c.refuse(1, "a list of indices, or none, one an axis");
  const Tensor x = c.tensor(0);
  ops::Indices indices;
  for (const Value& v : *list)
    indices.push_back(v.nothing() ? std::nullopt : std::optional(to_tensor(v, c.executor())));
  if (c.values()[2].is_number()) return ops::index_put(x, indices, c.operand(2), c.flag(3));
  return ops::index_put(x, indices, to_tensor(c.values()[2], c.executor(), x.dtype()), c.flag(3));
}
Value matrix_norm(C c) {
  if (!c.given(1))
    return linalg::matrix_norm(c.tensor(0), linalg::MatrixNorm::Frobenius, c.flag(2));
  if (c.values()[1].is_number()) return linalg::matrix_norm(c.tensor(0), c.real(1), c.flag(2));
  return linalg::matrix_norm(c.tensor(0), linalg::MatrixNorm(c.choice(1, {"fro", "nuc"})),
                             c.flag(2));
}
Value least_squares(C c) {
  const std::vector<Tensor> both = c.together({0, 1});
  const linalg::LeastSquares found = linalg::lstsq(both[0], both[1], real_of(c, 2));
  return listed({found.solution, found.residuals, found.rank, found.singular_values});
}

// clang-format off
const Function kTable[] = {
{"count_nonzero", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::count_nonzero(c.tensor(0), c.axes(1), c.flag(2)); }, "How many elements differ from 0."},
{"nansum", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::nansum(c.tensor(0), c.axes(1), c.flag(2)); }, "The sum of the elements that are no NaN."},
{"nanprod", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::nanprod(c.tensor(0), c.axes(1), c.flag(2)); }, "Their product."},
{"nanmean", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::nanmean(c.tensor(0), c.axes(1), c.flag(2)); }, "Their mean; of none NaN."},
{"nanmin", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::nanmin(c.tensor(0), c.axes(1), c.flag(2)); }, "The least of them."},
{"nanmax", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::nanmax(c.tensor(0), c.axes(1), c.flag(2)); }, "The largest of them."},
{"nanvar", "x, axis=none, correction=0, keepdims=false", A::All, [](C c) -> Value { return ops::nanvar(c.tensor(0), c.axes(1), c.real(2), c.flag(3)); }, "Their variance."},
{"nanstd", "x, axis=none, correction=0, keepdims=false", A::All, [](C c) -> Value { return ops::nanstd(c.tensor(0), c.axes(1), c.real(2), c.flag(3)); }, "The square root of nanvar."},
{"nanmedian", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::nanmedian(c.tensor(0), axis_of(c, 1), c.flag(2)); }, "Their median."},
{"median", "x, axis=none, keepdims=false", A::All, [](C c) -> Value { return ops::median(c.tensor(0), axis_of(c, 1), c.flag(2)); }, "The middle element, or the mean of the two in the middle."},
{"quantile", "x, q, axis=none, keepdims=false, interpolation=none", A::All, [](C c) -> Value { return quantiles(c, ops::quantile); }, "The value below which a share q of the elements lies, or several in front for a list of shares. Between two elements it is 'linear', 'lower', 'higher', 'midpoint' or 'nearest'."},
{"percentile", "x, p, axis=none, keepdims=false, interpolation=none", A::All, [](C c) -> Value { return quantiles(c, ops::percentile); }, "quantile of shares in hundredths."},
{"bincount", "x, weights=none, length=0", A::All, counted, "How often each whole number from 0 on is in x, or the sums of weights."},
{"histogram", "x, bins=10, range=none", A::All, histogram, "The list of how many elements lie in each bin, and of the edges: so many of equal width over [low, high], or a vector of edges."},
{"digitize", "x, edges, right=false", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::digitize(both[0], both[1], c.flag(2)); }, "The number of the bin, between ascending edges, that each element lies in."},

{"isclose", "a, b, relative=1e-5, absolute=1e-8, equal_nan=false", A::Each, close, "abs(a - b) <= absolute + relative * abs(b), element by element."},
{"allclose", "a, b, relative=1e-5, absolute=1e-8, equal_nan=false", A::All, all_close, "Whether that holds for all elements."},
{"array_equal", "a, b, equal_nan=false", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::array_equal(both[0], both[1], c.flag(2)); }, "Whether shapes and all elements are equal."},
{"nextafter", "a, b", A::All, [](C c) -> Value { return of_both(c, ops::nextafter); }, "The number of the dtype that is next to a, towards b."},
{"nan_to_num", "x, nan=0, posinf=none, neginf=none", A::Each, [](C c) -> Value { return ops::nan_to_num(c.tensor(0), c.real(1), real_of(c, 2), real_of(c, 3)); }, "Numbers in place of NaN and infinities: 0 and the largest and least finite ones."},
{"isin", "x, elements, invert=false", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::isin(both[0], both[1], c.flag(2)); }, "Whether each element of x is one of `elements`."},
{"unique_all", "x", A::All, [](C c) -> Value { const ops::UniqueAll all = ops::unique_all(c.tensor(0)); return listed({all.values, all.indices, all.inverse, all.counts}); }, "The list of the different values in order, of where each is first, of which of them each element is, and of how often each is there."},

{"diff", "x, times=1, axis=-1", A::Axis, [](C c) -> Value { return ops::diff(c.tensor(0), c.integer(1), c.axis(2)); }, "Each element less the one before it, so many times."},
{"cummax", "x, axis=-1", A::All, [](C c) -> Value { const auto m = ops::cummax(c.tensor(0), c.axis(1)); return listed({m.values, m.indices}); }, "The list of the largest elements up to each, and of their indices."},
{"cummin", "x, axis=-1", A::All, [](C c) -> Value { const auto m = ops::cummin(c.tensor(0), c.axis(1)); return listed({m.values, m.indices}); }, "The same of the smallest ones."},
{"interp", "x, at, values, left=none, right=none", A::All, [](C c) -> Value { const auto all = c.together({0, 1, 2}); return ops::interp(all[0], all[1], all[2], real_of(c, 3), real_of(c, 4)); }, "The line through the points (at, values), `at` ascending, at x."},
{"logspace", "start, stop, count, base=10, dtype=f32", A::Nothing, [](C c) -> Value { return ops::logspace(c.real(0), c.real(1), c.integer(2), c.real(3), c.dtype(4), c.executor()); }, "base to the powers of linspace(start, stop, count)."},

{"moveaxis", "x, from, to", A::All, [](C c) -> Value { return ops::moveaxis(c.tensor(0), c.axes(1).list, c.axes(2).list); }, "Axes at other places; the others keep their order."},
{"swapaxes", "x, a, b", A::All, [](C c) -> Value { return ops::swapaxes(c.tensor(0), c.axis(1), c.axis(2)); }, "Two axes exchanged."},
{"rot90", "x, quarters=1, a=0, b=1", A::All, [](C c) -> Value { return ops::rot90(c.tensor(0), c.integer(1), c.axis(2), c.axis(3)); }, "Turned by quarters, from axis a towards axis b."},
{"chunk", "x, parts, axis=0", A::All, [](C c) -> Value { return listed(ops::chunk(c.tensor(0), c.integer(1), c.axis(2))); }, "The list of parts of equal length, the last of which may be shorter."},
{"unstack", "x, axis=0", A::All, [](C c) -> Value { return listed(ops::unstack(c.tensor(0), c.axis(1))); }, "The list of the elements of an axis."},
{"hstack", "tensors", A::All, [](C c) -> Value { return ops::hstack(c.tensors(0)); }, "A list of tensors side by side."},
{"vstack", "tensors", A::All, [](C c) -> Value { return ops::vstack(c.tensors(0)); }, "One below the other; vectors are rows."},
{"meshgrid", "vectors, ij=false", A::All, [](C c) -> Value { return listed(ops::meshgrid(c.tensors(0), c.flag(1) ? ops::Indexing::IJ : ops::Indexing::XY)); }, "The list of the coordinates of a grid; of an image's columns and rows, or if ij in the order of the vectors."},
{"index_put", "x, indices, values, accumulate=false", A::All, put, "x with values put, or added, at x[a, b]; indices is [a, b], with none for a whole axis."},

{"einsum", "equation, tensors", A::All, [](C c) -> Value { return ops::einsum(c.text(0), c.tensors(1)); }, "Sums of products over named axes: einsum('ij,jk->ik', [a, b])."},
{"tril", "x, diagonal=0", A::All, [](C c) -> Value { return ops::tril(c.tensor(0), c.integer(1)); }, "0 above a diagonal of the last two axes."},
{"triu", "x, diagonal=0", A::All, [](C c) -> Value { return ops::triu(c.tensor(0), c.integer(1)); }, "0 below it."},
{"diag", "x, offset=0", A::All, [](C c) -> Value { return ops::diag(c.tensor(0), c.integer(1)); }, "A vector on the diagonal of a matrix, or the diagonal of a matrix."},
{"diagonal", "x, offset=0, a=0, b=1", A::All, [](C c) -> Value { return ops::diagonal(c.tensor(0), c.integer(1), c.axis(2), c.axis(3)); }, "The elements of two axes at equal indices, along a new last axis."},
{"trace", "x, offset=0, a=0, b=1", A::All, [](C c) -> Value { return ops::trace(c.tensor(0), c.integer(1), c.axis(2), c.axis(3)); }, "sum(diagonal(x))."},
{"kron", "a, b", A::All, [](C c) -> Value { return of_both(c, ops::kron); }, "Each element of a times all of b."},
{"cross", "a, b, axis=-1", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::cross(both[0], both[1], c.axis(2)); }, "The cross product of vectors of three elements."},
{"vecdot", "a, b, axis=-1", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::vecdot(both[0], both[1], c.axis(2)); }, "sum(a * b) along an axis."},
{"matrix_power", "x, exponent", A::All, [](C c) -> Value { return ops::matrix_power(c.tensor(0), c.integer(1)); }, "The product of so many square matrices; of a negative exponent of their inverses."},
{"cdist", "a, b, order=2", A::All, [](C c) -> Value { const auto both = c.together({0, 1}); return ops::cdist(both[0], both[1], c.real(2)); }, "The distances between the rows of a and those of b."},
{"cov", "x, correction=1", A::All, [](C c) -> Value { return ops::cov(c.tensor(0), c.real(1)); }, "The covariance of variables, which are rows."},
{"corrcoef", "x", A::All, [](C c) -> Value { return ops::corrcoef(c.tensor(0)); }, "Their correlation."},

{"solve", "a, b", A::All, [](C c) -> Value { return of_both(c, linalg::solve); }, "The x with a @ x = b. This and what follows needs LAPACK, which hologram opens where it is installed."},
{"inv", "a", A::All, [](C c) -> Value { return linalg::inv(c.tensor(0)); }, "The inverse of matrices."},
{"det", "a", A::All, [](C c) -> Value { return linalg::det(c.tensor(0)); }, "The determinant."},
{"slogdet", "a", A::All, [](C c) -> Value { const auto d = linalg::slogdet(c.tensor(0)); return listed({d.sign, d.logabsdet}); }, "The list of its sign and of the logarithm of its magnitude."},
{"cholesky", "a, upper=false", A::All, [](C c) -> Value { return linalg::cholesky(c.tensor(0), c.flag(1)); }, "The l with a = l @ l.T, or the u with a = u.T @ u, of positive definite matrices."},
{"qr", "a, complete=false", A::All, [](C c) -> Value { const auto d = linalg::qr(c.tensor(0), c.flag(1)); return listed({d.q, d.r}); }, "The list of q and r with a = q @ r."},
{"eigh", "a", A::All, [](C c) -> Value { const auto d = linalg::eigh(c.tensor(0)); return listed({d.eigenvalues, d.eigenvectors}); }, "The list of eigenvalues and eigenvectors, which are columns, of symmetric matrices."},
{"eigvalsh", "a", A::All, [](C c) -> Value { return linalg::eigvalsh(c.tensor(0)); }, "The eigenvalues alone."},
{"svd", "a, full_matrices=true", A::All, [](C c) -> Value { const auto d = linalg::svd(c.tensor(0), c.flag(1)); return listed({d.u, d.s, d.vh}); }, "The list of u, s and vh with a = u @ diag(s) @ vh."},
{"svdvals", "a", A::All, [](C c) -> Value { return linalg::svdvals(c.tensor(0)); }, "The singular values s."},
{"pinv", "a, relative=none", A::All, [](C c) -> Value { return linalg::pinv(c.tensor(0), real_of(c, 1)); }, "The pseudoinverse; singular values up to `relative` times the largest count as 0."},
{"matrix_rank", "a, relative=none", A::All, [](C c) -> Value { return linalg::matrix_rank(c.tensor(0), real_of(c, 1)); }, "How many singular values are above that."},
{"lstsq", "a, b, relative=none", A::All, least_squares, "The list of the x for which norm(b - a @ x) is least, of the squares of those, of the rank and of the singular values."},
{"matrix_norm", "a, order=none, keepdims=false", A::All, matrix_norm, "The norm of matrices: 'fro', which is also what none means, 'nuc', 1, -1, 2, -2, inf or -inf."},
};
// clang-format on

}  // namespace

std::span<const Function> array_functions() { return kTable; }

}  // namespace hologram::expression
