// Which operation went wrong: work runs on a device, and step by step beside it on the interpreter.
//
//   const auto found = bisect(config, [&](const Executor& on) { model(x.to(on)).to_vector<float>();
//   }); if (found) std::puts(found->text().c_str());
//
// Each copy, fill, launch and library call is done on the device and, on a copy of its memory, by
// the host and the interpreter. The first step whose memory differs is the one; of a program, each
// value that its lanes compute is compared then, and the first that differs names the instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hologram/config.hpp"
#include "hologram/dtype.hpp"
#include "hologram/executor.hpp"
#include "hologram/export.hpp"

namespace hologram {

struct BisectOptions {
  std::string prefix = "bisect";  // files that are written begin like that; empty: none are
  bool nan = true;                // a NaN that is made of none ends the search, too
  // By how many numbers of its type a float may differ; nothing given: 0 on exact devices, 64 on
  // others, where numbers below the smallest normal one count as 0.
  std::optional<uint64_t> tolerance = {};
};

struct Finding {
  bool is_nan = false;    // else the device differs
  std::string step;       // the program's name, or "copy", "fill", "matmul", "conv2d"
  std::string operation;  // the instruction, "fma"; else the step
  std::string where;      // "dst, element 12", or "lane 12"
  DType dtype = DType::None;
  uint64_t expected = 0, got = 0;  // bits of the element, by the interpreter and by the device
  std::vector<uint64_t> operands;  // bits of the instruction's, which are equal on both
  int line = 0;                    // of the program's text; of `file` for one that was generated
  std::string source;              // that line
  std::string file;                // the smallest program that shows it, empty if none was written
  std::string inputs;              // an .npz with its buffers
  std::string command;             // that runs it: hologram run …
  HOLOGRAM_API std::string text() const;  // all that as lines to read
};

// The first thing that is wrong, or nothing. `work` gets an executor on the device that `device`
// asks for, and makes its tensors there; it is left by an exception when something is found. Other
// exceptions of it pass. What is done on other executors is not looked at. Errors as of
// Executor::from_config; IoError if files cannot be written.
HOLOGRAM_API std::optional<Finding> bisect(const BackendConfig& device,
                                           const std::function<void(const Executor&)>& work,
                                           const BisectOptions& options = {});

}  // namespace hologram
