// What each operation ought to give: the oracle's side of the table of operations.
#pragma once

#include <span>

#include "graphs/description.hpp"
#include "graphs/field.hpp"

namespace hologram::graphs {

using Fields = std::span<const Field>;

Field right_elementwise(const Step& step, Fields x);

// Reductions over the axes in `integers`, kept if `flag`; norm's order is `real`.
enum class Reduction : uint8_t {
  Sum,
  Prod,
  Mean,
  Var,
  Std,
  Min,
  Max,
  Any,
  All,
  ArgMin,
  ArgMax,
  LogSumExp,
  Norm
};
template <Reduction kind>
Field right_reduction(const Step& step, Fields x);

// Along the axis integers[0].
template <bool logarithm>
Field right_softmax(const Step& step, Fields x);
template <bool product>
Field right_running(const Step& step, Fields x);
// Descending if `flag`.
template <bool positions>
Field right_sorted(const Step& step, Fields x);
Field right_search(const Step& step, Fields x);
Field right_matmul(const Step& step, Fields x);
Field right_gemm(const Step& step, Fields x);  // and gemv

// Elements in other places.
Field right_reshape(const Step& step, Fields x);
Field right_slice(const Step& step, Fields x);
Field right_permute(const Step& step, Fields x);
Field right_broadcast(const Step& step, Fields x);
Field right_concat(const Step& step, Fields x);
Field right_stack(const Step& step, Fields x);
Field right_pad(const Step& step, Fields x);
Field right_put(const Step& step, Fields x);
Field right_roll(const Step& step, Fields x);
Field right_repeat(const Step& step, Fields x);
Field right_tile(const Step& step, Fields x);
Field right_take(const Step& step, Fields x);
Field right_gather(const Step& step, Fields x);
template <bool adds>
Field right_scatter(const Step& step, Fields x);
Field right_cast(const Step& step, Fields x);
Field right_full(const Step& step, Fields x);
Field right_arange(const Step& step, Fields x);
Field right_linspace(const Step& step, Fields x);
Field right_eye(const Step& step, Fields x);

// A number as the operand of a dtype that can hold it.
Element element_of(const Number& number, DType dtype);

// The rows along some axes: the shape that stays, and the elements of each row in order.
struct Rows {
  Rows(const Shape& shape, std::span<const int64_t> axes);
  std::vector<std::vector<size_t>> rows;
};
Rows rows_along(const Shape& shape, int axis);

}  // namespace hologram::graphs
