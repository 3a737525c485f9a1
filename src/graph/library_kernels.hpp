// Kernels that a library may have, with the same bits: the sums of rows, or of their products with
// a vector or with rows of another matrix, and no more; sums of columns; copies of what lies
// otherwise.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "graph/layout.hpp"

namespace hologram::graph {

struct LibraryKernel {
  struct Operand {
    uint32_t load = 0;   // of the kernel
    uint64_t bytes = 0;  // of it, before what is read
  };
  std::variant<hal::RowsDesc, hal::ColumnsDesc, hal::CopyDesc> desc;
  std::array<Operand, 2> operands;
};

std::optional<LibraryKernel> library_kernel_of(const Kernel& kernel, const Layout& layout);

}  // namespace hologram::graph
