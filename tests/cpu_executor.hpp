// The CPU by way of programs alone, or with the kernels and loops that are not programs.
#pragma once

#include "hologram/executor.hpp"

namespace hologram {

inline Executor cpu(int threads, Jit jit, bool libraries) {
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  config.num_threads = threads;
  config.jit = jit;
  // A limit of time is for programs alone.
  if (!libraries) config.timeout_ms = 600000;
  return Executor::from_config(config);
}

}  // namespace hologram
