// Gradients and training for JavaScript: calls as those of web.cpp.
#include <emscripten/emscripten.h>

#include <stdexcept>

#include "calls.hpp"
#include "hologram/gradient.hpp"
#include "hologram/nn/linear.hpp"
#include "hologram/nn/losses.hpp"
#include "hologram/nn/optimizers.hpp"

// Calls the function of JavaScript that is differentiated, with the tensors that the text tells;
// the handle of its value, or 0 if it throws.
extern "C" __attribute__((import_module("page"), import_name("apply"))) uint32_t page_apply();

namespace {

using hologram::Tensor;
using hologram::web::add;
using hologram::web::guarded;
using hologram::web::into;
using hologram::web::Json;
using hologram::web::json_of;
using hologram::web::take;
using hologram::web::tensor_of;
using hologram::web::text;

Json given_away(const Tensor& tensor) { return json_of(tensor, add(tensor)); }
Json given_away(const std::vector<Tensor>& tensors) {
  Json all = Json::array();
  for (const Tensor& tensor : tensors) all.push_back(given_away(tensor));
  return all;
}
std::vector<Tensor> tensors_of(const Json& handles) {
  std::vector<Tensor> all;
  for (const uint32_t handle : handles.get<std::vector<uint32_t>>())
    all.push_back(tensor_of(handle));
  return all;
}

Tensor call(const std::string& name, const std::vector<Tensor>& in) {
  const auto needs = [&](size_t count) {
    if (in.size() != count)
      throw std::invalid_argument(
          fmt::format("{} takes {} tensors, not {}", name, count, in.size()));
  };
  if (name == "linear") {
    if (in.size() == 2) return hologram::nn::linear(in[0], in[1]);
    needs(3);
    return hologram::nn::linear(in[0], in[1], in[2]);
  }
  needs(2);
  if (name == "cross_entropy") return hologram::nn::cross_entropy(in[0], in[1]);
  if (name == "mse_loss") return hologram::nn::mse_loss(in[0], in[1]);
  throw std::invalid_argument(fmt::format("there is no function {}", name));
}

}  // namespace

extern "C" {

// {"inputs": [1, 2]}, with a function that page_apply calls; leaves {"value": {"handle": …},
// "gradients": […]}.
EMSCRIPTEN_KEEPALIVE uint32_t hg_value_and_gradient(const char* request) {
  return guarded([&] {
    const auto inputs = tensors_of(Json::parse(request).at("inputs"));
    const auto function = [](const std::vector<Tensor>& x) {
      text = given_away(x).dump();
      const uint32_t made = page_apply();
      if (made == 0) throw std::runtime_error("the function threw");
      return tensor_of(made);
    };
    const auto [value, gradients] = hologram::value_and_gradient(function, inputs);
    text = Json{{"value", given_away(value)}, {"gradients", given_away(gradients)}}.dump();
    return 1u;
  });
}

// {"function": "linear", "inputs": [1, 2, 3]}; leaves a tensor.
EMSCRIPTEN_KEEPALIVE uint32_t hg_nn(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    text =
        given_away(call(wanted.at("function").get<std::string>(), tensors_of(wanted.at("inputs"))))
            .dump();
    return 1u;
  });
}

// {"parameters": [1, 2], "gradients": [3, 4], "state": {"means": [5, 6], "squares": [7, 8], "step":
// 9} or null at the beginning, "options": {…}}; leaves the next {"parameters": […], "state": {…}}.
EMSCRIPTEN_KEEPALIVE uint32_t hg_adam(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    std::vector<Tensor> parameters = tensors_of(wanted.at("parameters"));
    hologram::nn::AdamState state;
    if (const Json& before = wanted.at("state"); !before.is_null()) {
      state.exp_avg = tensors_of(before.at("means"));
      state.exp_avg_sq = tensors_of(before.at("squares"));
      state.step = tensor_of(before.at("step").get<uint32_t>());
    }
    hologram::nn::AdamOptions options;
    take(wanted.at("options"), {{"learningRate", into(options.lr)},
                                {"beta1", into(options.beta1)},
                                {"beta2", into(options.beta2)},
                                {"epsilon", into(options.eps)},
                                {"weightDecay", into(options.weight_decay)},
                                {"decoupled", into(options.decoupled)}});
    hologram::nn::fused_adam_step(parameters, tensors_of(wanted.at("gradients")), state, options);
    text = Json{{"parameters", given_away(parameters)},
                {"state",
                 {{"means", given_away(state.exp_avg)},
                  {"squares", given_away(state.exp_avg_sq)},
                  {"step", given_away(state.step)}}}}
               .dump();
    return 1u;
  });
}

}  // extern "C"
