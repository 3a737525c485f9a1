// Decompositions of matrices, by hologram/linalg.hpp. The work is done at the call, without the
// GIL.
#include <nanobind/stl/optional.h>

#include "binding.hpp"

namespace hologram::python {

void register_linalg(nb::module_& m) {
  using Relative = std::optional<double>;
  m.def("solve", [](const Tensor& a, const Tensor& b) {
    return without_gil([&] { return linalg::solve(a, b); });
  });
  m.def("inv", [](const Tensor& a) { return without_gil([&] { return linalg::inv(a); }); });
  m.def("det", [](const Tensor& a) { return without_gil([&] { return linalg::det(a); }); });
  m.def("slogdet", [](const Tensor& a) {
    const auto made = without_gil([&] { return linalg::slogdet(a); });
    return nb::make_tuple(made.sign, made.logabsdet);
  });
  m.def("cholesky", [](const Tensor& a, bool upper) {
    return without_gil([&] { return linalg::cholesky(a, upper); });
  });
  m.def("qr", [](const Tensor& a, bool complete) {
    const auto made = without_gil([&] { return linalg::qr(a, complete); });
    return nb::make_tuple(made.q, made.r);
  });
  m.def("eigh", [](const Tensor& a) {
    const auto made = without_gil([&] { return linalg::eigh(a); });
    return nb::make_tuple(made.eigenvalues, made.eigenvectors);
  });
  m.def("eigvalsh",
        [](const Tensor& a) { return without_gil([&] { return linalg::eigvalsh(a); }); });
  m.def("svd", [](const Tensor& a, bool full_matrices) {
    const auto made = without_gil([&] { return linalg::svd(a, full_matrices); });
    return nb::make_tuple(made.u, made.s, made.vh);
  });
  m.def("svdvals", [](const Tensor& a) { return without_gil([&] { return linalg::svdvals(a); }); });
  m.def(
      "pinv",
      [](const Tensor& a, Relative rtol) {
        return without_gil([&] { return linalg::pinv(a, rtol); });
      },
      nb::arg(), nb::arg().none());
  m.def(
      "matrix_rank",
      [](const Tensor& a, Relative rtol) {
        return without_gil([&] { return linalg::matrix_rank(a, rtol); });
      },
      nb::arg(), nb::arg().none());
  m.def(
      "lstsq",
      [](const Tensor& a, const Tensor& b, Relative rtol) {
        const auto made = without_gil([&] { return linalg::lstsq(a, b, rtol); });
        return nb::make_tuple(made.solution, made.residuals, made.rank, made.singular_values);
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("matrix_norm", [](const Tensor& a, double order, bool keepdims) {
    return without_gil([&] { return linalg::matrix_norm(a, order, keepdims); });
  });
  m.def("matrix_norm_of", [](const Tensor& a, bool nuclear, bool keepdims) {
    const auto order = nuclear ? linalg::MatrixNorm::Nuclear : linalg::MatrixNorm::Frobenius;
    return without_gil([&] { return linalg::matrix_norm(a, order, keepdims); });
  });
}

}  // namespace hologram::python
