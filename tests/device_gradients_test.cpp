// Gradients of neural operations on devices other than the CPU, whose own are tested against
// numbers: the same to the last roundings of f32. Together with device_fuzz_test and the
// conformance suite this is what scripts/check-emulated runs. HOLOGRAM_TEST_SEED=n draws other
// inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "hologram/hologram.hpp"
#include "on_device.hpp"

namespace hologram {
namespace {

using Tensors = std::vector<Tensor>;

struct Case {
  const char* name;
  std::vector<Shape> shapes;  // of the inputs, which are differentiated by
  Tensor (*run)(const Tensors& x);
};

// Labels 0, 1, 2, … as many as rows, of so many classes, on the device of another tensor.
Tensor labels(const Tensor& like, int64_t rows, int64_t classes) {
  return ops::arange(0, rows, 1, DType::I64, like.executor()) % classes;
}

// clang-format off
const Case kCases[] = {
  {"linear, gelu", {{5, 7}, {3, 7}, {3}}, [](const Tensors& x) { return nn::gelu(nn::linear(x[0], x[1], x[2])); }},
  {"silu of a product", {{4, 6}, {6, 9}}, [](const Tensors& x) { return ops::silu(ops::matmul(x[0], x[1])); }},
  {"mish, softplus, elu", {{3, 11}}, [](const Tensors& x) { return nn::mish(x[0]) + nn::softplus(x[0]) * nn::elu(x[0]); }},
  {"swiglu", {{3, 10}}, [](const Tensors& x) { return nn::swiglu(x[0]); }},
  {"softmax", {{6, 9}}, [](const Tensors& x) { return ops::square(ops::softmax(x[0], -1)); }},
  {"log_softmax over the first axis", {{6, 9}}, [](const Tensors& x) { return ops::square(ops::log_softmax(x[0], 0)); }},
  {"layer_norm", {{4, 10}, {10}, {10}}, [](const Tensors& x) { return nn::layer_norm(x[0], {10}, {.weight = x[1], .bias = x[2]}); }},
  {"rms_norm", {{4, 10}, {10}}, [](const Tensors& x) { return nn::rmsnorm(x[0], x[1]); }},
  {"batch_norm", {{4, 3, 5}, {3}, {3}}, [](const Tensors& x) { return nn::batch_norm(x[0], {}, {}, {.weight = x[1], .bias = x[2], .training = true}).output; }},
  {"group_norm", {{2, 4, 5}}, [](const Tensors& x) { return nn::group_norm(x[0], 2); }},
  {"attention", {{1, 2, 5, 4}, {1, 2, 6, 4}, {1, 2, 6, 4}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2]); }},
  {"causal attention", {{1, 2, 6, 4}, {1, 2, 6, 4}, {1, 2, 6, 4}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true}); }},
  {"rope", {{2, 5, 8}}, [](const Tensors& x) { return nn::rope(x[0]); }},
  {"embedding", {{7, 4}}, [](const Tensors& x) { return nn::embedding(labels(x[0], 10, 7), x[0]); }},
  {"conv1d", {{2, 3, 9}, {4, 3, 3}, {4}}, [](const Tensors& x) { return nn::conv1d(x[0], x[1], {.bias = x[2], .padding = 1}); }},
  {"conv2d, strided", {{1, 3, 8, 7}, {4, 3, 3, 3}}, [](const Tensors& x) { return nn::conv2d(x[0], x[1], {.stride = 2, .padding = 1}); }},
  {"conv_transpose2d", {{1, 3, 4, 5}, {3, 2, 3, 3}}, [](const Tensors& x) { return nn::conv_transpose2d(x[0], x[1], {.stride = 2}); }},
  {"max_pool2d", {{1, 2, 7, 8}}, [](const Tensors& x) { return nn::max_pool2d(x[0], 3, {.stride = 2}); }},
  {"avg_pool2d", {{1, 2, 7, 8}}, [](const Tensors& x) { return nn::avg_pool2d(x[0], 2); }},
  {"adaptive_avg_pool2d", {{1, 2, 7, 8}}, [](const Tensors& x) { return nn::adaptive_avg_pool2d(x[0], {3, 3}); }},
  {"interpolate", {{1, 2, 4, 5}}, [](const Tensors& x) { return nn::interpolate(x[0], {.size = {7, 6}, .mode = nn::Interpolation::Linear}); }},
  {"cross_entropy", {{6, 5}}, [](const Tensors& x) { return nn::cross_entropy(x[0], labels(x[0], 6, 5)); }},
  {"cross_entropy, smoothed", {{6, 5}}, [](const Tensors& x) { return nn::cross_entropy(x[0], labels(x[0], 6, 5), {.label_smoothing = 0.1}); }},
  {"mse, l1 and huber", {{4, 5}, {4, 5}}, [](const Tensors& x) { return nn::mse_loss(x[0], x[1]) + nn::l1_loss(x[0], x[1]) + nn::huber_loss(x[0], x[1]); }},
  {"binary cross entropy", {{4, 5}, {4, 5}}, [](const Tensors& x) { return nn::binary_cross_entropy_with_logits(x[0], ops::sigmoid(x[1])); }},
  {"cosine similarity", {{4, 5}, {4, 5}}, [](const Tensors& x) { return nn::cosine_similarity(x[0], x[1]); }},
  {"sums, products, extremes", {{4, 6}}, [](const Tensors& x) { return ops::sum(x[0], {1}) * ops::prod(x[0], {1}) + ops::max(x[0], {1}) - ops::min(x[0], {1}) + ops::var(x[0], {1}); }},
  {"running sums and products", {{4, 6}}, [](const Tensors& x) { return ops::cumsum(x[0], 1) * ops::cumprod(x[0], 1); }},
  {"sorted, taken, rolled", {{4, 6}}, [](const Tensors& x) { return ops::sort(x[0], 1) * ops::roll(x[0], 1, 0) + ops::take(x[0], labels(x[0], 4, 3), 0); }},
  {"concat, slices, pad", {{4, 6}, {4, 3}}, [](const Tensors& x) { return ops::concat({x[0].slice({Slice{}, Slice{1, 4}}), x[1]}, 1); }},
};
// clang-format on

uint32_t seed() {
  const char* text = std::getenv("HOLOGRAM_TEST_SEED");
  return text != nullptr ? static_cast<uint32_t>(std::atoi(text)) : 1;
}

std::vector<Array> inputs_of(const Case& one) {
  std::mt19937 generator(seed());
  std::vector<Array> arrays;
  for (const Shape& shape : one.shapes) {
    std::vector<float> values(static_cast<size_t>(count_of(shape)));
    // Quarters of 1/32768, so that few results are as close as roundings, and nothing is 0.
    for (float& v : values) v = (static_cast<float>(generator() % 65536) - 32767.5f) / 16384;
    arrays.push_back(Array::from(values, shape));
  }
  return arrays;
}

// The value and the gradients, by a sum with weights that differ from element to element.
std::vector<Array> results_of(const Case& one, const Executor& executor) {
  Tensors inputs;
  for (const Array& array : inputs_of(one)) inputs.push_back(Tensor::from(array, executor));
  const auto found = value_and_gradient(
      [&](const Tensors& x) {
        const Tensor y = one.run(x).reshape({-1});
        return ops::sum(y * (ops::arange(0, y.shape()[0], 1, DType::F32, executor) * 0.125 + 1));
      },
      inputs);
  std::vector<Array> arrays = {found.value.array()};
  for (const Tensor& gradient : found.gradients) arrays.push_back(gradient.array());
  return arrays;
}

class DeviceGradients : public tests::OnDevice {};

TEST_P(DeviceGradients, AreThoseOfTheCpu) {
  const Executor cpu(BackendType::Cpu);
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    std::vector<Array> expected, found;
    ASSERT_NO_THROW(expected = results_of(one, cpu));
    try {
      found = results_of(one, *device_);
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << error.remedy();
      continue;
    }
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < found.size(); k++) {
      const auto have = found[k].as<float>(), right = expected[k].as<float>();
      ASSERT_EQ(have.size(), right.size());
      float largest = 0;
      for (const float v : right) largest = std::max(largest, std::fabs(v));
      ASSERT_TRUE(std::isfinite(largest) && largest > 0) << "of input " << k;
      // Products and convolutions add up in an order of the device's.
      for (size_t i = 0; i < have.size(); i++)
        EXPECT_LE(std::fabs(have[i] - right[i]), largest * 0x1p-17f)
            << "of input " << k << ", element " << i << ": " << have[i] << ", not " << right[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceGradients, tests::all_devices(), tests::device_name);

}  // namespace
}  // namespace hologram
