// How many elements are of which value, or lie between which.
#include <algorithm>
#include <cmath>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/reducer.hpp"

namespace hologram::ops {

using core::Text;

namespace {

// x as places in a vector, and how long that has to be.
struct Bins {
  Tensor places;
  int64_t length;

  Bins(const Tensor& x, int64_t least) : length(least) {
    if (is_float(x.dtype()))
      throw core::error(Text::OperandDType, "bincount", name_of(x.dtype()), "integers");
    if (least < 0) throw core::error(Text::BincountLength, least);
    places = x.flatten().to(DType::I64);
    if (places.size() == 0) return;
    const Tensor low = min(places), high = max(places);
    eval({low, high});
    if (const auto n = low.item<int64_t>(); n < 0) throw core::error(Text::BincountNegative, n);
    length = std::max(length, high.item<int64_t>() + 1);
  }
};

Tensor edges_of(const Tensor& x, int64_t bins, std::optional<std::pair<double, double>> range) {
  if (bins < 1) throw core::error(Text::HistogramBins, bins);
  const DType dtype = x.dtype() == DType::F64 ? DType::F64 : DType::F32;
  double low = 0, high = 1;
  if (range) {
    low = range->first;
    high = range->second;
  } else if (x.size() > 0) {
    const Tensor least = min(x).to(dtype), largest = max(x).to(dtype);
    eval({least, largest});
    low = least.item<double>();
    high = largest.item<double>();
  }
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    throw core::error(Text::HistogramRange, low, high);
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return linspace(low, high, bins + 1, dtype, x.executor());
}

// One slot below the first edge, one an edge, of which the last is for what lies beyond it.
Tensor counts_of(const Tensor& x, const Tensor& edges) {
  const int64_t bins = edges.size() - 1;
  const Tensor line = x.flatten(), last = edges.select(0, bins);
  const Tensor slots = where(line == last, bins, searchsorted(edges, line, Side::Right));
  const Tensor none = zeros({bins + 2}, DType::I64, edges.executor());
  return scatter_add(none, slots, 1, 0).slice(0, {1, bins + 1});
}

}  // namespace

Tensor bincount(const Tensor& x, int64_t length) {
  const Bins bins(x, length);
  return scatter_add(zeros({bins.length}, DType::I64, x.executor()), bins.places, 1, 0);
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t length) {
  if (weights.shape() != x.shape())
    throw core::error(Text::BincountWeights, to_string(weights.shape()), to_string(x.shape()));
  const Bins bins(x, length);
  const DType to = tensor::float_dtype(weights.dtype()), wide = compute_type(to);
  const Tensor sums = scatter_add(zeros({bins.length}, wide, x.executor()), bins.places,
                                  tensor::cast_to(weights, wide).flatten(), 0);
  return tensor::cast_to(sums, to);
}

Histogram histogram(const Tensor& x, int64_t bins, std::optional<std::pair<double, double>> range) {
  const Tensor edges = edges_of(x, bins, range);
  return {counts_of(x, edges), edges};
}

Histogram histogram(const Tensor& x, const Tensor& edges) {
  if (edges.rank() != 1 || edges.size() < 2)
    throw core::error(Text::HistogramEdges, to_string(edges.shape()));
  const auto both = tensor::together("histogram", {x, edges});
  return {counts_of(both[0], both[1]), edges};
}

Tensor digitize(const Tensor& x, const Tensor& edges, bool right) {
  return searchsorted(edges, x, right ? Side::Left : Side::Right);
}

}  // namespace hologram::ops
