// reproducible_training STEPS FILE [f16|bf16]: trains a small language model of characters on the
// device that the environment names, and writes its weights. scripts/check-reproducible compares
// the files of many devices.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hologram/hologram.hpp"
#include "hologram/nn.hpp"

namespace hologram {
namespace {

constexpr int64_t kLetters = 28, kWidth = 48, kHeads = 3, kLength = 24, kBatch = 4, kLayers = 2;
constexpr const char* kText =
    "the order of additions follows from shapes alone so that the same numbers come out wherever "
    "they are added and however many threads there are the sum of a row is a tree of sums of its "
    "parts and the product of two matrices goes through its terms from the first to the last ";

std::vector<int32_t> letters() {
  std::vector<int32_t> all;
  for (const char* c = kText; *c != '\0'; c++) all.push_back(*c == ' ' ? 0 : *c - 'a' + 1);
  return all;
}

struct Block : nn::Module {
  nn::LayerNorm before_attention{Shape{kWidth}}, before_layers{Shape{kWidth}};
  nn::Linear qkv{kWidth, 3 * kWidth}, out{kWidth, kWidth}, up{kWidth, 4 * kWidth},
      down{4 * kWidth, kWidth};
  Block() {
    register_modules({{"before_attention", &before_attention},
                      {"before_layers", &before_layers},
                      {"qkv", &qkv},
                      {"out", &out},
                      {"up", &up},
                      {"down", &down}});
  }
  Tensor forward(const Tensor& x) override {
    const int64_t batch = x.size(0), length = x.size(1);
    const Tensor all = qkv(before_attention(x))
                           .reshape({batch, length, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4});
    const Tensor seen = nn::scaled_dot_product_attention(all.select(0, 0), all.select(0, 1),
                                                         all.select(0, 2), {.is_causal = true});
    const Tensor y = x + out(seen.permute({0, 2, 1, 3}).reshape({batch, length, kWidth}));
    return y + down(nn::gelu(up(before_layers(y))));
  }
};

struct Gpt : nn::Module {
  nn::Embedding token{kLetters, kWidth}, place{kLength, kWidth};
  Block blocks[kLayers];
  nn::LayerNorm norm{Shape{kWidth}};
  nn::Linear head{kWidth, kLetters};
  Gpt() {
    register_modules({{"token", &token},
                      {"place", &place},
                      {"block0", &blocks[0]},
                      {"block1", &blocks[1]},
                      {"norm", &norm},
                      {"head", &head}});
  }
  Tensor forward(const Tensor& x) override {
    Tensor h = token(x) + place(ops::arange(0, kLength, 1, DType::I32));
    for (Block& block : blocks) h = block(h);
    return head(norm(h));
  }
};

// What follows on each letter of some stretches of the text.
std::pair<Tensor, Tensor> batch(const std::vector<int32_t>& text, int64_t step) {
  std::vector<int32_t> x, y;
  for (int64_t b = 0; b < kBatch; b++) {
    const auto at = static_cast<size_t>((step * kBatch + b) * 37 %
                                        (static_cast<int64_t>(text.size()) - kLength - 1));
    for (size_t i = 0; i < kLength; i++) {
      x.push_back(text[at + i]);
      y.push_back(text[at + i + 1]);
    }
  }
  return {Tensor::from(Array::from(x, {kBatch, kLength})),
          Tensor::from(Array::from(y, {kBatch, kLength}))};
}

int train(int steps, const std::string& file, const std::string& precision) {
  ops::seed(11);
  Gpt model;
  nn::AdamW optimizer(model, {.lr = 2e-3});
  optimizer.max_norm = 1;
  if (!precision.empty())
    optimizer.precision =
        nn::MixedPrecision{.compute = precision == "f16" ? DType::F16 : DType::BF16};
  const std::vector<int32_t> text = letters();
  double first = 0, last = 0;
  for (int step = 0; step < steps; step++) {
    const auto [x, y] = batch(text, step);
    const Tensor loss = optimizer.step([&, x = x, y = y] {
      return nn::cross_entropy(model(x).reshape({-1, kLetters}), y.reshape({-1}));
    });
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  model.save(file);
  const Executor& on = default_executor();
  std::fprintf(stderr, "%s: loss %.6f to %.6f\n", on.device().name.c_str(), first, last);
  if (on.config().reproducible && on.counters().library_calls > 0 &&
      on.device().backend != BackendType::Cpu) {
    std::fprintf(stderr, "a library was called\n");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace hologram

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return hologram::train(std::atoi(argv[1]), argv[2], argc > 3 ? argv[3] : "");
}
