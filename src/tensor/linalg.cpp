// Linear algebra: what LAPACK decomposes, and what follows by tensor operations.
#include "hologram/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "core/out_of_memory.hpp"
#include "hologram/gradient.hpp"
#include "hologram/ops.hpp"
#include "libraries/lapack/decompositions.hpp"
#include "tensor/tape.hpp"

namespace hologram::linalg {

using core::Text;
using libraries::Decomposition;
using libraries::DecompositionTask;

namespace {

int64_t rows_of(const Tensor& a) { return a.shape().end()[-2]; }
int64_t columns_of(const Tensor& a) { return a.shape().end()[-1]; }
int64_t shorter_of(const Tensor& a) { return std::min(rows_of(a), columns_of(a)); }
Shape batch_of(const Tensor& a) { return {a.shape().begin(), a.shape().end() - 2}; }
Shape with(Shape batch, std::initializer_list<int64_t> more) {
  for (const int64_t n : more) batch.push_back(n);
  return batch;
}
double epsilon_of(DType t) { return t == DType::F64 ? 0x1p-52 : 0x1p-23; }

DType checked_dtype(std::string_view name, DType t) {
  if (t == DType::F16 || t == DType::BF16) throw core::error(Text::LinalgDType, name, name_of(t));
  return is_float(t) ? t : DType::F32;
}

Tensor matrices(std::string_view name, const Tensor& a) {
  if (a.rank() < 2) throw core::error(Text::MatrixRank, name, to_string(a.shape()));
  return tensor::cast_to(a, checked_dtype(name, a.dtype()));
}
Tensor square(std::string_view name, const Tensor& a) {
  Tensor all = matrices(name, a);
  if (rows_of(a) != columns_of(a)) throw core::error(Text::NotSquare, name, to_string(a.shape()));
  return all;
}
void refuse_infinite(std::string_view name, const Tensor& a) {
  if (!ops::all(ops::isfinite(a)).item<bool>()) throw core::error(Text::NotFinite, name);
}

// Counts and logs what the host does for another device. A device's own library of decompositions
// would be asked here, before anything is copied.
void leave_device(std::string_view name, const Tensor& a) {
  const Executor executor = a.executor();
  if (executor.config().reproducible) throw core::error(Text::LinalgReproducible, name);
  if (executor.device().backend == BackendType::Cpu) return;
  if (executor.config().strict) throw core::error(Text::LinalgApart, name, executor.device().name);
  tensor::context_of(a).executor().fallbacks++;
  core::log(LogLevel::Info,
            fmt::format("{}: a tensor of shape {} is computed on the host, not on {}", name,
                        to_string(a.shape()), executor.device().name));
}

// The results as they come: matrices by column, [count, columns, rows].
std::vector<Array> decompose(DecompositionTask task, std::initializer_list<Tensor> operands) {
  if (tensor::is_recording())
    for (const Tensor& t : operands)
      if (tensor::is_tracked(t)) throw core::error(Text::LinalgGradient, task.name);
  return core::or_out_of_memory([&] {
    leave_device(task.name, *operands.begin());
    for (const Tensor& t : operands) {
      const int64_t count = graph::element_count(batch_of(t));
      task.operands.push_back(
          t.transpose(-2, -1).reshape({count, columns_of(t), rows_of(t)}).array());
    }
    return libraries::decompose(task);
  });
}
// A result as a tensor beside `like`, in this shape; and matrices, which are turned.
Tensor beside(const Tensor& like, const Array& result, Shape shape) {
  return Tensor::from(result, like.executor()).reshape(std::move(shape));
}
Tensor turned(const Tensor& like, const Array& result) {
  const Shape& is = result.shape();
  return beside(like, result, with(batch_of(like), {is[1], is[2]})).transpose(-2, -1);
}

// a and b with equal batches, on one device; b as matrices.
struct System {
  Tensor a, b;
  bool vector;  // b is one

  System(std::string_view name, const Tensor& of, const Tensor& right) : vector(right.rank() == 1) {
    const DType dtype = checked_dtype(name, promote(of.dtype(), right.dtype()));
    if (right.rank() == 0)
      throw core::error(Text::SolveShapes, name, to_string(of.shape()), to_string(right.shape()));
    const auto both =
        tensor::together(name, {tensor::cast_to(of, dtype), tensor::cast_to(right, dtype)});
    a = both[0];
    b = vector ? both[1].unsqueeze(-1) : both[1];
    if (rows_of(a) != rows_of(b))
      throw core::error(Text::SolveShapes, name, to_string(of.shape()), to_string(right.shape()));
    const Shape batch = tensor::broadcast_shape(name, batch_of(a), batch_of(b));
    a = a.broadcast_to(with(batch, {rows_of(a), columns_of(a)}));
    b = b.broadcast_to(with(batch, {rows_of(b), columns_of(b)}));
  }
  Tensor as_given(const Tensor& x, int axis) const { return vector ? x.squeeze(axis) : x; }
};

struct Lu {
  Tensor diagonal, sign;
};
Lu lu(std::string_view name, const Tensor& given) {
  const Tensor a = square(name, given);
  const auto parts = decompose({.name = name, .which = Decomposition::Lu}, {a});
  return {ops::diagonal(turned(a, parts[0]), 0, -2, -1), beside(a, parts[1], batch_of(a))};
}

std::vector<Array> svd_parts(std::string_view name, const Tensor& a, Decomposition which) {
  refuse_infinite(name, a);
  return decompose({.name = name, .which = which}, {a});
}
Tensor singular_values(std::string_view name, const Tensor& a) {
  const auto parts = svd_parts(name, a, Decomposition::SingularValues);
  return beside(a, parts[0], with(batch_of(a), {shorter_of(a)}));
}

// Which singular values of a are above what counts as 0.
Tensor above_cutoff(const Tensor& a, const Tensor& s, std::optional<double> relative) {
  const double longest = static_cast<double>(std::max(rows_of(a), columns_of(a)));
  return s > ops::max(s, -1, true) * relative.value_or(longest * epsilon_of(a.dtype()));
}

Tensor norm_by_sums(const Tensor& a, int summed, bool largest, bool keepdims) {
  const Tensor sums = ops::sum(ops::abs(a), summed, true);
  const int other = summed == -1 ? -2 : -1;
  const Tensor norm = largest ? ops::max(sums, other, true) : ops::min(sums, other, true);
  return keepdims ? norm : norm.squeeze(-1).squeeze(-1);
}

Tensor kept(const Tensor& norm, bool keepdims) {
  return keepdims ? norm.unsqueeze(-1).unsqueeze(-1) : norm;
}

Tensor transposed(const Tensor& a) { return a.transpose(-2, -1); }
Tensor as_matrix(const Tensor& number) { return number.unsqueeze(-1).unsqueeze(-1); }

// Of a = l @ l^T: half of what is left of l^T @ g below its diagonal, seen from both sides.
Tensor slope_of_cholesky(const Tensor& made, const Tensor& cotangent, bool upper) {
  const Tensor lt = upper ? made : transposed(made), g = upper ? transposed(cotangent) : cotangent;
  const Tensor product = ops::tril(ops::matmul(lt, ops::tril(g)));
  const Tensor half = ops::eye(rows_of(lt), -1, 0, lt.dtype(), lt.executor()) * 0.5;
  const Tensor inner = product * (1 - half);
  const Tensor s = transposed(solve(lt, transposed(solve(lt, inner))));
  return (s + transposed(s)) * 0.5;
}

// Eigenvectors of equal eigenvalues are any of a plane: they have no slope, and infinities say so.
Tensor slope_of_eigh(const Eigh& made, const Tensor& of_values, const Tensor& of_vectors) {
  const Tensor &l = made.eigenvalues, &v = made.eigenvectors;
  const Tensor one = ops::eye(rows_of(v), -1, 0, v.dtype(), v.executor());
  Tensor inner = ops::zeros_like(v);
  if (of_vectors.defined()) {
    const Tensor apart = l.unsqueeze(-2) - l.unsqueeze(-1) + one;
    inner = (1 - one) * ops::matmul(transposed(v), of_vectors) / apart;
  }
  if (of_values.defined()) inner = inner + one * of_values.unsqueeze(-1);
  const Tensor s = ops::matmul(ops::matmul(v, inner), transposed(v));
  return (s + transposed(s)) * 0.5;
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b) {
  square("solve", a);
  const System s("solve", a, b);
  const auto make = [&] {
    return turned(s.a, decompose({.name = "solve", .which = Decomposition::Solve}, {s.a, s.b})[0]);
  };
  if (!tensor::is_recording()) return s.as_given(make(), -1);
  const Tensor x = tensor::with_gradient({s.a, s.b}, make, [&](const Tensor& made) {
    return [of = s.a, made](const Tensor& g, const tensor::Wanted&) {
      const Tensor of_b = solve(transposed(of), g);
      return tensor::Tensors{-ops::matmul(of_b, transposed(made)), of_b};
    };
  });
  return s.as_given(x, -1);
}

Tensor inv(const Tensor& given) {
  const Tensor a = square("inv", given);
  const Tensor one = ops::eye(rows_of(a), -1, 0, a.dtype(), a.executor());
  const Tensor b = one.broadcast_to(a.shape());
  return tensor::with_gradient(
      a,
      [&] {
        return turned(a, decompose({.name = "inv", .which = Decomposition::Solve}, {a, b})[0]);
      },
      [](const Tensor& made) {
        return
            [t = transposed(made)](const Tensor& g) { return -ops::matmul(ops::matmul(t, g), t); };
      });
}

Tensor det(const Tensor& given) {
  const Tensor a = square("det", given);
  return tensor::with_gradient(
      a,
      [&] {
        const Lu parts = lu("det", a);
        return ops::prod(parts.diagonal, -1) * parts.sign;
      },
      [&](const Tensor& made) {
        return [a, made](const Tensor& g) { return as_matrix(g * made) * transposed(inv(a)); };
      });
}

SlogDet slogdet(const Tensor& given) {
  const Tensor a = square("slogdet", given);
  SlogDet made;
  {
    const tensor::Pause pause;
    const Lu parts = lu("slogdet", a);
    made = {ops::prod(ops::sign(parts.diagonal), -1) * parts.sign,
            ops::sum(ops::log(ops::abs(parts.diagonal)), -1)};
  }
  if (tensor::is_recording())
    tensor::record({a}, {made.sign, made.logabsdet}, [a](const tensor::Tensors& g, const auto&) {
      return tensor::Tensors{g[1].defined() ? as_matrix(g[1]) * transposed(inv(a)) : Tensor()};
    });
  return made;
}

Tensor cholesky(const Tensor& given, bool upper) {
  const Tensor a = square("cholesky", given);
  return tensor::with_gradient(
      a,
      [&] {
        const auto parts =
            decompose({.name = "cholesky", .which = Decomposition::Cholesky, .upper = upper}, {a});
        const Tensor made = turned(a, parts[0]);
        return upper ? ops::triu(made) : ops::tril(made);
      },
      [&](const Tensor& made) {
        return [upper, made](const Tensor& g) { return slope_of_cholesky(made, g, upper); };
      });
}

QR qr(const Tensor& given, bool complete) {
  const Tensor a = matrices("qr", given);
  const auto parts = decompose(
      {.name = "qr", .which = complete ? Decomposition::CompleteQr : Decomposition::Qr}, {a});
  const int64_t rows = complete ? rows_of(a) : shorter_of(a);
  return {turned(a, parts[0]), ops::triu(turned(a, parts[1]).slice(-2, {0, rows}))};
}

Eigh eigh(const Tensor& given) {
  const Tensor a = square("eigh", given);
  refuse_infinite("eigh", ops::tril(a));
  Eigh made;
  {
    const tensor::Pause pause;
    const auto parts = decompose({.name = "eigh", .which = Decomposition::Eigen}, {a});
    made = {beside(a, parts[0], with(batch_of(a), {rows_of(a)})), turned(a, parts[1])};
  }
  if (tensor::is_recording())
    tensor::record({a}, {made.eigenvalues, made.eigenvectors},
                   [made](const tensor::Tensors& g, const auto&) {
                     return tensor::Tensors{slope_of_eigh(made, g[0], g[1])};
                   });
  return made;
}

Tensor eigvalsh(const Tensor& given) {
  const Tensor a = square("eigvalsh", given);
  refuse_infinite("eigvalsh", ops::tril(a));
  return tensor::with_gradient(
      a,
      [&] {
        const auto parts =
            decompose({.name = "eigvalsh", .which = Decomposition::Eigenvalues}, {a});
        return beside(a, parts[0], with(batch_of(a), {rows_of(a)}));
      },
      [&](const Tensor&) {
        return [a](const Tensor& g) { return slope_of_eigh(eigh(a), g, Tensor()); };
      });
}

SVD svd(const Tensor& given, bool full_matrices) {
  const Tensor a = matrices("svd", given);
  const auto parts =
      svd_parts("svd", a, full_matrices ? Decomposition::FullSvd : Decomposition::Svd);
  return {turned(a, parts[1]), beside(a, parts[0], with(batch_of(a), {shorter_of(a)})),
          turned(a, parts[2])};
}

Tensor svdvals(const Tensor& given) {
  const Tensor a = matrices("svdvals", given);
  return tensor::with_gradient(
      a, [&] { return singular_values("svdvals", a); },
      [&](const Tensor&) {
        return [a](const Tensor& g) {
          const SVD parts = svd(a, false);
          return ops::matmul(parts.u * g.unsqueeze(-2), parts.vh);
        };
      });
}

Tensor pinv(const Tensor& given, std::optional<double> relative) {
  const Tensor a = matrices("pinv", given);
  if (shorter_of(a) == 0)
    return ops::zeros(with(batch_of(a), {columns_of(a), rows_of(a)}), a.dtype(), a.executor());
  const auto parts = svd_parts("pinv", a, Decomposition::Svd);
  const Tensor s = beside(a, parts[0], with(batch_of(a), {shorter_of(a)}));
  const Tensor inverse = ops::where(above_cutoff(a, s, relative), ops::reciprocal(s), 0);
  const Tensor u = turned(a, parts[1]), vh = turned(a, parts[2]);
  return ops::matmul(vh.transpose(-2, -1) * inverse.unsqueeze(-2), u.transpose(-2, -1));
}

Tensor matrix_rank(const Tensor& given, std::optional<double> relative) {
  const Tensor a = matrices("matrix_rank", given);
  if (shorter_of(a) == 0) return ops::zeros(batch_of(a), DType::I64, a.executor());
  return ops::sum(above_cutoff(a, singular_values("matrix_rank", a), relative), -1);
}

LeastSquares lstsq(const Tensor& a, const Tensor& b, std::optional<double> relative) {
  matrices("lstsq", a);
  const System s("lstsq", a, b);
  refuse_infinite("lstsq", s.a);
  refuse_infinite("lstsq", s.b);
  const double longest = static_cast<double>(std::max(rows_of(s.a), columns_of(s.a)));
  const auto parts = decompose({.name = "lstsq",
                                .which = Decomposition::LeastSquares,

                                .cutoff = relative.value_or(longest * epsilon_of(s.a.dtype()))},
                               {s.a, s.b});
  const Tensor x = turned(s.a, parts[0]);
  const Tensor residuals = ops::sum(ops::square(s.b - ops::matmul(s.a, x)), -2);
  return {s.as_given(x, -1), s.as_given(residuals, -1),
          beside(s.a, parts[1], batch_of(s.a)).to(DType::I64),
          beside(s.a, parts[2], with(batch_of(s.a), {shorter_of(s.a)}))};
}

Tensor matrix_norm(const Tensor& a, double order, bool keepdims) {
  if (a.rank() < 2) throw core::error(Text::MatrixRank, "matrix_norm", to_string(a.shape()));
  const double size = std::abs(order);
  if (size == 1) return norm_by_sums(a, -2, order > 0, keepdims);
  if (std::isinf(size)) return norm_by_sums(a, -1, order > 0, keepdims);
  if (size != 2) throw core::error(Text::MatrixNormOrder, order);
  const Tensor s = singular_values("matrix_norm", matrices("matrix_norm", a));
  return kept(order > 0 ? ops::max(s, -1) : ops::min(s, -1), keepdims);
}

Tensor matrix_norm(const Tensor& a, MatrixNorm order, bool keepdims) {
  if (a.rank() < 2) throw core::error(Text::MatrixRank, "matrix_norm", to_string(a.shape()));
  if (order == MatrixNorm::Frobenius) return ops::norm(a, 2.0, {-2, -1}, keepdims);
  return kept(ops::sum(singular_values("matrix_norm", matrices("matrix_norm", a)), -1), keepdims);
}

Tensor vector_norm(const Tensor& x, const ops::Axes& axes, bool keepdims, double order) {
  return ops::norm(x, order, axes, keepdims);
}

}  // namespace hologram::linalg
