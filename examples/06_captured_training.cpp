// A whole training step, forward, backward and update, recorded once and launched again and again:
// the network learns on which side of a wave a point lies, from points that each launch draws anew.
// Prints the loss as it falls, how a step is launched, and how many points are told right at the
// end.
#include <cstdio>

#include "hologram/hologram.hpp"
#include "hologram/nn.hpp"

using namespace hologram;

// Points in a square, and whether each lies above the wave.
struct Points {
  Tensor x, is_above;
};
Points points(int64_t count) {
  const Tensor x = ops::rand({count, 2}) * 2 - 1;
  const Tensor wave = ops::sin(x.select(1, 0) * 4) * 0.5;
  return {x, (x.select(1, 1) > wave).to(DType::I64)};
}

int main() {
  ops::seed(1);
  nn::Sequential model;
  model.add<nn::Linear>(2, 32)
      .add<nn::Activated>(nn::Activation::Silu)
      .add<nn::Linear>(32, 32)
      .add<nn::Activated>(nn::Activation::Silu)
      .add<nn::Linear>(32, 2);
  nn::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 1e-3});
  // `smoothing` is what a batch consists of here: a number that may differ from step to step.
  nn::CapturedStep step(optimizer, [&](const std::vector<Tensor>& batch) {
    const Points drawn = points(256);
    const Tensor logits = model(drawn.x);
    return nn::cross_entropy(logits, drawn.is_above) + batch[0] * ops::mean(ops::square(logits));
  });
  for (int i = 0; i <= 300; i++) {
    const Tensor smoothing = ops::full({}, 1e-3 * (300 - i) / 300).eval();
    const Tensor loss = step({smoothing});
    if (i % 100 == 0) std::printf("step %3d  loss %.3f\n", i, loss.item<float>());
  }
  std::printf("a launch: %zu steps, %s\n", step.graph()->steps(), step.graph()->note().c_str());
  const auto [x, is_above] = points(1000);
  const Tensor right = ops::argmax(model(x), 1) == is_above;
  std::printf("right: %.1f %%\n", 100 * ops::mean(right.to(DType::F32)).item<float>());
}
