// Rows that mean, var, std, norm and prod are made of. What they add up may be beyond what the
// dtype holds, or vanish, or be so near to each other that rounding shows, though their results are
// and do not. A guard says so from what was added up plainly, and another walk over the row does it
// with care: scaled by powers of two, which rounds nothing, and knowing the least and greatest
// element.
#pragma once

#include "graph/elementwise.hpp"

namespace hologram::graph::statistics {

// ---- mean: sum, sum of squares ----------------------------------------------------------------
// Guard. Attributes: how many; how little they may spread for the sum's rounding to leave the
// range.
extern const ElementwiseOp kMeanGuard;
extern const ElementwiseOp kShrunk;  // x: so small that sums of any number of them are finite
// guard, sum, least, greatest, sum of shrunk elements; attribute 0: how many.
extern const ElementwiseOp kMean;

// ---- var and std: sums of deviations and of their squares -------------------------------------
extern const ElementwiseOp kDeviation;         // x, sum; attribute 0: how many
extern const ElementwiseOp kSquaredDeviation;  // its square
// sum, deviations, squares. Attributes: how many; the least of squares that are exact; how near the
// elements may be to each other, as a part of the mean's square.
extern const ElementwiseOp kSpreadGuard;
// x, sum, least, greatest; attribute 0: how many. Scaled by what brings the range near 1.
extern const ElementwiseOp kScaledDeviation;
extern const ElementwiseOp kScaledSquaredDeviation;
// guard, deviations, squares, the same scaled, least, greatest; attributes: how many, what to
// divide by.
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
