// Whether a picture is what the bilateral filter makes of another, by a float64 reference.
//
//   bilateral_check IN OUT SIGMA_SPACE SIGMA_RANGE
//
// Prints the largest error; exit code 1 if it is above 1/255, 2 for wrong usage.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "examples_reference.hpp"
#include "hologram/error.hpp"
#include "hologram/files.hpp"

namespace {

using hologram::reference::Picture;

Picture read(const char* path) {
  const hologram::Array array = hologram::files::read(path);
  const hologram::Shape& s = array.shape();
  if (s.size() != 3) {
    fmt::print(stderr, "bilateral_check: '{}' is not a picture\n", path);
    std::exit(2);
  }
  const auto values = array.as<float>();
  return {static_cast<int>(s[0]),
          static_cast<int>(s[1]),
          static_cast<int>(s[2]),
          {values.begin(), values.end()}};
}

double row_error(const Picture& in, const Picture& out, float space, float range, int y) {
  const auto row = hologram::reference::bilateral(in, space, range, y, y + 1);
  double worst = 0;
  for (size_t i = 0; i < row.size(); i++) {
    const double got = out.values[static_cast<size_t>(y) * row.size() + i];
    const double error = std::abs(got - row[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

int check(const Picture& in, const Picture& out, float space, float range) {
  if (in.h != out.h || in.w != out.w || in.c != out.c) {
    fmt::print("the pictures differ in size\n");
    return 1;
  }
  std::atomic<int> next{0};
  const unsigned count = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> worst(count, 0.0);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; i++)
    threads.emplace_back([&, i] {
      for (int y = next++; y < in.h; y = next++)
        worst[i] = std::max(worst[i], row_error(in, out, space, range, y));
    });
  for (std::thread& t : threads) t.join();
  double largest = 0;
  for (const double w : worst) largest = std::max(largest, w);
  fmt::print("largest error {:.6f}, allowed {:.6f} (1/255): {}\n", largest, 1.0 / 255,
             largest <= 1.0 / 255 ? "passed" : "FAILED");
  return largest <= 1.0 / 255 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: bilateral_check IN OUT SIGMA_SPACE SIGMA_RANGE\n");
    return 2;
  }
  try {
    return check(read(argv[1]), read(argv[2]), std::strtof(argv[3], nullptr),
                 std::strtof(argv[4], nullptr));
  } catch (const hologram::Error& e) {
    fmt::print(stderr, "bilateral_check: {}\n  {}\n", e.what(), e.remedy());
    return 1;
  }
}
