// Nodes whose elements depend on those before them in a row: running sums and order.
#pragma once

#include <memory>

#include "graph/opaque_op.hpp"

namespace hologram::graph {

// Of one dense input of the node's own shape and dtype, [outer, length, inner]: the sums, or
// products, up to and including each element along the middle axis.
std::unique_ptr<const OpaqueOp> scan_op(program::Combine combine);

// Of one dense input [rows, length]: each row sorted, or the i64 positions that sort it. Equal
// elements stay in order; NaN comes last, or first if descending.
std::unique_ptr<const OpaqueOp> sort_op(bool descending);
std::unique_ptr<const OpaqueOp> argsort_op(bool descending);

// For works: the i64 positions that sort so many elements, by programs.
void argsort(Context& context, DType dtype, int64_t count, const hal::Binding& x,
             const Storage& positions);

// Of one dense input [rows, length]: the i64 positions of the k first of each row in that order,
// [rows, k]. They may be found, and not yet be in order themselves, but equal ones; or in order,
// which takes longer the more they are, or as long as all in order would.
enum class FirstK : uint8_t { Found, InOrder, AtOnce };
FirstK how_first(Context& context, DType dtype, const Shape& rows, int64_t k);
std::unique_ptr<const OpaqueOp> first_op(bool descending);

// Of an array's elements, bool, and their running counts, i32 or i64, both dense: the i64 place of
// each that is true in the array, which has that shape: [found, axes]. Without the counts where
// they are not needed.
bool needs_counts(Context& context, const Shape& shape);
std::unique_ptr<const OpaqueOp> nonzero_op(Shape shape);

// Of a sorted vector and values of its dtype, both dense: the i64 position at which each would be
// inserted, before its equals or right them.
std::unique_ptr<const OpaqueOp> search_op(bool right);

}  // namespace hologram::graph
