#include "hologram/sets.hpp"

#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

UniqueAll unique_all(const Tensor& x) {
  const Unique found = unique(x);
  if (x.size() == 0) {
    const Tensor none = zeros({0}, DType::I64, x.executor());
    return {found.values, none, zeros(x.shape(), DType::I64, x.executor()), found.counts};
  }
  // Equal ones stay in order, so that the first of each value is the first one there.
  const Tensor order = argsort(x.flatten(), 0);
  const Tensor starts = cumsum(found.counts, 0) - found.counts;
  return {found.values, take(order, starts), searchsorted(found.values, x), found.counts};
}

Tensor isin(const Tensor& x, const Tensor& elements, bool invert) {
  const DType dtype = promote(x.dtype(), elements.dtype());
  const auto both =
      tensor::together("isin", {tensor::cast_to(x, dtype), tensor::cast_to(elements, dtype)});
  const int64_t n = both[1].size();
  if (n == 0) return full(x.shape(), invert, DType::Bool, both[0].executor());
  const Tensor sorted = sort(both[1].flatten(), 0);
  const Tensor nearest = take(sorted, minimum(searchsorted(sorted, both[0]), n - 1));
  return invert ? nearest != both[0] : nearest == both[0];
}

}  // namespace hologram::ops
