// From many elements to one, along axes.
//
// `axes` may be one number, a list, or {} for all of them; negative numbers count from the last
// axis. The axes go, or stay with length 1 if `keepdims`. Integers and bool are summed in i64 (u64
// in u64); f16 and bf16 in f32. The order of additions depends on the shape alone, so that the same
// numbers give the same bits on every exact device; |error| <= 2 eps log2(n) sum |x|.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

struct Axes {
  Axes() = default;
  Axes(int axis) : list{axis} {}
  Axes(bool) = delete;  // sum(x, true) is a mistake: keepdims comes after the axes
  Axes(std::initializer_list<int> axes) : list(axes) {}
  Axes(std::vector<int> axes) : list(std::move(axes)) {}
  std::vector<int> list;  // empty: all
};

HOLOGRAM_API Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// Of integers: f32. NaN for no elements.
HOLOGRAM_API Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// A number that is not a truth value: var(x, -1, true) does not compile.
class Correction {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) constexpr Correction(T value)
      : value_(static_cast<double>(value)) {}
  constexpr operator double() const { return value_; }

 private:
  double value_;
};
// The mean square distance from the mean, in two passes; divided by n - correction.
HOLOGRAM_API Tensor var(const Tensor& x, const Axes& axes = {}, Correction correction = 0,
                        bool keepdims = false);
HOLOGRAM_API Tensor std(const Tensor& x, const Axes& axes = {}, Correction correction = 0,
                        bool keepdims = false);
// NaN if any element is; ShapeMismatch for no elements.
HOLOGRAM_API Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// The i64 position of the first extreme element (of the first NaN, if there is one), along one axis
// or, without one, in the flattened tensor.
HOLOGRAM_API Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);
HOLOGRAM_API Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keepdims = false);
// Whether some, or all, elements differ from 0.
HOLOGRAM_API Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
HOLOGRAM_API Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// log(sum(exp(x))) without overflow.
HOLOGRAM_API Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// The order of a norm: a floating-point number, as an integer there would be an axis that has lost
// its way. norm(x, -1) does not compile.
class Order {
 public:
  template <class T>
  requires std::is_floating_point_v<T>
  constexpr Order(T value) : value_(static_cast<double>(value)) {}
  constexpr operator double() const { return value_; }

 private:
  double value_;
};
// sum(|x|^order)^(1 / order); infinity: the largest magnitude, of no elements a ShapeMismatch.
HOLOGRAM_API Tensor norm(const Tensor& x, Order order = 2.0, const Axes& axes = {},
                         bool keepdims = false);

// exp(x) / sum(exp(x)) along an axis without overflow, by a product with the sum's reciprocal, and
// its logarithm.
HOLOGRAM_API Tensor softmax(const Tensor& x, int axis = -1);
HOLOGRAM_API Tensor log_softmax(const Tensor& x, int axis = -1);

}  // namespace hologram::ops
