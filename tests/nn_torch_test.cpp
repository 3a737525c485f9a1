// Neural operations beside PyTorch's: the cases of nn/torch_answers.json, which PyTorch computed in
// float64 from the inputs that are drawn here again, in every float dtype.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>

#include "hologram/hologram.hpp"
#include "nn_torch_cases.hpp"
#include "nn_torch_draw.hpp"

namespace hologram {
namespace {

using nlohmann::json;

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return 0x1p-11;
    case DType::BF16: return 0x1p-8;
    case DType::F32: return 0x1p-24;
    default: return 1e-9;  // of the numbers in the file
  }
}

// Whether every finite number of a case is one of f16.
bool fits_f16(const json& list) {
  for (const json& n : list) {
    if (n.is_array() ? !fits_f16(n) : std::isfinite(number(n)) && std::fabs(number(n)) > 65504)
      return false;
  }
  return true;
}
bool fits_f16_case(const json& one) {
  for (const json& spec : one.at("inputs"))
    if (spec[0] == "values" && !fits_f16(spec[2])) return false;
  for (const json& output : one.at("outputs"))
    if (!fits_f16(output.at("values"))) return false;
  return true;
}

void compare(const json& output, const Tensor& result, DType dtype, double roundings,
             const std::string& name) {
  ASSERT_EQ(result.shape(), shape_of(output.at("shape"))) << name;
  const bool whole = is_integer(result.dtype());
  if (!whole) {
    EXPECT_EQ(result.dtype(), dtype) << name;
  }
  const std::vector<double> got = result.to(DType::F64).to_vector<double>();
  double size = 0;
  for (const json& n : output.at("values"))
    if (std::isfinite(number(n))) size = std::max(size, std::fabs(number(n)));
  for (size_t i = 0; i < got.size(); i++) {
    const double right = number(output.at("values")[i]);
    if (std::isnan(right)) {
      EXPECT_TRUE(std::isnan(got[i])) << name << ", element " << i << " is " << got[i];
    } else if (std::isinf(right) || whole) {
      EXPECT_EQ(got[i], right) << name << ", element " << i;
    } else {
      // What f32 rounds on the way, relative to the largest of the results, and the roundings to
      // the dtype; those before the last one are of what has other sizes, too.
      const double sizes = std::min(size, 1e3) + std::fabs(right);
      const double on_the_way = dtype == DType::F64 ? 0 : 16 * epsilon_of(DType::F32) * sizes;
      const double last = epsilon_of(dtype) * (std::fabs(right) + (roundings - 1) * sizes);
      const double denormal = dtype == DType::F16 ? 0x1p-25 : 0;
      EXPECT_LE(std::fabs(got[i] - right), on_the_way + last + denormal)
          << name << ", element " << i << " is " << got[i] << ", not " << right;
    }
  }
}

class Torch : public testing::TestWithParam<DType> {};

TEST_P(Torch, GivesTheSame) {
  const json table = json::parse(std::ifstream(HOLOGRAM_TORCH_ANSWERS));
  const DType dtype = GetParam();
  std::set<std::string> names;
  for (const json& one : table.at("cases")) {
    const auto name = one.at("name").get<std::string>();
    names.insert(name);
    if (dtype == DType::F16 && !fits_f16_case(one)) continue;
    const auto found = nn_cases().find(name);
    if (found == nn_cases().end()) {
      ADD_FAILURE() << "nn_torch_cases.cpp has no case " << name;
      continue;
    }
    std::vector<Tensor> inputs;
    for (const json& spec : one.at("inputs")) inputs.push_back(drawn(spec, dtype));
    try {
      const std::vector<Tensor> results = found->second.run(inputs);
      ASSERT_EQ(results.size(), one.at("outputs").size()) << name;
      for (size_t i = 0; i < results.size(); i++)
        compare(one.at("outputs")[i], results[i], dtype, found->second.roundings, name);
    } catch (const Error& error) {
      ADD_FAILURE() << name << ": " << error.what() << " " << error.remedy();
    }
  }
  for (const auto& [name, one] : nn_cases())
    EXPECT_TRUE(names.count(name) == 1) << "torch_answers.py has no case " << name;
}

INSTANTIATE_TEST_SUITE_P(EveryFloat, Torch,
                         testing::Values(DType::F64, DType::F32, DType::F16, DType::BF16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace hologram
