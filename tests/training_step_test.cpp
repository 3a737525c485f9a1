// Steps of optimizers: one launch moves all parameters of a dtype, to the same bits as each by
// itself; and steps that are captured as a graph, whose state is donated.
#include "hologram/hologram.hpp"
#include "hologram/nn.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "message_of.hpp"

namespace hologram {
namespace {

constexpr int64_t kWords = 11, kWidth = 24, kClasses = 3;

// Lengths of many factors of 2, of few, and of none.
struct Net : nn::Module {
  nn::Embedding words{kWords, kWidth};
  nn::Linear first{kWidth, 32}, second{32, 5}, last{5, kClasses};
  nn::LayerNorm norm{Shape{kWidth}};
  Net() {
    register_modules({{"words", &words},
                      {"first", &first},
                      {"second", &second},
                      {"last", &last},
                      {"norm", &norm}});
  }
  Tensor forward(const Tensor& x) override {
    return last(nn::gelu(second(nn::gelu(first(norm(words(x)))))));
  }
};

struct Batch {
  Tensor x, y;
};
Batch batch(int64_t step) {
  const Tensor numbers = ops::arange(16) * 7 + step;
  return {(numbers % kWords).eval(), (numbers % kClasses).eval()};
}

Tensor loss_of(nn::Module& net, const Batch& b) { return nn::cross_entropy(net(b.x), b.y); }

std::vector<float> values_of(nn::Module& module) {
  std::vector<float> all;
  for (const auto& [name, tensor] : module.state_dict())
    for (const float v : tensor.to(DType::F32).to_vector<float>()) all.push_back(v);
  return all;
}

struct Rule {
  std::string name;
  std::function<std::unique_ptr<nn::Optimizer>(nn::Module&)> make;
  // The same, each parameter by itself.
  std::function<void(std::vector<Tensor>&, const std::vector<Tensor>&, nn::AdamState&,
                     nn::SgdState&)>
      move;
};

Rule adam(std::string name, bool decoupled, nn::AdamOptions options) {
  const auto make = [=](nn::Module& m) -> std::unique_ptr<nn::Optimizer> {
    if (decoupled) return std::make_unique<nn::AdamW>(m, options);
    return std::make_unique<nn::Adam>(m, options);
  };
  options.decoupled = decoupled;
  return {std::move(name), make,
          [=](std::vector<Tensor>& p, const std::vector<Tensor>& g, nn::AdamState& a,
              nn::SgdState&) { nn::fused_adam_step(p, g, a, options); }};
}

Rule sgd(std::string name, nn::SgdOptions options) {
  return {std::move(name), [=](nn::Module& m) { return std::make_unique<nn::Sgd>(m, options); },
          [=](std::vector<Tensor>& p, const std::vector<Tensor>& g, nn::AdamState&,
              nn::SgdState& s) { nn::fused_sgd_step(p, g, s, options); }};
}

std::vector<Rule> rules() {
  return {adam("Adam", false, {.lr = 0.01, .weight_decay = 0.1}),
          adam("AdamW", true, {.lr = 0.01, .weight_decay = 0.1}),
          adam("Adam with the largest moments", false, {.lr = 0.01, .amsgrad = true}),
          sgd("SGD", {.lr = 0.1}),
          sgd("SGD with momentum", {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01}),
          sgd("SGD of Nesterov", {.lr = 0.1, .momentum = 0.9, .nesterov = true})};
}

TEST(TrainingStep, HasTheBitsOfEachParameterByItself) {
  for (const Rule& rule : rules())
    for (const double max_norm : {0.0, 0.1}) {
      ops::seed(5);
      Net joined;
      ops::seed(5);
      Net apart;
      const auto optimizer = rule.make(joined);
      optimizer->max_norm = max_norm;
      nn::AdamState adam_state;
      nn::SgdState sgd_state;
      for (int step = 0; step < 4; step++) {
        const Batch b = batch(step);
        optimizer->step([&] { return loss_of(joined, b); });
        auto [value, gradients] = nn::value_and_gradient(apart, [&] { return loss_of(apart, b); });
        if (max_norm > 0) nn::clip_by_norm(gradients, max_norm);
        std::vector<Tensor> moved;
        for (const Tensor* t : apart.parameters()) moved.push_back(*t);
        rule.move(moved, gradients, adam_state, sgd_state);
        eval(moved);
        for (size_t i = 0; i < moved.size(); i++) *apart.parameters()[i] = moved[i];
      }
      EXPECT_EQ(values_of(joined), values_of(apart)) << rule.name << ", " << max_norm;
    }
}

uint64_t launches() { return default_executor().counters().launches; }

// What the rule launches for such parameters, with gradients that are there.
uint64_t launches_of(const Rule& rule, std::vector<Tensor> parameters) {
  std::vector<Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const Tensor& t : parameters) gradients.push_back(ops::ones(t.shape()));
  eval(gradients);
  nn::AdamState adam_state;
  nn::SgdState sgd_state;
  rule.move(parameters, gradients, adam_state, sgd_state);
  std::vector<Tensor> all = parameters;
  for (const auto* list : {&adam_state.exp_avg, &adam_state.exp_avg_sq, &adam_state.max_exp_avg_sq,
                           &sgd_state.momentum_buffer})
    all.insert(all.end(), list->begin(), list->end());
  const uint64_t before = launches();
  eval(all);
  return launches() - before;
}

// Adam launches two more for single numbers: the count of steps and what it corrects.
TEST(TrainingStep, MovesAllParametersByOneLaunch) {
  for (const Rule& rule : rules()) {
    Net net;
    const auto optimizer = rule.make(net);
    for (int i = 0; i < 2; i++) optimizer->step([&] { return loss_of(net, batch(0)); });
    std::vector<Tensor> parameters;
    for (const Tensor* t : net.parameters()) parameters.push_back(*t);
    const nn::Flat flat(parameters);
    const std::vector<Tensor> joined = flat.join(parameters);
    ASSERT_EQ(joined.size(), 1u);
    const uint64_t of_numbers = rule.name.starts_with("Adam") ? 2 : 0;
    EXPECT_EQ(launches_of(rule, joined), 1 + of_numbers) << rule.name;
    EXPECT_GE(launches_of(rule, parameters), parameters.size() - 1) << rule.name;
    // They lie where the step has left them: to join them is no work.
    const uint64_t before = launches();
    eval(flat.join(parameters));
    EXPECT_EQ(launches(), before);
  }
}

TEST(TrainingStep, StateHasTheNamesAndShapesOfTheParameters) {
  Net net;
  const auto before = net.state_dict();
  nn::AdamW optimizer(net, {.lr = 0.01});
  optimizer.step([&] { return loss_of(net, batch(0)); });
  const auto after = net.state_dict();
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, tensor] : before) EXPECT_EQ(after.at(name).shape(), tensor.shape());
  size_t i = 0;
  for (const auto& [name, tensor] : net.named_parameters()) {
    EXPECT_EQ(optimizer.state.exp_avg[i].shape(), tensor->shape()) << name;
    EXPECT_EQ(optimizer.state.exp_avg_sq[i++].shape(), tensor->shape()) << name;
  }
}

TEST(TrainingStep, LeavesEverythingWhereItFails) {
  Net net;
  nn::AdamW optimizer(net, {.lr = 0.01});
  optimizer.step([&] { return loss_of(net, batch(0)); });
  const std::vector<float> before = values_of(net);
  const Batch good = batch(1), bad = {good.x + 5, good.y};
  EXPECT_NE(message_of([&] { optimizer.step([&] { return loss_of(net, bad); }); }).find("outside"),
            std::string::npos);
  EXPECT_EQ(values_of(net), before);
  EXPECT_EQ(optimizer.state.step.item<float>(), 1);
  EXPECT_TRUE(std::isfinite(optimizer.step([&] { return loss_of(net, good); }).item<float>()));
}

TEST(Flat, JoinsByDTypeAndFindsItsViews) {
  const std::vector<Tensor> all = {ops::arange(3).to(DType::F32), ops::ones({2, 4}, DType::F32),
                                   ops::full({5}, 2, DType::F16), ops::full({}, 7, DType::F32),
                                   ops::zeros({0, 3}, DType::F32)};
  const nn::Flat flat(all);
  ASSERT_EQ(flat.size(), 2u);
  const std::vector<Tensor> joined = flat.join(all), split = flat.split(joined);
  EXPECT_EQ(joined[0].shape(), Shape{12});
  EXPECT_EQ(joined[1].dtype(), DType::F16);
  for (size_t i = 0; i < all.size(); i++) {
    EXPECT_EQ(split[i].shape(), all[i].shape());
    EXPECT_EQ(split[i].to(DType::F32).to_vector<float>(), all[i].to(DType::F32).to_vector<float>());
  }
  EXPECT_TRUE(flat.join({}).empty());
  EXPECT_TRUE(nn::Flat({}).join({}).empty());
  EXPECT_NE(message_of([&] { flat.join({all[0]}); }).find("1 tensors for 5"), std::string::npos);
  EXPECT_NE(message_of([&] { flat.split({joined[1], joined[0]}); }).find("[5]"), std::string::npos);
}

TEST(Flat, LargeTensorsStayByThemselves) {
  const Tensor large = ops::full({2048, 2048}, 3, DType::F32).eval();
  const std::vector<Tensor> all = {ops::ones({3}, DType::F32), large, ops::ones({2}, DType::F32)};
  const nn::Flat flat(all);
  ASSERT_EQ(flat.size(), 2u);
  const std::vector<Tensor> joined = flat.join(all);
  EXPECT_EQ(joined[0].shape(), Shape{5});
  EXPECT_EQ(joined[1].shape(), Shape{2048 * 2048});
  EXPECT_EQ(joined[1].device_memory().address, large.device_memory().address);
  EXPECT_EQ(flat.split(joined)[1].shape(), large.shape());
}

TEST(CapturedStep, TakesLargeParametersOver) {
  nn::Linear layer(2048, 2048);
  nn::AdamW optimizer(layer, {.lr = 1e-5});
  const Tensor x = ops::ones({1, 2048}, DType::F32).eval();
  nn::CapturedStep step(
      optimizer, [&](const std::vector<Tensor>& b) { return ops::mean(ops::square(layer(b[0]))); });
  for (int i = 0; i < 2; i++) step({x});
  const void* const memory = layer.parameters()[0]->device_memory().address;
  const uint64_t fallbacks = default_executor().counters().fallbacks;
  float last = step({x}).item<float>();
  for (int i = 0; i < 3; i++) {
    const float loss = step({x}).item<float>();
    EXPECT_LT(loss, last);
    last = loss;
  }
  EXPECT_EQ(layer.parameters()[0]->device_memory().address, memory);
  EXPECT_EQ(default_executor().counters().fallbacks, fallbacks);
}

TEST(CapturedStep, HasTheBitsOfSteps) {
  for (const Rule& rule : rules())
    for (const bool half : {false, true}) {
      const auto run = [&](bool captured) {
        ops::seed(5);
        Net net;
        const auto optimizer = rule.make(net);
        optimizer->max_norm = 0.5;
        if (half) optimizer->precision = nn::MixedPrecision{.compute = DType::F16};
        nn::CapturedStep step(*optimizer, [&](const std::vector<Tensor>& b) {
          return nn::cross_entropy(net(b[0]), b[1]);
        });
        std::vector<float> losses;
        for (int i = 0; i < 6; i++) {
          const Batch b = batch(i);
          const Tensor loss =
              captured ? step({b.x, b.y}) : optimizer->step([&] { return loss_of(net, b); });
          losses.push_back(loss.item<float>());
        }
        std::vector<float> all = values_of(net);
        all.insert(all.end(), losses.begin(), losses.end());
        return all;
      };
      EXPECT_EQ(run(true), run(false)) << rule.name << (half ? ", f16" : "");
    }
}

TEST(CapturedStep, TakesItsStateOver) {
  Net net;
  nn::AdamW optimizer(net, {.lr = 0.01});
  nn::CapturedStep step(
      optimizer, [&](const std::vector<Tensor>& b) { return nn::cross_entropy(net(b[0]), b[1]); });
  EXPECT_EQ(step.graph(), nullptr);
  const auto where = [&] {
    std::vector<Tensor> all;
    for (const Tensor* t : net.parameters()) all.push_back(*t);
    return nn::Flat(all).join(all)[0].device_memory().address;
  };
  for (int i = 0; i < 2; i++) step({batch(i).x, batch(i).y});
  ASSERT_NE(step.graph(), nullptr);
  const void* const memory = where();
  const uint64_t fallbacks = default_executor().counters().fallbacks;
  for (int i = 0; i < 5; i++) {
    step({batch(i).x, batch(i).y});
    EXPECT_EQ(where(), memory);
  }
  EXPECT_EQ(default_executor().counters().fallbacks, fallbacks);
  EXPECT_EQ(optimizer.state.step.item<float>(), 7);
  // Another learning rate, another batch: captured anew.
  const Graph* const graph = step.graph();
  const size_t steps = graph->steps();
  optimizer.options.lr = 0.001;
  step({batch(0).x.slice(0, {0, 4}), batch(0).y.slice(0, {0, 4})});
  EXPECT_EQ(step.graph()->steps(), steps);
  const std::vector<float> before = values_of(net);
  EXPECT_NE(message_of([&] {
              step({batch(0).x, batch(0).y.slice(0, {0, 4})});
            }),
            "nothing was thrown");
  EXPECT_EQ(values_of(net), before);
  EXPECT_TRUE(std::isfinite(step({batch(0).x, batch(0).y}).item<float>()));
}

// Names for views, as those of parameters under gradients, where work wants its operands dense.
TEST(Gradients, OfViewsOfOneTensor) {
  ops::seed(2);
  const Tensor all = ops::randn({300}).eval();
  const Tensor at = Tensor::from({int64_t{4}, int64_t{0}, int64_t{4}, int64_t{1}});
  for (const int64_t start : {0, 1, 37, 64}) {
    const Tensor part = all.slice(0, {start, start + 40}).reshape({5, 8});
    const Tensor own = Tensor::from_vector(part.to_vector<float>(), {5, 8});
    const auto of = [&](const Tensor& x, int which) {
      return gradient(
                 [&](const Tensor& w) {
                   const Tensor y = which == 0   ? ops::take(w, at, 0)
                                    : which == 1 ? ops::sort(w, 1)
                                                 : ops::cumsum(w, 0);
                   return ops::sum(y * y * y);
                 },
                 x)[0]
          .to_vector<float>();
    };
    for (int which = 0; which < 3; which++)
      EXPECT_EQ(of(part, which), of(own, which)) << start << ' ' << which;
    EXPECT_EQ(ops::sort(stop_gradient(part), 1).to_vector<float>(),
              ops::sort(own, 1).to_vector<float>());
  }
}

}  // namespace
}  // namespace hologram
