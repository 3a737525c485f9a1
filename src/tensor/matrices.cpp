// Parts of matrices, and products that are formulas over them.
#include "hologram/matrices.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "hologram/linalg.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"
#include "tensor/reducer.hpp"

namespace hologram::ops {

using core::Text;
using graph::View;
using tensor::Access;
using tensor::checked_axis;

namespace {

const Tensor& matrices(const char* name, const Tensor& x) {
  if (x.rank() < 2) throw core::error(Text::MatrixRank, name, to_string(x.shape()));
  return x;
}

// The view of a diagonal: both axes are walked at a time.
View diagonal_of(View view, int64_t offset, size_t a, size_t b) {
  const int64_t rows = view.shape[a], columns = view.shape[b];
  const int64_t down = offset < 0 ? std::min(-std::max(offset, -rows), rows) : 0;
  const int64_t across = offset > 0 ? std::min(offset, columns) : 0;
  const int64_t length = std::min(rows - down, columns - across);
  if (length > 0) view.offset += down * view.strides[a] + across * view.strides[b];
  const int64_t stride = view.strides[a] + view.strides[b];
  const size_t axes[] = {std::max(a, b), std::min(a, b)};
  for (const size_t k : axes) {
    view.shape.erase(view.shape.begin() + static_cast<int64_t>(k));
    view.strides.erase(view.strides.begin() + static_cast<int64_t>(k));
  }
  view.shape.push_back(length);
  view.strides.push_back(stride);
  if (graph::element_count(view.shape) == 0) view.offset = 0;
  return view;
}

Tensor triangle(const char* name, const Tensor& x, int64_t diagonal, bool lower) {
  const int64_t rows = matrices(name, x).size(-2), columns = x.size(-1);
  // Below the first row and above the last column there is no more to be said.
  const int64_t at = std::clamp(diagonal, -rows - 1, columns + 1);
  const Tensor below = tri(rows, columns, lower ? at : at - 1, DType::Bool, x.executor());
  const Tensor nothing = zeros({}, x.dtype(), x.executor());
  return lower ? where(below, x, nothing) : where(below, nothing, x);
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, diagonal, false); }

Tensor diagonal(const Tensor& x, int64_t offset, int a, int b) {
  matrices("diagonal", x);
  const int first = checked_axis("diagonal", a, x.rank());
  const int second = checked_axis("diagonal", b, x.rank());
  if (first == second) throw core::error(Text::AxisTwice, "diagonal", a);
  return Access::make(Access::node(x),
                      diagonal_of(Access::view(x), offset, static_cast<size_t>(first),
                                  static_cast<size_t>(second)));
}

Tensor diag(const Tensor& x, int64_t offset) {
  if (x.rank() == 2) return diagonal(x, offset);
  if (x.rank() != 1) throw core::error(Text::DiagRank, to_string(x.shape()));
  int64_t side = 0;
  if (offset == INT64_MIN || __builtin_add_overflow(x.size(), offset < 0 ? -offset : offset, &side))
    side = INT64_MAX;
  const int64_t count = count_of({side, side});
  const int64_t first = offset < 0 ? -offset * side : offset;
  const Tensor places = arange(0, x.size(), 1, DType::I64, x.executor()) * (side + 1) + first;
  return scatter(zeros({count}, x.dtype(), x.executor()), places, x, 0).reshape({side, side});
}

Tensor trace(const Tensor& x, int64_t offset, int a, int b) {
  return sum(diagonal(matrices("trace", x), offset, a, b), -1);
}

Tensor kron(const Tensor& a, const Tensor& b) {
  const auto axes = static_cast<size_t>(std::max(a.rank(), b.rank()));
  if (2 * axes > kMaxRank)
    throw core::error(Text::KronRank, to_string(a.shape()), to_string(b.shape()));
  Shape of_a(2 * axes, 1), of_b(2 * axes, 1), shape(axes, 1);
  const auto spread = [&](const Tensor& x, Shape& to, size_t first) {
    const size_t missing = axes - x.shape().size();
    for (size_t k = 0; k < x.shape().size(); k++) to[2 * (k + missing) + first] = x.shape()[k];
  };
  spread(a, of_a, 0);
  spread(b, of_b, 1);
  for (size_t k = 0; k < axes; k++) shape[k] = count_of({of_a[2 * k], of_b[2 * k + 1]});
  return (a.reshape(std::move(of_a)) * b.reshape(std::move(of_b))).reshape(std::move(shape));
}

Tensor cross(const Tensor& a, const Tensor& b, int axis) {
  const Shape shape = tensor::broadcast_shape("cross", a.shape(), b.shape());
  const int k = checked_axis("cross", axis, static_cast<int>(shape.size()));
  const Tensor x = a.broadcast_to(shape), y = b.broadcast_to(shape);
  if (x.size(k) != 3) throw core::error(Text::CrossLength, x.size(k), k);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; i++) {
    const int64_t j = (i + 1) % 3, l = (i + 2) % 3;
    parts.push_back(x.select(k, j) * y.select(k, l) - x.select(k, l) * y.select(k, j));
  }
  return stack(parts, k);
}

Tensor vecdot(const Tensor& a, const Tensor& b, int axis) {
  const DType dtype = promote(a.dtype(), b.dtype());
  if (dtype == DType::Bool)
    throw core::error(Text::OperandDType, "vecdot", name_of(dtype), "integers and floats");
  const DType wide = compute_type(dtype);
  const Tensor products = tensor::cast_to(a, wide) * tensor::cast_to(b, wide);
  return tensor::cast_to(sum(products, axis), dtype);
}

Tensor matrix_power(const Tensor& x, int64_t exponent) {
  if (matrices("matrix_power", x).size(-1) != x.size(-2))
    throw core::error(Text::NotSquare, "matrix_power", to_string(x.shape()));
  if (exponent == 0)
    return copy(eye(x.size(-1), -1, 0, x.dtype(), x.executor()).broadcast_to(x.shape()));
  Tensor square = exponent < 0 ? linalg::inv(x) : x, result;
  uint64_t left = exponent < 0 ? -static_cast<uint64_t>(exponent) : static_cast<uint64_t>(exponent);
  for (;; square = matmul(square, square)) {
    if (left & 1) result = result.defined() ? matmul(result, square) : square;
    left >>= 1;
    if (left == 0) return result;
  }
}

Tensor cdist(const Tensor& a, const Tensor& b, double order) {
  matrices("cdist", a);
  matrices("cdist", b);
  if (a.size(-1) != b.size(-1))
    throw core::error(Text::CdistLengths, to_string(a.shape()), to_string(b.shape()));
  const auto wide = [](const Tensor& x) {
    return tensor::cast_to(x, is_float(x.dtype()) ? x.dtype() : DType::F32);
  };
  return norm(wide(a).unsqueeze(-2) - wide(b).unsqueeze(-3), order, -1);
}

Tensor cov(const Tensor& x, double correction) {
  if (x.rank() != 1 && x.rank() != 2) throw core::error(Text::CovRank, "cov", to_string(x.shape()));
  const Tensor rows = x.rank() == 1 ? x.unsqueeze(0) : x;
  const DType to = tensor::float_dtype(x.dtype());
  const Tensor wide = tensor::cast_to(rows, tensor::accumulator(to));
  const Tensor apart = wide - mean(wide, -1, true);
  const double left = std::max(0.0, static_cast<double>(rows.size(-1)) - correction);
  const Tensor sums = matmul(apart, apart.transpose());
  const Tensor made = tensor::cast_to(sums / full({}, left, sums.dtype(), x.executor()), to);
  return x.rank() == 1 ? made.reshape({}) : made;
}

Tensor corrcoef(const Tensor& x) {
  if (x.rank() != 1 && x.rank() != 2)
    throw core::error(Text::CovRank, "corrcoef", to_string(x.shape()));
  const DType to = tensor::float_dtype(x.dtype());
  const Tensor c = cov(tensor::cast_to(x, tensor::accumulator(to)));
  // NOLINTNEXTLINE(misc-redundant-expression): NaN where nothing varies
  if (x.rank() == 1) return tensor::cast_to(c / c, to);
  const Tensor deviation = sqrt(diagonal(c));
  const Tensor r = c / deviation.unsqueeze(1) / deviation.unsqueeze(0);
  return tensor::cast_to(clamp(r, -1, 1), to);
}

}  // namespace hologram::ops
