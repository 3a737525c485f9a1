#include "expression/row_reductions.hpp"

#include <algorithm>
#include <cmath>

#include "graph/statistics.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::expression {
namespace {

// Sums of f64 are kept a second time by a power of two smaller, in case that they overflow on the
// way.
constexpr double kSmall = 0x1p-64, kLarge = 0x1p64;

Tensor upcast(const Tensor& x) { return is_float(x.dtype()) ? x.to(DType::F64) : x; }

// sqrt(a a + b b + c c) where the squares may be too large or too small.
Tensor length(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor most = ops::maximum(ops::maximum(a, b), ops::abs(c));
  const Tensor squares = ops::square(a / most) + ops::square(b / most) + ops::square(c / most);
  return ops::where(most == 0, 0, most * ops::sqrt(squares));
}

}  // namespace

RowReduction::RowReduction(const Call& call, DType result)
    : merge_(call.callable().function->merge),
      result_(result),
      executor_(call.executor()),
      moves_(!call.executor().device().compute.has(DType::F64)) {
  if (const size_t at = call.position("correction"); at < call.values().size())
    correction_ = call.real(at);
}

// Numbers of 64 bits are taken from the first one along the axes: what is left of them in f64 tells
// apart what lies close together. A first f64 that is so large that differences might overflow is
// not taken off.
Tensor RowReduction::in_f64(const Tensor& x, const ops::Axes& axes) {
  if (size_of(x.dtype()) < 8 || x.size() == 0) return x.to(DType::F64);
  if (!first_.defined()) {
    first_ = x;
    for (const int axis : tensor::checked_axes("rows", axes.list, x.rank()))
      first_ = first_.slice(axis, {0, 1});
    if (is_float(x.dtype())) first_ = ops::where(ops::abs(first_) < 0x1p960, first_, 0);
    first_ = ops::copy(first_).eval();
  }
  if (is_float(x.dtype())) return x - first_;
  // Halves: a difference need not fit into 64 bits.
  const auto gap = [&](const auto& half) {
    return (half(x).to(DType::I64) - half(first_).to(DType::I64)).to(DType::F64);
  };
  const Tensor high = gap([](const Tensor& t) { return ops::shift_right(t, 32); });
  const Tensor low = gap([](const Tensor& t) { return ops::bitwise_and(t, 0xffffffffLL); });
  return high * 0x1p32 + low;
}

void RowReduction::reduce(const Call& call) {
  const ops::Axes axes = call.axes(call.position("axis"));
  const bool keep = call.flag(call.position("keepdims"));
  const Tensor x = moves_ ? call.tensor(0).to(on_host()) : call.tensor(0);
  const Tensor wide = upcast(x);
  switch (merge_) {
    case Merge::None: break;
    case Merge::Sum:
      pieces_ = {ops::sum(wide, axes, keep)};
      if (x.dtype() == DType::F64) pieces_.push_back(ops::sum(x * kSmall, axes, keep));
      break;
    case Merge::Mean: pieces_ = {ops::mean(x.to(DType::F64), axes, keep)}; break;
    case Merge::Product:
      pieces_ = {ops::prod(wide, axes, keep)};
      if (is_float(x.dtype())) {
        pieces_.push_back(ops::any(x == 0, axes, keep));
        pieces_.push_back(ops::all(ops::isfinite(x), axes, keep));
      }
      break;
    case Merge::Least: pieces_ = {ops::min(x, axes, keep)}; break;
    case Merge::Largest: pieces_ = {ops::max(x, axes, keep)}; break;
    case Merge::Any: pieces_ = {ops::any(x, axes, keep)}; break;
    case Merge::All: pieces_ = {ops::all(x, axes, keep)}; break;
    case Merge::Variance:
    case Merge::Deviation: {
      const Tensor distances = in_f64(x, axes);
      const auto spread = merge_ == Merge::Variance ? ops::var : ops::std;
      pieces_ = {ops::mean(distances, axes, keep), spread(distances, axes, 0, keep)};
      break;
    }
  }
  latest_ = x.size() / std::max<int64_t>(1, pieces_[0].size());
}

// Means and variances of two parts (Chan, Golub and LeVeque, 1979), in shares: sums may be too
// large where these are not.
void RowReduction::add_spread(const Tensor& mean, const Tensor& spread, double n, double m) {
  const double share = n / (n + m), more = m / (n + m), both = std::sqrt(n * m) / (n + m);
  const Tensor &before = state_[0], gap = mean - before;
  const Tensor apart =
      ops::where(ops::isfinite(gap), gap * both, (mean * 0.5 - before * 0.5) * (2 * both));
  if (merge_ == Merge::Variance) state_[1] = state_[1] * share + spread * more + ops::square(apart);
  else state_[1] = length(state_[1] * std::sqrt(share), spread * std::sqrt(more), apart);
}

void RowReduction::add() {
  const std::vector<Tensor> latest = std::move(pieces_);
  pieces_.clear();
  const auto n = static_cast<double>(count_), m = static_cast<double>(latest_);
  const bool first = state_.empty();
  count_ += latest_;
  const auto join = [&](const auto& function) {
    for (size_t k = 0; k < state_.size(); k++) state_[k] = function(state_[k], latest[k]);
  };
  if (first) {
    state_ = latest;
  } else {
    switch (merge_) {
      case Merge::None: break;
      case Merge::Sum: join(ops::add); break;
      case Merge::Product:
        state_[0] = state_[0] * latest[0];
        if (latest.size() > 1) {
          state_[1] = ops::logical_or(state_[1], latest[1]);
          state_[2] = ops::logical_and(state_[2], latest[2]);
        }
        break;
      case Merge::Least: join(ops::minimum); break;
      case Merge::Largest: join(ops::maximum); break;
      case Merge::Any: join(ops::logical_or); break;
      case Merge::All: join(ops::logical_and); break;
      case Merge::Mean:
      case Merge::Variance:
      case Merge::Deviation: {
        if (n + m == 0) break;
        if (latest.size() > 1) add_spread(latest[0], latest[1], n, m);
        const Tensor &mean = state_[0], gap = latest[0] - mean;
        const double share = n / (n + m), more = m / (n + m);
        // Where the parts are equal, so is the mean.
        state_[0] =
            ops::where(ops::isfinite(gap), mean + gap * more, mean * share + latest[0] * more);
        break;
      }
    }
  }
  eval(state_);
}

Tensor RowReduction::finished() const {
  const auto n = static_cast<double>(count_);
  const double left = n / std::max(0.0, n - correction_);
  const Tensor value = [&] {
    switch (merge_) {
      case Merge::Sum:
        if (state_.size() == 1) return state_[0];
        return ops::where(ops::isfinite(state_[0]), state_[0], state_[1] * kLarge);
      case Merge::Product:
        // Products of pieces may be infinite where an element of another is 0.
        if (state_.size() == 1) return state_[0];
        return tensor::apply_internal(graph::statistics::kProduct, DType::F64,
                                      {state_[0], state_[1], state_[2]});
      case Merge::Variance: return state_[1] * left;
      case Merge::Deviation: return state_[1] * std::sqrt(left);
      default: return state_[0];
    }
  }();
  return moves_ ? value.to(result_).to(executor_) : value.to(result_);
}

}  // namespace hologram::expression
