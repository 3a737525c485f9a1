// Reductions and what goes along rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graphs/right.hpp"

namespace hologram::graphs {
namespace {

constexpr Wide kInfinity = static_cast<Wide>(__builtin_inf());

using Row = std::vector<Element>;

Wide steps_of(size_t n) { return std::log2(std::max(2.0, static_cast<double>(n))); }
Wide count(const Row& row) { return static_cast<Wide>(static_cast<double>(row.size())); }
Wide root(Wide x) {
  const long double first = std::sqrt(static_cast<long double>(x));
  return first > 0 && first < INFINITY ? (first + x / first) / 2 : static_cast<Wide>(first);
}

// What the rules for sums, means and their kin have in common.
struct Facts {
  bool known = true, exact = true, nan = false, above = false, below = false;
  Wide low = 0, high = 0;  // of the sum
  Wide size = 0;           // of the magnitudes
};
Facts facts_of(const Row& row) {
  Facts f;
  for (const Element& e : row) {
    f.known = f.known && e.known;
    f.exact = f.exact && e.exact();
    f.nan = f.nan || (e.known && is_nan(e.low));
    f.above = f.above || e.high == kInfinity;
    f.below = f.below || e.low == -kInfinity;
    f.low += e.low;
    f.high += e.high;
    f.size += std::max(magnitude(e.low), magnitude(e.high));
  }
  return f;
}
// Nothing finite among them.
std::optional<Element> not_finite(const Facts& f) {
  if (!f.known) return unknown();
  if (!f.nan && !f.above && !f.below) return {};
  if (!f.exact) return unknown();
  if (f.nan || (f.above && f.below)) return not_a_number();
  return {};
}

Element sum(const Row& row, DType to) {
  if (!is_float(to)) {
    uint64_t all = 0;
    for (const Element& e : row) {
      if (!e.known) return e;
      all += static_cast<uint64_t>(e.whole);
    }
    return whole(conformance::wrapped(to, static_cast<Integer>(all)));
  }
  const Facts f = facts_of(row);
  if (const auto e = not_finite(f)) return *e;
  Wide finite = 0;
  for (const Element& e : row)
    if (!is_infinite(e.low)) finite += std::max(magnitude(e.low), magnitude(e.high));
  const DType wide = accumulator_of(to);
  const bool one_sign = f.low == finite || f.high == -finite;
  if (f.above || f.below) {
    if (finite > largest_of(wide) / 2) return unknown();
    return real(f.above ? kInfinity : -kInfinity);
  }
  if (finite > largest_of(wide) && !one_sign) return unknown();
  return result(to, f.low, f.high, 2 * epsilon_of(to) * steps_of(row.size()) * f.size);
}

Element prod(const Row& row, DType to) {
  if (!is_float(to)) {
    uint64_t all = 1;
    for (const Element& e : row) {
      if (!e.known) return e;
      all *= static_cast<uint64_t>(e.whole);
    }
    return whole(conformance::wrapped(to, static_cast<Integer>(all)));
  }
  // Known where no part of the product leaves the range of normal numbers.
  Wide all = 1, large = 1, small = 1;
  const Facts f = facts_of(row);
  if (!f.known || !f.exact || f.above || f.below)
    return f.known && f.nan ? not_a_number() : unknown();
  if (f.nan) return not_a_number();
  bool zero = false;
  for (const Element& e : row) {
    const Wide size = magnitude(e.low);
    if (e.low == 0) {
      zero = true;
      continue;
    }
    all *= e.low;
    (size > 1 ? large : small) *= size;
    if (large > largest_of(accumulator_of(to)) / 2) return unknown();
  }
  if (zero) return real(0);
  if (small < conformance::smallest_of(accumulator_of(to)) * 2) return unknown();
  return result(to, all, all, epsilon_of(to) * count(row) * magnitude(all));
}

Wide smallest_step(DType to) { return unit_of(accumulator_of(to), 0); }

Element mean(const Row& row, DType to) {
  if (row.empty()) return not_a_number();
  const Facts f = facts_of(row);
  if (const auto e = not_finite(f)) return *e;
  if (f.above || f.below) return real(f.above ? kInfinity : -kInfinity);
  const Wide n = count(row);
  const Wide slack = 2 * epsilon_of(to) * (steps_of(row.size()) + 1) * f.size / n;
  return result(to, f.low / n, f.high / n, slack + smallest_step(to));
}

// The mean square distance, and how far it may be off. An error of the mean that is put right
// costs little; the mean itself may be large.
struct Spread {
  std::optional<Element> special;
  Wide value = 0, slack = 0;
};
Spread spread(const Row& row, DType to, Wide correction) {
  if (row.empty()) return {not_a_number()};
  const Facts f = facts_of(row);
  if (!f.known || (!f.exact && !f.nan)) return {unknown()};
  if (f.nan || f.above || f.below) return {not_a_number()};
  const Wide n = count(row), middle = f.low / n, epsilon = epsilon_of(to);
  Wide squares = 0;
  for (const Element& e : row) squares += (e.low - middle) * (e.low - middle);
  if (n <= correction) return {squares == 0 ? not_a_number() : real(kInfinity)};
  const Wide value = squares / (n - correction);
  const Wide off = epsilon * (2 * steps_of(row.size()) + 1) * f.size / n;
  Wide slack = (2 * steps_of(row.size()) + 8) * epsilon * (value + off * off);
  // Of equal numbers it is 0.
  const bool equal = std::all_of(row.begin(), row.end(),
                                 [&](const Element& e) { return e.low == row.front().low; });
  return {{}, equal ? 0 : value, equal ? 0 : slack};
}
Element var(const Row& row, DType to, Wide correction) {
  const Spread s = spread(row, to, correction);
  if (s.special) return *s.special;
  return result(to, s.value, s.value, s.slack + (s.value == 0 ? 0 : 2 * smallest_step(to)));
}
Element deviation(const Row& row, DType to, Wide correction) {
  const Spread s = spread(row, to, correction);
  if (s.special) return *s.special;
  const Wide low = root(std::max<Wide>(0, s.value - s.slack)), high = root(s.value + s.slack);
  return result(to, low, high, epsilon_of(to) * high + (high == 0 ? 0 : smallest_step(to)));
}

Element norm(const Row& row, DType to, double order, bool whole_numbers) {
  const Facts f = facts_of(row);
  if (!f.known || !f.exact) return unknown();
  Wide largest = 0, sum = 0;
  if (order == 0) {
    // How many are not 0, NaN among them.
    for (const Element& e : row) sum += e.low != 0 ? 1 : 0;
    return result(to, sum, sum);
  }
  if (f.nan) return not_a_number();
  for (const Element& e : row) largest = std::max(largest, magnitude(e.low));
  // Whole numbers are rounded to f32.
  if (std::isinf(order))
    return result(to, largest, largest, whole_numbers ? epsilon_of(to) * largest : 0);
  if (is_infinite(largest)) return real(kInfinity);
  if (largest == 0) return real(0);
  for (const Element& e : row) {
    const Wide part = magnitude(e.low) / largest;
    sum += order == 2   ? part * part
           : order == 1 ? part
                        : static_cast<Wide>(std::pow(static_cast<long double>(part), order));
  }
  const Wide value =
      largest * (order == 1 ? sum
                 : order == 2
                     ? root(sum)
                     : static_cast<Wide>(std::pow(static_cast<long double>(sum), 1 / order)));
  Wide roundings = 2 * steps_of(row.size()) + 8;
  // The order's reciprocal is rounded, which counts by the logarithm of the sum of powers.
  if (order != 1 && order != 2)
    roundings += 24 + order * magnitude(std::log(static_cast<long double>(value)));
  return result(to, value, value, roundings * epsilon_of(to) * value + smallest_step(to));
}

Element logsumexp(const Row& row, DType to) {
  const Facts f = facts_of(row);
  if (!f.known || (!f.exact && !f.nan)) return unknown();
  if (f.nan) return not_a_number();
  if (f.above) return real(kInfinity);
  Wide most = -kInfinity, sum = 0;
  for (const Element& e : row) most = std::max(most, e.low);
  if (most == -kInfinity) return real(most);
  for (const Element& e : row) sum += std::exp(static_cast<long double>(e.low - most));
  const Wide all = most + std::log(static_cast<long double>(sum));
  return result(
      to, all, all,
      epsilon_of(to) * (4 + 2 * steps_of(row.size()) + 2 * (magnitude(all) + magnitude(most))));
}

bool precedes(const Element& a, const Element& b, DType dtype, bool largest) {
  if (!is_float(dtype)) return largest ? a.whole > b.whole : a.whole < b.whole;
  if (is_nan(b.low)) return false;
  return is_nan(a.low) || (largest ? a.low > b.low : a.low < b.low);
}
bool all_exact(const Row& row) {
  return std::all_of(row.begin(), row.end(), [](const Element& e) { return e.exact(); });
}

Element position(const Row& row, DType dtype, bool largest) {
  if (!all_exact(row)) return unknown();
  size_t best = 0;
  for (size_t i = 1; i < row.size(); i++)
    if (precedes(row[i], row[best], dtype, largest)) best = i;
  return whole(static_cast<Integer>(best));
}
Element extreme(const Row& row, DType dtype, bool largest) {
  Element best = row.front();
  bool nan = false;
  for (const Element& e : row) {
    if (!e.known) return e;
    if (!is_float(dtype)) {
      best.whole = largest ? std::max(best.whole, e.whole) : std::min(best.whole, e.whole);
      continue;
    }
    if (is_nan(e.low)) nan = true;
    else if (largest) best = range(std::max(best.low, e.low), std::max(best.high, e.high));
    else best = range(std::min(best.low, e.low), std::min(best.high, e.high));
  }
  return nan ? not_a_number() : best;
}
Element truth(const Row& row, DType dtype, bool any) {
  bool sure = true;
  for (const Element& e : row) {
    const Element t = converted(e, dtype, DType::Bool);
    if (t.known && (t.whole != 0) == any) return whole(any ? 1 : 0);
    sure = sure && t.known;
  }
  return sure ? whole(any ? 0 : 1) : unknown();
}

template <Reduction kind>
Element reduced(const Row& row, const Step& step, DType from) {
  const DType to = step.dtype;
  switch (kind) {
    case Reduction::Sum: return sum(row, to);
    case Reduction::Prod: return prod(row, to);
    case Reduction::Mean: return mean(row, to);
    case Reduction::Var: return var(row, to, step.real);
    case Reduction::Std: return deviation(row, to, step.real);
    case Reduction::Min: return extreme(row, from, false);
    case Reduction::Max: return extreme(row, from, true);
    case Reduction::Any: return truth(row, from, true);
    case Reduction::All: return truth(row, from, false);
    case Reduction::ArgMin: return position(row, from, false);
    case Reduction::ArgMax: return position(row, from, true);
    case Reduction::LogSumExp: return logsumexp(row, to);
    case Reduction::Norm: return norm(row, to, step.real, !is_float(from));
  }
  return unknown();
}

// As exact numbers: what is rounded on the way to f32 lies within the rules' slack.
Element as_wide(const Element& e, DType from, DType to) {
  if (is_float(from) || !is_float(to) || !e.known) return e;
  return real(static_cast<Wide>(e.whole));
}

}  // namespace

Rows::Rows(const Shape& shape, std::span<const int64_t> axes) {
  std::vector<bool> gone(shape.size(), axes.empty());
  for (const int64_t a : axes)
    gone[static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(shape.size()) : a)] = true;
  Shape kept;
  for (size_t k = 0; k < shape.size(); k++)
    if (!gone[k]) kept.push_back(shape[k]);
  rows.resize(elements_in(kept));
  const size_t all = elements_in(shape);
  for (size_t i = 0; i < all; i++) {
    const Shape place = place_of(shape, i);
    size_t row = 0;
    for (size_t k = 0; k < shape.size(); k++)
      if (!gone[k]) row = row * static_cast<size_t>(shape[k]) + static_cast<size_t>(place[k]);
    rows[row].push_back(i);
  }
}
Rows rows_along(const Shape& shape, int axis) {
  const int64_t axes[] = {axis};
  return {shape, axes};
}

template <Reduction kind>
Field right_reduction(const Step& step, Fields x) {
  constexpr bool numbers = kind == Reduction::Mean || kind == Reduction::Var ||
                           kind == Reduction::Std || kind == Reduction::Norm ||
                           kind == Reduction::LogSumExp;
  Field out = unknown_field(step.dtype, step.shape);
  const Rows all(x[0].shape, step.integers);
  for (size_t k = 0; k < all.rows.size(); k++) {
    Row row;
    for (const size_t i : all.rows[k])
      row.push_back(numbers ? as_wide(x[0].elements[i], x[0].dtype, step.dtype) : x[0].elements[i]);
    out.elements[k] = reduced<kind>(row, step, x[0].dtype);
  }
  return out;
}

#define REDUCTION(kind) template Field right_reduction<Reduction::kind>(const Step&, Fields)
REDUCTION(Sum);
REDUCTION(Prod);
REDUCTION(Mean);
REDUCTION(Var);
REDUCTION(Std);
REDUCTION(Min);
REDUCTION(Max);
REDUCTION(Any);
REDUCTION(All);
REDUCTION(ArgMin);
REDUCTION(ArgMax);
REDUCTION(LogSumExp);
REDUCTION(Norm);

template <bool logarithm>
Field right_softmax(const Step& step, Fields x) {
  Field out = unknown_field(step.dtype, step.shape);
  for (const auto& places : rows_along(x[0].shape, step.axis()).rows) {
    Row row;
    for (const size_t i : places) row.push_back(as_wide(x[0].elements[i], x[0].dtype, step.dtype));
    const Facts f = facts_of(row);
    if (!f.known || !f.exact) continue;
    if (f.nan) {
      for (const size_t i : places) out.elements[i] = not_a_number();
      continue;
    }
    if (f.above || f.below) continue;
    Wide most = -kInfinity, sum = 0;
    for (const Element& e : row) most = std::max(most, e.low);
    for (const Element& e : row) sum += std::exp(static_cast<long double>(e.low - most));
    // Whole numbers become f32 first; of those that are rounded nothing is said.
    if (!is_float(x[0].dtype) && f.size > 0x1p24) continue;
    for (size_t j = 0; j < row.size(); j++) {
      const Wide gap = row[j].low - most, steps = 2 * steps_of(row.size());
      const Wide part = std::exp(static_cast<long double>(gap)) / sum;
      const Wide all = gap - std::log(static_cast<long double>(sum));
      const Wide size = magnitude(gap);
      const Wide slack =
          logarithm ? 4 + steps + 2 * (magnitude(all) + size) : (6 + steps + size) * part;
      const Wide value = logarithm ? all : part;
      out.elements[places[j]] = result(
          step.dtype, value, value, slack * epsilon_of(step.dtype) + 2 * smallest_step(step.dtype));
    }
  }
  return out;
}
template Field right_softmax<false>(const Step&, Fields);
template Field right_softmax<true>(const Step&, Fields);

namespace {

// One running sum: what is known as long as no running value has overflowed.
void running_sums(const Field& x, const std::vector<size_t>& places, Field& out) {
  Wide low = 0, high = 0, size = 0, n = 0;
  bool known = true, infinite = false;
  for (const size_t i : places) {
    const Element& e = x.elements[i];
    n += 1;
    known = known && e.known && (e.exact() || !(is_infinite(e.low) || is_infinite(e.high)));
    if (!known) continue;
    low += e.low;
    high += e.high;
    infinite = infinite || is_nan(low) || is_infinite(low);
    if (infinite) {
      out.elements[i] = real(low);
      continue;
    }
    size += std::max(magnitude(e.low), magnitude(e.high));
    const Wide slack = epsilon_of(out.dtype) * n * size;
    out.elements[i] = result(out.dtype, low, high, slack);
    const Wide most = largest_of(accumulator_of(out.dtype));
    if (high + slack > most || low - slack < -most) known = false;  // from here on
  }
}

// Of the exponents of Wide, with room for one more factor of f64.
const Wide kFar = std::ldexp(1.0L, 14000);

void running_products(const Field& x, const std::vector<size_t>& places, Field& out) {
  Wide all = 1, n = 0;
  const DType wide = accumulator_of(out.dtype);
  const Wide most = largest_of(wide), least = conformance::smallest_of(wide);
  for (const size_t i : places) {
    const Element& e = x.elements[i];
    if (!e.exact()) return;
    n += 1;
    all *= e.low;
    const Wide slack = epsilon_of(out.dtype) * n * magnitude(all);
    const bool finite = !is_nan(all) && !is_infinite(all);
    out.elements[i] =
        result(out.dtype, all, all,
               !finite ? 0 : slack + (magnitude(all) < 2 * least && all != 0 ? least * 1e-3 : 0));
    // Near the ends of the range rounding decides; what comes back from behind them is known again.
    if (finite && all != 0 && (magnitude(all) > most / 2 || magnitude(all) < least * 2))
      out.elements[i] = unknown();
    // Exponents that the oracle itself has no room for.
    if (finite && all != 0 && (magnitude(all) > kFar || magnitude(all) < 1 / kFar)) return;
  }
}

}  // namespace

template <bool product>
Field right_running(const Step& step, Fields x) {
  Field out = unknown_field(step.dtype, step.shape);
  const Shape box = x[0].shape;
  for (const auto& places : rows_along(box, step.axis()).rows) {
    if (is_float(step.dtype)) {
      (product ? running_products : running_sums)(x[0], places, out);
      continue;
    }
    uint64_t all = product ? 1 : 0;
    for (const size_t i : places) {
      if (!x[0].elements[i].known) break;
      const auto more = static_cast<uint64_t>(x[0].elements[i].whole);
      all = product ? all * more : all + more;
      out.elements[i] = whole(conformance::wrapped(step.dtype, static_cast<Integer>(all)));
    }
  }
  return out;
}
template Field right_running<false>(const Step&, Fields);
template Field right_running<true>(const Step&, Fields);

namespace {

// NaN is the largest.
bool is_below(const Element& a, const Element& b, DType dtype) {
  if (!is_float(dtype)) return a.whole < b.whole;
  if (is_nan(a.low)) return false;
  return is_nan(b.low) || a.low < b.low;
}

}  // namespace

// The result may be shorter along the axis.
template <bool positions>
Field right_sorted(const Step& step, Fields x) {
  Field out = unknown_field(step.dtype, step.shape);
  const auto from = rows_along(x[0].shape, step.axis()).rows,
             to = rows_along(step.shape, step.axis()).rows;
  for (size_t k = 0; k < to.size(); k++) {
    Row row;
    for (const size_t i : from[k]) row.push_back(x[0].elements[i]);
    if (!all_exact(row)) continue;
    std::vector<size_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return step.flag ? is_below(row[b], row[a], x[0].dtype)
                       : is_below(row[a], row[b], x[0].dtype);
    });
    for (size_t j = 0; j < to[k].size(); j++)
      out.elements[to[k][j]] = positions ? whole(static_cast<Integer>(order[j])) : row[order[j]];
  }
  return out;
}
template Field right_sorted<false>(const Step&, Fields);
template Field right_sorted<true>(const Step&, Fields);

Field right_search(const Step& step, Fields x) {
  Field out = unknown_field(step.dtype, step.shape);
  const DType dtype = promoted(x[0].dtype, x[1].dtype);
  const Field sorted = converted(x[0], dtype), values = converted(x[1], dtype);
  if (!all_exact(sorted.elements)) return out;
  for (size_t i = 1; i < sorted.size(); i++)
    if (is_below(sorted.elements[i], sorted.elements[i - 1], dtype)) return out;
  for (size_t i = 0; i < out.size(); i++) {
    const Element& v = values.elements[i];
    if (!v.exact()) continue;
    const auto below = [&](const Element& a, const Element& b) { return is_below(a, b, dtype); };
    const auto begin = sorted.elements.begin(), end = sorted.elements.end();
    const auto at = (step.flag ? std::upper_bound(begin, end, v, below)
                               : std::lower_bound(begin, end, v, below)) -
                    begin;
    out.elements[i] = whole(static_cast<Integer>(at));
  }
  return out;
}

}  // namespace hologram::graphs
