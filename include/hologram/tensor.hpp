// Tensors: values that are computed when they are read.
//
//   Tensor a = Tensor::from({1.0f, 2.0f, 3.0f}), b = ops::sigmoid(a * 2 + 1);
//   std::vector<float> values = b.to_vector<float>();   // one fused kernel runs here
//
// A Tensor is a cheap handle to an immutable value. Operations build a graph; the work is done by
// `eval`, by reading, or when the graph has grown long. Errors of shape, dtype and support come
// from the call that makes them; what goes wrong in the work itself comes from the reading.
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hologram/array.hpp"
#include "hologram/executor.hpp"

namespace hologram {

namespace graph {
struct Node;
struct View;
struct TensorAccess;
}  // namespace graph

// The executor of tensors that name none: the best device there is, or what the environment asks
// for. It is made when it is first needed.
HOLOGRAM_API const Executor& default_executor();
// Another one for tensors made from now on.
HOLOGRAM_API void set_default_executor(const Executor& executor);

// The executor that this process shares for a backend: the default one if it is of that backend,
// else one that is made when it is first needed. Tensors on it go together, which those on two
// executors of one device do not. BackendUnavailable.
HOLOGRAM_API const Executor& executor_of(BackendType backend);

template <class T>
concept Arithmetic = std::is_arithmetic_v<T> && !std::is_same_v<T, long double>;

// A part of an axis, as in Python: [begin, end) by step; negative numbers count from the end.
struct Slice {
  std::optional<int64_t> begin, end;
  int64_t step = 1;  // not 0; negative walks backwards
};

class Operand;

// Memory of a device, and what keeps it.
struct DeviceMemory {
  void* address = nullptr;  // CUDA's or HIP's; on the CPU of the host
  std::shared_ptr<const void> owner;
};

class HOLOGRAM_API Tensor {
 public:
  Tensor() noexcept = default;  // no tensor: anything but assigning to it is an InvalidArgument
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)), view_(std::move(other.view_)) {}
  // A temporary, as a view is, cannot be assigned to: that would change nothing.
  Tensor& operator=(const Tensor& other) &;
  Tensor& operator=(Tensor&& other) & noexcept;
  ~Tensor() {
    if (node_ != nullptr) release_node();
  }

  // A copy of values, in row-major order; their number must be that of the shape.
  template <Arithmetic T>
  static Tensor from_vector(std::vector<T> values, Shape shape,
                            const Executor& executor = default_executor()) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::vector<uint8_t> bytes(values.begin(), values.end());
      return from_vector(bytes, std::move(shape), executor).to(DType::Bool);
    } else {
      auto kept = std::make_shared<std::vector<T>>(std::move(values));
      const void* data = kept->data();
      const size_t count = kept->size();
      return from(Array::borrow(dtype_of<T>, std::move(shape), data, std::move(kept), count),
                  executor);
    }
  }
  template <Arithmetic T>
  static Tensor from(std::initializer_list<T> values, Shape shape = {},
                     const Executor& executor = default_executor()) {
    if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
    return from_vector(std::vector<T>(values), std::move(shape), executor);
  }
  // Borrowed memory: it must live, unchanged, until everything made from it has been computed, or
  // until the owner is let go.
  template <Arithmetic T>
  static Tensor from_span(std::span<const T> values, Shape shape,
                          std::shared_ptr<const void> owner = {},
                          const Executor& executor = default_executor()) {
    return from(
        Array::borrow(dtype_of<T>, std::move(shape), static_cast<const void*>(values.data()),
                      std::move(owner), values.size()),
        executor);
  }
  // Shares the array's memory where the device can read it.
  static Tensor from(const Array& array, const Executor& executor = default_executor());

  // Memory of the executor's own device, dense and row-major, as it is: nothing is copied. It must
  // lie in one allocation, aligned to 16 bytes, hold what was written there by work that is done or
  // before it on the executor's stream, and stay unchanged. `release`, if any, is called with it
  // once, when nothing on the device reads it any more; it must not throw or use hologram. If this
  // throws it is not called. InvalidArgument for memory of the host or of another device.
  static Tensor from_device_pointer(void* memory, Shape shape, DType dtype,
                                    std::function<void(void*)> release, const Executor& executor);

  bool defined() const { return node_ != nullptr; }
  DType dtype() const;
  const Shape& shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  int64_t size() const;          // elements
  int64_t size(int axis) const;  // of one axis; negative ones count from the last
  Executor executor() const;

  // Computes the value, if it is not there yet.
  const Tensor& eval() const;
  bool ready() const;

  // The value, dense and row-major; shares memory where it can. Computes it.
  Array array() const;
  // The value where it lies, dense and row-major, for work of others. Computes it, and waits until
  // all that was put on the device is done, so that any stream may read it. It must not be written
  // to. When `owner` is released, work that was put on the device by then is waited for.
  // UnsupportedOperation where memory has no address: OpenCL, WebGPU and Metal.
  DeviceMemory device_memory() const;
  template <Arithmetic T>
  std::vector<T> to_vector() const {
    const Array a = array();
    const std::span<const T> values = a.as<T>();
    return {values.begin(), values.end()};
  }
  // DTypeMismatch and ShapeMismatch unless the span suits.
  template <Arithmetic T>
  void copy_to(std::span<T> to) const {
    copy_bytes_to(dtype_of<T>, to.data(), to.size());
  }
  template <Arithmetic T>
  void copy_to(std::vector<T>& to) const {
    copy_to(std::span<T>(to));
  }
  // The only element, converted to T; ShapeMismatch if there is not exactly one.
  template <Arithmetic T>
  T item() const {
    const Array a = one_as(dtype_of<T>);
    return a.as<T>()[0];
  }

  // Views: the same elements, looked at in another way; nothing is copied.
  Tensor reshape(Shape shape) const;  // one length may be -1; copies where strides cannot say it
  Tensor flatten(int first = 0, int last = -1) const;
  Tensor transpose(int a = -2, int b = -1) const;
  Tensor permute(std::vector<int> axes) const;
  Tensor slice(std::vector<Slice> parts) const;  // one an axis, from the first; the rest whole
  Tensor slice(int axis, Slice part) const;
  Tensor select(int axis, int64_t index) const;  // one element of an axis, which goes
  // The same of axis 0: row `index`, which may count from the end.
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor squeeze() const;
  Tensor squeeze(int axis) const;
  Tensor unsqueeze(int axis) const;
  Tensor broadcast_to(Shape wanted) const;
  Tensor expand(Shape shape) const { return broadcast_to(std::move(shape)); }
  Tensor flip(std::vector<int> axes) const;

  Tensor to(DType dtype) const;  // converted
  // On another device: from one CUDA device to another at once, otherwise through the host.
  Tensor to(const Executor& executor) const;
  // On the device of executor_of(backend).
  Tensor to(BackendType backend) const;

  // Computes `value`, repeated and converted to this tensor's shape and dtype, and becomes it: the
  // memory is used again if nobody else holds it. What shared this value keeps it; if it fails, so
  // does this tensor.
  Tensor& assign(const Operand& value) &;

  Tensor& operator+=(const Operand& other) &;
  Tensor& operator-=(const Operand& other) &;
  Tensor& operator*=(const Operand& other) &;
  Tensor& operator/=(const Operand& other) &;

 private:
  friend struct graph::TensorAccess;
  void release_node() noexcept;  // of the node
  Array one_as(DType dtype) const;
  void copy_bytes_to(DType dtype, void* to, size_t count) const;

  graph::Node* node_ = nullptr;
  std::shared_ptr<const graph::View> view_;  // null: all of the node
};

// What an operation takes: a tensor, or a number that takes the dtype of the tensors beside it.
class HOLOGRAM_API Operand {
 public:
  Operand(const Tensor& tensor) : tensor_(tensor) {}
  Operand(Tensor&& tensor) : tensor_(std::move(tensor)) {}
  template <Arithmetic T>
  Operand(T number)
      : real_(static_cast<double>(number)),
        dtype_(std::is_same_v<T, bool> ? DType::Bool
               : std::is_integral_v<T> ? DType::I64
                                       : DType::F64) {
    if constexpr (std::is_integral_v<T>) integer_ = static_cast<int64_t>(number);
    if constexpr (std::is_unsigned_v<T>)
      if (integer_ < 0) dtype_ = DType::U64;
  }
  // Looks at the tensor, which has to outlive the operand: what an expression is made of does.
  static Operand borrowed(const Tensor& tensor) {
    Operand made;
    made.borrowed_ = &tensor;
    return made;
  }
  bool is_number() const { return dtype_ != DType::None; }
  const Tensor& tensor() const { return borrowed_ != nullptr ? *borrowed_ : tensor_; }
  // What sort of number: Bool, I64, U64 (an integer beyond int64_t) or F64.
  DType kind() const { return dtype_; }
  double real() const { return real_; }
  int64_t integer() const { return integer_; }  // of U64 its bits

 private:
  Operand() = default;

  Tensor tensor_;
  const Tensor* borrowed_ = nullptr;
  double real_ = 0;
  int64_t integer_ = 0;
  DType dtype_ = DType::None;
};

// The value as text, computed: dtype, shape, then the elements as nested lists, "f32[3] [1, 2, 3]".
// Floats have as few digits as tell them from their neighbours. Of more than 1000 elements the
// first and last three along each axis; only those are read.
HOLOGRAM_API std::string to_string(const Tensor& tensor);
HOLOGRAM_API std::ostream& operator<<(std::ostream& to, const Tensor& tensor);

// Computes several tensors at once, sharing what they have in common.
HOLOGRAM_API void eval(std::initializer_list<Tensor> tensors);
HOLOGRAM_API void eval(const std::vector<Tensor>& tensors);

struct ExplainOptions {
  // Of each product, convolution and the like, everybody who might compute it, in the order in
  // which they are asked, and why those do not who come before the one who does.
  bool candidates = false;
};

// The kernels that evaluating them would run, what each reads, writes and computes, and why values
// between them go through memory.
HOLOGRAM_API std::string explain(const std::vector<Tensor>& tensors, ExplainOptions options = {});
inline std::string explain(const Tensor& tensor, ExplainOptions options = {}) {
  return explain(std::vector<Tensor>{tensor}, options);
}

// The dtype that operands of these dtypes are brought to: the array API's rule, and of an integer
// and a float the float's. DTypeMismatch for u64 with a signed integer.
HOLOGRAM_API DType promote(DType a, DType b);

}  // namespace hologram
