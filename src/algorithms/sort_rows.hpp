// Sorting the rows of a dense matrix by programs.
#pragma once

#include "algorithms/sort_tiles.hpp"

namespace hologram::graph {

struct Storage;

// What is read or written for each element: the element itself, its key and where it was in the
// row, or, at the end, only that.
enum class Form : uint8_t { Elements, Keys, Positions };

struct SortKey {
  DType element, index;
  bool descending;
  uint8_t of_lane;  // elements of a tile
  Form from, to;

  Sorted sorted() const { return {element, descending, from == Form::Keys}; }
};

// Rows that a group of lanes has room for.
bool fits_a_group(Context& context, const SortKey& key, int64_t length);
// Of such: the first k of each in order, as elements or positions, by one launch.
void sort_by_groups(Context& context, SortKey key, int64_t rows, int64_t length, int64_t k,
                    const hal::Binding& x, const hal::Binding& result);
// Of any length, digit by digit.
void sort_by_digits(Context& context, SortKey key, int64_t rows, int64_t length,
                    const hal::Binding& x, const Storage& result);

}  // namespace hologram::graph
