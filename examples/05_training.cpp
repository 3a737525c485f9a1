// A classifier of three spirals: layers with names, gradients, AdamW. Prints the loss as it falls,
// and how many points are told right at the end.
#include <cstdio>
#include <numbers>

#include "hologram/hologram.hpp"
#include "hologram/nn.hpp"

using namespace hologram;

struct Classifier : nn::Module {
  nn::Linear first{2, 64}, second{64, 64}, last{64, 3};
  Classifier() { register_modules({{"first", &first}, {"second", &second}, {"last", &last}}); }
  Tensor forward(const Tensor& x) override { return last(nn::silu(second(nn::silu(first(x))))); }
};

int main() {
  constexpr int64_t kArms = 3, kPoints = 200;
  ops::seed(1);
  const Tensor arm = ops::arange(0, kArms, 1, DType::F32).unsqueeze(1);
  const Tensor radius = ops::linspace(0.05, 1, kPoints).unsqueeze(0);
  const Tensor angle =
      radius * 4 + arm * (2 * std::numbers::pi / kArms) + ops::randn({kArms, kPoints}) * 0.08;
  const Tensor points =
      ops::stack({radius * ops::cos(angle), radius * ops::sin(angle)}, 2).reshape({-1, 2}).eval();
  const Tensor labels =
      arm.to(DType::I64).broadcast_to({kArms, kPoints}).reshape({kArms * kPoints}).eval();

  Classifier model;
  nn::AdamW optimizer(model, {.lr = 1e-2, .weight_decay = 1e-3});
  for (int i = 0; i <= 300; i++) {
    const Tensor loss = optimizer.step([&] { return nn::cross_entropy(model(points), labels); });
    if (i % 100 == 0) std::printf("step %3d  loss %.3f\n", i, loss.item<float>());
  }
  const Tensor right = ops::argmax(model(points), 1) == labels;
  std::printf("right: %.1f %%\n", 100 * ops::mean(right.to(DType::F32)).item<float>());
}
