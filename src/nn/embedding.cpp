#include "hologram/nn/embedding.hpp"

#include <string>

#include "hologram/gradient.hpp"
#include "nn/common.hpp"
#include "tensor/tape.hpp"

namespace hologram::nn {

namespace {

// Features as [..., 2, pairs] or [..., pairs, 2]; the axis of two.
struct Pairs {
  int64_t count;
  RopePairs order;

  int axis() const { return order == RopePairs::Halves ? -2 : -1; }
  Tensor apart(const Tensor& x) const {
    Shape shape = x.shape();
    shape.back() = order == RopePairs::Halves ? 2 : count;
    shape.push_back(order == RopePairs::Halves ? count : 2);
    return x.reshape(std::move(shape));
  }
};

// The turned features in one kernel: x * cos + partner * (-sin or sin), where the partner of each
// is a view. Angles are [..., pairs].
Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin, const Pairs& pairs) {
  const Tensor each = pairs.apart(x);
  Tensor sign = (ops::arange(0, 2, 1, DType::I64, x.executor()) * 2 - 1).to(x.dtype());
  if (pairs.order == RopePairs::Halves) sign = sign.unsqueeze(1);
  const int axis = pairs.axis();
  return (each * cos.unsqueeze(axis) + each.flip({axis}) * (sin.unsqueeze(axis) * sign))
      .reshape(x.shape());
}

// The first features turned, the others as they are.
template <class F>
Tensor first_features(const Tensor& x, int64_t dims, const F& turn) {
  const DType to = float_dtype(x.dtype());
  if (dims == x.size(-1)) return turn(upcast(x)).to(to);
  const Tensor first = x.slice(-1, {0, dims});
  return ops::concat({turn(upcast(first)).to(to), x.slice(-1, {dims, {}}).to(to)}, -1);
}

}  // namespace

Tensor embedding(const Tensor& indices, const Tensor& weight, std::optional<int64_t> padding_idx) {
  if (weight.rank() != 2)
    throw core::error(Text::NnRank, "embedding: the weight", to_string(weight.shape()),
                      "rows, features");
  const int64_t rows = weight.size(0);
  if (padding_idx)
    need(*padding_idx >= -rows && *padding_idx < rows, "embedding", "padding index",
         static_cast<double>(*padding_idx), "one of a row, which may count from the end");
  const Tensor places = indices_below("embedding", indices, rows);
  Tensor found = ops::take(weight, places, 0);
  if (!padding_idx || !tensor::is_recording()) return found;
  const int64_t row = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  return ops::where((places == row).unsqueeze(-1), stop_gradient(found), found);
}

Tensor one_hot(const Tensor& indices, int64_t num_classes) {
  if (num_classes < 0) {
    if (indices.size() == 0)
      throw core::error(Text::EmptyReduction, "one_hot", to_string(indices.shape()));
    num_classes = ops::max(indices).item<int64_t>() + 1;
    need(num_classes > 0, "one_hot", "largest integer", static_cast<double>(num_classes - 1),
         "integers from 0 on");
  }
  const Tensor where = indices_below("one_hot", indices, num_classes).unsqueeze(-1);
  Shape shape = indices.shape();
  shape.push_back(num_classes);
  return ops::scatter(ops::zeros(std::move(shape), DType::I64, indices.executor()), where, 1, -1);
}

Tensor rope(const Tensor& x, const RopeOptions& options) {
  if (x.rank() < 2)
    throw core::error(Text::NnRank, "rope", to_string(x.shape()), "…, length, features");
  const int64_t dims = options.dims == 0 ? x.size(-1) : options.dims;
  need(dims > 0 && dims % 2 == 0 && dims <= x.size(-1), "rope", "number of features that turn",
       static_cast<double>(dims), "an even one, of at most all features");
  const Pairs pairs = {dims / 2, options.pairs};
  const DType wide = wide_dtype(x.dtype());
  const Executor executor = x.executor();
  if (options.frequencies) need_shape("rope", "frequencies", *options.frequencies, {pairs.count});
  const Tensor frequencies =
      options.frequencies
          ? options.frequencies->to(wide)
          : ops::reciprocal(ops::pow(
                options.base, ops::arange(0, dims, 2, wide, executor) / static_cast<double>(dims)));
  const Tensor positions =
      options.positions
          ? options.positions->to(wide)
          : ops::arange(options.offset, options.offset + x.size(-2), 1, DType::I64, executor)
                .to(wide);
  const Tensor angles = (positions * options.scale).unsqueeze(-1) * frequencies;
  return first_features(x, dims, [&](const Tensor& first) {
    return turned(first, ops::cos(angles), ops::sin(angles), pairs);
  });
}

Tensor apply_rope(const Tensor& x, const Tensor& cos, const Tensor& sin, RopePairs pairs) {
  if (x.rank() < 1 || cos.rank() < 1 || cos.shape() != sin.shape())
    throw core::error(Text::NnShape, "apply_rope", "sines", to_string(sin.shape()),
                      to_string(cos.shape()) + ", that of the cosines");
  const bool both = cos.size(-1) == x.size(-1);  // of each pair
  const int64_t dims = both ? cos.size(-1) : 2 * cos.size(-1);
  if (dims > x.size(-1) || dims % 2 != 0)
    throw core::error(Text::NnShape, "apply_rope", "cosines", to_string(cos.shape()),
                      "[…, " + std::to_string(x.size(-1) / 2) + "] or less");
  const auto first = [&](const Tensor& t) {
    if (!both) return upcast(t);
    return upcast(pairs == RopePairs::Halves ? t.slice(-1, {0, dims / 2})
                                             : t.slice(-1, {0, {}, 2}));
  };
  return first_features(x, dims, [&](const Tensor& some) {
    return turned(some, first(cos).to(some.dtype()), first(sin).to(some.dtype()),
                  {dims / 2, pairs});
  });
}

}  // namespace hologram::nn
