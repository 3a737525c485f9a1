#include "hologram/nn/linear.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "nn/common.hpp"
#include "tensor/precision.hpp"

namespace hologram::nn {

Tensor linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              Activation activation, std::optional<DType> out) {
  if (weight.rank() != 1 && weight.rank() != 2)
    throw core::error(Text::NnRank, "linear: the weight", to_string(weight.shape()),
                      "outputs, inputs");
  const int64_t inputs = weight.size(-1);
  if (x.rank() == 0 || x.size(-1) != inputs)
    throw core::error(Text::NnRank, "linear", to_string(x.shape()),
                      "…, inputs, of which the weight has " + std::to_string(inputs));
  const Shape per_output = weight.rank() == 2 ? Shape{weight.size(0)} : Shape{};
  need_shape("linear", "a bias", bias, per_output);
  // One product of two matrices, whatever axes stand before the last.
  const Tensor rows = x.rank() > 2 && inputs > 0 ? x.reshape({x.size() / inputs, inputs}) : x;
  const Tensor matrix = weight.rank() == 2 ? weight.transpose() : weight;
  Tensor y = out ? ops::matmul(rows, matrix, *out) : ops::matmul(rows, matrix);
  const DType made = y.dtype();
  if (bias) y = y + *bias;
  y = activate(y, activation);
  // Under mixed precision a bias may be wider than the product.
  if (out || tensor::products() != nullptr) y = y.to(made);
  if (x.rank() <= 2 || inputs == 0) return y;
  Shape shape = x.shape();
  shape.pop_back();
  shape.insert(shape.end(), per_output.begin(), per_output.end());
  return y.reshape(std::move(shape));
}

Tensor fused_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                    Activation activation) {
  return linear(x, weight, bias, activation);
}

Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight,
                const std::optional<Tensor>& bias) {
  if (weight.rank() != 3)
    throw core::error(Text::NnRank, "bilinear: the weight", to_string(weight.shape()),
                      "outputs, inputs of x1, inputs of x2");
  const int64_t outputs = weight.size(0), first = weight.size(1), second = weight.size(2);
  for (const auto& [x, inputs] : {std::pair(&x1, first), std::pair(&x2, second)})
    if (x->rank() == 0 || x->size(-1) != inputs)
      throw core::error(Text::NnRank, "bilinear", to_string(x->shape()),
                        "…, inputs, of which the weight has " + std::to_string(inputs));
  need_shape("bilinear", "a bias", bias, {outputs});
  const DType to = promote(promote(x1.dtype(), x2.dtype()), weight.dtype());
  const DType wide = wide_dtype(to);
  const Tensor by_first = weight.to(wide).permute({0, 2, 1}).reshape({outputs * second, first});
  Tensor products = linear(x1.to(wide), by_first);
  Shape shape = x1.shape();
  shape.back() = outputs;
  shape.push_back(second);
  Tensor y = ops::sum(products.reshape(std::move(shape)) * x2.to(wide).unsqueeze(-2), -1);
  if (bias) y = y + bias->to(wide);
  return y.to(float_dtype(to));
}

void Output::take(const Tensor& result) const {
  if (tensor_ != nullptr) {
    *tensor_ = result;
    return;
  }
  const Array values = result.array();
  if (values.dtype() != dtype_)
    throw core::error(Text::ReadDType, hologram::name_of(values.dtype()),
                      hologram::name_of(dtype_));
  const size_t count = values.size();
  void* const to = vector_ != nullptr ? resize_(vector_, count) : data_;
  if (vector_ == nullptr && count_ != count) throw core::error(Text::ReadCount, count, count_);
  if (count > 0) std::memcpy(to, values.data(), values.bytes());
}

size_t Output::size() const {
  return tensor_ != nullptr ? static_cast<size_t>(tensor_->size()) : count_;
}

Tensor Output::value(const Shape& shape) const {
  if (tensor_ != nullptr) return *tensor_;
  Array copy(dtype_, shape);
  if (copy.size() != count_) throw core::error(Text::ReadCount, copy.size(), count_);
  if (count_ > 0) std::memcpy(copy.mutable_data(), data_, copy.bytes());
  return Tensor::from(copy);
}

void matmul_vec_into(const Tensor& matrix, const Tensor& x, const Output& out) {
  if (matrix.rank() != 2 || x.rank() != 1)
    throw core::error(Text::ProductLengths, to_string(matrix.shape()), to_string(x.shape()));
  out.take(ops::matmul(matrix, x));
}

void compute_attention_scores(const Tensor& query, const Tensor& keys, const Output& scores,
                              double scale) {
  if (keys.rank() != 2 || query.rank() != 1)
    throw core::error(Text::ProductLengths, to_string(keys.shape()), to_string(query.shape()));
  const DType to = promote(query.dtype(), keys.dtype()), wide = wide_dtype(to);
  scores.take((ops::matmul(keys.to(wide), query.to(wide)) * scale).to(float_dtype(to)));
}

void weighted_sum_rows(const Tensor& weights, const Tensor& matrix, const Output& out) {
  if (matrix.rank() != 2 || weights.rank() != 1)
    throw core::error(Text::ProductLengths, to_string(weights.shape()), to_string(matrix.shape()));
  out.take(ops::matmul(weights, matrix));
}

void softmax_view(const Output& values) {
  const auto count = static_cast<int64_t>(values.size());
  values.take(softmax(values.value({count})));
}
void softmax_view(Tensor& x, const std::vector<Slice>& part, int axis) {
  x = ops::put(x, part, softmax(x.slice(part), axis));
}

}  // namespace hologram::nn
