// What the example programs compute, written as plain loops in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hologram::reference {

// Row-major [h, w, c].
struct Picture {
  int h = 0, w = 0, c = 0;
  std::vector<float> values;
  float at(int y, int x, int k) const {
    return values[(static_cast<size_t>(y) * static_cast<size_t>(w) + static_cast<size_t>(x)) *
                      static_cast<size_t>(c) +
                  static_cast<size_t>(k)];
  }
  // The pixel on the border for one beyond it.
  float clamped(int y, int x, int k) const;
};

using Doubles = std::vector<double>;

// Rows [first, last) of the filtered picture.
Doubles bilateral(const Picture& src, float sigma_space, float sigma_range, int first, int last);
Doubles box_blur(const Picture& src, int radius);
Doubles gaussian_blur(const Picture& src, float sigma);
Doubles sobel(const Picture& src, float gain);
Doubles matmul(const std::vector<float>& a, const std::vector<float>& b, size_t m, size_t k,
               size_t n);
std::vector<uint32_t> histogram(const std::vector<float>& src, int bins);

// Rounds are counted in f32, whose arithmetic is the same everywhere; a pixel on the border of the
// set would else come out differently. The colours are float64.
Doubles mandelbrot(int h, int w, float center_x, float center_y, float width, int rounds);

// In f32, step by step as the program does it.
std::vector<float> pathtracer(int h, int w, int samples, uint32_t seed);

}  // namespace hologram::reference
