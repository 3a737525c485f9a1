// The same calculations as one would write them by hand: fused loops over vectors, with the
// polynomials that the library uses, for the best instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loops {

// out[i] for i in [begin, end); of rows: for the rows in it.
using Loop = void (*)(const float* const* in, float* out, size_t begin, size_t end, size_t columns);

const char* target();  // as Highway calls it

Loop add();
Loop fma();
Loop sigmoid();  // sigmoid(a * b + c) * d - e
Loop twelve();   // twelve operations on five operands
Loop sum();      // out[0]: of in[0][begin … end)
Loop row_sums();
Loop softmax();
Loop triad();  // a + 3 * b, the yardstick of memory bandwidth

}  // namespace loops
