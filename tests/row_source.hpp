// An array in memory as the rows of a file.
#pragma once

#include "hologram/expression.hpp"

namespace hologram::tests {

inline RowSource source_of(const Array& array) {
  return {array.dtype(), array.shape(), array, [array](int64_t first, int64_t count) {
            Shape shape = array.shape();
            const size_t row = array.bytes() / static_cast<size_t>(shape[0]);
            shape[0] = count;
            return Array::borrow(array.dtype(), shape,
                                 static_cast<const void*>(array.data() + first * row));
          }};
}

}  // namespace hologram::tests
