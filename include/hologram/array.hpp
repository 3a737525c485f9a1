// Arrays in host memory: what goes into a program and comes out of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "hologram/dtype.hpp"
#include "hologram/shape.hpp"

namespace hologram {

// A dense, row-major array. Copies share the memory, as with std::shared_ptr; nothing is ever
// copied behind your back.
class HOLOGRAM_API Array {
 public:
  Array() = default;

  // Fresh zeros, aligned to 4096 bytes. OutOfMemory if there is not enough.
  Array(DType dtype, Shape shape);

  // Somebody else's memory, which `owner` (may be empty) keeps alive. InvalidArgument unless `data`
  // is aligned to the element size.
  static Array borrow(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner = {});
  static Array borrow(DType dtype, Shape shape, const void* data,
                      std::shared_ptr<const void> owner = {});

  // The same, of so many elements: ShapeMismatch if the shape has another number.
  static Array borrow(DType dtype, Shape shape, const void* data, std::shared_ptr<const void> owner,
                      size_t count);

  // A copy of `values`; their number must be that of the shape.
  template <class T>
  static Array from(std::span<const T> values, Shape shape) {
    return copy_of(dtype_of<T>, std::move(shape), values.data(), values.size());
  }
  template <class T>
  static Array from(const std::vector<T>& values, Shape shape) {
    return from(std::span<const T>(values), std::move(shape));
  }

  bool empty() const { return data_ == nullptr && bytes() == 0; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t size() const { return size_; }  // elements
  size_t bytes() const { return size_ * size_of(dtype_); }
  bool writable() const { return writable_; }

  const std::byte* data() const { return data_; }
  std::byte* mutable_data();  // InvalidArgument if the memory is read-only

  // The elements; DTypeMismatch unless T is the element type.
  template <class T>
  std::span<const T> as() const {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(data_), size_};
  }
  template <class T>
  std::span<T> mutable_as() {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(mutable_data()), size_};
  }

  // The same memory with another shape of as many elements.
  Array reshaped(Shape shape) const;

 private:
  static Array copy_of(DType dtype, Shape shape, const void* data, size_t count);
  void check_dtype(DType wanted) const;

  DType dtype_ = DType::None;
  bool writable_ = false;
  Shape shape_;
  size_t size_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace hologram
