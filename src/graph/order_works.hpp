// Nodes whose elements depend on those before them in a row: running sums and order.
#pragma once

#include <memory>

#include "graph/work.hpp"

namespace hologram::graph {

// Of one dense input of the node's own shape and dtype, [outer, length, inner]: the sums, or
// products, up to and including each element along the middle axis.
std::unique_ptr<const Work> scan_work(program::Combine combine);

// Of one dense input [rows, length]: each row sorted, or the i64 positions that sort it. Equal
// elements stay in order; NaN comes last, or first if descending.
std::unique_ptr<const Work> sort_work(bool descending);
std::unique_ptr<const Work> argsort_work(bool descending);

// For works: the i64 positions that sort so many elements, by programs.
void argsort(Context& context, DType dtype, int64_t count, const hal::Binding& x,
             const Storage& positions);

// Of one dense input [rows, length]: the i64 positions of the k first of each row in that order,
// [rows, k], not yet in order themselves, unless a library finds them; equal elements are.
std::unique_ptr<const Work> first_work(bool descending);
bool finds_first_in_order(Context& context, DType dtype, const Shape& rows, int64_t k);

// Of a sorted vector and values of its dtype, both dense: the i64 position at which each would be
// inserted, before its equals or behind them.
std::unique_ptr<const Work> search_work(bool behind);

}  // namespace hologram::graph
