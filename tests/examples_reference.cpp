#include "examples_reference.hpp"

#include <algorithm>
#include <cmath>

namespace hologram::reference {

float Picture::clamped(int y, int x, int k) const {
  return at(std::clamp(y, 0, h - 1), std::clamp(x, 0, w - 1), k);
}

Doubles bilateral(const Picture& src, float sigma_space, float sigma_range, int first, int last) {
  const double ss = sigma_space, sr = sigma_range;
  const int radius = static_cast<int>(std::ceil(2 * ss));
  Doubles out;
  out.reserve(static_cast<size_t>(last - first) * static_cast<size_t>(src.w * src.c));
  Doubles sum(static_cast<size_t>(src.c));
  for (int y = first; y < last; y++)
    for (int x = 0; x < src.w; x++) {
      std::fill(sum.begin(), sum.end(), 0.0);
      double total = 0;
      for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
          if (dx * dx + dy * dy > radius * radius) continue;
          double d = 0;
          for (int k = 0; k < src.c; k++) {
            const double e = double{src.clamped(y + dy, x + dx, k)} - src.at(y, x, k);
            d += e * e;
          }
          const double weight =
              std::exp(-(dx * dx + dy * dy) / (2 * ss * ss)) * std::exp(-d / (2 * sr * sr));
          total += weight;
          for (int k = 0; k < src.c; k++)
            sum[static_cast<size_t>(k)] += weight * src.clamped(y + dy, x + dx, k);
        }
      for (const double s : sum) out.push_back(s / total);
    }
  return out;
}

Doubles box_blur(const Picture& src, int radius) {
  Doubles out;
  for (int y = 0; y < src.h; y++)
    for (int x = 0; x < src.w; x++)
      for (int k = 0; k < src.c; k++) {
        double sum = 0;
        for (int dy = -radius; dy <= radius; dy++)
          for (int dx = -radius; dx <= radius; dx++) sum += src.clamped(y + dy, x + dx, k);
        out.push_back(sum / ((2 * radius + 1) * (2 * radius + 1)));
      }
  return out;
}

Doubles gaussian_blur(const Picture& src, float sigma) {
  const int radius = static_cast<int>(std::ceil(3 * double{sigma}));
  Doubles out;
  for (int y = 0; y < src.h; y++)
    for (int x = 0; x < src.w; x++)
      for (int k = 0; k < src.c; k++) {
        double sum = 0, total = 0;
        for (int dy = -radius; dy <= radius; dy++)
          for (int dx = -radius; dx <= radius; dx++) {
            const double weight = std::exp(-(dx * dx + dy * dy) / (2 * double{sigma} * sigma));
            sum += weight * src.clamped(y + dy, x + dx, k);
            total += weight;
          }
        out.push_back(sum / total);
      }
  return out;
}

Doubles sobel(const Picture& src, float gain) {
  const auto brightness = [&](int y, int x) {
    if (src.c < 3) return double{src.clamped(y, x, 0)};
    return 0.2126 * src.clamped(y, x, 0) + 0.7152 * src.clamped(y, x, 1) +
           0.0722 * src.clamped(y, x, 2);
  };
  Doubles out;
  for (int y = 0; y < src.h; y++)
    for (int x = 0; x < src.w; x++) {
      const double across = brightness(y - 1, x + 1) + 2 * brightness(y, x + 1) +
                            brightness(y + 1, x + 1) - brightness(y - 1, x - 1) -
                            2 * brightness(y, x - 1) - brightness(y + 1, x - 1);
      const double down = brightness(y + 1, x - 1) + 2 * brightness(y + 1, x) +
                          brightness(y + 1, x + 1) - brightness(y - 1, x - 1) -
                          2 * brightness(y - 1, x) - brightness(y - 1, x + 1);
      out.push_back(std::min(1.0, gain * std::hypot(across, down) / 4));
    }
  return out;
}

Doubles matmul(const std::vector<float>& a, const std::vector<float>& b, size_t m, size_t k,
               size_t n) {
  Doubles out;
  for (size_t row = 0; row < m; row++)
    for (size_t column = 0; column < n; column++) {
      double sum = 0;
      for (size_t i = 0; i < k; i++) sum += double{a[row * k + i]} * b[i * n + column];
      out.push_back(sum);
    }
  return out;
}

std::vector<uint32_t> histogram(const std::vector<float>& src, int bins) {
  std::vector<uint32_t> counts(static_cast<size_t>(bins), 0);
  for (const float v : src) {
    if (std::isnan(v)) continue;
    // The product is that of f32: a value on the edge of two bins must fall on the same side.
    const double bin = std::clamp<double>(std::floor(v * static_cast<float>(bins)), 0, bins - 1);
    counts[static_cast<size_t>(bin)]++;
  }
  return counts;
}

Doubles mandelbrot(int h, int w, float center_x, float center_y, float width, int rounds) {
  Doubles out;
  const float pixel = width / static_cast<float>(w);
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      const float re =
          std::fma(static_cast<float>(x) + 0.5f - 0.5f * static_cast<float>(w), pixel, center_x);
      const float im =
          std::fma(0.5f * static_cast<float>(h) - static_cast<float>(y) - 0.5f, pixel, center_y);
      float zr = 0, zi = 0, size = 0;
      int n = 0;
      while (n < rounds && size < 256) {
        const float next = zr * zr - zi * zi + re;
        zi = 2 * zr * zi + im;
        zr = next;
        size = zr * zr + zi * zi;
        n++;
      }
      if (size < 256) {
        out.insert(out.end(), 3, 0.0);
        continue;
      }
      const double smooth = n + 1 - std::log2(0.5 * std::log2(double{size}));
      const double t = 0.5 * std::sqrt(std::max(smooth, 0.0));
      out.push_back(0.5 - 0.5 * std::cos(t));
      out.push_back(0.5 - 0.5 * std::cos(0.8 * t));
      out.push_back(0.5 - 0.5 * std::cos(1.3 * t + 0.6));
    }
  return out;
}

}  // namespace hologram::reference
