// Tensors from nothing.
#pragma once

#include "hologram/tensor.hpp"

namespace hologram::ops {

// `value` everywhere. Without a dtype: bool, i64 (u64 beyond it) or f32, as the number is.
// InvalidArgument if the dtype cannot hold it.
HOLOGRAM_API Tensor full(Shape shape, const Operand& value, DType dtype = DType::None,
                         const Executor& executor = default_executor());
HOLOGRAM_API Tensor zeros(Shape shape, DType dtype = DType::F32,
                          const Executor& executor = default_executor());
HOLOGRAM_API Tensor ones(Shape shape, DType dtype = DType::F32,
                         const Executor& executor = default_executor());
// Values that nobody should read; they happen to be zeros.
HOLOGRAM_API Tensor empty(Shape shape, DType dtype = DType::F32,
                          const Executor& executor = default_executor());

// start, start + step, … before stop. Without a dtype: i64 (u64 beyond it) if all are integers,
// else f32. InvalidArgument if an integer dtype cannot hold the first or the last of them.
HOLOGRAM_API Tensor arange(const Operand& start, const Operand& stop, const Operand& step = 1,
                           DType dtype = DType::None,
                           const Executor& executor = default_executor());
HOLOGRAM_API Tensor arange(const Operand& stop);
// `count` numbers from start to stop, both included; the last is stop exactly.
HOLOGRAM_API Tensor linspace(double start, double stop, int64_t count, DType dtype = DType::F32,
                             const Executor& executor = default_executor());

// 1 on a diagonal, which lies `diagonal` above the main one; 0 elsewhere.
HOLOGRAM_API Tensor eye(int64_t rows, int64_t columns = -1, int64_t diagonal = 0,
                        DType dtype = DType::F32, const Executor& executor = default_executor());
// 1 on and below that diagonal.
HOLOGRAM_API Tensor tri(int64_t rows, int64_t columns = -1, int64_t diagonal = 0,
                        DType dtype = DType::F32, const Executor& executor = default_executor());

// Of the shape, dtype and executor of another tensor.
HOLOGRAM_API Tensor full_like(const Tensor& tensor, const Operand& value);
HOLOGRAM_API Tensor zeros_like(const Tensor& tensor);
HOLOGRAM_API Tensor ones_like(const Tensor& tensor);
HOLOGRAM_API Tensor empty_like(const Tensor& tensor);

// Random numbers: Philox4x32-10 (Salmon et al., SC 2011), keyed by the seed and numbered by the
// operation and the element: the same bits on every device and for any number of threads.
// DTypeMismatch unless the dtype is a float's (rand, randn) or an integer's (randint).
HOLOGRAM_API void seed(uint64_t key, const Executor& executor = default_executor());
// Uniform in [0, 1).
HOLOGRAM_API Tensor rand(Shape shape, DType dtype = DType::F32,
                         const Executor& executor = default_executor());
// Normal, of mean 0 and variance 1.
HOLOGRAM_API Tensor randn(Shape shape, DType dtype = DType::F32,
                          const Executor& executor = default_executor());
// Uniform in [low, high), two integers.
HOLOGRAM_API Tensor randint(const Operand& low, const Operand& high, Shape shape,
                            DType dtype = DType::I64,
                            const Executor& executor = default_executor());

}  // namespace hologram::ops
