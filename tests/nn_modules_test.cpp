// Modules: the same outputs and states as PyTorch's from a state that is drawn (in
// nn/torch_answers.json), names, files, training and not, and errors.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "hologram/hologram.hpp"
#include "message_of.hpp"
#include "nn_torch_draw.hpp"

namespace hologram {
namespace {

using nn::Activation;
using Doubles = std::vector<double>;
using Inputs = std::vector<Tensor>;

Doubles doubles(const Tensor& x) { return x.to(DType::F64).to_vector<double>(); }

void expect_answer(const json& answer, const Tensor& result, double within,
                   const std::string& name) {
  ASSERT_EQ(result.shape(), shape_of(answer.at("shape"))) << name;
  const Doubles got = doubles(result);
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_NEAR(got[i], number(answer.at("values")[i]), within) << name << ", element " << i;
}

struct Layer {
  std::function<std::unique_ptr<nn::Module>(const nn::LayerOptions&)> make;
  std::function<Tensor(nn::Module&, const Inputs&)> run = [](nn::Module& m, const Inputs& x) {
    return m(x[0]);
  };
};

template <class M, class... A>
std::unique_ptr<nn::Module> made(A&&... arguments) {
  return std::make_unique<M>(std::forward<A>(arguments)...);
}

std::map<std::string, Layer> layers() {
  using Options = nn::LayerOptions;
  const auto without_bias = [](Options o) {
    o.bias = false;
    return o;
  };
  const auto evaluated = [](nn::Module& m, const Inputs& x) {
    m.eval();
    return m(x[0]);
  };
  const auto attend = [](nn::Module& m, const Inputs& x) {
    nn::AttentionOptions options;
    if (x.size() > 3) options.mask = x[3];
    return dynamic_cast<nn::MultiheadAttention&>(m).attend(x[0], x[1], x[2], options);
  };
  const auto trained = [](nn::Module& m, const Inputs& x) {
    nn::AdamW optimizer(m, {.lr = 0.01, .weight_decay = 0.1});
    std::vector<Tensor> losses;
    losses.reserve(4);
    for (int i = 0; i < 4; i++)
      losses.push_back(optimizer.step([&] { return nn::mse_loss(m(x[0]), x[1]); }));
    return ops::stack(losses);
  };
  const auto linear = [](const Options& o) { return made<nn::Linear>(3, 2, o); };
  const auto norm = [](const Options& o) { return made<nn::BatchNorm2d>(3, 1e-5, 0.1, o); };
  return {
      {"Linear", {linear}},
      {"Linear without a bias",
       {[=](const Options& o) { return made<nn::Linear>(3, 2, without_bias(o)); }}},
      {"Conv2d", {[](const Options& o) {
         const nn::ConvOptions<2> conv = {.stride = 2, .padding = 1, .groups = 2};
         return made<nn::Conv2d>(2, 4, nn::PerAxis<2>(3, 2), conv, o);
       }}},
      {"BatchNorm2d training", {norm}},
      {"BatchNorm2d cumulative",
       {[](const Options& o) { return made<nn::BatchNorm2d>(3, 1e-5, std::nullopt, o); }}},
      {"BatchNorm2d", {norm, evaluated}},
      {"LayerNorm", {[](const Options& o) {
         return made<nn::LayerNorm>(Shape{2, 3}, 1e-5, o);
       }}},
      {"RMSNorm", {[](const Options& o) { return made<nn::RMSNorm>(Shape{4}, std::nullopt, o); }}},
      {"Embedding", {[](const Options& o) { return made<nn::Embedding>(5, 2, std::nullopt, o); }}},
      {"Sequential",
       {[](const Options& o) {
          auto model = std::make_unique<nn::Sequential>();
          model->add<nn::Conv2d>(1, 2, 3, nn::ConvOptions<2>{.padding = 1}, o)
              .add<nn::BatchNorm2d>(2, 1e-5, 0.1, o)
              .add<nn::Activated>(Activation::Relu)
              .add<nn::Flatten>()
              .add<nn::Linear>(18, 3, o);
          return model;
        },
        evaluated}},
      {"four steps of AdamW",
       {[=](const Options& o) {
          auto model = std::make_unique<nn::Sequential>();
          // A bias before a normalisation has no gradient but what is rounded.
          model->add<nn::Linear>(3, 5, without_bias(o))
              .add<nn::BatchNorm2d>(5, 1e-5, 0.1, o)
              .add<nn::Activated>(Activation::Gelu)
              .add<nn::Linear>(5, 2, o);
          return model;
        },
        trained}},
      {"MultiheadAttention",
       {[](const Options& o) {
          return made<nn::MultiheadAttention>(4, 2, nn::MultiheadAttentionOptions{.layer = o});
        },
        attend}},
      {"MultiheadAttention batch first",
       {[=](const Options& o) {
          return made<nn::MultiheadAttention>(
              4, 2, nn::MultiheadAttentionOptions{.batch_first = true, .layer = without_bias(o)});
        },
        attend}},
      {"MultiheadAttention masked",
       {[](const Options& o) {
          return made<nn::MultiheadAttention>(
              4, 2, nn::MultiheadAttentionOptions{.batch_first = true, .layer = o});
        },
        attend}},
  };
}

class NnModules : public testing::TestWithParam<DType> {};

TEST_P(NnModules, ComputeWhatPyTorchsDo) {
  const DType dtype = GetParam();
  const double within = dtype == DType::F64 ? 1e-8 : dtype == DType::F32 ? 2e-5 : 0.15;
  const json table = json::parse(std::ifstream(HOLOGRAM_TORCH_ANSWERS));
  const auto all = layers();
  ASSERT_EQ(table.at("modules").size(), all.size());
  for (const json& one : table.at("modules")) {
    const auto name = one.at("name").get<std::string>();
    const Layer& layer = all.at(name);
    const auto module = layer.make({.dtype = dtype});
    std::map<std::string, Tensor> state;
    for (const auto& [key, spec] : one.at("state").items()) state.emplace(key, drawn(spec, dtype));
    module->load_state_dict(state);
    Inputs inputs;
    for (const json& spec : one.at("inputs")) inputs.push_back(drawn(spec, dtype));
    const Tensor result = layer.run(*module, inputs);
    EXPECT_EQ(result.dtype(), dtype) << name;
    expect_answer(one.at("outputs")[0], result, within, name);
    size_t i = 0;
    const std::string state_of = name + "'s ";
    for (const auto& [key, tensor] : module->state_dict())
      expect_answer(one.at("after")[i++], tensor, within, state_of + key);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFloat, NnModules,
                         testing::Values(DType::F64, DType::F32, DType::F16, DType::BF16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// A model of a user's own.
struct Block : nn::Module {
  nn::Linear up{4, 8}, down{8, 4};
  nn::LayerNorm norm{Shape{4}};
  nn::Dropout drop{0.5};
  Block() { register_modules({{"up", &up}, {"down", &down}, {"norm", &norm}, {"drop", &drop}}); }
  Tensor forward(const Tensor& x) override { return x + drop(down(nn::gelu(up(norm(x))))); }
};
struct Model : nn::Module {
  nn::Embedding words{10, 4, 0};
  nn::Sequential blocks;
  Model() {
    blocks.add<Block>().add<Block>();
    register_modules({{"words", &words}, {"blocks", &blocks}});
  }
  Tensor forward(const Tensor& x) override { return blocks(words(x)); }
};

std::string scratch(const char* name) {
  return (std::filesystem::path(testing::TempDir()) / name).string();
}

TEST(NnModule, NamesAreThoseOfTheModulesOnTheWay) {
  Model model;
  std::string names;
  for (const auto& [name, tensor] : model.named_parameters()) names += name + " ";
  EXPECT_EQ(names,
            "words.weight blocks.0.up.weight blocks.0.up.bias blocks.0.down.weight "
            "blocks.0.down.bias blocks.0.norm.weight blocks.0.norm.bias blocks.1.up.weight "
            "blocks.1.up.bias blocks.1.down.weight blocks.1.down.bias blocks.1.norm.weight "
            "blocks.1.norm.bias ");
  EXPECT_EQ(model.parameters().size(), 13u);
  EXPECT_EQ(doubles(model.words.weight.select(0, 0)), Doubles(4, 0));
}

TEST(NnModule, TrainingReachesEveryModule) {
  Model model;
  const Tensor x = Tensor::from({1, 2, 3});
  EXPECT_TRUE(model.blocks[1].is_training());
  EXPECT_NE(doubles(model(x)), doubles(model(x)));
  model.eval();
  EXPECT_FALSE(model.blocks[1].is_training());
  EXPECT_EQ(doubles(model(x)), doubles(model(x)));
}

TEST(NnModule, AStateGoesThroughAFile) {
  const std::string path = scratch("model.safetensors");
  Model model, other;
  model.eval();
  other.eval();
  const Tensor x = Tensor::from({1, 2, 3});
  EXPECT_NE(doubles(model(x)), doubles(other(x)));
  model.save(path);
  other.load(path);
  EXPECT_EQ(doubles(model(x)), doubles(other(x)));
  // In halves here, as the module is.
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const std::string half = scratch("half.safetensors");
    nn::BatchNorm2d norm(3, 1e-5, 0.1, {.dtype = dtype}), again(3, 1e-5, 0.1, {.dtype = dtype});
    norm(ops::randn({4, 3, 2, 2}, dtype));
    norm.save(half);
    again.load(half);
    EXPECT_EQ(doubles(again.running_mean), doubles(norm.running_mean));
    EXPECT_EQ(again.num_batches_tracked.item<int64_t>(), 1);
    EXPECT_EQ(again.running_mean.dtype(), dtype);
    std::filesystem::remove(half);
  }
  std::filesystem::remove(path);
}

TEST(NnModule, ABadStateChangesNothing) {
  Model model;
  const auto before = doubles(model.words.weight);
  const auto refused = [&](const std::map<std::string, Tensor>& state, const std::string& what) {
    const std::string message = message_of([&] { model.load_state_dict(state); });
    EXPECT_EQ(message.substr(0, what.size()), what);
    EXPECT_EQ(doubles(model.words.weight), before);
  };
  std::map<std::string, Tensor> state = model.state_dict();
  state["words.weight"] = ops::zeros({10, 4});
  auto lacking = state;
  lacking.erase("blocks.1.up.bias");
  refused(lacking, "load_state_dict: it has no: blocks.1.up.bias");
  auto more = state;
  more["head.weight"] = ops::ones({2});
  refused(more, "load_state_dict: the module has no: head.weight");
  auto other = state;
  other["blocks.0.norm.bias"] = ops::ones({5});
  refused(other, "load_state_dict: blocks.0.norm.bias of shape [5] | Give the shape [4].");
  model.load_state_dict(more, false);
  EXPECT_EQ(doubles(model.words.weight), Doubles(40, 0));
  EXPECT_NE(message_of([&] { model.save(scratch("model.npz")); }).find(".safetensors"),
            std::string::npos);
  EXPECT_NE(message_of([&] { model.load(scratch("nothing.safetensors")); }), "nothing was thrown");
}

TEST(NnModule, InitialValuesAreWithinPyTorchsBounds) {
  ops::seed(1);
  nn::Linear linear(100, 300);
  for (const Tensor& t : {linear.weight, linear.bias}) {
    EXPECT_LE(ops::max(ops::abs(t)).item<double>(), 0.1);
    EXPECT_NEAR(ops::std(t).item<double>(), 0.1 / std::sqrt(3), 0.006);
  }
  nn::Embedding embedding(300, 100);
  EXPECT_NEAR(ops::std(embedding.weight).item<double>(), 1, 0.02);
}

TEST(NnModule, Errors) {
  EXPECT_NE(message_of([] { nn::MultiheadAttention(5, 2); }).find("number of heads is 2"),
            std::string::npos);
  EXPECT_NE(message_of([] { nn::Conv2d(3, 4, 3, {.groups = 2}); }).find("number of groups is 2"),
            std::string::npos);
  EXPECT_NE(message_of([] { nn::Embedding(3, 4, 3); }).find("padding index is 3"),
            std::string::npos);
  nn::Linear linear(3, 2);
  EXPECT_NE(message_of([&] { linear(ops::ones({2, 4})); }), "nothing was thrown");
}

}  // namespace
}  // namespace hologram
