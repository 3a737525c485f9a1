#include "files/layout.hpp"

#include <algorithm>
#include <cstring>

#include "core/messages.hpp"

namespace hologram::files {
namespace {

constexpr int64_t kTile = 32;

template <class T>
T load(const std::byte* from, bool swapped) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (sizeof(T) == 2) {
    if (swapped) value = __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    if (swapped) value = __builtin_bswap32(value);
  } else if constexpr (sizeof(T) == 8) {
    if (swapped) value = __builtin_bswap64(value);
  }
  return value;
}

// The first axis is innermost in the file, the last one in the array: these two are transposed in
// tiles that fit into the cache, for every index of the axes between them.
template <class T>
void from_fortran(const std::byte* from, bool swapped, const Shape& shape, T* to) {
  const size_t rank = shape.size();
  const int64_t rows = shape.front(), columns = shape.back();
  int64_t middle = 1;
  for (size_t i = 1; i + 1 < rank; i++) middle *= shape[i];
  const int64_t from_step = rows * middle;   // along the last axis
  const int64_t to_step = middle * columns;  // along the first axis
  std::vector<int64_t> index(rank, 0);
  for (int64_t m = 0; m < middle; m++) {
    // m counts the middle axes as the array does; `offset` is the same place in the file.
    int64_t offset = 0, stride = rows;
    for (size_t i = 1; i + 1 < rank; i++) {
      offset += index[i] * stride;
      stride *= shape[i];
    }
    for (int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (int64_t c0 = 0; c0 < columns; c0 += kTile)
        for (int64_t r = r0; r < std::min(rows, r0 + kTile); r++)
          for (int64_t c = c0; c < std::min(columns, c0 + kTile); c++)
            to[r * to_step + m * columns + c] = load<T>(
                from + (offset + r + c * from_step) * static_cast<int64_t>(sizeof(T)), swapped);
    for (size_t i = rank - 1; i-- > 1;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

template <class T>
void convert_as(const std::byte* from, const Layout& layout, Array& array) {
  T* to = reinterpret_cast<T*>(array.mutable_data());
  if (layout.fortran && array.shape().size() > 1) {
    from_fortran<T>(from, layout.swapped, array.shape(), to);
  } else {
    for (size_t i = 0; i < array.size(); i++) to[i] = load<T>(from + i * sizeof(T), layout.swapped);
  }
}

}  // namespace

bool is_dense(const Layout& layout, DType dtype, const Shape& shape) {
  if (layout.swapped && size_of(dtype) > 1) return false;
  if (!layout.fortran) return true;
  return std::count_if(shape.begin(), shape.end(), [](int64_t n) { return n != 1; }) <= 1;
}

void convert(const std::byte* from, const Layout& layout, Array& to) {
  if (to.size() == 0) return;
  if (is_dense(layout, to.dtype(), to.shape())) {
    std::memcpy(to.mutable_data(), from, to.bytes());
    return;
  }
  switch (size_of(to.dtype())) {
    case 1: return convert_as<uint8_t>(from, layout, to);
    case 2: return convert_as<uint16_t>(from, layout, to);
    case 4: return convert_as<uint32_t>(from, layout, to);
    default: return convert_as<uint64_t>(from, layout, to);
  }
}

Array array_at(const Source& source, size_t offset, DType dtype, const Shape& shape,
               const Layout& layout) {
  const std::byte* from = source.bytes.data() + offset;
  const bool aligned = reinterpret_cast<uintptr_t>(from) % size_of(dtype) == 0;
  if (source.owner && aligned && is_dense(layout, dtype, shape)) {
    if (source.writable)
      return Array::borrow(dtype, shape, const_cast<std::byte*>(from), source.owner);
    return Array::borrow(dtype, shape, from, source.owner);
  }
  Array array(dtype, shape);
  convert(from, layout, array);
  return array;
}

size_t bytes_of(const Source& source, Format format, DType dtype, const Shape& shape) {
  if (shape.size() > kMaxRank)
    unsupported(source, "an array of " + std::to_string(shape.size()) + " axes",
                "an array of at most " + std::to_string(kMaxRank));
  try {
    return static_cast<size_t>(count_of(shape)) * size_of(dtype);
  } catch (const Error& error) {
    damaged(source, format, error.what());
  }
}

}  // namespace hologram::files
