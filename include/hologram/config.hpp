// How an Executor is set up. Each field has an environment variable; code overrides it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hologram/device.hpp"
#include "hologram/export.hpp"
#include "hologram/log.hpp"
#include "hologram/memory.hpp"

namespace hologram {

struct HOLOGRAM_API BackendConfig {
  BackendType backend_type = BackendType::Auto;  // HOLOGRAM_BACKEND: a name forces it
  std::vector<BackendType> preference;           // HOLOGRAM_BACKEND=cuda,cpu: the first there is
  int device_id = 0;                             // HOLOGRAM_DEVICE_ID
  bool enable_backend_profiling = false;         // HOLOGRAM_ENABLE_PROFILING: 0 or 1
  uint64_t cache_size_mb = 0;  // HOLOGRAM_CACHE_SIZE_MB: memory for arrays, MiB; 0: no limit
  uint64_t timeout_ms = 0;     // HOLOGRAM_TIMEOUT_MS: of one launch; 0: none
  int num_threads = 0;         // HOLOGRAM_NUM_THREADS; 0: what affinity and cgroup allow
  bool check = false;          // HOLOGRAM_CHECK: find races and unset workgroup memory; slow
  std::string cpu_target;      // HOLOGRAM_CPU_TARGET: "avx2", …; empty: the best there is
  PoolConfig pool;             // memory.hpp; code only

  // The defaults with what the environment says. InvalidConfig for a bad value.
  static BackendConfig from_environment();
};

}  // namespace hologram
