#include "conformance/nn_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/wide.hpp"

namespace hologram::conformance::nn_oracle {

namespace {

// The place of an element, row by row.
template <class... N>
size_t at(N... pairs) {
  const int list[] = {pairs...};  // index, length, index, length, …
  size_t place = 0;
  for (size_t i = 0; i < sizeof...(pairs); i += 2)
    place = place * static_cast<size_t>(list[i + 1]) + static_cast<size_t>(list[i]);
  return place;
}
size_t count(std::initializer_list<int> lengths) {
  size_t n = 1;
  for (const int length : lengths) n *= static_cast<size_t>(length);
  return n;
}

}  // namespace

Reals reals_of(const Array& array) {
  Reals made(array.size());
  for (size_t i = 0; i < made.size(); i++)
    made[i] = static_cast<Real>(real_at(array.dtype(), array.data(), i));
  return made;
}

Reals swiglu(const Reals& x, int rows, int half) {
  Reals y;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < half; j++) {
      const Real gate = x[at(i, rows, j, 2 * half)];
      y.push_back(gate / (1 + std::exp(-gate)) * x[at(i, rows, j + half, 2 * half)]);
    }
  return y;
}

Reals linear(const Reals& x, const Reals& w, const Reals& b, int rows, int inputs, int outputs) {
  Reals y;
  for (int i = 0; i < rows; i++)
    for (int o = 0; o < outputs; o++) {
      Real sum = b[static_cast<size_t>(o)];
      for (int k = 0; k < inputs; k++)
        sum += x[at(i, rows, k, inputs)] * w[at(o, outputs, k, inputs)];
      y.push_back(std::max<Real>(sum, 0));
    }
  return y;
}

Reals convolution(const Reals& x, const Reals& w, const Reals& b, const Conv& c) {
  std::array<int, 3> out;
  for (size_t k = 0; k < 3; k++)
    out[k] = (c.input[k] + 2 * c.padding[k] - c.kernel[k]) / c.stride[k] + 1;
  const auto sum = [&](int n, int o, const std::array<int, 3>& place) {
    Real total = b[static_cast<size_t>(o)];
    for (int ch = 0; ch < c.channels; ch++)
      for (int i = 0; i < c.kernel[0]; i++)
        for (int j = 0; j < c.kernel[1]; j++)
          for (int k = 0; k < c.kernel[2]; k++) {
            const int z = place[0] * c.stride[0] + i - c.padding[0],
                      y = place[1] * c.stride[1] + j - c.padding[1],
                      v = place[2] * c.stride[2] + k - c.padding[2];
            if (z < 0 || z >= c.input[0] || y < 0 || y >= c.input[1] || v < 0 || v >= c.input[2])
              continue;
            total +=
                x[at(n, c.batch, ch, c.channels, z, c.input[0], y, c.input[1], v, c.input[2])] *
                w[at(o, c.outputs, ch, c.channels, i, c.kernel[0], j, c.kernel[1], k, c.kernel[2])];
          }
    return total;
  };
  Reals result;
  for (int n = 0; n < c.batch; n++)
    for (int o = 0; o < c.outputs; o++)
      for (int z = 0; z < out[0]; z++)
        for (int y = 0; y < out[1]; y++)
          for (int v = 0; v < out[2]; v++) result.push_back(sum(n, o, {z, y, v}));
  return result;
}

Reals transposed(const Reals& x, const Reals& w, const Transposed& t) {
  Reals result(count({t.batch, t.outputs, t.out_height, t.out_width}));
  for (int n = 0; n < t.batch; n++)
    for (int c = 0; c < t.channels; c++)
      for (int y = 0; y < t.height; y++)
        for (int v = 0; v < t.width; v++)
          for (int o = 0; o < t.outputs; o++)
            for (int i = 0; i < t.kernel; i++)
              for (int j = 0; j < t.kernel; j++) {
                const int row = y * t.stride + i - t.padding, column = v * t.stride + j - t.padding;
                if (row < 0 || row >= t.out_height || column < 0 || column >= t.out_width) continue;
                result[at(n, t.batch, o, t.outputs, row, t.out_height, column, t.out_width)] +=
                    x[at(n, t.batch, c, t.channels, y, t.height, v, t.width)] *
                    w[at(c, t.channels, o, t.outputs, i, t.kernel, j, t.kernel)];
              }
  return result;
}

Reals refolded(const Reals& x, int planes, int height, int width) {
  Reals y;
  for (int p = 0; p < planes; p++)
    for (int i = 0; i < height; i++)
      for (int j = 0; j < width; j++) {
        const int rows = std::min(i + 1, height - 1) - std::max(i - 1, 0) + 1,
                  columns = std::min(j + 1, width - 1) - std::max(j - 1, 0) + 1;
        y.push_back(x[at(p, planes, i, height, j, width)] * static_cast<Real>(rows * columns));
      }
  return y;
}

Reals pooled(const Reals& x, const Pool& p, bool indices) {
  const int reach = p.dilation * (p.kernel - 1) + 1, up = p.is_max ? 0 : p.stride - 1;
  const auto length = [&](int input) {
    const int n = (input + 2 * p.padding - reach + up) / p.stride + 1;
    return (n - 1) * p.stride >= input + p.padding ? n - 1 : n;
  };
  Reals result;
  for (int plane = 0; plane < p.planes; plane++)
    for (int row = 0; row < length(p.height); row++)
      for (int column = 0; column < length(p.width); column++) {
        Real best = -std::numeric_limits<Real>::infinity(), sum = 0;
        int inside = 0, where = 0;
        for (int i = 0; i < p.kernel; i++)
          for (int j = 0; j < p.kernel; j++) {
            const int y = row * p.stride + i * p.dilation - p.padding,
                      v = column * p.stride + j * p.dilation - p.padding;
            if (y < 0 || y >= p.height || v < 0 || v >= p.width) continue;
            const Real value = x[at(plane, p.planes, y, p.height, v, p.width)];
            sum += value;
            inside++;
            if (value > best) {
              best = value;
              where = y * p.width + v;
            }
          }
        result.push_back(indices ? where : p.is_max ? best : sum / inside);
      }
  return result;
}

Reals adapted(const Reals& x, int planes, int height, int width, int rows, int columns) {
  Reals result;
  for (int p = 0; p < planes; p++)
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < columns; j++) {
        Real sum = 0;
        int n = 0;
        for (int y = i * height / rows; y < ((i + 1) * height + rows - 1) / rows; y++)
          for (int v = j * width / columns; v < ((j + 1) * width + columns - 1) / columns; v++, n++)
            sum += x[at(p, planes, y, height, v, width)];
        result.push_back(sum / n);
      }
  return result;
}

Reals normalized(const Reals& x, const std::array<int, 3>& shape, const std::array<bool, 3>& over,
                 int along, const Reals& weight, const Reals& bias) {
  Reals y(x.size());
  const auto one = [&](const std::array<int, 3>& place) {
    Real sum = 0, squares = 0;
    int n = 0;
    const auto walk = [&](const auto& visit) {
      for (int i = 0; i < shape[0]; i++)
        for (int j = 0; j < shape[1]; j++)
          for (int k = 0; k < shape[2]; k++)
            if ((over[0] || i == place[0]) && (over[1] || j == place[1]) &&
                (over[2] || k == place[2]))
              visit(x[at(i, shape[0], j, shape[1], k, shape[2])]);
    };
    walk([&](Real v) {
      sum += v;
      n++;
    });
    const Real mean = sum / n;
    walk([&](Real v) { squares += (v - mean) * (v - mean); });
    const size_t i = at(place[0], shape[0], place[1], shape[1], place[2], shape[2]);
    const auto channel = static_cast<size_t>(place[static_cast<size_t>(along)]);
    y[i] = (x[i] - mean) / std::sqrt(squares / n + 1e-5L) * weight[channel] + bias[channel];
  };
  for (int i = 0; i < shape[0]; i++)
    for (int j = 0; j < shape[1]; j++)
      for (int k = 0; k < shape[2]; k++) one({i, j, k});
  return y;
}

Reals grouped(const Reals& x, const Reals& weight, const Reals& bias, int batch, int channels,
              int length, int groups) {
  const Reals ones(x.size(), 1), zeros(x.size(), 0);
  Reals y = normalized(x, {batch, groups, channels / groups * length}, {false, false, true}, 1,
                       ones, zeros);
  for (size_t i = 0; i < y.size(); i++) {
    const size_t channel = i / static_cast<size_t>(length) % static_cast<size_t>(channels);
    y[i] = y[i] * weight[channel] + bias[channel];
  }
  return y;
}

Reals running_variance(const Reals& x, const Reals& old, int batch, int channels, int length) {
  Reals y;
  for (int c = 0; c < channels; c++) {
    Real sum = 0, squares = 0;
    const int n = batch * length;
    for (int i = 0; i < n; i++) sum += x[at(i / length, batch, c, channels, i % length, length)];
    for (int i = 0; i < n; i++) {
      const Real d = x[at(i / length, batch, c, channels, i % length, length)] - sum / n;
      squares += d * d;
    }
    y.push_back(0.9L * old[static_cast<size_t>(c)] + 0.1L * squares / (n - 1));
  }
  return y;
}

Reals rms(const Reals& x, const Reals& weight, int rows, int columns) {
  Reals y;
  for (int i = 0; i < rows; i++) {
    Real squares = 0;
    for (int j = 0; j < columns; j++)
      squares += x[at(i, rows, j, columns)] * x[at(i, rows, j, columns)];
    for (int j = 0; j < columns; j++)
      y.push_back(x[at(i, rows, j, columns)] / std::sqrt(squares / columns + 1e-5L) *
                  weight[static_cast<size_t>(j)]);
  }
  return y;
}

Reals turned(const Reals& x, const Reals& cos, const Reals& sin, const Rope& r) {
  Reals y = x;
  const int half = r.dims / 2;
  for (int n = 0; n < r.batch; n++)
    for (int p = 0; p < r.length; p++)
      for (int i = 0; i < half; i++) {
        const int first = r.interleaved ? 2 * i : i, second = r.interleaved ? 2 * i + 1 : i + half;
        const size_t a = at(n, r.batch, p, r.length, first, r.features),
                     b = at(n, r.batch, p, r.length, second, r.features),
                     angle = at(p, r.length, i, half);
        y[a] = x[a] * cos[angle] - x[b] * sin[angle];
        y[b] = x[b] * cos[angle] + x[a] * sin[angle];
      }
  return y;
}

namespace {

// A query of an attention: each key's share, and how its score changes with the product.
struct AttentionRow {
  Reals shares, slopes;
  Real of_sink = 0;
};
AttentionRow attention_row(const std::vector<Reals>& x, const Attention& a, int n, int h, int q) {
  const int kh = h / (a.heads / a.key_heads);
  AttentionRow row;
  Real total = 0;
  for (int k = 0; k < a.keys; k++) {
    Real score = 0;
    for (int f = 0; f < a.features; f++)
      score += x[0][at(n, a.batch, h, a.heads, q, a.queries, f, a.features)] *
               x[1][at(n, a.batch, kh, a.key_heads, k, a.keys, f, a.features)];
    score /= std::sqrt(static_cast<Real>(a.features));
    const Real capped = a.softcap > 0 ? std::tanh(score / a.softcap) : 0;
    if (a.softcap > 0) score = a.softcap * capped;
    const int place = q + a.first;
    bool seen = (a.before < 0 || k >= place - a.before) && k <= place + a.after;
    if (a.mask >= 0) {
      const Real mask = x[static_cast<size_t>(a.mask)][at(q, a.queries, k, a.keys)];
      if (a.added) score += mask;
      else seen = seen && mask > 0;
    }
    row.shares.push_back(seen ? std::exp(score) : 0);
    row.slopes.push_back((1 - capped * capped) / std::sqrt(static_cast<Real>(a.features)));
    total += row.shares.back();
  }
  if (a.sinks >= 0) row.of_sink = std::exp(x[static_cast<size_t>(a.sinks)][static_cast<size_t>(h)]);
  total += row.of_sink;
  for (Real& share : row.shares) share = total == 0 ? 0 : share / total;
  row.of_sink = total == 0 ? 0 : row.of_sink / total;
  return row;
}

template <class Each>
void each_query(const Attention& a, const Each& each) {
  for (int n = 0; n < a.batch; n++)
    for (int h = 0; h < a.heads; h++)
      for (int q = 0; q < a.queries; q++) each(n, h, q);
}

}  // namespace

Reals attention(const std::vector<Reals>& x, const Attention& a) {
  Reals y;
  each_query(a, [&](int n, int h, int q) {
    const AttentionRow row = attention_row(x, a, n, h, q);
    const int kh = h / (a.heads / a.key_heads);
    for (int f = 0; f < a.values; f++) {
      Real sum = 0;
      for (int k = 0; k < a.keys; k++)
        sum += row.shares[static_cast<size_t>(k)] *
               x[2][at(n, a.batch, kh, a.key_heads, k, a.keys, f, a.values)];
      y.push_back(sum);
    }
  });
  return y;
}

Reals attention_changes(const std::vector<Reals>& x, const Attention& a) {
  Reals of_query(x[0].size()), of_key(x[1].size()), of_value(x[2].size());
  Reals of_sinks(a.sinks < 0 ? 0 : static_cast<size_t>(a.heads));
  const Reals& change = x.back();
  each_query(a, [&](int n, int h, int q) {
    const AttentionRow row = attention_row(x, a, n, h, q);
    const int kh = h / (a.heads / a.key_heads);
    const auto of_row = [&](int f) {
      return at(n, a.batch, h, a.heads, q, a.queries, f, a.values);
    };
    Reals of_shares;
    Real all = 0;
    for (int k = 0; k < a.keys; k++) {
      Real sum = 0;
      for (int f = 0; f < a.values; f++) {
        const size_t v = at(n, a.batch, kh, a.key_heads, k, a.keys, f, a.values);
        sum += change[of_row(f)] * x[2][v];
        of_value[v] += row.shares[static_cast<size_t>(k)] * change[of_row(f)];
      }
      of_shares.push_back(sum);
      all += row.shares[static_cast<size_t>(k)] * sum;
    }
    for (int k = 0; k < a.keys; k++) {
      const auto i = static_cast<size_t>(k);
      const Real of_product = row.shares[i] * (of_shares[i] - all) * row.slopes[i];
      for (int f = 0; f < a.features; f++) {
        const size_t mine = at(n, a.batch, h, a.heads, q, a.queries, f, a.features),
                     theirs = at(n, a.batch, kh, a.key_heads, k, a.keys, f, a.features);
        of_query[mine] += of_product * x[1][theirs];
        of_key[theirs] += of_product * x[0][mine];
      }
    }
    if (a.sinks >= 0) of_sinks[static_cast<size_t>(h)] -= row.of_sink * all;
  });
  for (const Reals* more : {&of_key, &of_value, &of_sinks})
    of_query.insert(of_query.end(), more->begin(), more->end());
  return of_query;
}

Reals cross_entropy(const Reals& x, int rows, int classes, double smoothing) {
  Reals y;
  for (int i = 0; i < rows; i++) {
    Real sum = 0, all = 0;
    for (int c = 0; c < classes; c++) sum += std::exp(x[at(i, rows, c, classes)]);
    for (int c = 0; c < classes; c++) all += std::log(sum) - x[at(i, rows, c, classes)];
    const Real one = std::log(sum) - x[at(i, rows, 2 * i + 1, classes)];
    y.push_back((1 - smoothing) * one + smoothing / classes * all);
  }
  return y;
}

Reals bilinear(const Reals& x, int planes, int height, int width, int rows, int columns) {
  Reals y;
  for (int p = 0; p < planes; p++)
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < columns; j++) {
        const Real row = static_cast<Real>(i) * (height - 1) / (rows - 1),
                   column = static_cast<Real>(j) * (width - 1) / (columns - 1);
        const int top = static_cast<int>(row), left = static_cast<int>(column);
        const Real down = row - top, right = column - left;
        const auto value = [&](int r, int c) {
          return x[at(p, planes, std::min(r, height - 1), height, std::min(c, width - 1), width)];
        };
        y.push_back((1 - down) * ((1 - right) * value(top, left) + right * value(top, left + 1)) +
                    down * ((1 - right) * value(top + 1, left) + right * value(top + 1, left + 1)));
      }
  return y;
}

}  // namespace hologram::conformance::nn_oracle
