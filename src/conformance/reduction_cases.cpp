// Reductions, softmax and its logarithm: for every dtype, in every layout, along different axes,
// and along rows that are long enough to be shared by groups or cut into pieces.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/suite.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

using Axes = std::vector<int>;
using Row = std::vector<Wide>;

// What a row gives, and how far a result may be from it: by the additions, in units of the
// accumulator's epsilon.
struct Answer {
  Wide exact, allowed;
};

Wide steps(const Row& row) {
  return std::log2(std::max<double>(2, static_cast<double>(row.size())));
}
Wide count(const Row& row) { return static_cast<Wide>(static_cast<double>(row.size())); }
Wide total(const Row& row) {
  Wide sum = 0;
  for (const Wide x : row) sum += x;
  return sum;
}
Wide total_size(const Row& row) {
  Wide sum = 0;
  for (const Wide x : row) sum += magnitude(x);
  return sum;
}
Wide largest(const Row& row) {
  Wide most = -static_cast<Wide>(INFINITY);
  for (const Wide x : row) most = std::max(most, x);
  return most;
}
Wide root(Wide x) { return std::sqrt(static_cast<long double>(x)); }
Wide sum_of_exp(const Row& row) {
  const Wide most = largest(row);
  Wide sum = 0;
  for (const Wide x : row) sum += std::exp(static_cast<long double>(x - most));
  return sum;
}

Answer sum(const Row& row) { return {total(row), 2 * steps(row) * total_size(row)}; }
Answer product(const Row& row) {
  Wide all = 1;
  for (const Wide x : row) all *= x;
  return {all, count(row) * magnitude(all)};
}
Answer mean(const Row& row) {
  const Answer s = sum(row);
  const Wide m = s.exact / count(row);
  return {m, s.allowed / count(row) + magnitude(m)};
}
// The second term is what an error of the mean does; `epsilon` squares there.
Answer variance(const Row& row, Wide epsilon) {
  const Answer m = mean(row);
  Wide squares = 0;
  for (const Wide x : row) squares += (x - m.exact) * (x - m.exact);
  const Wide v = squares / count(row);
  return {v, (2 * steps(row) + 4) * v + epsilon * m.allowed * m.allowed};
}
Answer deviation(const Row& row, Wide epsilon) {
  const Answer v = variance(row, epsilon);
  const Wide d = root(v.exact);
  if (d == 0) return {d, root(v.allowed / epsilon)};
  return {d, v.allowed / (2 * d) + d};
}
Answer logsumexp(const Row& row) {
  const Wide most = largest(row);
  const Wide all = most + std::log(static_cast<long double>(sum_of_exp(row)));
  return {all, 4 + 2 * steps(row) + 2 * (magnitude(all) + magnitude(most))};
}
Answer length(const Row& row) {
  Wide squares = 0;
  for (const Wide x : row) squares += x * x;
  const Wide d = root(squares);
  return {d, (steps(row) + 4) * d};
}
// Of a row that stays, what its elements have in common.
struct Common {
  Wide largest, sum, steps;
};
Answer share(const Common& row, Wide x) {
  const Wide gap = x - row.largest;
  const Wide part = std::exp(static_cast<long double>(gap)) / row.sum;
  return {part, (6 + 2 * row.steps + magnitude(gap)) * part};
}
Answer log_share(const Common& row, Wide x) {
  const Wide gap = x - row.largest;
  const Wide all = gap - std::log(static_cast<long double>(row.sum));
  return {all, 4 + 2 * row.steps + 2 * (magnitude(all) + magnitude(gap))};
}

// The position of the first extreme element, of the first NaN if there is one.
size_t position(const Row& row, bool largest) {
  size_t best = 0;
  for (size_t i = 0; i < row.size(); i++) {
    if (is_nan(row[i])) return i;
    if (largest ? row[i] > row[best] : row[i] < row[best]) best = i;
  }
  return best;
}
template <bool is_max>
Answer extreme(const Row& row) {
  return {row[position(row, is_max)], 0};
}
template <bool is_max>
Answer where_extreme(const Row& row) {
  return {static_cast<Wide>(static_cast<double>(position(row, is_max))), 0};
}
Answer any(const Row& row) {
  return {std::any_of(row.begin(), row.end(), [](Wide x) { return x != 0; }) ? 1.0 : 0.0, 0};
}
Answer all(const Row& row) {
  return {std::all_of(row.begin(), row.end(), [](Wide x) { return x != 0; }) ? 1.0 : 0.0, 0};
}

enum class Result : uint8_t { Float, Sum, Same, Position, Truth };
enum class Values : uint8_t { Small, NearOne, Anything };

struct Reduction {
  std::string_view name;
  Tensor (*run)(const Tensor& x, const Axes& axes);
  Answer (*row)(const Row& row);
  Answer (*row_with)(const Row& row, Wide epsilon);        // if the epsilon counts
  Answer (*element)(const Common& row, Wide x) = nullptr;  // if the row stays
  Result result;
  Values values;
  bool one_axis = false;
  bool of_nothing = true;  // may rows be empty?
};

// clang-format off
const Reduction kReductions[] = {
  {"sum", [](const Tensor& x, const Axes& a) { return ops::sum(x, a); }, sum, nullptr, nullptr, Result::Sum, Values::Small},
  {"prod", [](const Tensor& x, const Axes& a) { return ops::prod(x, a); }, product, nullptr, nullptr, Result::Sum, Values::NearOne},
  {"mean", [](const Tensor& x, const Axes& a) { return ops::mean(x, a); }, mean, nullptr, nullptr, Result::Float, Values::Small},
  {"var", [](const Tensor& x, const Axes& a) { return ops::var(x, a); }, nullptr, variance, nullptr, Result::Float, Values::Small},
  {"std", [](const Tensor& x, const Axes& a) { return ops::std(x, a); }, nullptr, deviation, nullptr, Result::Float, Values::Small},
  {"min", [](const Tensor& x, const Axes& a) { return ops::min(x, a); }, extreme<false>, nullptr, nullptr, Result::Same, Values::Anything, false, false},
  {"max", [](const Tensor& x, const Axes& a) { return ops::max(x, a); }, extreme<true>, nullptr, nullptr, Result::Same, Values::Anything, false, false},
  {"argmin", [](const Tensor& x, const Axes& a) { return ops::argmin(x, a[0]); }, where_extreme<false>, nullptr, nullptr, Result::Position, Values::Anything, true, false},
  {"argmax", [](const Tensor& x, const Axes& a) { return ops::argmax(x, a[0]); }, where_extreme<true>, nullptr, nullptr, Result::Position, Values::Anything, true, false},
  {"any", [](const Tensor& x, const Axes& a) { return ops::any(x, a); }, any, nullptr, nullptr, Result::Truth, Values::Anything},
  {"all", [](const Tensor& x, const Axes& a) { return ops::all(x, a); }, all, nullptr, nullptr, Result::Truth, Values::Anything},
  {"logsumexp", [](const Tensor& x, const Axes& a) { return ops::logsumexp(x, a); }, logsumexp, nullptr, nullptr, Result::Float, Values::Small, false, false},
  {"norm", [](const Tensor& x, const Axes& a) { return ops::norm(x, 2.0, a); }, length, nullptr, nullptr, Result::Float, Values::Small},
  {"softmax", [](const Tensor& x, const Axes& a) { return ops::softmax(x, a[0]); }, nullptr, nullptr, share, Result::Float, Values::Small, true},
  {"log_softmax", [](const Tensor& x, const Axes& a) { return ops::log_softmax(x, a[0]); }, nullptr, nullptr, log_share, Result::Float, Values::Small, true},
};
// clang-format on

DType result_dtype(const Reduction& r, DType dtype) {
  switch (r.result) {
    case Result::Float: return is_float(dtype) ? dtype : DType::F32;
    case Result::Sum: return is_float(dtype) || dtype == DType::U64 ? dtype : DType::I64;
    case Result::Position: return DType::I64;
    case Result::Truth: return DType::Bool;
    default: return dtype;
  }
}

Array values_for(const Reduction& r, DType dtype, const Shape& shape, Generator& generator) {
  if (r.values == Values::NearOne && is_float(dtype))
    return plain_values(dtype, shape, 0.95, 1.05, generator);
  Array array = plain_values(dtype, shape, -2, 2, generator);
  for (size_t i = 0; i < array.size(); i++) {
    const uint64_t dice = generator();
    if (dtype == DType::Bool) {
      put_whole(dtype, array.mutable_data(), i, dice % 64 != 0);
    } else if (!is_float(dtype)) {
      // Whole numbers that go through f32 stay small enough for their squares.
      if (r.result == Result::Float || dice % 4 != 0)
        put_whole(dtype, array.mutable_data(), i,
                  static_cast<Integer>(dice % 97) - (is_signed_integer(dtype) ? 48 : 0));
    } else if (r.values == Values::Anything) {
      // Many are equal, a few infinite or NaN.
      const double some = std::round(static_cast<double>(dice % 65) - 32) / 4;
      const bool rare = dice >> 32 > (uint64_t{0xffffffff} - (1u << 23));
      put_real(dtype, array.mutable_data(), i,
               !rare           ? some
               : dice % 3 == 0 ? NAN
               : dice % 3 == 1 ? INFINITY
                               : -INFINITY);
    }
  }
  return array;
}

// The elements of each row, in order; `kept` has the shape of the other axes.
struct Rows {
  Rows(const Shape& shape, const Axes& axes) {
    std::vector<bool> gone(shape.size(), false);
    for (const int a : axes) gone[static_cast<size_t>(a)] = true;
    size_t outer = 1, all = 1;
    for (size_t k = 0; k < shape.size(); k++) {
      all *= static_cast<size_t>(shape[k]);
      if (gone[k]) continue;
      kept.push_back(shape[k]);
      outer *= static_cast<size_t>(shape[k]);
    }
    elements.resize(outer);
    for (size_t i = 0; i < all; i++) {
      size_t rest = i, row = 0, step = 1;
      for (size_t k = shape.size(); k-- > 0;) {
        const size_t at = rest % static_cast<size_t>(shape[k]);
        rest /= static_cast<size_t>(shape[k]);
        if (gone[k]) continue;
        row += at * step;
        step *= static_cast<size_t>(shape[k]);
      }
      elements[row].push_back(i);
    }
  }
  Shape kept;
  std::vector<std::vector<size_t>> elements;
};

Finding whole_sums(const Reduction& r, const Array& values, const Rows& rows, const Array& result,
                   const std::function<size_t(size_t)>& at) {
  Finding found;
  for (size_t k = 0; k < rows.elements.size(); k++, found.elements++) {
    uint64_t all = r.values == Values::NearOne ? 1 : 0;
    for (const size_t i : rows.elements[k]) {
      const auto x = static_cast<uint64_t>(whole_at(values.dtype(), values.data(), at(i)));
      all = r.values == Values::NearOne ? all * x : all + x;
    }
    const auto have = static_cast<uint64_t>(whole_at(result.dtype(), result.data(), k));
    if (have != all && found.wrong.empty())
      found.wrong = fmt::format("element {} is {:#x}, not {:#x}", k, have, all);
  }
  return found;
}

Finding compare(const Reduction& r, const Layout& layout, const Axes& axes, const Array& values,
                const Array& result, const Arithmetic& arithmetic) {
  Finding found;
  const Rows rows(layout.shape, axes);
  const DType to = result_dtype(r, values.dtype());
  if (result.dtype() != to || result.shape() != (r.element != nullptr ? layout.shape : rows.kept)) {
    found.wrong = "dtype or shape is wrong";
    return found;
  }
  const auto at = [&](size_t i) { return stored_at(layout.shape, values.shape(), i); };
  if (r.result == Result::Sum && !is_float(to)) return whole_sums(r, values, rows, result, at);
  const bool exact = r.result != Result::Float && r.result != Result::Sum;
  const Wide epsilon = std::ldexp(1.0, to == DType::F64 ? -52 : -23);
  found.bound = exact ? 0 : 1;
  for (size_t k = 0; k < rows.elements.size(); k++) {
    Row row;
    for (const size_t i : rows.elements[k])
      row.push_back(real_at(values.dtype(), values.data(), at(i)));
    const size_t many = r.element != nullptr ? row.size() : 1;
    Common common{};
    if (r.element != nullptr && many > 0) common = {largest(row), sum_of_exp(row), steps(row)};
    for (size_t j = 0; j < many; j++, found.elements++) {
      const Answer answer = r.element != nullptr    ? r.element(common, row[j])
                            : r.row_with != nullptr ? r.row_with(row, epsilon)
                                                    : r.row(row);
      const size_t place = r.element != nullptr ? rows.elements[k][j] : k;
      const Wide have = real_at(to, result.data(), place);
      if (exact || is_nan(answer.exact) || is_nan(have) || is_infinite(have)) {
        const bool same = have == answer.exact || (is_nan(have) && is_nan(answer.exact));
        found.measure(same ? 0 : INFINITY, place, have, answer.exact);
        continue;
      }
      // The last rounding is that of the result's dtype; below the normal numbers it is coarse.
      Wide allowed = epsilon * answer.allowed + std::ldexp(1.0L, to == DType::F64 ? -1074 : -149);
      const Wide steps = arithmetic.units_of_quotient() + arithmetic.units_of_root();
      allowed += epsilon * steps * magnitude(answer.exact);
      if (arithmetic.flushes) allowed += std::ldexp(static_cast<long double>(row.size()), -126);
      if (size_of(to) == 2) {
        const double unit = error_in_units(to, 0, magnitude(answer.exact), allowed);
        allowed += unit > 0 ? magnitude(answer.exact) / unit * 0.5 : 0;
        allowed += std::ldexp(1.0L, to == DType::F16 ? -25 : -134);
      }
      found.measure(static_cast<double>(magnitude(have - answer.exact) / allowed), place, have,
                    answer.exact);
    }
  }
  return found;
}

std::vector<Axes> axes_for(const Reduction& r, const Layout& layout) {
  const auto rank = static_cast<int>(layout.shape.size());
  if (r.one_axis) {
    if (rank == 0) return {};
    return rank == 1 ? std::vector<Axes>{{0}} : std::vector<Axes>{{0}, {rank - 1}};
  }
  Axes every;
  for (int k = 0; k < rank; k++) every.push_back(k);
  if (rank < 2) return {every};
  if (rank == 2) return {{0}, {1}, every};
  return {{1, 3, 6}, {0, 7}, every};
}

bool has_empty_rows(const Layout& layout, const Axes& axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](int a) { return layout.shape[static_cast<size_t>(a)] == 0; });
}

}  // namespace

void reduction_cases(Suite& suite) {
  std::vector<Layout> places(layouts().begin(), layouts().end());
  places.push_back({"long rows", Arrangement::Dense, {3, 1500}});
  places.push_back({"long columns", Arrangement::Dense, {1300, 3}});
  places.push_back({"pieces", Arrangement::Dense, {17000}});
  // Rows side by side, whose pieces a group of a large GPU gathers.
  const Layout many{"many columns", Arrangement::Dense, {70, 16400}};
  const auto is_for_many = [](const Reduction& r, DType dtype) {
    return (r.name == "sum" || r.name == "max") && (dtype == DType::F32 || dtype == DType::I32);
  };
  for (const Reduction& r : kReductions)
    for (const DType dtype : all_dtypes()) {
      std::vector<Layout> all = places;
      if (is_for_many(r, dtype)) all.push_back(many);
      for (const Layout& layout : all) {
        for (const Axes& axes : axes_for(r, layout)) {
          if (!r.of_nothing && has_empty_rows(layout, axes)) continue;
          const std::string property =
              fmt::format("{}, axes {}", layout.name, fmt::join(axes, " "));
          suite.attempt(r.name, dtype, property, [&] {
            Generator generator(seed_of(r.name, dtype, property));
            const Array values = values_for(r, dtype, stored_shape(layout, 0, 1), generator);
            const Tensor x = laid_out(layout, values, suite.ways().plain);
            return compare(r, layout, axes, values, r.run(x, axes).array(), suite.arithmetic());
          });
        }
      }
    }
}

}  // namespace hologram::conformance
