// Linear layers, and products by the names of vector libraries.
#pragma once

#include <optional>

#include "hologram/nn/activations.hpp"
#include "hologram/tensor.hpp"

namespace hologram::nn {

// activation(x @ weight.T + bias) of x [..., in], weight [out, in] and bias [out]: [..., out]. A
// weight [in] without a bias axis gives [...]. `out`: the dtype of the product and of the result,
// if not the operands' own: f32 of f16 and bf16, as of ops::matmul. ShapeMismatch, DTypeMismatch.
HOLOGRAM_API Tensor linear(const Tensor& x, const Tensor& weight,
                           const std::optional<Tensor>& bias = {},
                           Activation activation = Activation::None, std::optional<DType> out = {});
// The same with relu unless told otherwise.
HOLOGRAM_API Tensor fused_linear(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                 Activation activation = Activation::Relu);
// sum over i, j of x1[..., i] * weight[o, i, j] * x2[..., j], and bias[o].
HOLOGRAM_API Tensor bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight,
                             const std::optional<Tensor>& bias = {});

// Where a function leaves its result: in a tensor, which becomes it, or in memory of the host, of
// the result's size and dtype (a vector is resized).
class HOLOGRAM_API Output {
 public:
  Output(Tensor& tensor) : tensor_(&tensor) {}
  template <Arithmetic T>
  Output(std::span<T> memory) : dtype_(dtype_of<T>), data_(memory.data()), count_(memory.size()) {}
  template <Arithmetic T>
  requires(!std::is_same_v<T, bool>) Output(std::vector<T>& vector)
      : dtype_(dtype_of<T>),
        data_(vector.data()),
        count_(vector.size()),
        vector_(&vector),
        resize_([](void* v, size_t count) -> void* {
          auto& values = *static_cast<std::vector<T>*>(v);
          values.resize(count);
          return values.data();
        }) {}
  // ShapeMismatch or DTypeMismatch unless the memory suits.
  void take(const Tensor& result) const;
  // What is there now, as a tensor of this shape (of a Tensor: itself). The memory is copied.
  Tensor value(const Shape& shape) const;
  size_t size() const;  // elements

 private:
  Tensor* tensor_ = nullptr;
  DType dtype_ = DType::None;
  void* data_ = nullptr;
  size_t count_ = 0;
  void* vector_ = nullptr;
  void* (*resize_)(void* vector, size_t count) = nullptr;
};

// out = matrix @ x of [rows, columns] and [columns].
HOLOGRAM_API void matmul_vec_into(const Tensor& matrix, const Tensor& x, const Output& out);
// scores[i] = scale * sum(query * keys[i]) of [features] and [count, features].
HOLOGRAM_API void compute_attention_scores(const Tensor& query, const Tensor& keys,
                                           const Output& scores, double scale = 1);
// out = sum over i of weights[i] * matrix[i].
HOLOGRAM_API void weighted_sum_rows(const Tensor& weights, const Tensor& matrix, const Output& out);
// Values replaced by their softmax: those of memory, of a tensor along its last axis, or of a part
// of a tensor only, whose other elements stay.
HOLOGRAM_API void softmax_view(const Output& values);
HOLOGRAM_API void softmax_view(Tensor& x, const std::vector<Slice>& part, int axis = -1);

}  // namespace hologram::nn
