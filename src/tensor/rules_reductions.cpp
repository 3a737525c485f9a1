#include <algorithm>
#include <cmath>
#include <limits>

#include "hologram/ops.hpp"
#include "tensor/rules.hpp"

namespace hologram::tensor::rules {

using namespace ops;

Rows::Rows(const Reducer& r)
    : axes(r.axes.begin(), r.axes.end()),
      shape(r.x.shape()),
      with_ones(shape),
      count(r.count()),
      wide(accumulator(r.to())) {
  for (const int axis : axes) with_ones[static_cast<size_t>(axis)] = 1;
}
// No axes are none here, not all.
Tensor Rows::sum(const Tensor& of) const { return axes.empty() ? of : ops::sum(of, axes, true); }

Rule of_sum(const Rows& rows) {
  return [rows](const Tensor& g) { return rows.repeated(g); };
}

Rule of_extreme(const Rows& rows, const Tensor& x, const Tensor& y) {
  return [=](const Tensor& g) {
    const Tensor is_it = x == rows.kept(y);
    const Tensor share = rows.kept(g).to(rows.wide) / rows.sum(is_it.to(rows.wide));
    return where(is_it, share, 0);
  };
}

Rule of_mean(const Rows& rows) {
  return [rows](const Tensor& g) {
    return rows.repeated(g.to(rows.wide) / static_cast<double>(rows.count));
  };
}

namespace {

Tensor deviations(const Rows& rows, const Tensor& x) {
  const Tensor wide = x.to(rows.wide);
  return wide - mean(wide, rows.axes, true);
}

}  // namespace

Rule of_var(const Rows& rows, const Tensor& x, double correction) {
  const double n = std::max(0.0, static_cast<double>(rows.count) - correction);
  return
      [=](const Tensor& g) { return deviations(rows, x) * (rows.kept(g).to(rows.wide) * 2 / n); };
}

Rule of_std(const Rows& rows, const Tensor& x, const Tensor& y, double correction) {
  const double n = std::max(0.0, static_cast<double>(rows.count) - correction);
  return [=](const Tensor& g) {
    const Tensor spread = rows.kept(y).to(rows.wide);
    // There is no slope where all are equal: 0 is one of those that are as good.
    return where(spread == 0, 0, deviations(rows, x) * (rows.kept(g).to(rows.wide) / (spread * n)));
  };
}

Rule of_norm(const Rows& rows, const Tensor& x, const Tensor& y, double order) {
  return [=](const Tensor& g) {
    const Tensor of = x.to(rows.wide), length = rows.kept(y).to(rows.wide);
    const Tensor wide = rows.kept(g).to(rows.wide);
    if (order == 0) return zeros_like(of);
    if (order == 1) return wide * sign(of);
    if (std::isinf(order)) {
      const Tensor is_it = abs(of) == length;
      return where(is_it, wide * sign(of) / rows.sum(is_it.to(rows.wide)), 0);
    }
    // By shares of the length, which do not overflow.
    const Tensor share = of / length;
    if (order == 2) return where(length == 0, 0, wide * share);
    return where((length == 0) | (of == 0), 0, wide * sign(of) * pow(abs(share), order - 1));
  };
}

Rule of_prod(const Rows& rows, const Tensor& x, const Tensor& y) {
  return [=](const Tensor& g) {
    const Tensor of = x.to(rows.wide), is_zero = of == 0;
    const Tensor wide = rows.kept(g).to(rows.wide), zeros = rows.sum(is_zero.to(rows.wide));
    // A single 0 is the only one with a slope: the product of all others.
    const Tensor others =
        rows.axes.empty() ? ones_like(of) : prod(where(is_zero, 1, of), rows.axes, true);
    const Tensor at_zero = where(is_zero & (zeros == 1), wide * others, 0);
    return where(zeros == 0, wide * rows.kept(y).to(rows.wide) / of, at_zero);
  };
}

Rule of_logsumexp(const Rows& rows, const Tensor& x, const Tensor& y) {
  return [=](const Tensor& g) {
    const Tensor of = x.to(rows.wide), sum = rows.kept(y).to(rows.wide);
    const Tensor share = where(sum == -std::numeric_limits<double>::infinity(), 0, exp(of - sum));
    return rows.kept(g).to(rows.wide) * share;
  };
}

Rule of_softmax(const Rows& rows, const Tensor& y) {
  return [=](const Tensor& g) {
    const Tensor of = y.to(rows.wide), wide = g.to(rows.wide);
    return of * (wide - rows.sum(wide * of));
  };
}

Rule of_log_softmax(const Rows& rows, const Tensor& y) {
  return [=](const Tensor& g) {
    const Tensor wide = g.to(rows.wide);
    return wide - exp(y.to(rows.wide)) * rows.sum(wide);
  };
}

}  // namespace hologram::tensor::rules
