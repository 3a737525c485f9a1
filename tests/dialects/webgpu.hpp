// Runs printed WGSL on an adapter of this machine, if it has one: scripts/software-webgpu fetches
// one in software.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/webgpu/driver.hpp"
#include "dialects/run_request.hpp"
#include "oracle/naive_interpreter.hpp"

namespace hologram::dialects {

class WebGpu {
 public:
  // Null with the reason why there is none.
  static WebGpu* get(std::string& reason);
  // What it gives, and whether its fma rounds once.
  const Options::WebGpu& gives() const { return gives_; }

  // Whether what is denormal becomes 0.
  bool flushes() const { return flushes_; }

  // What the library's compiler says; empty if it has nothing against the text.
  std::string compile(const Printed& printed);
  // Launches once and brings the buffers back, guards around them among them. Returns what went
  // wrong; empty if nothing did. `ran_out` is what the Stop argument holds in the end.
  std::string run(const RunRequest& request, std::vector<oracle::Memory>& buffers,
                  uint32_t* ran_out = nullptr);

 private:
  using Api = backends::webgpu::Api;
  std::string open(const backends::webgpu::Found& found);
  backends::webgpu::GpuBuffer* buffer(uint64_t uses, uint64_t bytes) const;
  // What was wrong with the calls between the two; empty if nothing was.
  void begin_errors() const;
  std::string end_errors() const;
  std::string dispatch(const RunRequest& request, std::vector<oracle::Memory>& buffers,
                       uint32_t* ran_out, backends::webgpu::ShaderModule* module);
  std::string read(backends::webgpu::GpuBuffer* from, std::vector<uint8_t>& bytes);

  const Api& api_;
  explicit WebGpu(const Api& api) : api_(api) {}
  backends::webgpu::Instance* instance_ = nullptr;
  backends::webgpu::DeviceObject* device_ = nullptr;
  backends::webgpu::Queue* queue_ = nullptr;
  Options::WebGpu gives_;
  bool flushes_ = false;
};

}  // namespace hologram::dialects
