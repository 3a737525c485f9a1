// Differences, running extremes, order statistics, counts, sets, interpolation.
#include <cmath>

#include "conformance/compositions.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

// --- along the last axis
Array difference_of(const Array& a) {
  const size_t k = last(a.shape());
  return made(a.dtype(), with(a.shape(), k, std::max<int64_t>(0, a.shape()[k] - 1)),
              [&](const Place& at) {
                const Wide d = value(a, with(at, k, at[k] + 1)) - value(a, at);
                return a.dtype() == DType::Bool ? magnitude(d) : d;
              });
}
Arrays running(const Array& a, bool largest) {
  Array values(a.dtype(), a.shape()), indices(DType::I64, a.shape());
  for (size_t i = 0; i < a.size(); i++) {
    Place at = place_of(a.shape(), i);
    const int64_t end = at.back();
    Wide best = value(a, with(at, last(at), 0));
    int64_t found = 0;
    for (int64_t j = 1; j <= end; j++) {
      const Wide v = value(a, with(at, last(at), j));
      const bool better = largest ? v >= best : v <= best;
      if (!is_nan(v) && (is_nan(best) || !better)) continue;
      // Of zeros, -0 is the smaller one.
      const bool same_zero = v == 0 && best == 0 && is_negative(v) == largest;
      if (!same_zero) best = v;
      found = j;
    }
    put(values, i, best);
    put(indices, i, found);
  }
  return {values, indices};
}
Wide nansum(const Row& row) {
  Wide sum = 0;
  for (const Wide v : row) sum += is_nan(v) ? 0 : v;
  return sum;
}
Wide nanmax(const Row& row) {
  Wide best = kNan;
  for (const Wide v : row)
    if (is_nan(best) || v > best) best = v;
  return best;
}
Wide count_nonzero(const Row& row) {
  return static_cast<Wide>(std::count_if(row.begin(), row.end(), [](Wide v) { return v != 0; }));
}
Wide middle(const Row& sorted) {
  const Wide a = sorted[(sorted.size() - 1) / 2], b = sorted[sorted.size() / 2];
  return (a + b) / 2;
}
Wide median(const Row& given) {
  Row row = given;
  std::stable_sort(row.begin(), row.end(), before);
  return is_nan(row.back()) ? Wide{kNan} : middle(row);
}
Wide nanmedian(const Row& given) {
  Row row;
  for (const Wide v : given)
    if (!is_nan(v)) row.push_back(v);
  std::stable_sort(row.begin(), row.end(), before);
  return row.empty() ? Wide{kNan} : middle(row);
}
Wide higher_quartile(const Row& given) {  // the element that ends three quarters
  Row row = given;
  std::stable_sort(row.begin(), row.end(), before);
  return is_nan(row.back()) ? Wide{kNan} : row[(3 * (row.size() - 1) + 3) / 4];
}

// --- counts and sets
constexpr double kEdges[] = {-3, 0, 0.5, 4};
Tensor edges(const Tensor& x) {
  const Tensor line = Tensor::from({-3.0f, 0.0f, 0.5f, 4.0f}, {}, x.executor());
  return x.dtype() == DType::F64 ? line.to(DType::F64) : line;
}
Wide bin_of(Wide v) {
  return static_cast<Wide>(
      std::count_if(std::begin(kEdges), std::end(kEdges), [&](double e) { return !before(v, e); }));
}
Array histogram(const Array& a) {
  Row counts(3);
  for (const Wide v : all_of(a))
    if (v >= kEdges[0] && v <= kEdges[3])
      counts[v == kEdges[3] ? 2 : static_cast<size_t>(bin_of(v)) - 1] += 1;
  return vector_of(DType::I64, counts);
}
Array bincount(const Array& a) {  // of the last three bits
  Row counts(8);
  for (size_t i = 0; i < a.size(); i++)
    counts[static_cast<size_t>(whole_at(a.dtype(), a.data(), i) & 7)] += 1;
  return vector_of(DType::I64, counts);
}
Arrays unique_all(const Array& a) {
  Row values;
  const Row all = all_of(a);
  const auto same = [](Wide x, Wide y) { return !before(x, y) && !before(y, x); };
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return before(all[i], all[j]); });
  Row firsts, counts;
  Array inverse(DType::I64, a.shape());
  for (const size_t i : order) {
    if (values.empty() || !same(values.back(), all[i])) {
      values.push_back(all[i]);
      firsts.push_back(static_cast<Wide>(i));
      counts.push_back(0);
    }
    counts.back() += 1;
    put(inverse, i, static_cast<Wide>(values.size() - 1));
  }
  return {vector_of(a.dtype(), values), vector_of(DType::I64, firsts), inverse,
          vector_of(DType::I64, counts)};
}
Tensor few(const Tensor& x) { return x.flatten().slice(0, {0, 6}); }
Array isin(const Array& a, const Array& b) {
  Row set = all_of(b);
  set.resize(std::min<size_t>(set.size(), 6));
  return made(DType::Bool, a.shape(), [&](const Place& at) -> Wide {
    return std::find(set.begin(), set.end(), value(a, at)) != set.end() ? 1 : 0;
  });
}
Array isclose(const Array& a, const Array& b) {  // not further than 2
  return made(DType::Bool, a.shape(), [&](const Place& at) -> Wide {
    const Wide x = value(a, at), y = value(b, at);
    const bool bits = a.dtype() == DType::Bool;
    const auto infinite = static_cast<Wide>(kInfinity);
    return x == y || (!bits && magnitude(x) < infinite && magnitude(y) < infinite &&
                      magnitude(x - y) <= 2)
               ? 1
               : 0;
  });
}
Array nextafter(const Array& a, const Array& b) {
  return made(a.dtype(), a.shape(), [&](const Place& at) -> Wide {
    const Wide x = value(a, at), y = value(b, at);
    if (is_nan(x) || is_nan(y)) return kNan;
    const auto number = static_cast<double>(x);
    if (x == y) return y;
    const auto towards = static_cast<double>(y);
    if (a.dtype() == DType::F64) return std::nextafter(number, towards);
    if (a.dtype() == DType::F32)
      return std::nextafter(static_cast<float>(number), static_cast<float>(towards));
    // The distance of its neighbours, half as much below a power of two.
    const int digits = digits_of(a.dtype());
    if (is_infinite(x)) return std::copysign(largest_of(a.dtype()), number);
    const bool grows = x == 0 || (y > x) == (x > 0);
    int exponent = 0;
    const double part = std::frexp(std::fabs(number), &exponent);
    if (part == 0.5 && !grows) exponent--;
    if (x == 0) exponent = -10000;
    const int lowest = a.dtype() == DType::F16 ? -24 : -133;
    const double step = std::ldexp(1.0, std::max(exponent - digits, lowest));
    return number + (y > x ? step : -step);
  });
}
Array nan_to_num(const Array& a) {
  return made(a.dtype(), a.shape(), [&](const Place& at) {
    const Wide v = value(a, at);
    if (!is_float(a.dtype())) return v;
    return is_nan(v) ? 7 : !is_infinite(v) ? v : (v < 0 ? -1 : 1) * Wide{largest_of(a.dtype())};
  });
}
Tensors interp(const Tensor& x) {
  const DType dtype = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  const Tensor at = Tensor::from({-4, 0, 2, 8}, {}, x.executor()).to(dtype);
  return {ops::interp(x, at, Tensor::from({0, 4, -4, 8}, {}, x.executor()).to(dtype), -5.0)};
}
Array interp(const Array& a) {
  const DType dtype = a.dtype() == DType::F64 ? DType::F64 : DType::F32;
  return made(dtype, a.shape(), [&](const Place& to) -> Wide {
    const Wide v = value(a, to);
    if (is_nan(v) || v < -4) return is_nan(v) ? v : Wide{-5};
    if (v < 0) return v + 4;
    if (v < 2) return 4 - 4 * v;
    return v < 8 ? 2 * v - 8 : Wide{8};
  });
}

using T = const Tensor&;
using I = const Array&;

// clang-format off
const Composition kCompositions[] = {
  {"diff", "", Of::Any, 1, 8, true, false, [](T x, T) { return Tensors{ops::diff(x)}; }, [](I a, I) { return Arrays{difference_of(a)}; }},
  {"cummax", "", Of::Any, 1, 8, true, true, [](T x, T) { const auto m = ops::cummax(x); return Tensors{m.values, m.indices}; }, [](I a, I) { return running(a, true); }},
  {"cummin", "", Of::Any, 1, 8, true, true, [](T x, T) { const auto m = ops::cummin(x); return Tensors{m.values, m.indices}; }, [](I a, I) { return running(a, false); }},
  {"nansum", "", Of::Any, 1, 8, true, true, [](T x, T) { return Tensors{ops::nansum(x, -1)}; }, [](I a, I) { return Arrays{reduced(a, sum_dtype(a.dtype()), nansum)}; }},
  {"nanmax", "", Of::Any, 1, 8, false, true, [](T x, T) { return Tensors{ops::nanmax(x, -1)}; }, [](I a, I) { return Arrays{reduced(a, a.dtype(), nanmax)}; }},
  {"count_nonzero", "", Of::Any, 1, 8, true, true, [](T x, T) { return Tensors{ops::count_nonzero(x, -1)}; }, [](I a, I) { return Arrays{reduced(a, DType::I64, count_nonzero)}; }},
  {"median", "", Of::Any, 1, 8, false, true, [](T x, T) { return Tensors{ops::median(x, -1)}; }, [](I a, I) { return Arrays{reduced(a, float_dtype(a.dtype()), median)}; }},
  {"nanmedian", "", Of::Any, 1, 8, false, true, [](T x, T) { return Tensors{ops::nanmedian(x, -1)}; }, [](I a, I) { return Arrays{reduced(a, float_dtype(a.dtype()), nanmedian)}; }},
  {"quantile", "higher", Of::Any, 1, 8, false, true, [](T x, T) { return Tensors{ops::quantile(x, 0.75, -1, false, ops::Interpolation::Higher)}; }, [](I a, I) { return Arrays{reduced(a, float_dtype(a.dtype()), higher_quartile)}; }},
  {"digitize", "", Of::Any, 0, 8, true, true, [](T x, T) { return Tensors{ops::digitize(x, edges(x))}; }, [](I a, I) { return Arrays{made(DType::I64, a.shape(), [&](const Place& at) { return bin_of(value(a, at)); })}; }},
  {"histogram", "", Of::Any, 0, 8, true, true, [](T x, T) { return Tensors{ops::histogram(x, edges(x)).counts}; }, [](I a, I) { return Arrays{histogram(a)}; }},
  {"bincount", "", Of::Integers, 0, 8, true, false, [](T x, T) { return Tensors{ops::bincount(x & 7, 8)}; }, [](I a, I) { return Arrays{bincount(a)}; }},
  {"unique_all", "", Of::Any, 0, 8, true, true, [](T x, T) { const auto u = ops::unique_all(x); return Tensors{u.values, u.indices, u.inverse, u.counts}; }, [](I a, I) { return unique_all(a); }},
  {"isin", "", Of::Any, 0, 8, true, true, [](T x, T y) { return Tensors{ops::isin(x, few(y))}; }, [](I a, I b) { return Arrays{isin(a, b)}; }},
  {"isclose", "", Of::Any, 0, 8, true, true, [](T x, T y) { return Tensors{ops::isclose(x, y, 0, 2)}; }, [](I a, I b) { return Arrays{isclose(a, b)}; }},
  {"nextafter", "", Of::Floats, 0, 8, true, true, [](T x, T y) { return Tensors{ops::nextafter(x, y)}; }, [](I a, I b) { return Arrays{nextafter(a, b)}; }},
  {"nan_to_num", "", Of::Any, 0, 8, true, true, [](T x, T) { return Tensors{ops::nan_to_num(x, 7)}; }, [](I a, I) { return Arrays{nan_to_num(a)}; }},
  {"interp", "", Of::Any, 0, 8, true, true, [](T x, T) { return interp(x); }, [](I a, I) { return Arrays{interp(a)}; }},
};
// clang-format on

}  // namespace

void function_cases(Suite& suite) { try_compositions(suite, kCompositions); }

}  // namespace hologram::conformance
