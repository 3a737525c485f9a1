// The matrices of a product as they lie in memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hologram/hal/buffer.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::libraries {

// One operand: `batch` matrices of rows that are `row` elements apart.
struct MatrixView {
  const char* name;
  DType type;
  int64_t rows, columns, row, batch, stride;
};

inline std::array<MatrixView, 3> matrix_views(const hal::GemmDesc& d) {
  const bool ta = d.transpose_a, tb = d.transpose_b;
  return {{{"a", d.a, ta ? d.k : d.m, ta ? d.m : d.k, d.lda, d.batch, d.stride_a},
           {"b", d.b, tb ? d.n : d.k, tb ? d.k : d.n, d.ldb, d.batch, d.stride_b},
           {"d", d.d, d.m, d.n, d.ldd, d.batch, d.stride_d}}};
}

// Bytes from the first element to the end of the last.
inline __int128 extent(const MatrixView& s) {
  if (s.rows <= 0 || s.columns <= 0 || s.batch <= 0) return 0;
  const __int128 elements = static_cast<__int128>(s.batch - 1) * s.stride +
                            static_cast<__int128>(s.rows - 1) * s.row + s.columns;
  return elements * static_cast<int64_t>(size_of(s.type));
}

// Why no library can read or write matrices that lie so; empty if one can.
std::optional<hal::Refusal> malformed(const hal::GemmDesc& desc);

// Matrices a that follow each other and share b are one matrix.
hal::GemmDesc fold(hal::GemmDesc desc);

// InternalError if one of these, a, b and d, is beyond its memory.
void require_matrices_inside(const hal::GemmDesc& desc, std::span<const hal::Binding> operands);
void require_inside(const char* name, __int128 bytes, const hal::Binding& where);

// Where the operand is in the host's memory; InternalError if that is too small for it.
std::byte* data_of(const MatrixView& operand, const hal::Binding& binding);

}  // namespace hologram::libraries
