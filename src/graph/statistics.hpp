// Rows that mean, var, std, norm and prod are made of. What they add up may be beyond what the
// dtype holds, or vanish, or be so near to each other that rounding shows, though their results are
// and do not. A guard says so from what was added up plainly, and another walk over the row does it
// with care: scaled by powers of two, which rounds nothing, and knowing the least and greatest
// element.
#pragma once

#include "graph/elementwise.hpp"

namespace hologram::graph::statistics {

// ---- mean -------------------------------------------------------------------------------------
extern const ElementwiseOp kDistance;  // x, mean
// Guard. mean, distances of some elements; attribute 0: how far from the mean, as a part of it,
// these would be at most if the sum's rounding could take it out of the elements' range.
extern const ElementwiseOp kMeanGuard;
inline constexpr double kShrinks = 0x1p-64, kGrows = 1 / kShrinks;
extern const ElementwiseOp kShrunk;  // x: so small that sums of any number of them are finite
// guard, mean, least, greatest, sum of shrunk elements; attribute 0: how many.
extern const ElementwiseOp kMean;

// ---- var and std: sum of distances from the first element, and of squared deviations ----------
extern const ElementwiseOp kSquaredDeviation;  // x, first, mean distance
// first, mean distance, squares. Attributes: the least of squares that are exact; of how many
// squares of the first deviation those of all must be, so that no rounding shows; and of how many
// of the mean.
extern const ElementwiseOp kSpreadGuard;
// x, sum, least, greatest; attribute 0: how many. Scaled by what brings the range near 1.
extern const ElementwiseOp kScaledDeviation;
extern const ElementwiseOp kScaledSquaredDeviation;
// guard, squares, scaled deviations and their squares, least, greatest; attributes: how many, what
// to divide by.
extern const ElementwiseOp kVariance, kStandardDeviation;

// ---- norm: sum of powers ----------------------------------------------------------------------
extern const ElementwiseOp kNormGuard;  // attribute 0: the least sum that is exact
extern const ElementwiseOp
    kScaled;  // |x|, the element that decides: |x| by what brings that near 1
// guard, sum, sum of scaled powers, the element that decides.
extern const ElementwiseOp kNorm2;
extern const ElementwiseOp kNorm;  // attribute 0: the order

// product, whether an element is 0, whether all are finite: 0 where only the order of the factors
// made it NaN.
extern const ElementwiseOp kProduct;

}  // namespace hologram::graph::statistics
