// The calls of nn/torch_answers.py in C++.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hologram/nn.hpp"

namespace hologram {

struct NnCase {
  std::function<std::vector<Tensor>(const std::vector<Tensor>& x)> run;
  double roundings = 1;  // to the dtype, one after the other
};

const std::map<std::string, NnCase>& nn_cases();
void add_nn_loss_cases(std::map<std::string, NnCase>& all);

}  // namespace hologram
