// A program of one's own between tensors: heat that spreads over a plate. What is a formula is left
// to tensors; what looks at neighbours is an Atlas program; a third one comes from the library.
#include <cstdio>
#include <utility>

#include "hologram/hologram.hpp"

int main() {
  using namespace hologram;
  try {
    const Program spread = Program::parse(R"(
      // One step in time: a point moves towards the mean of its neighbours, the edge is closed.
      program spread(in old: f32[h, w], out next: f32[h, w], speed: f32 = 0.2)
          workgroup(64, 4) lanes(w, h) {
        x = global_id.x
        y = global_id.y
        if x < w && y < h {
          here = old[y, x]
          left = x > 0 ? old[y, x - 1] : here
          right = x < w - 1 ? old[y, x + 1] : here
          above = y > 0 ? old[y - 1, x] : here
          below = y < h - 1 ? old[y + 1, x] : here
          next[y, x] = here + speed * (left + right + above + below - 4.0 * here)
        }
      }
    )");

    // A hot spot in the middle of 64 x 96 points, as a formula.
    const Tensor y = ops::arange(64).reshape({64, 1}), x = ops::arange(96);
    const Tensor distance = ops::hypot(y - 31.5, x - 47.5);
    const Tensor start = ops::where(distance < 8, 100.0, 20.0);

    const Executor& executor = default_executor();
    Array plate = start.array();
    for (int step = 0; step < 500; step++)
      plate = executor.run(spread, {{"old", plate}}).at("next");

    const Tensor end = Tensor::from(plate);
    std::printf("before: mean %.3f, hottest %.1f\n", ops::mean(start).item<float>(),
                ops::max(start).item<float>());
    std::printf("after:  mean %.3f, hottest %.1f\n", ops::mean(end).item<float>(),
                ops::max(end).item<float>());
    const auto place = ops::argmax(end).item<int64_t>();
    std::printf("hottest at row %d, column %d\n", static_cast<int>(place / 96),
                static_cast<int>(place % 96));

    // Programs of one operation are there already, by name.
    const Array flat = plate.reshaped({64 * 96});
    const Array cooler =
        executor
            .run(program::library("atlas_clamp_f32"), {{"a", flat}, {"low", 0.0}, {"high", 30.0}})
            .at("y");
    std::printf("clamped: hottest %.1f\n", ops::max(Tensor::from(cooler)).item<float>());
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), e.remedy().c_str());
    return 1;
  }
}
