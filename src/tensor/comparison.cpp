#include "hologram/comparison.hpp"

#include <limits>

#include "core/messages.hpp"
#include "graph/elementwise_functions.hpp"
#include "hologram/ops.hpp"
#include "tensor/tape.hpp"

namespace hologram::ops {

namespace {

DType dtype_of(const Operand& a, const Operand& b) {
  const auto joined = [](DType tensor, const Operand& number) {
    return tensor::with_number(tensor, number.kind());
  };
  if (a.is_number() && b.is_number())
    return tensor::with_number(tensor::with_number(DType::None, a.kind()), b.kind());
  if (a.is_number()) return joined(b.tensor().dtype(), a);
  if (b.is_number()) return joined(a.tensor().dtype(), b);
  return promote(a.tensor().dtype(), b.tensor().dtype());
}

double largest_of(DType t) {
  switch (t) {
    case DType::F16: return 65504;
    case DType::BF16: return 0x1.fep127;
    case DType::F32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

}  // namespace

Tensor isclose(const Operand& a, const Operand& b, double relative, double absolute,
               bool equal_nan) {
  Tensor equal = a == b;
  const DType dtype = dtype_of(a, b);
  if (dtype == DType::Bool) return equal;
  // The larger less the smaller one is exact in the unsigned type of that width; in f32 it is 0 for
  // none that differ.
  if (!is_float(dtype)) {
    const Tensor high = maximum(a, b), low = minimum(a, b);
    const DType distance = size_of(dtype) == 8 ? DType::U64 : DType::U32;
    const Tensor apart = (high.to(distance) - low.to(distance)).to(DType::F32);
    const Tensor size = b.is_number() ? abs(Operand(b.real())) : abs(b.tensor().to(DType::F32));
    return equal | (apart <= absolute + relative * size);
  }
  const auto wide = [&](const Operand& o) {
    return o.is_number() ? o : Operand(tensor::cast_to(o.tensor(), compute_type(dtype)));
  };
  const Operand x = wide(a), y = wide(b);
  const Tensor near = abs(x - y) <= absolute + relative * abs(y);
  const Tensor close = equal | (near & isfinite(x) & isfinite(y));
  return equal_nan ? close | (isnan(x) & isnan(y)) : close;
}

Tensor nextafter(const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  if (!is_float(dtype))
    throw core::error(core::Text::OperandDType, "nextafter", name_of(dtype), "floats");
  const auto both =
      tensor::together("nextafter", {tensor::cast_to(a, dtype), tensor::cast_to(b, dtype)});
  Tensor next = tensor::apply_internal(graph::kNextAfter, dtype, {both[0], both[1]});
  // It changes as a does.
  if (tensor::is_recording()) tensor::record_same(both[0], next);
  return next;
}

Tensor allclose(const Operand& a, const Operand& b, double relative, double absolute,
                bool equal_nan) {
  return all(isclose(a, b, relative, absolute, equal_nan));
}

Tensor array_equal(const Tensor& a, const Tensor& b, bool equal_nan) {
  if (a.shape() != b.shape()) return full({}, false, DType::Bool, a.executor());
  const Tensor equal = a == b;
  return all(equal_nan ? equal | (isnan(a) & isnan(b)) : equal);
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> infinity,
                  std::optional<double> minus_infinity) {
  if (!is_float(x.dtype())) return x;
  const double most = largest_of(x.dtype());
  const auto number = [&](double value) { return full({}, value, x.dtype(), x.executor()); };
  const Tensor low = number(minus_infinity.value_or(-most)), high = number(infinity.value_or(most));
  return where(isnan(x), number(nan), where(isinf(x), where(x < 0, low, high), x));
}

}  // namespace hologram::ops
