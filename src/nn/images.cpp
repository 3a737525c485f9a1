#include "hologram/nn/images.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "hologram/nn/pooling.hpp"
#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// Which elements of an axis an element of the result takes, and how much of each.
struct Taps {
  std::vector<int64_t> indices;
  std::vector<double> weights;
};

// One axis of an interpolation. Positions are computed as PyTorch does: in f32, of f64 in f64.
template <class Real>
class AxisOf {
 public:
  AxisOf(int64_t input, int64_t output, double factor, const InterpolateOptions& options)
      : input_(input), output_(output), options_(options) {
    const bool by_factor = factor > 0 && !options.recompute_scale_factor;
    if (options.align_corners)
      step_ = output > 1 ? static_cast<Real>(input - 1) / static_cast<Real>(output - 1) : 0;
    else
      step_ = by_factor ? static_cast<Real>(1 / factor)
                        : static_cast<Real>(input) / static_cast<Real>(output);
  }

  // For each of 1, 2 or 4 elements side by side.
  std::vector<Taps> taps() const {
    const size_t count = options_.mode == Interpolation::Bicubic  ? 4
                         : options_.mode == Interpolation::Linear ? 2
                                                                  : 1;
    std::vector<Taps> all(count);
    for (int64_t i = 0; i < output_; i++) {
      const auto add = [&](size_t tap, int64_t index, Real weight) {
        all[tap].indices.push_back(std::clamp<int64_t>(index, 0, input_ - 1));
        all[tap].weights.push_back(static_cast<double>(weight));
      };
      if (count == 1) add(0, nearest(i), 1);
      else if (count == 2) linear(i, add);
      else cubic(i, add);
    }
    return all;
  }

 private:
  int64_t nearest(int64_t i) const {
    const Real at = options_.mode == Interpolation::NearestExact
                        ? (static_cast<Real>(i) + Real{0.5}) * step_
                        : static_cast<Real>(i) * step_;
    return static_cast<int64_t>(std::floor(at));
  }
  Real place(int64_t i) const {
    const auto at = static_cast<Real>(i);
    return options_.align_corners ? at * step_ : (at + Real{0.5}) * step_ - Real{0.5};
  }
  template <class F>
  void linear(int64_t i, const F& add) const {
    const Real at = std::max<Real>(place(i), 0);
    const auto first = std::min(static_cast<int64_t>(at), input_ - 1);
    const Real rest = std::clamp<Real>(at - static_cast<Real>(first), 0, 1);
    add(0, first, 1 - rest);
    add(1, first + 1, rest);
  }
  template <class F>
  void cubic(int64_t i, const F& add) const {
    constexpr Real a = Real{-0.75};
    const Real at = place(i), first = std::floor(at), rest = at - first;
    const auto near = [](Real x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](Real x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    const auto index = static_cast<int64_t>(first);
    add(0, index - 1, far(rest + 1));
    add(1, index, near(rest));
    add(2, index + 1, near(1 - rest));
    add(3, index + 2, far(2 - rest));
  }

  int64_t input_, output_;
  const InterpolateOptions& options_;
  Real step_ = 0;
};

Tensor resized(const Tensor& x, int axis, const std::vector<Taps>& taps) {
  const Executor executor = x.executor();
  Tensor result;
  for (const Taps& tap : taps) {
    const auto count = static_cast<int64_t>(tap.indices.size());
    Tensor part = ops::take(x, Tensor::from_vector(tap.indices, {count}, executor), axis);
    if (taps.size() > 1) {
      Shape beside(static_cast<size_t>(x.rank()), 1);
      beside[static_cast<size_t>(axis)] = count;
      const bool is_double = x.dtype() == DType::F64;
      const Tensor weights =
          is_double
              ? Tensor::from_vector(tap.weights, beside, executor)
              : Tensor::from_vector(std::vector<float>(tap.weights.begin(), tap.weights.end()),
                                    beside, executor);
      part = part * weights;
    }
    result = result.defined() ? result + part : part;
  }
  return result;
}

// Lengths of the spatial axes, from the size or the factors.
std::vector<int64_t> lengths_of(const Tensor& x, const InterpolateOptions& options) {
  constexpr const char* kName = "interpolate";
  const auto spatial = static_cast<size_t>(x.rank() - 2);
  const bool by_size = !options.size.empty();
  const size_t given = by_size ? options.size.size() : options.scale_factor.size();
  if (by_size == !options.scale_factor.empty() || (given != 1 && given != spatial))
    throw core::error(Text::NnMissing, kName, "one of size and scale_factor",
                      "Give either of them, with one number or one for each spatial axis.");
  std::vector<int64_t> lengths;
  for (size_t k = 0; k < spatial; k++) {
    const size_t at = given == 1 ? 0 : k;
    const auto input = static_cast<double>(x.size(static_cast<int>(k) + 2));
    const double length = by_size ? static_cast<double>(options.size[at])
                                  : std::floor(input * options.scale_factor[at]);
    need(length >= 1 && length <= 0x1p40, kName, "length of the result", length, "1 or more");
    lengths.push_back(static_cast<int64_t>(length));
  }
  return lengths;
}

Tensor area(const Tensor& x, const std::vector<int64_t>& n) {
  switch (n.size()) {
    case 1: return adaptive_avg_pool1d(x, n[0]);
    case 2: return adaptive_avg_pool2d(x, {n[0], n[1]});
    default: return adaptive_avg_pool3d(x, {n[0], n[1], n[2]});
  }
}

constexpr const char* kModes[] = {"Constant", "Reflect", "Replicate", "Circular"};

// One axis with other elements of itself around it.
Tensor extended(const Tensor& x, int axis, int64_t before, int64_t after, PadMode mode) {
  const int64_t length = x.size(axis), most = std::max(before, after);
  const char* const name = kModes[static_cast<size_t>(mode)];
  const int64_t limit = mode == PadMode::Reflect    ? length - 1
                        : mode == PadMode::Circular ? length
                                                    : int64_t{1} << 40;
  if (std::min(before, after) < 0 || most > limit || length == 0)
    throw core::error(Text::NnPadding, "pad",
                      std::min(before, after) < 0 ? std::min(before, after) : most, length, name,
                      mode == PadMode::Replicate
                          ? "0 or more, and at least one element"
                          : "0 to " + std::to_string(std::max<int64_t>(limit, 0)));
  const auto edge = [&](int64_t count, int64_t index, bool first) {
    switch (mode) {
      case PadMode::Reflect:
        return (first ? x.slice(axis, {1, 1 + count})
                      : x.slice(axis, {length - 1 - count, length - 1}))
            .flip({axis});
      case PadMode::Circular:
        return first ? x.slice(axis, {length - count, length}) : x.slice(axis, {0, count});
      default: {
        Shape shape = x.shape();
        shape[static_cast<size_t>(axis)] = count;
        return x.slice(axis, {index, index + 1}).broadcast_to(std::move(shape));
      }
    }
  };
  std::vector<Tensor> parts;
  if (before > 0) parts.push_back(edge(before, 0, true));
  parts.push_back(x);
  if (after > 0) parts.push_back(edge(after, length - 1, false));
  return parts.size() == 1 ? x : ops::concat(parts, axis);
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  constexpr const char* kName = "interpolate";
  if (x.rank() < 3 || x.rank() > 5 || (options.mode == Interpolation::Bicubic && x.rank() != 4) ||
      std::find(x.shape().begin() + 2, x.shape().end(), 0) != x.shape().end())
    throw core::error(Text::NnRank, kName, to_string(x.shape()),
                      options.mode == Interpolation::Bicubic
                          ? "batch, channels, height, width"
                          : "batch, channels, and one to three of at least one element");
  if (options.align_corners && options.mode != Interpolation::Linear &&
      options.mode != Interpolation::Bicubic)
    throw core::error(Text::NnMissing, kName, "a mode that aligns corners",
                      "Leave align_corners out, or use Linear or Bicubic.");
  const std::vector<int64_t> lengths = lengths_of(x, options);
  if (options.mode == Interpolation::Area) return area(x, lengths);
  const bool copies =
      options.mode == Interpolation::Nearest || options.mode == Interpolation::NearestExact;
  const DType to = copies ? x.dtype() : float_dtype(x.dtype());
  Tensor result = copies ? x : upcast(x);
  for (size_t k = lengths.size(); k-- > 0;) {
    const int axis = static_cast<int>(k) + 2;
    const int64_t input = x.size(axis);
    const size_t given = options.scale_factor.size();
    const double factor = given == 0 ? 0 : options.scale_factor[given == 1 ? 0 : k];
    // Linear, as PyTorch has it, copies an axis that keeps its length, whatever the factor is.
    const bool linear = options.mode == Interpolation::Linear;
    if (lengths[k] == input && (linear || factor == 0 || factor == 1)) continue;
    result =
        resized(result, axis,
                x.dtype() == DType::F64 ? AxisOf<double>(input, lengths[k], factor, options).taps()
                                        : AxisOf<float>(input, lengths[k], factor, options).taps());
  }
  return result.to(to);
}

Tensor pixel_shuffle(const Tensor& x, int64_t r) {
  constexpr const char* kName = "pixel_shuffle";
  need(r >= 1, kName, "factor", static_cast<double>(r), "1 or more");
  if (x.rank() < 3 || x.size(-3) % (r * r) != 0)
    throw core::error(Text::NnRank, kName, to_string(x.shape()),
                      "…, channels * " + std::to_string(r * r) + ", height, width");
  const Shape lead(x.shape().begin(), x.shape().end() - 3);
  const int64_t batch = count_of(lead), channels = x.size(-3) / (r * r), height = x.size(-2),
                width = x.size(-1);
  Shape shape = lead;
  for (const int64_t n : {channels, height * r, width * r}) shape.push_back(n);
  return x.reshape({batch, channels, r, r, height, width})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape(std::move(shape));
}

Tensor pixel_unshuffle(const Tensor& x, int64_t r) {
  constexpr const char* kName = "pixel_unshuffle";
  need(r >= 1, kName, "factor", static_cast<double>(r), "1 or more");
  if (x.rank() < 3 || x.size(-2) % r != 0 || x.size(-1) % r != 0)
    throw core::error(
        Text::NnRank, kName, to_string(x.shape()),
        "…, channels, height * " + std::to_string(r) + ", width * " + std::to_string(r));
  const Shape lead(x.shape().begin(), x.shape().end() - 3);
  const int64_t batch = count_of(lead), channels = x.size(-3), height = x.size(-2) / r,
                width = x.size(-1) / r;
  Shape shape = lead;
  for (const int64_t n : {channels * r * r, height, width}) shape.push_back(n);
  return x.reshape({batch, channels, height, r, width, r})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape(std::move(shape));
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  constexpr const char* kName = "channel_shuffle";
  if (x.rank() < 3)
    throw core::error(Text::NnRank, kName, to_string(x.shape()), "batch, channels, …");
  need(groups >= 1 && x.size(1) % groups == 0, kName, "number of groups",
       static_cast<double>(groups), "a number that divides that of the channels");
  const int64_t batch = x.size(0), each = x.size(1) / groups,
                rest = count_of(Shape(x.shape().begin() + 2, x.shape().end()));
  return x.reshape({batch, groups, each, rest}).transpose(1, 2).reshape(x.shape());
}

Tensor pad(const Tensor& x, const std::vector<int64_t>& padding, PadMode mode,
           const Operand& value) {
  constexpr const char* kName = "pad";
  if (padding.size() % 2 != 0 || padding.size() / 2 > x.shape().size())
    throw core::error(Text::NnMissing, kName, "a number for each side",
                      "Give two numbers an axis, from the last, of at most all axes.");
  std::vector<ops::Padding> sides(x.shape().size());
  std::vector<Slice> kept(x.shape().size());
  Tensor result = x;
  for (size_t k = 0; k < padding.size() / 2; k++) {
    const size_t axis = x.shape().size() - 1 - k;
    const int64_t before = padding[2 * k], after = padding[2 * k + 1], length = x.shape()[axis];
    if (mode != PadMode::Constant) {
      result = extended(result, static_cast<int>(axis), before, after, mode);
      continue;
    }
    const int64_t cut = std::max<int64_t>(-before, 0), end = length - std::max<int64_t>(-after, 0);
    if (cut > end)
      throw core::error(Text::NnPadding, kName, std::min(before, after), length, "Constant",
                        "numbers that leave some of the axis");
    kept[axis] = {cut, end};
    sides[axis] = {std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
  }
  return mode == PadMode::Constant ? ops::pad(x.slice(kept), sides, value) : result;
}

}  // namespace hologram::nn
