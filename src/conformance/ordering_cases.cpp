// Order and what depends on it: every dtype, in every layout, with NaN, infinities, zeros of both
// signs and many equal elements. Equal ones stay in their order; NaN counts as the largest.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/arrays.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

using Tensors = std::vector<Tensor>;
using Arrays = std::vector<Array>;
using Positions = std::vector<int64_t>;

bool before(Wide a, Wide b) { return is_nan(b) ? !is_nan(a) : a < b; }

// The positions that sort a row: each is inserted behind those that it does not come before.
Positions sorted_positions(const std::vector<Wide>& row, bool descending) {
  Positions order(row.size());
  for (size_t i = 0; i < row.size(); i++) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    const Wide a = row[static_cast<size_t>(i)], b = row[static_cast<size_t>(j)];
    return descending ? before(b, a) : before(a, b);
  });
  return order;
}

// The elements along an axis from a place whose coordinate there is 0.
std::vector<Wide> row_of(const Array& a, Place at, int axis) {
  const auto k = static_cast<size_t>(axis);
  std::vector<Wide> row;
  for (at[k] = 0; at[k] < a.shape()[k]; at[k]++)
    row.push_back(real_at(a.dtype(), a.data(), index_of(a.shape(), at)));
  return row;
}

// The first `count` of each row in order (all of them if it is less than 0): values and positions.
Arrays ordered(const Array& a, int axis, bool descending, int64_t count) {
  if (a.shape().empty()) return {a, Array(DType::I64, {})};
  const auto k = static_cast<size_t>(axis);
  Shape shape = a.shape();
  if (count >= 0) shape[k] = count;
  Array values(a.dtype(), shape), positions(DType::I64, shape);
  for (size_t i = 0; i < values.size(); i++) {
    Place to = place_of(shape, i);
    if (to[k] != 0) continue;
    const Positions order = sorted_positions(row_of(a, to, axis), descending);
    Place from = to;
    for (to[k] = 0; to[k] < shape[k]; to[k]++) {
      const size_t place = index_of(shape, to);
      from[k] = order[static_cast<size_t>(to[k])];
      copy_element(a, index_of(a.shape(), from), values, place);
      put_whole(DType::I64, positions.mutable_data(), place, from[k]);
    }
  }
  return {values, positions};
}

int64_t length_of(const Array& a, int axis) { return a.shape()[static_cast<size_t>(axis)]; }

Arrays nonzero(const Array& a) {
  std::vector<int64_t> list;
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); i++) {
    if (real_at(a.dtype(), a.data(), i) == 0) continue;
    count++;
    for (const int64_t at : place_of(a.shape(), i)) list.push_back(at);
  }
  return {Array::from(list, {count, static_cast<int64_t>(a.shape().size())})};
}

Arrays unique(const Array& a) {
  const Array flat = a.reshaped({static_cast<int64_t>(a.size())});
  const Array sorted = ordered(flat, 0, false, -1)[0];
  std::vector<size_t> firsts;
  std::vector<int64_t> counts;
  for (size_t i = 0; i < sorted.size(); i++) {
    const bool again = i > 0 && !before(real_at(sorted.dtype(), sorted.data(), i - 1),
                                        real_at(sorted.dtype(), sorted.data(), i));
    if (again) counts.back()++;
    else firsts.push_back(i), counts.push_back(1);
  }
  const auto n = static_cast<int64_t>(firsts.size());
  Array values(a.dtype(), {n});
  for (size_t i = 0; i < firsts.size(); i++) copy_element(sorted, firsts[i], values, i);
  return {values, Array::from(counts, {n})};
}

Tensors list(const ops::TopK& top) { return {top.values, top.indices}; }
int64_t few(int64_t n) { return std::min<int64_t>(n, 5); }

struct Ordering {
  std::string_view name, variant;
  bool by_axis;
  Tensors (*run)(const Tensor& x, int axis);
  Arrays (*expected)(const Array& a, int axis);
  bool of_number = true;  // may the rank be 0?
};

// clang-format off
const Ordering kOrderings[] = {
  {"sort", "", true, [](const Tensor& x, int k) { return Tensors{ops::sort(x, k)}; },
   [](const Array& a, int k) { return Arrays{ordered(a, k, false, -1)[0]}; }},
  {"sort", "descending", true, [](const Tensor& x, int k) { return Tensors{ops::sort(x, k, true)}; },
   [](const Array& a, int k) { return Arrays{ordered(a, k, true, -1)[0]}; }},
  {"argsort", "", true, [](const Tensor& x, int k) { return Tensors{ops::argsort(x, k)}; },
   [](const Array& a, int k) { return Arrays{ordered(a, k, false, -1)[1]}; }},
  {"argsort", "descending", true, [](const Tensor& x, int k) { return Tensors{ops::argsort(x, k, true)}; },
   [](const Array& a, int k) { return Arrays{ordered(a, k, true, -1)[1]}; }},
  {"topk", "", true, [](const Tensor& x, int k) { return list(ops::topk(x, few(x.size(k)), k)); },
   [](const Array& a, int k) { return ordered(a, k, true, few(length_of(a, k))); }, false},
  {"topk", "smallest", true, [](const Tensor& x, int k) { return list(ops::topk(x, few(x.size(k)), k, false)); },
   [](const Array& a, int k) { return ordered(a, k, false, few(length_of(a, k))); }, false},
  {"topk", "all", true, [](const Tensor& x, int k) { return list(ops::topk(x, x.size(k), k)); },
   [](const Array& a, int k) { return ordered(a, k, true, -1); }, false},
  {"nonzero", "", false, [](const Tensor& x, int) { return Tensors{ops::nonzero(x)}; },
   [](const Array& a, int) { return nonzero(a); }},
  {"unique", "", false, [](const Tensor& x, int) { const ops::Unique u = ops::unique(x); return Tensors{u.values, u.counts}; },
   [](const Array& a, int) { return unique(a); }},
};
// clang-format on

// Half of them of few values, a quarter special ones.
Array mixed_values(DType dtype, const Shape& shape, Generator& generator) {
  Array array = any_bits(dtype, shape, generator);
  const Array small = small_numbers(dtype, shape, generator);
  using Limits = std::numeric_limits<double>;
  constexpr double kSpecial[] = {
      Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 0.0, -0.0, 1.0};
  for (size_t i = 0; i < array.size(); i++) {
    const uint64_t dice = generator();
    if (dice % 4 < 2) copy_element(small, i, array, i);
    else if (dice % 4 == 2 && is_float(dtype))
      put_real(dtype, array.mutable_data(), i, kSpecial[(dice >> 8) % std::size(kSpecial)]);
  }
  return array;
}

Finding try_one(const Suite& suite, const Ordering& o, DType dtype, const Layout& layout, int axis,
                std::string_view property) {
  Generator generator(seed_of(o.name, dtype, property));
  Array stored = mixed_values(dtype, stored_shape(layout, 0, 1), generator);
  // To a device that flushes them they are equal to 0.
  if (suite.arithmetic().flushes && o.name == "unique" && is_float(dtype))
    for (size_t i = 0; i < stored.size(); i++)
      if (is_denormal(real_at(dtype, stored.data(), i)))
        put_real(dtype, stored.mutable_data(), i, 0);
  const Tensor x = laid_out(layout, stored, suite.ways().plain);
  return same_arrays(arrays_of(o.run(x, axis)), o.expected(shown(layout, stored), axis));
}

// How many of the sorted ones come before each, or do not come after it.
Finding search(const Suite& suite, DType dtype, const Layout& layout, bool behind) {
  Generator generator(seed_of("searchsorted", dtype, layout.name));
  const Array stored = mixed_values(dtype, stored_shape(layout, 0, 1), generator);
  const Array sorted = ordered(mixed_values(dtype, {301}, generator), 0, false, -1)[0];
  const Array values = shown(layout, stored);
  const bool repeated = layout.arrangement == Arrangement::Repeated;
  const Layout line = {"", repeated ? Arrangement::Dense : layout.arrangement, sorted.shape()};
  Array expected(DType::I64, values.shape());
  for (size_t i = 0; i < values.size(); i++) {
    const Wide v = real_at(dtype, values.data(), i);
    int64_t count = 0;
    for (size_t j = 0; j < sorted.size(); j++) {
      const Wide s = real_at(dtype, sorted.data(), j);
      count += static_cast<int64_t>(behind ? !before(v, s) : before(s, v));
    }
    put_whole(DType::I64, expected.mutable_data(), i, count);
  }
  const Executor& executor = suite.ways().plain;
  return same_arrays(arrays_of({ops::searchsorted(laid_out(line, sorted, executor),
                                                  laid_out(layout, stored, executor),
                                                  behind ? ops::Side::Right : ops::Side::Left)}),
                     Arrays{expected});
}

void bits_of(Suite& suite, const Ordering& o) {
  Generator generator(seed_of(o.name, DType::F32, "bits"));
  const Array values = mixed_values(DType::F32, {40, 1111}, generator);
  attempt_both(suite, o.name, DType::F32, [&](const Executor& executor) {
    Tensors results = o.run(Tensor::from(values, executor) * 0.5f, 1);
    for (Tensor& t : results) t = t + 1;
    return arrays_of(results);
  });
}

}  // namespace

void ordering_cases(Suite& suite) {
  std::vector<Layout> places(layouts().begin(), layouts().end());
  places.push_back({"long rows", Arrangement::Dense, {3, 3100}});
  places.push_back({"long columns", Arrangement::Backwards, {1300, 3}});
  places.push_back({"a long row", Arrangement::Dense, {3100}});
  for (const Ordering& o : kOrderings) {
    for (const DType dtype : all_dtypes())
      for (const Layout& layout : places) {
        if (!o.of_number && layout.shape.empty()) continue;
        std::vector<int> axes = outer_axes(layout.shape);
        if (axes.empty() || !o.by_axis) axes = {0};
        for (const int axis : axes) {
          std::string property(layout.name);
          if (!o.variant.empty()) property += fmt::format(", {}", o.variant);
          if (o.by_axis) property += fmt::format(", axis {}", axis);
          suite.attempt(o.name, dtype, property,
                        [&] { return try_one(suite, o, dtype, layout, axis, property); });
        }
      }
    bits_of(suite, o);
  }
  for (const DType dtype : all_dtypes())
    for (const Layout& layout : layouts())
      for (const bool behind : {false, true})
        suite.attempt("searchsorted", dtype,
                      fmt::format("{}{}", layout.name, behind ? ", behind" : ""),
                      [&] { return search(suite, dtype, layout, behind); });
}

}  // namespace hologram::conformance
