#define EIGEN_DONT_PARALLELIZE
#include "eigen.hpp"

#include <Eigen/Core>

namespace eigen {
namespace {

using Index = Eigen::Index;
using Flat = Eigen::ArrayXf;
using Rows = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Flats {
  const float* const* in;
  size_t begin, count;
  Eigen::Map<const Flat> operator()(size_t k) const {
    return {in[k] + begin, static_cast<Index>(count)};
  }
};

template <class Fn>
void flat(const float* const* in, float* out, size_t begin, size_t end, Fn fn) {
  const Flats x{in, begin, end - begin};
  Eigen::Map<Flat>(out + begin, static_cast<Index>(end - begin)) = fn(x);
}

Eigen::Map<const Rows> rows_of(const float* x, size_t begin, size_t end, size_t columns) {
  return {x + begin * columns, static_cast<Index>(end - begin), static_cast<Index>(columns)};
}

void add_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  flat(in, out, begin, end, [](const Flats& x) { return x(0) + x(1); });
}
void fma_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  flat(in, out, begin, end, [](const Flats& x) { return x(0) * x(1) + x(2); });
}
void sigmoid_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  flat(in, out, begin, end,
       [](const Flats& x) { return (x(0) * x(1) + x(2)).logistic() * x(3) - x(4); });
}
void twelve_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  flat(in, out, begin, end, [](const Flats& x) {
    return ((((x(0) * x(1) + x(2)) * x(3) - x(4)).max(0) * 0.5f + x(0)).abs().sqrt() - x(1))
        .square()
        .min(4.0f);
  });
}
void exp_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  flat(in, out, begin, end, [](const Flats& x) { return x(0).exp(); });
}
void dot_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  const Flats x{in, begin, end - begin};
  *out = x(0).matrix().dot(x(1).matrix());
}
void sum_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  *out = Flats{in, begin, end - begin}(0).sum();
}
void row_sums_loop(const float* const* in, float* out, size_t begin, size_t end, size_t columns) {
  Eigen::Map<Flat>(out + begin, static_cast<Index>(end - begin)) =
      rows_of(in[0], begin, end, columns).rowwise().sum();
}
void softmax_loop(const float* const* in, float* out, size_t begin, size_t end, size_t columns) {
  for (size_t row = begin; row < end; row++) {
    const Eigen::Map<const Flat> x(in[0] + row * columns, static_cast<Index>(columns));
    Eigen::Map<Flat> y(out + row * columns, static_cast<Index>(columns));
    y = (x - x.maxCoeff()).exp();
    y /= y.sum();
  }
}
template <class T>
// NOLINTNEXTLINE(readability-non-const-parameter): a Loop writes what it is given
void matmul_loop(const float* const* in, float* out, size_t begin, size_t end, size_t side) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto n = static_cast<Index>(side), rows = static_cast<Index>(end - begin);
  const size_t first = begin * side;
  const Eigen::Map<const Matrix> a(reinterpret_cast<const T*>(in[0]) + first, rows, n),
      b(reinterpret_cast<const T*>(in[1]), n, n);
  Eigen::Map<Matrix>(reinterpret_cast<T*>(out) + first, rows, n).noalias() = a * b;
}
void matrix_vector_loop(const float* const* in, float* out, size_t begin, size_t end, size_t side) {
  using Vector = Eigen::VectorXf;
  const Eigen::Map<const Vector> x(in[1], static_cast<Index>(side));
  Eigen::Map<Vector>(out + begin, static_cast<Index>(end - begin)).noalias() =
      rows_of(in[0], begin, end, side).matrix() * x;
}

}  // namespace

Loop add() { return add_loop; }
Loop fma() { return fma_loop; }
Loop sigmoid() { return sigmoid_loop; }
Loop twelve() { return twelve_loop; }
Loop exp() { return exp_loop; }
Loop sum() { return sum_loop; }
Loop dot() { return dot_loop; }
Loop row_sums() { return row_sums_loop; }
Loop softmax() { return softmax_loop; }
Loop matmul() { return matmul_loop<float>; }
Loop matmul_f64() { return matmul_loop<double>; }
Loop matrix_vector() { return matrix_vector_loop; }

}  // namespace eigen
