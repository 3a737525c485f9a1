// Kernels that a library may have, with the same bits: the sums of rows, or of their products with
// a vector or with rows of another matrix, and no more; sums of columns; copies of what lies
// otherwise, or is a part of what is put together.
#pragma once

#include <array>
#include <optional>

#include "fusion/layout.hpp"

namespace hologram::graph {

struct LibraryKernel {
  struct Operand {
    uint32_t load = 0;   // of the kernel
    uint64_t bytes = 0;  // of it, before what is read
  };
  hal::OpDesc desc;
  std::array<Operand, 2> operands;
  uint64_t to = 0;  // bytes of the result before what is written
};

std::optional<LibraryKernel> library_kernel_of(const Kernel& kernel, const Layout& layout);

// The sum of one row, or of the products of two, that are there: a library may have all of it. In a
// program its pieces would be one after the other the work of one group. `library` may be null.
bool library_adds_row(hal::LibraryOps* library, const Node& pieces, const Node& sum);

// Many long rows of a matrix that is there, times a vector: the library reads memory faster than a
// program does, and what follows is little.
bool library_adds_rows(hal::LibraryOps* library, const Node& sum);

}  // namespace hologram::graph
