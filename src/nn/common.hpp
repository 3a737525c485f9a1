// What neural operations share.
#pragma once

#include <limits>
#include <optional>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"
#include "tensor/precision.hpp"

namespace hologram::nn {

using core::Text;

// The dtype of a result that is no integer, and the one that it is computed in.
inline DType float_dtype(DType t) { return is_float(t) ? t : DType::F32; }
inline DType wide_dtype(DType t) { return compute_type(float_dtype(t)); }
// The dtype of losses: f32 of f16 and bf16 under mixed precision, as they are scaled then.
inline DType loss_dtype(DType t) {
  return tensor::products() != nullptr ? wide_dtype(t) : float_dtype(t);
}
inline Tensor upcast(const Tensor& x) { return x.to(wide_dtype(x.dtype())); }

// f(x) computed in the wide dtype and rounded once.
template <class F>
Tensor rounded_once(const Tensor& x, const F& f) {
  return f(upcast(x)).to(float_dtype(x.dtype()));
}

// A vector of one number a channel beside [batch, channels, …].
inline Tensor by_channels(const Tensor& vector, int rank) {
  Shape shape(static_cast<size_t>(rank), 1);
  shape[1] = vector.size();
  return vector.reshape(std::move(shape));
}

// The axes from `first` on.
inline ops::Axes axes_from(int first, int rank) {
  std::vector<int> axes;
  for (int k = first; k < rank; k++) axes.push_back(k);
  return axes;
}

// Integers as indices of an axis of this length. The functions that take them count negative ones
// from the end; these do not: they lie outside.
inline Tensor indices_below(const char* name, const Tensor& indices, int64_t length) {
  if (!is_integer(indices.dtype()))
    throw core::error(Text::OperandDType, name, hologram::name_of(indices.dtype()),
                      "integers as indices");
  if (is_unsigned_integer(indices.dtype())) return indices;
  const Tensor wide = indices.to(DType::I64);
  return ops::where(wide < 0, length, wide);
}

inline void need_shape(const char* name, const char* what, const Tensor& tensor,
                       const Shape& shape) {
  if (tensor.shape() != shape)
    throw core::error(Text::NnShape, name, what, to_string(tensor.shape()), to_string(shape));
}
inline void need_shape(const char* name, const char* what, const std::optional<Tensor>& tensor,
                       const Shape& shape) {
  if (tensor) need_shape(name, what, *tensor, shape);
}

// InvalidArgument unless the number is good.
inline void need(bool good, const char* name, const char* what, double number, const char* use) {
  if (!good) throw core::error(Text::NnNumber, name, what, number, use);
}

}  // namespace hologram::nn
