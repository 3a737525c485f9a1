#include "hologram/reductions.hpp"

#include <algorithm>
#include <cmath>

#include "core/messages.hpp"
#include "hologram/creation.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

using core::Text;
using program::Combine;

namespace {

// f16 and bf16 accumulate in f32: `work` is what the reduction is done in.
DType accumulator(DType t) { return compute_type(t); }
DType sum_dtype(DType t) {
  if (is_float(t)) return t;
  return t == DType::U64 ? DType::U64 : DType::I64;
}
DType float_dtype(DType t) { return is_float(t) ? t : DType::F32; }

struct Reducer {
  const char* name;
  const Tensor& x;
  tensor::AxisList axes;
  bool keepdims;

  Reducer(const char* name, const Tensor& x, const Axes& wanted, bool keepdims)
      : name(name),
        x(x),
        axes(tensor::checked_axes(name, wanted.list, x.rank())),
        keepdims(keepdims) {}

  int64_t count() const {
    int64_t n = 1;
    for (const int axis : axes) n *= x.size(axis);
    return n;
  }
  Tensor run(const Tensor& of, Combine combine) const {
    return tensor::reduce(of, combine, axes, keepdims);
  }
  Tensor kept(const Tensor& of, Combine combine) const {
    return tensor::reduce(of, combine, axes, true);
  }
  Tensor without(const Tensor& result) const {
    if (keepdims) return result;
    Shape shape;
    for (int k = 0; k < x.rank(); k++)
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) shape.push_back(x.size(k));
    return result.reshape(std::move(shape));
  }
  void refuse_empty() const {
    if (count() == 0) throw core::error(Text::EmptyReduction, name, to_string(x.shape()));
  }
};

Tensor total(const char* name, const Tensor& x, const Axes& axes, bool keepdims, Combine combine) {
  const DType to = sum_dtype(x.dtype());
  const tensor::Converted wide(x, accumulator(to));
  return tensor::cast_to(Reducer(name, x, axes, keepdims).run(*wide, combine), to);
}

Tensor extreme(const char* name, const Tensor& x, const Axes& axes, bool keepdims,
               Combine combine) {
  const Reducer r(name, x, axes, keepdims);
  r.refuse_empty();
  return r.run(x, combine);
}

Tensor position(const char* name, const Tensor& whole, std::optional<int> axis, bool keepdims,
                Combine combine) {
  const Tensor x = axis ? whole : whole.flatten();
  const Reducer r(name, x, axis.value_or(0), keepdims && axis);
  r.refuse_empty();
  const int64_t n = r.count();
  Shape along(x.shape().size(), 1);
  along[static_cast<size_t>(r.axes[0])] = n;
  const Tensor at = arange(0, n, 1, DType::I64, x.executor()).reshape(along);
  const Tensor best = r.kept(x, combine);
  const Tensor result = r.run(where((x == best) | isnan(x), at, n), Combine::Min);
  return keepdims && !axis ? result.reshape(Shape(whole.shape().size(), 1)) : result;
}

// The largest element of each row, or 0 where that is infinite, so that differences make sense.
Tensor finite_max(const Reducer& r, const Tensor& x) {
  const Tensor largest = r.kept(x, Combine::Max);
  return where(isfinite(largest), largest, 0);
}

// Not yet rounded to the dtype of the result.
Tensor wide_variance(const char* name, const Tensor& x, const Axes& axes, double correction,
                     bool keepdims) {
  const Reducer r(name, x, axes, keepdims);
  const tensor::Converted converted(x, accumulator(float_dtype(x.dtype())));
  const Tensor& wide = *converted;
  const double n = static_cast<double>(r.count());
  const Tensor distance = wide - r.kept(wide, Combine::Add) / n;
  return r.run(square(distance), Combine::Add) / std::max(0.0, n - correction);
}

}  // namespace

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) {
  return total("sum", x, axes, keepdims, Combine::Add);
}
Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  return total("prod", x, axes, keepdims, Combine::Mul);
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("mean", x, axes, keepdims);
  const DType to = float_dtype(x.dtype());
  const tensor::Converted wide(x, accumulator(to));
  const Tensor sums = r.run(*wide, Combine::Add);
  return tensor::cast_to(sums / static_cast<double>(r.count()), to);
}

Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  return wide_variance("var", x, axes, correction, keepdims).to(float_dtype(x.dtype()));
}
Tensor std(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  return sqrt(wide_variance("std", x, axes, correction, keepdims)).to(float_dtype(x.dtype()));
}

Tensor min(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme("min", x, axes, keepdims, Combine::Min);
}
Tensor max(const Tensor& x, const Axes& axes, bool keepdims) {
  return extreme("max", x, axes, keepdims, Combine::Max);
}
Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return position("argmin", x, axis, keepdims, Combine::Min);
}
Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return position("argmax", x, axis, keepdims, Combine::Max);
}
Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reducer("any", x, axes, keepdims).run(x.to(DType::Bool), Combine::Max);
}
Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  return Reducer("all", x, axes, keepdims).run(x.to(DType::Bool), Combine::Min);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const Reducer r("logsumexp", x, axes, keepdims);
  const DType to = float_dtype(x.dtype());
  const Tensor wide = x.to(accumulator(to)), largest = finite_max(r, wide);
  return r.without(log(r.kept(exp(wide - largest), Combine::Add)) + largest).to(to);
}

Tensor norm(const Tensor& x, double order, const Axes& axes, bool keepdims) {
  const Reducer r("norm", x, axes, keepdims);
  const DType to = float_dtype(x.dtype());
  const Tensor size = abs(x.to(accumulator(to)));
  if (std::isinf(order)) {
    r.refuse_empty();
    return r.run(size, order > 0 ? Combine::Max : Combine::Min).to(to);
  }
  if (order == 1) return r.run(size, Combine::Add).to(to);
  if (order == 2) return sqrt(r.run(square(size), Combine::Add)).to(to);
  if (order == 0) return r.run((size != 0).to(size.dtype()), Combine::Add).to(to);
  return pow(r.run(pow(size, order), Combine::Add), 1 / order).to(to);
}

Tensor softmax(const Tensor& x, int axis) {
  const Reducer r("softmax", x, axis, true);
  const DType to = float_dtype(x.dtype());
  const tensor::Converted converted(x, accumulator(to));
  const Tensor& wide = *converted;
  const Tensor share = exp(wide - r.kept(wide, Combine::Max));
  return tensor::cast_to(share * reciprocal(r.run(share, Combine::Add)), to);
}

Tensor log_softmax(const Tensor& x, int axis) {
  const Reducer r("log_softmax", x, axis, true);
  const DType to = float_dtype(x.dtype());
  const Tensor wide = x.to(accumulator(to)), distance = wide - r.kept(wide, Combine::Max);
  return (distance - log(r.run(exp(distance), Combine::Add))).to(to);
}

}  // namespace hologram::ops
