// Lazy tensors: a straight line through noisy points, by gradient descent. The steps are formulas;
// hologram works out which kernels they need, fuses them, and runs them when a value is read.
#include <cstdio>

#include "hologram/hologram.hpp"

int main() {
  using namespace hologram;
  try {
    // Points near y = 3 x + 2. The same numbers on every device, for this seed.
    ops::seed(7);
    const Tensor x = 2 * ops::rand({100000}) - 1;
    const Tensor y = 3 * x + 2 + 0.1 * ops::randn({100000});

    Tensor slope = ops::zeros({}), intercept = ops::zeros({});
    for (int step = 0; step < 40; step++) {
      const Tensor error = slope * x + intercept - y;
      slope -= ops::mean(error * x);
      intercept -= ops::mean(error);
    }

    const Tensor error = slope * x + intercept - y;
    const Tensor spread = ops::std(error);
    eval({slope, intercept});
    std::printf("y = %.2f x + %.2f, give or take %.2f\n", slope.item<float>(),
                intercept.item<float>(), spread.item<float>());

    // A chain of operations is one kernel, which reads its operands once and writes its result.
    const Tensor likely = ops::sigmoid(slope * x + intercept) > 0.9;
    std::fputs(explain(likely).c_str(), stdout);
    std::printf("%.0f %% of the points are likely\n",
                100 * ops::mean(likely.to(DType::F32)).item<float>());
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), e.remedy().c_str());
    return 1;
  }
}
