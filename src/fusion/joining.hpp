// What the scheduler asks of a kernel under way and of a node that may join it.
#pragma once

#include <vector>

#include "fusion/terms.hpp"

namespace hologram::graph {

bool ends_with(const Shape& shape, const Shape& end);

// A number beside tensors: an argument of kernels, in the width that they compute in beside 16-bit
// floats.
bool is_number(const Node& node);

// Whether to compute it again for each element that it is repeated for would be a waste.
bool is_costly(const Node& node);
// Whether it is a function of few steps of what is costly, not of a reduction, and of what is no
// larger: where that goes through memory, this may go instead.
bool follows_what_is_costly(const Node& node);
// What is cheap and made of less memory than it takes, as a cast to a wider type: each kernel that
// uses it computes it.
bool is_read_in_less(const Node& node);

// Reductions of the same rows, in the same pieces, for the same guard.
bool are_siblings(const Node& a, const Node& b);

// A value that is the same along the last axes and comes out of a reduction over them is computed
// once a row: makes the kernel one over rows before the reduction itself is met.
void foresee_row(Draft& draft, const Node& node, const std::vector<View>& ways);

// Whether each element of the node is met once when the kernel walks its domain.
bool covers(const Draft& draft, const Node& node, const View& way);

// By pieces or without, as the other rows of the kernel.
bool has_way_of(const Draft& draft, const Node& node);

// Pieces that are nodes of their own are gathered for one reduction, and nothing else.
bool combines_partials_alone(const Draft& draft);

// What is one a row of this kernel may be stored by it, whoever else needs it. `way` is how the
// kernel looks at it.
bool stores_rows(const Draft& draft, const View& way);

// Few elements that nobody of the same calculation needs may be made beside those of a kernel that
// makes as many. How that kernel, which walks so many, looks at them; empty if it does not.
std::optional<View> way_beside(const Draft& draft, const Node& node);

}  // namespace hologram::graph
