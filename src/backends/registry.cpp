// The only file that names the backends. A new one is a folder and a line here.
#include "backends/registry.hpp"

#include "backends/cpu/cpu.hpp"
#include "backends/null/null.hpp"
#include "backends/webgpu/webgpu.hpp"
#ifndef __EMSCRIPTEN__
#include "backends/cuda/cuda.hpp"
#include "backends/metal/metal.hpp"
#include "backends/opencl/opencl.hpp"
#include "backends/rocm/rocm.hpp"
#endif

namespace hologram::backends {

std::span<const Entry> all() {
#ifdef __EMSCRIPTEN__
  static constexpr const char* kNoDrivers = "web pages cannot open drivers";
  static const Entry entries[] = {
      {BackendType::Cuda, nullptr, kNoDrivers, true},
      {BackendType::Rocm, nullptr, kNoDrivers, true},
      {BackendType::Metal, nullptr, kNoDrivers, true},
      {BackendType::OpenCl, nullptr, kNoDrivers, true},
      {BackendType::WebGpu, &webgpu::backend(), nullptr, true},
      {BackendType::Cpu, &cpu::backend(), nullptr, true},
      {BackendType::Null, &null::backend(), nullptr, false},
  };
#else
  static const Entry entries[] = {
      {BackendType::Cuda, &cuda::backend(), nullptr, true},
      {BackendType::Rocm, &rocm::backend(), nullptr, true},
      {BackendType::Metal, &metal::backend(), nullptr, true},
      {BackendType::OpenCl, &opencl::backend(), nullptr, true},
      {BackendType::WebGpu, &webgpu::backend(), nullptr, true},
      {BackendType::Cpu, &cpu::backend(), nullptr, true},
      {BackendType::Null, &null::backend(), nullptr, false},
  };
#endif
  return entries;
}

}  // namespace hologram::backends
