#include "hologram/linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/composite.hpp"
#include "tensor/precision.hpp"
#include "tensor/product_ways.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using core::Text;

namespace {

Tensor lower_matmul(const tensor::Tensors& in, std::span<const int64_t> numbers) {
  return product_of(in[0], in[1], static_cast<DType>(numbers[0]));
}
graph::Candidates ways_of_matmul(const tensor::Tensors& in, std::span<const int64_t> numbers) {
  return product_ways(in[0], in[1], static_cast<DType>(numbers[0]));
}
constexpr graph::CompositeOp kMatmul = tensor::composite<lower_matmul, ways_of_matmul>("matmul");

// The product as one node: who computes it is decided when it is.
Tensor meant_product(const Tensor& x, const Tensor& y, DType out) {
  Shape shape;
  if (x.rank() > 2 || y.rank() > 2)
    shape = tensor::broadcast_shape("matmul", Shape(x.shape().begin(), x.shape().end() - 2),
                                    Shape(y.shape().begin(), y.shape().end() - 2));
  shape.push_back(rows_of(x));
  shape.push_back(columns_of(y));
  return tensor::meant(kMatmul, out, shape, {x, y}, {static_cast<int64_t>(out)});
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  if (const auto* policy = tensor::products(); policy != nullptr && policy->takes(dtype))
    return matmul(a.to(policy->compute), b.to(policy->compute), policy->result);
  return matmul(a, b, dtype);
}

Tensor matmul(const Tensor& a, const Tensor& b, DType out) {
  if (a.rank() == 0 || b.rank() == 0)
    throw core::error(Text::ProductRank, to_string(a.shape()), to_string(b.shape()));
  if (a.rank() == 1) return matmul(a.unsqueeze(0), b, out).squeeze(b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return matmul(a, b.unsqueeze(1), out).squeeze(-1);
  if (columns_of(a) != rows_of(b))
    throw core::error(Text::ProductLengths, to_string(a.shape()), to_string(b.shape()));
  const DType dtype = promote(a.dtype(), b.dtype());
  if (out != dtype && !(is_float(dtype) && out == compute_type(dtype)))
    throw core::error(Text::ProductDType, name_of(dtype), name_of(out),
                      is_float(dtype) && compute_type(dtype) != dtype
                          ? fmt::format("{} or {}", name_of(dtype), name_of(compute_type(dtype)))
                          : std::string(name_of(dtype)));
  const tensor::Converted of_a(a, dtype), of_b(b, dtype);
  std::vector<Tensor> moved;  // to one executor
  if (&tensor::context_of(a) != &tensor::context_of(b))
    moved = tensor::together("matmul", {*of_a, *of_b});
  const Tensor &x = moved.empty() ? *of_a : moved[0], &y = moved.empty() ? *of_b : moved[1];
  const auto make = [&] { return meant_product(x, y, out); };
  if (!tensor::is_recording()) return make();
  return tensor::with_gradient({x, y}, make, [&](const Tensor&) {
    return [x, y](const Tensor& g, const tensor::Wanted& wanted) {
      return tensor::rules::of_matmul(x, y, g.to(x.dtype()), wanted);
    };
  });
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  if (a.rank() != 3 || b.rank() != 3 || a.size(0) != b.size(0))
    throw core::error(Text::BatchedProduct, to_string(a.shape()), to_string(b.shape()));
  return matmul(a, b);
}

Tensor gemm(const Tensor& a, const Tensor& b, const Tensor& c, const Operand& alpha,
            const Operand& beta, bool transpose_a, bool transpose_b) {
  for (const Operand* o : {&alpha, &beta})
    if (!o->is_number()) throw core::error(Text::NeedsNumber, "gemm");
  const DType dtype = promote(promote(a.dtype(), b.dtype()), c.dtype());
  // Sums of f16 and bf16 are rounded once, when they have been scaled and added to.
  const bool plain = alpha.real() == 1 && beta.real() == 0;
  const DType wide = plain || !is_float(dtype) ? dtype : compute_type(dtype);
  const auto operand = [&](const Tensor& x, bool transposed) {
    const Tensor t = tensor::cast_to(tensor::cast_to(x, dtype), wide);
    return transposed ? t.transpose() : t;
  };
  const Tensor product = matmul(operand(a, transpose_a), operand(b, transpose_b));
  const auto times = [](const Tensor& t, const Operand& factor) {
    if (factor.real() == 1) return t;
    return t * tensor::full_like_number(factor, t.dtype(), tensor::context_of(t));
  };
  const Tensor scaled = times(product, alpha);
  const Tensor more = c.broadcast_to(product.shape());
  if (beta.real() == 0) return tensor::cast_to(scaled, dtype);
  return tensor::cast_to(scaled + times(tensor::cast_to(more, wide), beta), dtype);
}

Tensor gemv(const Tensor& a, const Tensor& x, const Tensor& y, const Operand& alpha,
            const Operand& beta) {
  if (a.rank() != 2 || x.rank() != 1)
    throw core::error(Text::ProductLengths, to_string(a.shape()), to_string(x.shape()));
  return gemm(a, x, y, alpha, beta);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.rank() != 1 || b.rank() != 1 || a.size() != b.size())
    throw core::error(Text::ProductLengths, to_string(a.shape()), to_string(b.shape()));
  if (promote(a.dtype(), b.dtype()) == DType::Bool) return any(bitwise_and(a, b));
  const DType dtype = promote(a.dtype(), b.dtype()), wide = compute_type(dtype);
  return tensor::cast_to(sum(*tensor::Converted(a, wide) * *tensor::Converted(b, wide)), dtype);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  return a.flatten().unsqueeze(1) * b.flatten().unsqueeze(0);
}

Tensor tensordot(const Tensor& a, const Tensor& b, int axes) {
  if (axes < 0 || axes > std::min(a.rank(), b.rank()))
    throw core::error(Text::TensordotAxes, axes, to_string(a.shape()), to_string(b.shape()));
  std::vector<int> of_a(static_cast<size_t>(axes)), of_b(of_a.size());
  std::iota(of_a.begin(), of_a.end(), a.rank() - axes);
  std::iota(of_b.begin(), of_b.end(), 0);
  return tensordot(a, b, std::move(of_a), std::move(of_b));
}

Tensor tensordot(const Tensor& a, const Tensor& b, std::vector<int> axes_a,
                 std::vector<int> axes_b) {
  const auto refuse = [&] {
    return core::error(Text::TensordotAxes, axes_a.size(), to_string(a.shape()),
                       to_string(b.shape()));
  };
  if (axes_a.size() != axes_b.size()) throw refuse();
  // The axes that stay, then those that are summed (the other way round for b).
  const auto split = [](const Tensor& t, std::vector<int>& summed, Shape& shape, bool last) {
    for (int& axis : summed) axis = tensor::checked_axis("tensordot", axis, t.rank());
    std::vector<int> order;
    int64_t kept = 1, inner = 1;
    for (int k = 0; k < t.rank(); k++) {
      if (std::find(summed.begin(), summed.end(), k) != summed.end()) continue;
      order.push_back(k);
      shape.push_back(t.size(k));
      kept *= t.size(k);
    }
    for (const int k : summed) inner *= t.size(k);
    order.insert(last ? order.end() : order.begin(), summed.begin(), summed.end());
    const Tensor turned = t.permute(order);
    return turned.reshape(last ? Shape{kept, inner} : Shape{inner, kept});
  };
  Shape shape;
  const Tensor left = split(a, axes_a, shape, true), right = split(b, axes_b, shape, false);
  for (size_t k = 0; k < axes_a.size(); k++)
    if (a.size(axes_a[k]) != b.size(axes_b[k])) throw refuse();
  return matmul(left, right).reshape(std::move(shape));
}

}  // namespace hologram::ops
