#include "hologram/array.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/messages.hpp"
#include "core/pages.hpp"

namespace hologram {
namespace {

constexpr size_t kHugeFrom = size_t{4} << 20;

// Anonymous pages: zero without being written, given back to the system when released.
std::shared_ptr<void> allocate_zeros(size_t bytes) {
  if (bytes == 0) return {};
  void* memory = core::allocate_pages(bytes);
  if (memory == nullptr)
    throw core::error(core::Text::OutOfMemory, "the host", bytes, std::string());
  if (bytes >= kHugeFrom) core::prefer_huge_pages(memory, bytes);
  return {memory, [bytes](void* p) { core::release_pages(p, bytes); }};
}

}  // namespace

int64_t count_of(const Shape& shape) {
  // Bytes are counted in 64 bits, and, where there are no more, in 32.
  constexpr auto kMax = static_cast<int64_t>(std::min<uint64_t>(uint64_t{1} << 59, SIZE_MAX / 8));
  if (shape.size() > kMaxRank) throw core::error(core::Text::BadShape, to_string(shape), kMaxRank);
  int64_t count = 1;
  bool zero = false;
  for (const int64_t n : shape) {
    if (n < 0) throw core::error(core::Text::BadShape, to_string(shape), kMaxRank);
    if (n == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(count, n, &count) || count > kMax) {
      throw core::error(core::Text::BadShape, to_string(shape), kMaxRank);
    }
  }
  return zero ? 0 : count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); i++) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Array::Array(DType dtype, Shape shape)
    : dtype_(dtype),
      writable_(true),
      shape_(std::move(shape)),
      size_(static_cast<size_t>(count_of(shape_))) {
  std::shared_ptr<void> memory = allocate_zeros(bytes());
  data_ = static_cast<std::byte*>(memory.get());
  owner_ = std::move(memory);
}

Array Array::borrow(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Array array = borrow(dtype, std::move(shape), static_cast<const void*>(data), std::move(owner));
  array.writable_ = true;
  return array;
}

Array Array::borrow(DType dtype, Shape shape, const void* data, std::shared_ptr<const void> owner) {
  if (const auto at = reinterpret_cast<uintptr_t>(data);
      dtype != DType::None && at % size_of(dtype) != 0)
    throw core::error(core::Text::ArrayMisaligned, name_of(dtype), size_of(dtype), data);
  Array array;
  array.dtype_ = dtype;
  array.shape_ = std::move(shape);
  array.size_ = static_cast<size_t>(count_of(array.shape_));
  // Written to only where the other overload has set writable_.
  array.data_ = static_cast<std::byte*>(const_cast<void*>(data));
  array.owner_ = std::move(owner);
  return array;
}

Array Array::borrow(DType dtype, Shape shape, const void* data, std::shared_ptr<const void> owner,
                    size_t count) {
  Array array = borrow(dtype, std::move(shape), data, std::move(owner));
  if (array.size() != count)
    throw core::error(core::Text::ElementCount, count, to_string(array.shape()), array.size());
  return array;
}

Array Array::copy_of(DType dtype, Shape shape, const void* data, size_t count) {
  Array array(dtype, std::move(shape));
  if (array.size() != count)
    throw core::error(core::Text::ElementCount, count, to_string(array.shape()), array.size());
  if (count > 0) std::memcpy(array.data_, data, array.bytes());
  return array;
}

std::byte* Array::mutable_data() {
  if (!writable_) throw core::error(core::Text::ArrayReadOnly);
  return data_;
}

Array Array::reshaped(Shape shape) const {
  Array array = *this;
  const auto count = static_cast<size_t>(count_of(shape));
  if (count != size_) throw core::error(core::Text::ElementCount, size_, to_string(shape), count);
  array.shape_ = std::move(shape);
  return array;
}

void Array::check_dtype(DType wanted) const {
  if (wanted != dtype_) throw core::error(core::Text::ArrayDType, name_of(dtype_), name_of(wanted));
}

}  // namespace hologram
