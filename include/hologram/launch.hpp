// Atlas programs over tensors: they run on the tensors' device, when somebody reads a result, and
// nothing goes through the host; in captured graphs, too.
//
//   const Program twice = Program::parse("program twice(in x: f32[n], out y: f32[n]) lanes(n) {\n"
//                                        "  i = global_id.x\n"
//                                        "  if i < n { y[i] = 2.0 * x[i] } }");
//   Tensor y = launch(twice, {{"x", x}}).at("y");
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/program.hpp"
#include "hologram/tensor.hpp"

namespace hologram {

struct TensorArgument {
  std::string name;
  Operand value;  // a tensor for a buffer, of its dtype and shape; a number for a scalar
};

struct LaunchOptions {
  std::optional<Grid> grid = {};  // workgroups; else as the program says, as with Executor::run
  std::map<std::string, Shape> shapes = {};  // of what is written and cannot be derived
  std::optional<Executor> executor = {};     // else that of the first tensor, else the default
  uint64_t budget = 0;                       // as RunOptions::budget
  RunReport* report = nullptr;               // its grid
};

// What the program writes, by name. Tensors never change: what it writes into is a copy of what was
// given, or zeros. Tensors of other executors are brought to this one. Throws at once what does not
// suit the program, as Executor::run does; what goes wrong while it runs, when a result is read.
HOLOGRAM_API std::map<std::string, Tensor> launch(const Program& program,
                                                  const std::vector<TensorArgument>& arguments,
                                                  const LaunchOptions& options = {});

}  // namespace hologram
