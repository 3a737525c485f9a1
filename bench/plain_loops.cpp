// Loops that are left to the compiler, which may contract and, where a pragma says so, reorder
// sums. PLAIN is the namespace.
#include "plain_loops.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace PLAIN {
namespace {

using In = const float* const*;

void add_loop(In in, float* __restrict out, size_t begin, size_t end, size_t) {
  const float *a = in[0], *b = in[1];
  for (size_t i = begin; i < end; i++) out[i] = a[i] + b[i];
}

void fma_loop(In in, float* __restrict out, size_t begin, size_t end, size_t) {
  const float *a = in[0], *b = in[1], *c = in[2];
  for (size_t i = begin; i < end; i++) out[i] = a[i] * b[i] + c[i];
}

void sigmoid_loop(In in, float* __restrict out, size_t begin, size_t end, size_t) {
  const float *a = in[0], *b = in[1], *c = in[2], *d = in[3], *e = in[4];
  for (size_t i = begin; i < end; i++)
    out[i] = 1 / (1 + std::exp(-(a[i] * b[i] + c[i]))) * d[i] - e[i];
}

void twelve_loop(In in, float* __restrict out, size_t begin, size_t end, size_t) {
  const float *a = in[0], *b = in[1], *c = in[2], *d = in[3], *e = in[4];
  for (size_t i = begin; i < end; i++) {
    float t = (a[i] * b[i] + c[i]) * d[i] - e[i];
    t = (t > 0 ? t : 0) * 0.5f + a[i];
    t = std::sqrt(std::abs(t)) - b[i];
    t *= t;
    out[i] = t < 4 ? t : 4;
  }
}

void gelu_loop(In in, float* __restrict out, size_t begin, size_t end, size_t) {
  const float* x = in[0];
  for (size_t i = begin; i < end; i++)
    out[i] = x[i] / 2 * (1 + std::erf(x[i] * (1 / std::numbers::sqrt2_v<float>)));
}

void exp_loop(In in, float* __restrict out, size_t begin, size_t end, size_t) {
  const float* x = in[0];
  for (size_t i = begin; i < end; i++) out[i] = std::exp(x[i]);
}

// In blocks, so that a sum of millions does not swallow what is added.
constexpr size_t kBlock = 4096;

template <class Fn>
float sum_of(size_t begin, size_t end, Fn fn) {
  float sum = 0;
  for (size_t from = begin; from < end; from += kBlock) {
    const size_t to = std::min(from + kBlock, end);
    float block = 0;
#pragma omp simd reduction(+ : block)
    for (size_t i = from; i < to; i++) block += fn(i);
    sum += block;
  }
  return sum;
}

void sum_loop(In in, float* out, size_t begin, size_t end, size_t) {
  const float* x = in[0];
  *out = sum_of(begin, end, [x](size_t i) { return x[i]; });
}

void dot_loop(In in, float* out, size_t begin, size_t end, size_t) {
  const float *a = in[0], *b = in[1];
  *out = sum_of(begin, end, [a, b](size_t i) { return a[i] * b[i]; });
}

void row_sums_loop(In in, float* out, size_t begin, size_t end, size_t columns) {
  const float* x = in[0];
  for (size_t row = begin; row < end; row++)
    out[row] = sum_of(row * columns, (row + 1) * columns, [x](size_t i) { return x[i]; });
}

void softmax_loop(In in, float* out, size_t begin, size_t end, size_t columns) {
  for (size_t row = begin; row < end; row++) {
    const float* x = in[0] + row * columns;
    float* __restrict y = out + row * columns;
    float most = x[0];
#pragma omp simd reduction(max : most)
    for (size_t j = 0; j < columns; j++) most = x[j] > most ? x[j] : most;
    for (size_t j = 0; j < columns; j++) y[j] = std::exp(x[j] - most);
    const float scale = 1 / sum_of(0, columns, [y](size_t j) { return y[j]; });
    for (size_t j = 0; j < columns; j++) y[j] *= scale;
  }
}

void layer_norm_loop(In in, float* out, size_t begin, size_t end, size_t columns) {
  const float *weight = in[1], *bias = in[2];
  const auto count = static_cast<float>(columns);
  for (size_t row = begin; row < end; row++) {
    const float* x = in[0] + row * columns;
    float* __restrict y = out + row * columns;
    const float mean = sum_of(0, columns, [x](size_t j) { return x[j]; }) / count;
    const float squares =
        sum_of(0, columns, [x, mean](size_t j) { return (x[j] - mean) * (x[j] - mean); });
    const float scale = 1 / std::sqrt(squares / count + loops::kEpsilon);
    for (size_t j = 0; j < columns; j++) y[j] = (x[j] - mean) * scale * weight[j] + bias[j];
  }
}

}  // namespace

Loop add() { return add_loop; }
Loop fma() { return fma_loop; }
Loop sigmoid() { return sigmoid_loop; }
Loop twelve() { return twelve_loop; }
Loop gelu() { return gelu_loop; }
Loop exp() { return exp_loop; }
Loop sum() { return sum_loop; }
Loop dot() { return dot_loop; }
Loop row_sums() { return row_sums_loop; }
Loop softmax() { return softmax_loop; }
Loop layer_norm() { return layer_norm_loop; }

}  // namespace PLAIN
