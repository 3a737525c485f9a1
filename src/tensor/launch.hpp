// A program over tensors: it runs on their device, and nothing goes through the host.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/tensor.hpp"

namespace hologram::tensor {

struct LaunchArgument {
  std::string name;
  std::variant<Tensor, Number> value;
};

// As Executor::run, but that tensors never change: what the program writes into is a copy of what
// was given, or zeros. Every tensor is brought to the executor. Returns what was written, by name;
// it may still be on its way to being so, as with every tensor that is ready.
std::map<std::string, Tensor> launch(const Program& program,
                                     const std::vector<LaunchArgument>& arguments,
                                     const RunOptions& options, const Executor& executor);

}  // namespace hologram::tensor
