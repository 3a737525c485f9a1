// The same calculations as one would write them by hand: fused loops over vectors, with the
// polynomials that the library uses, for the best instruction set of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace loops {

// out[i] for i in [begin, end); of rows: for the rows in it.
using Loop = void (*)(const float* const* in, float* out, size_t begin, size_t end, size_t columns);

constexpr float kEpsilon = 1e-5f;  // what layer_norm adds to a variance

const char* target();  // as Highway calls it

Loop add();
Loop fma();
Loop sigmoid();  // sigmoid(a * b + c) * d - e
Loop twelve();   // twelve operations on five operands
Loop gelu();     // x / 2 * (1 + erf(x / sqrt(2)))
Loop exp();
Loop sum();  // out[0]: of in[0][begin … end)
Loop dot();  // out[0]: of in[0] and in[1] there
Loop row_sums();
Loop softmax();
Loop layer_norm();  // of rows in in[0], times in[1], plus in[2]
Loop triad();       // a + 3 * b, the yardstick of memory bandwidth

}  // namespace loops
