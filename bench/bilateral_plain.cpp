#include "bilateral_plain.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <thread>
#include <vector>

namespace plain {
namespace {

void filter_row(const float* src, float* dst, int h, int w, float sigma_space, float sigma_range,
                int y) {
  const int radius = static_cast<int>(std::ceil(2 * sigma_space));
  const float space = -0.5f / (sigma_space * sigma_space);
  const float range = -0.5f / (sigma_range * sigma_range);
  const auto pixel = [&](int py, int px) {
    return src + (static_cast<ptrdiff_t>(py) * w + px) * 3;
  };
  for (int x = 0; x < w; x++) {
    const float* p = pixel(y, x);
    float total = 0, r = 0, g = 0, b = 0;
    for (int dy = -radius; dy <= radius; dy++) {
      const int qy = std::clamp(y + dy, 0, h - 1);
      const int half = static_cast<int>(std::sqrt(static_cast<float>(radius * radius - dy * dy)));
      for (int dx = -half; dx <= half; dx++) {
        const float* q = pixel(qy, std::clamp(x + dx, 0, w - 1));
        const float dr = q[0] - p[0], dg = q[1] - p[1], db = q[2] - p[2];
        const float weight = std::exp(static_cast<float>(dx * dx + dy * dy) * space +
                                      (dr * dr + dg * dg + db * db) * range);
        total += weight;
        r += weight * q[0];
        g += weight * q[1];
        b += weight * q[2];
      }
    }
    float* out = dst + (static_cast<ptrdiff_t>(y) * w + x) * 3;
    out[0] = r / total;
    out[1] = g / total;
    out[2] = b / total;
  }
}

}  // namespace

void bilateral(const float* src, float* dst, int h, int w, float sigma_space, float sigma_range,
               int threads) {
  std::atomic<int> next{0};
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; i++)
    workers.emplace_back([&] {
      for (int y = next++; y < h; y = next++)
        filter_row(src, dst, h, w, sigma_space, sigma_range, y);
    });
  for (std::thread& worker : workers) worker.join();
}

}  // namespace plain
