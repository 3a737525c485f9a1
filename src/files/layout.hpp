// From the elements as a file stores them to a dense, row-major array of the host's byte order.
#pragma once

#include <bit>

#include "files/formats.hpp"

namespace hologram::files {

struct Layout {
  bool swapped = false;  // the other byte order
  bool fortran = false;  // the first axis is the innermost
};

// Host and files are little-endian unless a header says otherwise.
static_assert(std::endian::native == std::endian::little);

// Whether the elements lie in the file as they do in an Array.
bool is_dense(const Layout& layout, DType dtype, const Shape& shape);

// Copies elements, `from` of any alignment, to the fresh array `to`.
void convert(const std::byte* from, const Layout& layout, Array& to);

// The array at `offset` of the file, which holds all of it: mapped where it can be, else converted.
Array array_at(const Source& source, size_t offset, DType dtype, const Shape& shape,
               const Layout& layout);

// The number of bytes of the elements; an error that names the file if the shape is impossible.
size_t bytes_of(const Source& source, Format format, DType dtype, const Shape& shape);

}  // namespace hologram::files
