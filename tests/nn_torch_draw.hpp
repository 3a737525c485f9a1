// Inputs and answers of nn/torch_answers.json.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "hologram/hologram.hpp"

namespace hologram {

using nlohmann::json;

inline double number(const json& value) {
  if (!value.is_string()) return value.get<double>();
  return std::stod(value.get<std::string>());
}

inline Shape shape_of(const json& list) {
  Shape shape;
  for (const json& n : list) shape.push_back(n.get<int64_t>());
  return shape;
}

// As torch_answers.py draws them.
class Words {
 public:
  explicit Words(uint64_t seed) : state_(seed) {}
  uint64_t operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

 private:
  uint64_t state_;
};

inline Tensor drawn(const json& spec, DType dtype) {
  const auto kind = spec[0].get<std::string>();
  const Shape shape = shape_of(spec[1]);
  std::vector<double> numbers;
  if (kind == "values") {
    for (const json& n : spec[2]) numbers.push_back(number(n));
    return Tensor::from_vector(numbers, shape).to(dtype);
  }
  Words words(spec[2].get<uint64_t>());
  for (int64_t i = 0; i < count_of(shape); i++) {
    const uint64_t w = words();
    numbers.push_back(kind == "real"   ? (static_cast<double>(w % 81) - 40) / 16
                      : kind == "unit" ? static_cast<double>(w % 15 + 1) / 16
                      : kind == "sign" ? 1 - 2 * static_cast<double>(w % 2)
                      : kind == "bool" ? static_cast<double>(w % 4 != 0)
                                       : static_cast<double>(w % spec[3].get<uint64_t>()));
  }
  const Tensor made = Tensor::from_vector(numbers, shape);
  return made.to(kind == "bool" ? DType::Bool : kind == "integers" ? DType::I64 : dtype);
}

}  // namespace hologram
