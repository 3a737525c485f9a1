// Rows that mean, var, std, norm and prod are made of. What they add up may be beyond what the
// dtype holds, or vanish, though their results do not: sums are scaled by powers of two then, which
// rounds nothing.
#pragma once

#include "graph/elementwise.hpp"

namespace hologram::graph::statistics {

// Guards: whether the sum must be made once more, scaled.
extern const ElementwiseOp kOverflows;   // sum: it is not finite
extern const ElementwiseOp kOutOfRange;  // sum; attribute 0: or less than this

extern const ElementwiseOp kShrunk;  // x: so small that sums of any number of them are finite

// sum, least, greatest, sum of shrunk elements; attribute 0: how many. Within the range of the
// elements.
extern const ElementwiseOp kMean;
// sum, least, greatest; attribute 0: how many. Somewhere near the mean, for deviations from it.
extern const ElementwiseOp kCenter;

// The power of two that brings numbers near 1; 1 if there is none.
extern const ElementwiseOp kScaleOfRange;      // least, greatest: their distance
extern const ElementwiseOp kScaleOfMagnitude;  // x

extern const ElementwiseOp kDeviation;  // x, center, scale: scale * (x - center)

// sum of deviations, sum of their squares, scale; attributes: how many, what to divide by.
extern const ElementwiseOp kVariance, kStandardDeviation;

// sum of powers, the same of scaled elements, scale. Attribute 0: as for kOutOfRange.
extern const ElementwiseOp kNorm2;
extern const ElementwiseOp kNorm;  // attribute 1: the order

// product, whether an element is 0, whether all are finite: 0 where only the order of the factors
// made it NaN.
extern const ElementwiseOp kProduct;

}  // namespace hologram::graph::statistics
