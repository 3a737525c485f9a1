// Gradients of neural operations beside PyTorch's: by each input, with cotangents that are drawn,
// in f64 and f32.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "hologram/gradient.hpp"
#include "nn_torch_cases.hpp"
#include "nn_torch_draw.hpp"

namespace hologram {
namespace {

class NnGradients : public testing::TestWithParam<DType> {};

// As torch_answers.py draws them.
std::vector<Tensor> cotangents_of(const std::vector<Tensor>& results) {
  std::vector<Tensor> cotangents;
  for (const Tensor& r : results) {
    json shape = json::array();
    for (const int64_t n : r.shape()) shape.push_back(n);
    cotangents.push_back(drawn({"real", shape, 70 + cotangents.size()}, r.dtype()));
  }
  return cotangents;
}

void compare(const json& one, const NnCase& found, DType dtype) {
  const auto name = one.at("name").get<std::string>();
  // The others are constants.
  std::vector<Tensor> inputs, floats;
  std::vector<size_t> places;
  for (const json& spec : one.at("inputs")) {
    inputs.push_back(drawn(spec, dtype));
    if (!is_float(inputs.back().dtype())) continue;
    places.push_back(inputs.size() - 1);
    floats.push_back(inputs.back());
  }
  const Vjp done = vjp(
      [&](const std::vector<Tensor>& x) {
        std::vector<Tensor> all = inputs;
        for (size_t i = 0; i < x.size(); i++) all[places[i]] = x[i];
        std::vector<Tensor> results = found.run(all);
        // PyTorch has no gradients of indices and running statistics.
        results.erase(results.begin() + 1, results.end());
        return results;
      },
      floats);
  const std::vector<Tensor> gradients = done.pullback(cotangents_of(done.values));
  ASSERT_EQ(gradients.size(), floats.size()) << name;
  for (size_t k = 0; k < floats.size(); k++) {
    const json& right = one.at("gradients")[places[k]];
    if (right.is_null()) continue;
    ASSERT_EQ(gradients[k].shape(), floats[k].shape()) << name;
    const std::vector<double> got = gradients[k].to(DType::F64).to_vector<double>();
    double size = 1;
    for (const json& n : right)
      if (std::isfinite(number(n))) size = std::max(size, std::fabs(number(n)));
    for (size_t i = 0; i < got.size(); i++) {
      const double expected = number(right[i]);
      if (std::isnan(expected) || got[i] == expected) continue;  // NaN of log(0): ours is finite
      EXPECT_NEAR(got[i], expected, (dtype == DType::F64 ? 5e-8 : 5e-5) * size)
          << name << " by input " << places[k] << ", element " << i;
    }
  }
}

// What is chosen otherwise: equal largest elements share, where PyTorch's adaptive pooling takes
// the first; logarithms that are cut off at -100 have no slope, where PyTorch's is 1e12 and more.
const std::set<std::string> kChosenOtherwise = {"adaptive_max_pool3d", "bce at the ends"};

TEST_P(NnGradients, ArePyTorchs) {
  const json table = json::parse(std::ifstream(HOLOGRAM_TORCH_ANSWERS));
  for (const json& one : table.at("cases")) {
    const auto name = one.at("name").get<std::string>();
    if (!one.contains("gradients") || kChosenOtherwise.count(name) == 1) continue;
    try {
      compare(one, nn_cases().at(name), GetParam());
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what() << " " << error.remedy();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFloat, NnGradients, testing::Values(DType::F64, DType::F32),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace hologram
