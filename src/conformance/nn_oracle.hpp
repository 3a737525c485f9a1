// Neural operations as plain loops over numbers.
#pragma once

#include <array>
#include <vector>

#include "hologram/array.hpp"

namespace hologram::conformance::nn_oracle {

using Real = long double;
using Reals = std::vector<Real>;

Reals reals_of(const Array& array);

template <class F>
Reals each(Reals x, const F& f) {
  for (Real& v : x) v = f(v);
  return x;
}
template <class F>
Reals both(Reals x, const Reals& y, const F& f) {
  for (size_t i = 0; i < x.size(); i++) x[i] = f(x[i], y[i]);
  return x;
}

Reals swiglu(const Reals& x, int rows, int half);
Reals linear(const Reals& x, const Reals& w, const Reals& b, int rows, int inputs, int outputs);

struct Conv {
  int batch, channels, outputs;
  std::array<int, 3> input, kernel, stride, padding;
};
Reals convolution(const Reals& x, const Reals& w, const Reals& b, const Conv& c);
struct Transposed {
  int batch, channels, outputs, height, width, kernel, stride, padding, out_height, out_width;
};
Reals transposed(const Reals& x, const Reals& w, const Transposed& t);
// Each element times the number of windows of 3 x 3, one apart, that it lies in.
Reals refolded(const Reals& x, int planes, int height, int width);

struct Pool {
  int planes, height, width, kernel, stride, padding, dilation;
  bool is_max;  // else the mean of what is inside, lengths rounded up
};
Reals pooled(const Reals& x, const Pool& p, bool indices);
Reals adapted(const Reals& x, int planes, int height, int width, int rows, int columns);

// Of axes, over some of them; weights and biases lie along one.
Reals normalized(const Reals& x, const std::array<int, 3>& shape, const std::array<bool, 3>& over,
                 int along, const Reals& weight, const Reals& bias);
Reals grouped(const Reals& x, const Reals& weight, const Reals& bias, int batch, int channels,
              int length, int groups);
Reals running_variance(const Reals& x, const Reals& old, int batch, int channels, int length);
Reals rms(const Reals& x, const Reals& weight, int rows, int columns);

struct Rope {
  int batch, length, features, dims;
  bool interleaved;
};
Reals turned(const Reals& x, const Reals& cos, const Reals& sin, const Rope& r);

struct Attention {
  int batch, heads, key_heads, queries, keys, features, values;
  int before, after;  // keys that are seen; before -1: all of them; after kAll: likewise
  double softcap = 0;
  int first = 0;       // the place of the first query among the keys
  int mask = -1;       // of queries and keys: the number of the operand
  bool added = false;  // it is added; otherwise keys are seen where it is above 0
  int sinks = -1;      // the number of the operand
  static constexpr int kAll = 1 << 20;
};
Reals attention(const std::vector<Reals>& x, const Attention& a);
// The gradients of query, key and value, and of the sinks, one behind the other, by the cotangent
// that is the last operand.
Reals attention_changes(const std::vector<Reals>& x, const Attention& a);

// Of the targets 1, 3, 5, …
Reals cross_entropy(const Reals& x, int rows, int classes, double smoothing);
// With the corners aligned.
Reals bilinear(const Reals& x, int planes, int height, int width, int rows, int columns);

}  // namespace hologram::conformance::nn_oracle
