// Order statistics, counts, and reductions that leave NaN out.
#pragma once

#include "hologram/reductions.hpp"

namespace hologram::ops {

// How many elements differ from 0, i64.
HOLOGRAM_API Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keepdims = false);

// As without nan, over the elements that are no NaN. Of none: 0, 1, and for the others NaN.
HOLOGRAM_API Tensor nansum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor nanprod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor nanmean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor nanmin(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor nanmax(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor nanvar(const Tensor& x, const Axes& axes = {}, Correction correction = 0,
                           bool keepdims = false);
HOLOGRAM_API Tensor nanstd(const Tensor& x, const Axes& axes = {}, Correction correction = 0,
                           bool keepdims = false);
HOLOGRAM_API Tensor nanmedian(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);

// The value below which a share q of the sorted elements lies, along one axis or, without one, of
// all: element q * (n - 1), counted from 0, and what is done where that is no whole number. NaN if
// any element is NaN. Of integers f32. A list of shares gives one more axis in front.
// InvalidArgument for a share outside of [0, 1], ShapeMismatch for no elements.
enum class Interpolation { Linear, Lower, Higher, Midpoint, Nearest };
HOLOGRAM_API Tensor quantile(const Tensor& x, double q, std::optional<int> axis = {},
                             bool keepdims = false,
                             Interpolation interpolation = Interpolation::Linear);
HOLOGRAM_API Tensor quantile(const Tensor& x, const std::vector<double>& q,
                             std::optional<int> axis = {}, bool keepdims = false,
                             Interpolation interpolation = Interpolation::Linear);
// The same of shares in hundredths, of [0, 100].
HOLOGRAM_API Tensor percentile(const Tensor& x, double p, std::optional<int> axis = {},
                               bool keepdims = false,
                               Interpolation interpolation = Interpolation::Linear);
HOLOGRAM_API Tensor percentile(const Tensor& x, const std::vector<double>& p,
                               std::optional<int> axis = {}, bool keepdims = false,
                               Interpolation interpolation = Interpolation::Linear);
// The middle element, or the mean of the two in the middle (as NumPy's; PyTorch's is the lower
// one).
HOLOGRAM_API Tensor median(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);

// How often each whole number from 0 on is in x (integers, flattened): i64, as long as the largest
// of them wants, and at least `length`. With weights, of the shape of x, the sums of those, in
// their dtype if that is a float, else f32. Computes x, as the result's shape depends on it;
// InvalidArgument for a number below 0.
HOLOGRAM_API Tensor bincount(const Tensor& x, int64_t length = 0);
HOLOGRAM_API Tensor bincount(const Tensor& x, const Tensor& weights, int64_t length = 0);

// How many elements lie from one edge up to the next, i64; the last edge belongs to the last bin.
// What lies outside, and NaN, is not counted.
struct Histogram {
  Tensor counts, edges;  // [bins], [bins + 1]
};
// So many bins of equal width, of f64 in f64 and of all else in f32: over a range, or from the
// least to the largest element, which is computed, and which must be finite. A range of no width is
// widened by 0.5 on both sides.
HOLOGRAM_API Histogram histogram(const Tensor& x, int64_t bins = 10,
                                 std::optional<std::pair<double, double>> range = {});
HOLOGRAM_API Histogram histogram(const Tensor& x, const Tensor& edges);  // ascending

// The i64 index of the bin that each element lies in, of ascending edges: i where
// edges[i - 1] <= x < edges[i], or if `right` edges[i - 1] < x <= edges[i]. As NumPy's digitize,
// but for descending edges, which it takes too, and PyTorch's bucketize with `right` turned round.
HOLOGRAM_API Tensor digitize(const Tensor& x, const Tensor& edges, bool right = false);

}  // namespace hologram::ops
