// Functions that people look for: parts of matrices, order statistics, counts, sequences, sets. By
// position; the package gives them their parameters.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "reductions.hpp"

namespace hologram::python {
namespace {

using OptionalAxis = std::optional<int>;
using OptionalNumber = std::optional<double>;

constexpr Reduction kReductions[] = {{"count_nonzero", ops::count_nonzero},
                                     {"nansum", ops::nansum},
                                     {"nanprod", ops::nanprod},
                                     {"nanmean", ops::nanmean},
                                     {"nanmin", ops::nanmin},
                                     {"nanmax", ops::nanmax}};

// A row of a table of words.
template <class T>
struct Word {
  const char* word;
  T value;
};
template <class T, size_t n>
T by_word(const Word<T> (&rows)[n], const std::string& word, const char* what) {
  std::string all;
  for (const Word<T>& row : rows) {
    if (word == row.word) return row.value;
    all += (all.empty() ? "'" : ", '") + std::string(row.word) + "'";
  }
  fail(ErrorKind::InvalidArgument, std::string("there is no ") + what + " '" + word + "'",
       "Use one of " + all + ".");
}

constexpr Word<ops::Interpolation> kInterpolations[] = {{"linear", ops::Interpolation::Linear},
                                                        {"lower", ops::Interpolation::Lower},
                                                        {"higher", ops::Interpolation::Higher},
                                                        {"midpoint", ops::Interpolation::Midpoint},
                                                        {"nearest", ops::Interpolation::Nearest}};
constexpr Word<ops::PadMode> kPadModes[] = {{"reflect", ops::PadMode::Reflect},
                                            {"symmetric", ops::PadMode::Symmetric},
                                            {"edge", ops::PadMode::Edge},
                                            {"wrap", ops::PadMode::Wrap}};

void register_statistics(nb::module_& m) {
  for (const Reduction& r : kReductions) bind(m, r);
  bind(m, Spread{"nanvar", ops::nanvar});
  bind(m, Spread{"nanstd", ops::nanstd});
  m.def(
      "median",
      [](const Tensor& x, OptionalAxis axis, bool keepdims) {
        return ops::median(x, axis, keepdims);
      },
      nb::arg(), nb::arg().none(), nb::arg());
  m.def(
      "nanmedian",
      [](const Tensor& x, OptionalAxis axis, bool keepdims) {
        return ops::nanmedian(x, axis, keepdims);
      },
      nb::arg(), nb::arg().none(), nb::arg());
  m.def(
      "quantile",
      [](const Tensor& x, std::vector<double> q, bool is_list, OptionalAxis axis, bool keepdims,
         const std::string& method) {
        const auto how = by_word(kInterpolations, method, "method");
        return is_list ? ops::quantile(x, q, axis, keepdims, how)
                       : ops::quantile(x, q.at(0), axis, keepdims, how);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def(
      "bincount",
      [](const Tensor& x, nb::handle weights, int64_t length) {
        if (weights.is_none()) return without_gil([&] { return ops::bincount(x, length); });
        const Tensor w = tensor_from(weights);
        return without_gil([&] { return ops::bincount(x, w, length); });
      },
      nb::arg(), nb::arg().none(), nb::arg());
  m.def(
      "histogram",
      [](const Tensor& x, nb::handle bins, std::optional<std::pair<double, double>> range) {
        const bool is_count = PyIndex_Check(bins.ptr()) && !nb::isinstance<Tensor>(bins);
        const int64_t count = is_count ? nb::cast<int64_t>(bins) : 0;
        const Tensor edges = is_count ? Tensor() : tensor_from(bins);
        const auto made = without_gil(
            [&] { return is_count ? ops::histogram(x, count, range) : ops::histogram(x, edges); });
        return nb::make_tuple(made.counts, made.edges);
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("digitize", ops::digitize);
}

void register_matrices(nb::module_& m) {
  m.def("einsum", [](const std::string& equation, nb::handle operands) {
    return ops::einsum(equation, tensors_from(operands));
  });
  m.def("tril", ops::tril);
  m.def("triu", ops::triu);
  m.def("diagonal", ops::diagonal);
  m.def("diag", ops::diag);
  m.def("kron", ops::kron);
  m.def("cross", ops::cross);
  m.def("vecdot", ops::vecdot);
  m.def("matrix_power", [](const Tensor& x, int64_t n) {
    return without_gil([&] { return ops::matrix_power(x, n); });
  });
  m.def("cdist", ops::cdist);
  m.def("cov", ops::cov);
  m.def("corrcoef", ops::corrcoef);
}

void register_sequences(nb::module_& m) {
  m.def("diff", ops::diff);
  m.def("cummax", [](const Tensor& x, int axis) {
    const auto [values, indices] = ops::cummax(x, axis);
    return nb::make_tuple(values, indices);
  });
  m.def("cummin", [](const Tensor& x, int axis) {
    const auto [values, indices] = ops::cummin(x, axis);
    return nb::make_tuple(values, indices);
  });
  m.def("interp", ops::interp, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def(
      "logspace",
      [](double start, double stop, int64_t count, double base, nb::handle dtype,
         nb::handle device) {
        return ops::logspace(start, stop, count, base, dtype_from(dtype), executor_from(device));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("isclose", [](nb::handle a, nb::handle b, double rtol, double atol, bool equal_nan) {
    return ops::isclose(operand_from(a), operand_from(b), rtol, atol, equal_nan);
  });
  m.def("allclose", [](nb::handle a, nb::handle b, double rtol, double atol, bool equal_nan) {
    return ops::allclose(operand_from(a), operand_from(b), rtol, atol, equal_nan);
  });
  m.def("array_equal", ops::array_equal);
  m.def("nan_to_num", ops::nan_to_num, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def("nextafter", ops::nextafter);
}

void register_rearrangement(nb::module_& m) {
  m.def("moveaxis", [](const Tensor& x, nb::handle from, nb::handle to) {
    return ops::moveaxis(x, ints_from(from), ints_from(to));
  });
  m.def("rot90", ops::rot90);
  m.def("pad_mode", [](const Tensor& x, const std::vector<std::vector<int64_t>>& widths,
                       const std::string& mode) {
    std::vector<ops::Padding> padding;
    for (const auto& pair : widths) padding.push_back({pair.at(0), pair.at(1)});
    return ops::pad(x, padding, by_word(kPadModes, mode, "mode"));
  });
  m.def(
      "repeat_counts",
      [](const Tensor& x, const Tensor& counts, OptionalAxis axis) {
        return without_gil([&] { return ops::repeat(x, counts, axis); });
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("isin", ops::isin);
}

ops::Indices indices_from(nb::handle list) {
  ops::Indices indices;
  for (nb::handle item : list) {
    if (item.is_none()) indices.emplace_back();
    else indices.emplace_back(tensor_from(item));
  }
  return indices;
}

}  // namespace

void register_analysis(nb::module_& m) {
  register_statistics(m);
  register_matrices(m);
  register_sequences(m);
  register_rearrangement(m);
  m.def("index",
        [](const Tensor& x, nb::handle indices) { return ops::index(x, indices_from(indices)); });
  m.def("index_put", [](const Tensor& x, nb::handle indices, nb::handle values, bool accumulate) {
    return ops::index_put(x, indices_from(indices), operand_from(values), accumulate);
  });
}

}  // namespace hologram::python
