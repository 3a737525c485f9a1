// Runs printed OpenCL on a device of this machine, if it has one: PoCL does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dialects/run_request.hpp"
#include "oracle/naive_interpreter.hpp"

namespace hologram::dialects {

class OpenCl {
 public:
  // Null with the reason why there is none.
  static OpenCl* get(std::string& reason);
  bool has_f64() const { return f64_; }

  // What the compiler says; empty if it has nothing against the text.
  std::string compile(const Printed& printed);
  // Launches once and brings the buffers back, guards around them among them. Returns what went
  // wrong; empty if nothing did. `ran_out` is what the Stop argument holds in the end.
  std::string run(const RunRequest& request, std::vector<oracle::Memory>& buffers,
                  uint32_t* ran_out = nullptr);

 private:
  struct Api;
  void* program_for(const Printed& printed, std::string& log);
  std::unique_ptr<Api> api_;
  void *device_ = nullptr, *context_ = nullptr, *queue_ = nullptr;
  bool f64_ = false;
};

}  // namespace hologram::dialects
