// Every program in examples/ against plain loops in float64, at sizes that are multiples of
// nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "examples_reference.hpp"
#include "hologram/hologram.hpp"

namespace hologram {
namespace {

using reference::Doubles;
using reference::Picture;

Program example(const std::string& name) {
  const std::string path = HOLOGRAM_EXAMPLES "/" + name;
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return Program::parse(text.str(), name);
}

// The same numbers on every machine: values k / 4096 in 0..1.
std::vector<float> numbers(size_t count, uint32_t seed = 1) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 20) / 4096.0f;
  }
  return values;
}

Picture picture(int h, int w, int c) {
  return {h, w, c, numbers(static_cast<size_t>(h) * static_cast<size_t>(w * c))};
}

Array array(const Picture& p) { return Array::from(p.values, {p.h, p.w, p.c}); }

double largest_error(std::span<const float> got, const Doubles& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  double worst = 0;
  for (size_t i = 0; i < std::min(got.size(), wanted.size()); i++) {
    const double error = std::abs(double{got[i]} - wanted[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

struct Size {
  int h, w, c;
};
const std::vector<Size> kSizes = {{1, 1, 3},   {37, 23, 3}, {23, 37, 1},
                                  {5, 300, 4}, {3, 70, 2},  {65, 1, 3}};

TEST(Examples, Bilateral) {
  const Program program = example("atlas/bilateral.atlas");
  for (const auto [h, w, c] : kSizes)
    for (const float sigma : {0.7f, 2.0f}) {
      const Picture src = picture(h, w, c);
      const auto out = Executor().run(
          program, {{"src", array(src)}, {"sigma_space", sigma}, {"sigma_range", 0.15f}});
      EXPECT_LT(
          largest_error(out.at("dst").as<float>(), reference::bilateral(src, sigma, 0.15f, 0, h)),
          2e-6)
          << h << " " << w << " " << c;
    }
}

TEST(Examples, BilateralRefusesWhatItCannotDo) {
  const Program program = example("atlas/bilateral.atlas");
  EXPECT_THROW(Executor().run(program, {{"src", array(picture(2, 2, 5))}}), Error);
  EXPECT_THROW(Executor().run(program, {{"src", array(picture(2, 2, 3))}, {"sigma_space", 0}}),
               Error);
}

TEST(Examples, BoxBlur) {
  const Program program = example("atlas/box_blur.atlas");
  for (const auto [h, w, c] : kSizes)
    for (const int radius : {0, 1, 4}) {
      const Picture src = picture(h, w, c);
      const auto out = Executor().run(program, {{"src", array(src)}, {"radius", radius}});
      EXPECT_LT(largest_error(out.at("dst").as<float>(), reference::box_blur(src, radius)), 2e-6);
    }
}

TEST(Examples, GaussianBlur) {
  const Program program = example("atlas/gaussian_blur.atlas");
  for (const auto [h, w, c] : kSizes) {
    const Picture src = picture(h, w, c);
    const auto out = Executor().run(program, {{"src", array(src)}, {"sigma", 1.3f}});
    EXPECT_LT(largest_error(out.at("dst").as<float>(), reference::gaussian_blur(src, 1.3f)), 2e-6);
  }
}

TEST(Examples, Sobel) {
  const Program program = example("atlas/sobel.atlas");
  for (const auto [h, w, c] : kSizes) {
    const Picture src = picture(h, w, c);
    const auto out = Executor().run(program, {{"src", array(src)}, {"gain", 1.5f}});
    EXPECT_LT(largest_error(out.at("dst").as<float>(), reference::sobel(src, 1.5f)), 2e-6);
  }
}

TEST(Examples, Saxpy) {
  const Program program = example("atlas/saxpy.atlas");
  for (const int n : {0, 1, 255, 257, 100003}) {
    const auto x = numbers(static_cast<size_t>(n), 1), y = numbers(static_cast<size_t>(n), 2);
    const auto out = Executor().run(
        program, {{"x", Array::from(x, {n})}, {"y", Array::from(y, {n})}, {"a", -2.5f}});
    const auto got = out.at("y").as<float>();
    for (size_t i = 0; i < x.size(); i++) ASSERT_EQ(got[i], std::fma(-2.5f, x[i], y[i])) << i;
  }
}

// |error of a sum| <= 2 eps log2(n) sum |x|.
TEST(Examples, Reduce) {
  const Program program = example("atlas/reduce.atlas");
  for (const int n : {0, 1, 255, 256, 257, 100003})
    for (const int groups : {1, 3, 64}) {
      const auto x = numbers(static_cast<size_t>(n));
      const auto partial =
          Executor().run(program, {{"x", Array::from(x, {n})}, {"groups", groups}});
      const auto whole = Executor().run(program, {{"x", partial.at("sums")}, {"groups", 1}});
      double sum = 0;
      for (const float v : x) sum += v;
      const double bound = 2 * 0x1p-24 * std::log2(n + 2) * sum;
      EXPECT_NEAR(whole.at("sums").as<float>()[0], sum, bound) << n << " " << groups;
      double of_partial = 0;
      for (const float v : partial.at("sums").as<float>()) of_partial += v;
      EXPECT_NEAR(of_partial, sum, bound) << n << " " << groups;
    }
}

TEST(Examples, Matmul) {
  const Program program = example("atlas/matmul.atlas");
  const std::vector<std::array<size_t, 3>> sizes = {{1, 1, 1},    {16, 16, 16}, {17, 5, 31},
                                                    {37, 23, 41}, {1, 100, 3},  {64, 1, 33}};
  for (const auto& [m, k, n] : sizes) {
    auto a = numbers(m * k, 1), b = numbers(k * n, 2);
    for (float& v : a) v -= 0.5f;
    const auto length = [](size_t l) { return static_cast<int64_t>(l); };
    const auto out = Executor().run(program, {{"a", Array::from(a, {length(m), length(k)})},
                                              {"b", Array::from(b, {length(k), length(n)})}});
    EXPECT_LT(largest_error(out.at("c").as<float>(), reference::matmul(a, b, m, k, n)),
              0x1p-24 * static_cast<double>(k) + 1e-30)
        << m << " " << k << " " << n;
  }
  // Nothing to add up.
  const auto out =
      Executor().run(program, {{"a", Array(DType::F32, {3, 0})}, {"b", Array(DType::F32, {0, 2})}});
  for (const float v : out.at("c").as<float>()) EXPECT_EQ(v, 0.0f);
}

TEST(Examples, Histogram) {
  const Program program = example("atlas/histogram.atlas");
  for (const int n : {0, 1, 255, 257, 4096, 4097, 100003})
    for (const int bins : {1, 7, 256, 1000}) {
      auto src = numbers(static_cast<size_t>(n));
      if (n > 200) {
        src[7] = -3.0f;
        src[100] = 1.0f;
        src[150] = 99.0f;
        src[200] = std::numeric_limits<float>::quiet_NaN();
      }
      const auto out = Executor().run(program, {{"src", Array::from(src, {n})}, {"bins", bins}});
      const auto wanted = reference::histogram(src, bins);
      const auto got = out.at("counts").as<uint32_t>();
      EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()))
          << n << " " << bins;
    }
}

TEST(Examples, Mandelbrot) {
  const Program program = example("atlas/mandelbrot.atlas");
  for (const auto [h, w, c] : kSizes) {
    const auto out = Executor().run(program, {{"h", h}, {"w", w}, {"rounds", 120}});
    EXPECT_LT(largest_error(out.at("picture").as<float>(),
                            reference::mandelbrot(h, w, -0.65f, 0.0f, 3.2f, 120)),
              1e-5);
  }
}

// A difference in the last bit of a cosine can send a path elsewhere, so that a few values may
// differ; nearly all must agree, and the light as a whole.
TEST(Examples, Pathtracer) {
  const Program program = example("atlas/pathtracer.atlas");
  const int h = 37, w = 53;
  for (const uint32_t seed : {1u, 77u}) {
    const auto out = Executor().run(program, {{"h", h}, {"w", w}, {"samples", 5}, {"seed", seed}});
    const auto got = out.at("picture").as<float>();
    const auto wanted = reference::pathtracer(h, w, 5, seed);
    ASSERT_EQ(got.size(), wanted.size());
    size_t apart = 0;
    double sum_got = 0, sum_wanted = 0;
    for (size_t i = 0; i < wanted.size(); i++) {
      ASSERT_GE(got[i], 0.0f);
      ASSERT_LE(got[i], 1.0f);
      apart += std::abs(got[i] - wanted[i]) > 1e-4f;
      sum_got += got[i];
      sum_wanted += wanted[i];
    }
    EXPECT_LT(static_cast<double>(apart), 0.01 * static_cast<double>(wanted.size()));
    EXPECT_NEAR(sum_got / sum_wanted, 1.0, 1e-3);
  }
}

TEST(Examples, SceneIsWithinRangeAndNoisyAsAsked) {
  const Program program = example("scene.atlas");
  const auto clean = Executor().run(program, {{"h", 33}, {"w", 47}, {"noise_level", 0.0f}});
  const auto noisy = Executor().run(program, {{"h", 33}, {"w", 47}, {"noise_level", 0.02f}});
  const auto a = clean.at("picture").as<float>(), b = noisy.at("picture").as<float>();
  double squares = 0;
  size_t count = 0;
  for (size_t i = 0; i < a.size(); i++) {
    ASSERT_GE(b[i], 0.0f);
    ASSERT_LE(b[i], 1.0f);
    if (a[i] < 0.1f || a[i] > 0.9f) continue;  // there the noise is cut off
    squares += (b[i] - a[i]) * (b[i] - a[i]);
    count++;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 0.02, 0.001);
}

}  // namespace
}  // namespace hologram
