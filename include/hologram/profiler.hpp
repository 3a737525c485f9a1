// What launches took. Recorded when BackendConfig::enable_backend_profiling is set.
//
//   std::puts(executor.profile().table().c_str());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hologram/export.hpp"

namespace hologram {

// One launch.
struct LaunchRecord {
  std::string kernel;
  double start = 0;  // seconds since the Executor was made
  // By the device's own clock where it has one (CUDA, OpenCL, most of WebGPU); else wall time, from
  // the launch until it was done. A launch is reckoned to start when it was asked for or when the
  // one before it ended.
  double seconds = 0;
  double bytes = 0;  // read and written
  double flops = 0;
  bool least = false;   // bytes and flops are the least there can be: a loop's length is unknown
  uint32_t thread = 0;  // of the caller: 0, 1, …
};

// All launches of one kernel.
struct KernelProfile {
  std::string kernel;
  uint64_t launches = 0;
  double seconds = 0;                // of all launches
  double shortest = 0, longest = 0;  // seconds
  double bytes = 0, flops = 0;       // of all launches
  bool least = false;                // as in LaunchRecord
  std::string note{};  // how the device runs it, "compiled: AVX-512, 1234 bytes"; may be empty

  double bytes_per_second() const { return seconds > 0 ? bytes / seconds : 0; }
  double flops_per_second() const { return seconds > 0 ? flops / seconds : 0; }
};

// A snapshot of what an Executor has recorded.
struct HOLOGRAM_API Profile {
  std::string device;
  std::vector<KernelProfile> kernels;  // the one that took longest first
  std::vector<LaunchRecord> launches;  // the latest, in order of their ends
  uint64_t dropped = 0;                // earlier launches: in `kernels` only

  // A line for each kernel: launches, time, share of the whole, GB/s and GFLOP/s.
  std::string table() const;
  // The launches as JSON that chrome://tracing and Perfetto open.
  std::string trace() const;
  // Writes it to a file, which appears whole or not at all. IoError.
  void save_trace(const std::string& path) const;
};

}  // namespace hologram
