// Kernels that are the sums of rows, or of their products with a vector or with rows of another
// matrix, and no more: a library may have them, with the same bits.
#pragma once

#include <optional>

#include "graph/layout.hpp"

namespace hologram::graph {

struct RowProducts {
  struct Operand {
    uint32_t load = 0;  // of the kernel
    int64_t offset = 0;
  };
  hal::RowsDesc desc;
  Operand a, x;
};

std::optional<RowProducts> row_products_of(const Kernel& kernel, const Layout& layout);

}  // namespace hologram::graph
