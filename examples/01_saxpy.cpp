// An Atlas program from C++: a * x + y for three numbers, on the best device there is.
#include <cstdio>
#include <vector>

#include "hologram/hologram.hpp"

int main() {
  using hologram::Array;
  try {
    const auto saxpy = hologram::Program::parse(R"(
      program saxpy(in x: f32[n], inout y: f32[n], a: f32) lanes(n) {
        i = global_id.x
        if i < n { y[i] = fma(a, x[i], y[i]) }
      }
    )");
    const hologram::Executor executor;
    const auto outputs =
        executor.run(saxpy, {{"x", Array::from(std::vector<float>{1, 2, 3}, {3})},
                             {"y", Array::from(std::vector<float>{10, 20, 30}, {3})},
                             {"a", 2.0}});
    for (const float v : outputs.at("y").as<float>()) std::printf("%g\n", v);  // 12 24 36
  } catch (const hologram::Error& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), e.remedy().c_str());
    return 1;
  }
}
