#include "nn_torch_cases.hpp"

#include <limits>

namespace hologram {
namespace {

using nn::PadMode;
using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;
using Cases = std::map<std::string, NnCase>;

// clang-format off
void activations(Cases& all) {
  const auto both = [&](const std::string& name, const std::function<Tensor(const Tensor&)>& f) {
    all[name] = all[name + " of special values"] = {[f](In x) { return Out{f(x[0])}; }};
  };
  both("relu", [](const Tensor& x) { return nn::relu(x); });
  both("gelu", [](const Tensor& x) { return nn::gelu(x); });
  both("gelu tanh", [](const Tensor& x) { return nn::gelu(x, nn::Approximate::Tanh); });
  both("silu", [](const Tensor& x) { return nn::silu(x); });
  both("mish", nn::mish);
  both("hardtanh", [](const Tensor& x) { return nn::hardtanh(x, -0.5, 1.5); });
  both("relu6", nn::relu6);
  both("hardsigmoid", nn::hardsigmoid);
  both("hardswish", nn::hardswish);
  both("leaky_relu", [](const Tensor& x) { return nn::leaky_relu(x, 0.25); });
  both("elu", [](const Tensor& x) { return nn::elu(x, 1.5); });
  both("celu", [](const Tensor& x) { return nn::celu(x, 1.5); });
  both("selu", nn::selu);
  both("softplus", [](const Tensor& x) { return nn::softplus(x); });
  both("softplus with beta and threshold", [](const Tensor& x) { return nn::softplus(x, 2, 1.5); });
  both("softsign", nn::softsign);
  both("logsigmoid", nn::logsigmoid);
  both("tanhshrink", nn::tanhshrink);
  both("hardshrink", [](const Tensor& x) { return nn::hardshrink(x, 1); });
  both("softshrink", [](const Tensor& x) { return nn::softshrink(x, 1); });
  both("threshold", [](const Tensor& x) { return nn::threshold(x, 0.25, -7); });
  all["prelu"] = all["prelu of one slope"] = {[](In x) { return Out{nn::prelu(x[0], x[1])}; }};
  all["softmin"] = {[](In x) { return Out{nn::softmin(x[0], 0)}; }};
  all["softmax"] = {[](In x) { return Out{nn::softmax(x[0])}; }};
  all["log_softmax"] = {[](In x) { return Out{nn::log_softmax(x[0], 0)}; }};
  all["glu"] = {[](In x) { return Out{nn::glu(x[0])}; }};
  all["glu of axis 0"] = {[](In x) { return Out{nn::glu(x[0], 0)}; }};
  all["swiglu"] = {[](In x) { return Out{nn::swiglu(x[0])}; }};
}

void linear(Cases& all) {
  all["linear"] = all["linear of a vector"] = {[](In x) { return Out{nn::linear(x[0], x[1], x[2])}; }, 2};
  all["linear without a bias"] = all["linear to a number"] = {[](In x) { return Out{nn::linear(x[0], x[1])}; }};
  all["linear with gelu"] = {[](In x) { return Out{nn::fused_linear(x[0], x[1], x[2], nn::Activation::Gelu)}; }, 3};
  all["bilinear"] = {[](In x) { return Out{nn::bilinear(x[0], x[1], x[2], x[3])}; }};
}

void convolutions(Cases& all) {
  all["conv1d"] = {[](In x) { return Out{nn::conv1d(x[0], x[1], {.bias = x[2], .stride = 2, .padding = 1})}; }};
  all["conv1d same"] = {[](In x) { return Out{nn::conv1d(x[0], x[1], {.padding = nn::ConvPadding<1>::same()})}; }};
  all["conv1d groups"] = {[](In x) { return Out{nn::conv1d(x[0], x[1], {.dilation = 2, .groups = 2})}; }};
  all["conv2d"] = {[](In x) { return Out{nn::conv2d(x[0], x[1], {.bias = x[2], .stride = {2, 1}, .padding = {1, 0}})}; }};
  all["conv2d dilated groups"] = {[](In x) { return Out{nn::conv2d(x[0], x[1], {.padding = 1, .dilation = {1, 2}, .groups = 2})}; }};
  all["conv3d"] = {[](In x) { return Out{nn::conv3d(x[0], x[1], {.bias = x[2], .stride = {2, 1, 1}, .padding = {1, 0, 1}})}; }};
  all["conv3d groups"] = {[](In x) { return Out{nn::conv3d(x[0], x[1], {.dilation = {2, 1, 1}, .groups = 2})}; }};
  all["conv_transpose1d"] = {[](In x) { return Out{nn::conv_transpose1d(x[0], x[1], {.bias = x[2], .stride = 2, .padding = 1, .output_padding = 1})}; }};
  all["conv_transpose2d"] = {[](In x) { return Out{nn::conv_transpose2d(x[0], x[1], {.stride = {2, 1}, .padding = {1, 0}})}; }};
  all["conv_transpose2d groups"] = {[](In x) { return Out{nn::conv_transpose2d(x[0], x[1], {.stride = 2, .output_padding = 1, .groups = 2, .dilation = {1, 2}})}; }};
  all["conv_transpose2d padding beyond the kernel"] = {[](In x) { return Out{nn::conv_transpose2d(x[0], x[1], {.padding = {1, 2}})}; }};
  all["unfold"] = {[](In x) { return Out{nn::unfold(x[0], 2, {.dilation = {2, 1}, .padding = {1, 0}})}; }};
  all["fold"] = {[](In x) { return Out{nn::fold(x[0], {4, 3}, 2)}; }};
  all["fold with strides"] = {[](In x) { return Out{nn::fold(x[0], 4, 2, {.padding = 1, .stride = 2})}; }};
}

Out both_of(const nn::MaxPool& pool) { return {pool.output, pool.indices}; }

void pooling(Cases& all) {
  all["max_pool1d"] = {[](In x) { return Out{nn::max_pool1d(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true})}; }};
  all["max_pool2d"] = {[](In x) { return Out{nn::max_pool2d(x[0], 2)}; }};
  all["max_pool2d ceil"] = {[](In x) { return Out{nn::max_pool2d(x[0], {3, 2}, {.stride = nn::PerAxis<2>(2, 3), .padding = {1, 0}, .ceil_mode = true})}; }};
  all["max_pool2d dilated"] = {[](In x) { return Out{nn::max_pool2d(x[0], 2, {.stride = 1, .padding = 1, .dilation = {2, 3}})}; }};
  all["max_pool3d"] = {[](In x) { return Out{nn::max_pool3d(x[0], {2, 3, 2}, {.stride = nn::PerAxis<3>(1, 1, 2), .padding = {1, 1, 0}})}; }};
  all["max_pool1d_with_indices"] = {[](In x) { return both_of(nn::max_pool1d_with_indices(x[0], 3, {.stride = 2, .padding = 1})); }};
  all["max_pool2d_with_indices"] = {[](In x) { return both_of(nn::max_pool2d_with_indices(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true})); }};
  all["max_pool2d_with_indices dilated"] = {[](In x) { return both_of(nn::max_pool2d_with_indices(x[0], 2, {.stride = 1, .padding = 1, .dilation = 2})); }};
  all["max_pool3d_with_indices"] = {[](In x) { return both_of(nn::max_pool3d_with_indices(x[0], 2, {.stride = 1})); }};
  all["max_pool2d_with_indices of ties and NaN"] = {[](In x) { return both_of(nn::max_pool2d_with_indices(x[0], 2)); }};
  all["max_unpool2d"] = {[](In x) {
    const nn::MaxPool pool = nn::max_pool2d_with_indices(x[0], 2);
    return Out{nn::max_unpool2d(pool.output, pool.indices, 4)};
  }};
  all["avg_pool1d"] = {[](In x) { return Out{nn::avg_pool1d(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true})}; }};
  all["avg_pool2d"] = {[](In x) { return Out{nn::avg_pool2d(x[0], 2, {.padding = 1})}; }};
  all["avg_pool2d ceil"] = {[](In x) { return Out{nn::avg_pool2d(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true})}; }};
  all["avg_pool2d ceil inside"] = {[](In x) { return Out{nn::avg_pool2d(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false})}; }};
  all["avg_pool2d divisor"] = {[](In x) { return Out{nn::avg_pool2d(x[0], {2, 3}, {.stride = 1, .divisor_override = 5})}; }};
  all["avg_pool3d"] = {[](In x) { return Out{nn::avg_pool3d(x[0], {2, 3, 2}, {.stride = nn::PerAxis<3>(1, 1, 2), .padding = {1, 1, 0}, .count_include_pad = false})}; }};
  all["adaptive_avg_pool1d"] = {[](In x) { return Out{nn::adaptive_avg_pool1d(x[0], 3)}; }};
  all["adaptive_avg_pool2d"] = {[](In x) { return Out{nn::adaptive_avg_pool2d(x[0], {3, 2})}; }};
  all["adaptive_avg_pool2d larger"] = {[](In x) { return Out{nn::adaptive_avg_pool2d(x[0], {5, 0})}; }};
  all["adaptive_avg_pool3d"] = {[](In x) { return Out{nn::adaptive_avg_pool3d(x[0], 2)}; }};
  all["adaptive_max_pool1d"] = {[](In x) { return Out{nn::adaptive_max_pool1d(x[0], 3)}; }};
  all["adaptive_max_pool2d"] = {[](In x) { return Out{nn::adaptive_max_pool2d(x[0], {3, 4})}; }};
  all["adaptive_max_pool3d"] = {[](In x) { return Out{nn::adaptive_max_pool3d(x[0], 2)}; }};
}

void normalization(Cases& all) {
  all["batch_norm training"] = all["batch_norm training rows"] = {[](In x) {
    const nn::BatchNorm done = nn::batch_norm(x[0], x[1], x[2], {.weight = x[3], .bias = x[4], .training = true, .momentum = 0.2});
    return Out{done.output, done.running_mean, done.running_var};
  }};
  all["batch_norm"] = {[](In x) { return Out{nn::batch_norm(x[0], x[1], x[2], {.weight = x[3], .bias = x[4], .eps = 1e-3}).output}; }};
  all["layer_norm"] = {[](In x) { return Out{nn::layer_norm(x[0], {3, 4}, {.weight = x[1], .bias = x[2]})}; }};
  all["layer_norm plain"] = {[](In x) { return Out{nn::layer_norm(x[0], {5}, {.eps = 1e-3})}; }};
  all["rms_norm"] = {[](In x) { return Out{nn::rmsnorm(x[0], x[1])}; }};
  all["rms_norm of two axes"] = {[](In x) { return Out{nn::rms_norm(x[0], {3, 4}, {}, 1e-5)}; }};
  all["group_norm"] = {[](In x) { return Out{nn::group_norm(x[0], 2, {.weight = x[1], .bias = x[2]})}; }};
  all["instance_norm"] = {[](In x) { return Out{nn::instance_norm(x[0], {.weight = x[1], .bias = x[2]})}; }};
  all["instance_norm by running statistics"] = {[](In x) { return Out{nn::instance_norm(x[0], {.running_mean = x[1], .running_var = x[2], .use_input_stats = false})}; }};
  all["local_response_norm"] = {[](In x) { return Out{nn::local_response_norm(x[0], 3, {.alpha = 0.5, .beta = 0.6, .k = 2})}; }};
  all["local_response_norm even"] = {[](In x) { return Out{nn::local_response_norm(x[0], 4)}; }};
  all["normalize"] = {[](In x) { return Out{nn::normalize(x[0])}; }};
  all["normalize p 1"] = {[](In x) { return Out{nn::normalize(x[0], 1, 0)}; }};
  all["normalize inf"] = {[](In x) { return Out{nn::normalize(x[0], std::numeric_limits<double>::infinity())}; }};
  all["cosine_similarity"] = {[](In x) { return Out{nn::cosine_similarity(x[0], x[1], -1)}; }};
  all["pairwise_distance"] = {[](In x) { return Out{nn::pairwise_distance(x[0], x[1], 3)}; }};
}

void lookups(Cases& all) {
  constexpr auto kInterleaved = nn::RopePairs::Interleaved;
  all["embedding"] = {[](In x) { return Out{nn::embedding(x[0], x[1])}; }};
  all["embedding with padding"] = {[](In x) { return Out{nn::embedding(x[0], x[1], -2)}; }};
  all["one_hot"] = {[](In x) { return Out{nn::one_hot(x[0], 5)}; }};
  all["one_hot without a number"] = {[](In x) { return Out{nn::one_hot(x[0])}; }};
  all["rope"] = {[](In x) { return Out{nn::rope(x[0])}; }};
  all["rope interleaved"] = {[](In x) { return Out{nn::rope(x[0], {.pairs = kInterleaved})}; }};
  all["rope partial"] = {[](In x) { return Out{nn::rope(x[0], {.dims = 4, .base = 100, .scale = 0.5, .offset = 7})}; }};
  all["rope positions"] = {[](In x) { return Out{nn::rope(x[0], {.positions = x[1]})}; }};
  all["apply_rope"] = {[](In x) { return Out{nn::apply_rope(x[0], x[1], x[2])}; }};
  all["apply_rope of all features"] = {[](In x) { return Out{nn::apply_rope(x[0], x[1], x[2], kInterleaved)}; }};
}

void attention(Cases& all) {
  const auto add = [&](const std::string& name, const std::function<nn::AttentionOptions(In)>& options) {
    all["attention" + name] = {[options](In x) { return Out{nn::scaled_dot_product_attention(x[0], x[1], x[2], options(x))}; }};
  };
  using Options = nn::AttentionOptions;
  add("", [](In) { return Options{}; });
  add(" without heads", [](In) { return Options{}; });
  add(" causal", [](In) { return Options{.is_causal = true, .scale = 0.25}; });
  add(" bool mask", [](In x) { return Options{.mask = x[3]}; });
  add(" added mask", [](In x) { return Options{.mask = x[3]}; });
  add(" to nothing", [](In x) { return Options{.mask = x[3] != 0}; });
  add(" grouped", [](In) { return Options{.enable_gqa = true}; });
  add(" grouped causal", [](In) { return Options{.is_causal = true, .enable_gqa = true}; });
  add(" softcap", [](In) { return Options{.softcap = 1.5}; });
  add(" window", [](In) { return Options{.is_causal = true, .window = nn::AttentionWindow{1, {}}, .query_offset = 2}; });
  add(" both sides", [](In) { return Options{.window = nn::AttentionWindow{1, 1}}; });
  add(" sinks", [](In x) { return Options{.sinks = x[3]}; });
}

void images(Cases& all) {
  using nn::Interpolation;
  const auto add = [&](const std::string& name, const nn::InterpolateOptions& options) {
    all["interpolate " + name] = {[options](In x) { return Out{nn::interpolate(x[0], options)}; }};
  };
  for (const auto& [name, mode] : {std::pair("nearest", Interpolation::Nearest), {"nearest-exact", Interpolation::NearestExact},
                                   {"bilinear", Interpolation::Linear}, {"bicubic", Interpolation::Bicubic}}) {
    add(name, {.size = {5, 3}, .mode = mode});
    add(std::string("by a factor ") + name, {.scale_factor = {1.7, 2.0}, .mode = mode});
    if (mode != Interpolation::Linear && mode != Interpolation::Bicubic) continue;
    add(std::string("corners ") + name, {.size = {5, 1}, .mode = mode, .align_corners = true});
    add(std::string("recompute ") + name, {.scale_factor = {1.6}, .mode = mode, .recompute_scale_factor = true});
  }
  add("linear", {.size = {7}, .mode = Interpolation::Linear});
  add("trilinear", {.size = {3, 2, 4}, .mode = Interpolation::Linear});
  add("area", {.size = {2, 3}, .mode = Interpolation::Area});
  all["pixel_shuffle"] = {[](In x) { return Out{nn::pixel_shuffle(x[0], 2)}; }};
  all["pixel_unshuffle"] = {[](In x) { return Out{nn::pixel_unshuffle(x[0], 2)}; }};
  all["channel_shuffle"] = {[](In x) { return Out{nn::channel_shuffle(x[0], 3)}; }};
  all["pad"] = {[](In x) { return Out{nn::pad(x[0], {1, -1, -1, 2}, PadMode::Constant, 7)}; }};
  all["pad reflect"] = {[](In x) { return Out{nn::pad(x[0], {2, 3, 1, 0}, PadMode::Reflect)}; }};
  all["pad replicate"] = {[](In x) { return Out{nn::pad(x[0], {2, 3, 1, 0}, PadMode::Replicate)}; }};
  all["pad circular"] = {[](In x) { return Out{nn::pad(x[0], {2, 3, 1, 0}, PadMode::Circular)}; }};
}

void optimizers(Cases& all) {
  const auto adam = [&](const std::string& name, const nn::AdamOptions& options) {
    all[name] = {[options](In x) {
      std::vector<Tensor> parameters = {x[0]};
      nn::AdamState state;
      for (size_t i = 1; i < x.size(); i++) nn::fused_adam_step(parameters, {x[i]}, state, options);
      return parameters;
    }, 3};
  };
  adam("adam", {.lr = 0.1, .weight_decay = 0.1});
  adam("adam amsgrad", {.lr = 0.1, .beta1 = 0.5, .beta2 = 0.6, .amsgrad = true, .maximize = true});
  adam("adamw", {.lr = 0.1, .eps = 0.01, .weight_decay = 0.1, .decoupled = true});
  const auto sgd = [&](const std::string& name, const nn::SgdOptions& options) {
    all[name] = {[options](In x) {
      std::vector<Tensor> parameters = {x[0]};
      nn::SgdState state;
      for (size_t i = 1; i < x.size(); i++) nn::fused_sgd_step(parameters, {x[i]}, state, options);
      return parameters;
    }, 3};
  };
  sgd("sgd", {.lr = 0.1, .weight_decay = 0.1});
  sgd("sgd momentum", {.lr = 0.1, .momentum = 0.9, .dampening = 0.5});
  sgd("sgd nesterov", {.lr = 0.1, .momentum = 0.9, .nesterov = true});
}
// clang-format on

}  // namespace

const std::map<std::string, NnCase>& nn_cases() {
  static const Cases all = [] {
    Cases made;
    for (const auto part : {activations, linear, convolutions, pooling, normalization, lookups,
                            attention, images, optimizers, add_nn_loss_cases})
      part(made);
    return made;
  }();
  return all;
}

}  // namespace hologram
