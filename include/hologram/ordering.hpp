// Running sums, order, and what depends on it.
#pragma once

#include <utility>

#include "hologram/tensor.hpp"

namespace hologram::ops {

// The sum, or product, up to and including each element along an axis; of integers in i64 (u64 in
// u64), of f16 and bf16 in f32.
HOLOGRAM_API Tensor cumsum(const Tensor& x, int axis = -1);
HOLOGRAM_API Tensor cumprod(const Tensor& x, int axis = -1);

// In order along an axis. Equal elements stay in theirs. NaN counts as the largest; -0 equals 0.
HOLOGRAM_API Tensor sort(const Tensor& x, int axis = -1, bool descending = false);
// The i64 indices that sort.
HOLOGRAM_API Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
// The k largest (or smallest) elements along an axis in order, and their i64 indices.
struct TopK {
  Tensor values, indices;
};
HOLOGRAM_API TopK topk(const Tensor& x, int64_t k, int axis = -1, bool largest = true);

// The i64 indices at which values would be inserted into a sorted vector: Left, before their
// equals; Right, after them.
enum class Side : uint8_t { Left, Right };
HOLOGRAM_API Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                                 Side side = Side::Left);

// The indices of elements that differ from 0, row by row: i64 of [count, axes]. Computes x, as
// the result's shape depends on it.
HOLOGRAM_API Tensor nonzero(const Tensor& x);
// The different values in ascending order, and how often each is there (i64). Computes x.
struct Unique {
  Tensor values, counts;
};
HOLOGRAM_API Unique unique(const Tensor& x);

}  // namespace hologram::ops
