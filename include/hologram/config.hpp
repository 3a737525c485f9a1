// How an Executor is set up. What is not said in code comes from the environment, what is not said
// there from the file that HOLOGRAM_CONFIG names, and the rest is as below. docs/configuration.md
// lists every setting with its variable and its good values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hologram/device.hpp"
#include "hologram/export.hpp"
#include "hologram/log.hpp"
#include "hologram/memory.hpp"

namespace hologram {

// One field of BackendConfig in words.
struct SettingInfo {
  std::string name;           // of the field, and the key in a file
  std::string variable;       // HOLOGRAM_…
  std::string allowed;        // what the variable may hold
  std::string default_value;  // the default, as a file spells it; empty if nothing is set
  std::string meaning;        // a sentence
};

// When the CPU backend compiles a program to machine code: never, once it has run for long enough
// to pay for it, or before its first launch. Results are the same.
enum class Jit : uint8_t { Off, On, Always };

struct HOLOGRAM_API BackendConfig {
  BackendType backend_type = BackendType::Auto;  // a name forces it
  std::vector<BackendType> preference;           // where Auto: the first of these that is there
  int device_id = 0;
  int num_threads = 0;          // of the CPU; 0: what affinity and cgroup allow
  uint64_t cache_size_mb = 0;   // memory for arrays, MiB; 0: no limit
  uint64_t timeout_ms = 0;      // of one launch; 0: none
  bool strict = false;          // every fallback is an error
  bool allow_transfers = true;  // operands of several devices are brought to one; not if strict
  bool fusion = true;
  bool check = false;  // find races and unset workgroup memory; slow
  bool enable_backend_profiling = false;
  std::optional<LogLevel> log_level;  // of the process, where set_log_callback did not say
  std::string cpu_target;             // "avx2", …; empty: the best there is
  bool enable_simd = true;
  Jit jit = Jit::On;
  bool enable_tensor_cores = true;
  bool allow_tf32 = false;
  bool allow_winograd = false;
  bool enable_cudnn = true;
  // The machine's CBLAS for f32 and f64 products of the CPU: "auto", a file, or "none".
  std::string cblas = "none";
  bool deterministic = false;  // nothing whose results may change from run to run
  bool reproducible = false;   // f32 results that are the same on all exact devices; deterministic
  uint64_t autotuning_ms = 0;  // of one search for a faster way; 0: none is searched for
  std::string autotuning_cache_file;  // empty: in the folder for caches
  PoolConfig pool;                    // memory.hpp; code only

  // The defaults with what the environment says, over what the file named by HOLOGRAM_CONFIG says.
  // InvalidConfig for a bad value, IoError if the file cannot be read.
  static BackendConfig from_environment();
  // The defaults with what a TOML file says; the environment is not looked at. A key is the name of
  // a field. InvalidConfig, with file and line, for unknown keys and bad values; IoError.
  static BackendConfig from_file(const std::string& path);

  // Every field but `pool`, in the order of docs/configuration.md.
  static std::vector<SettingInfo> settings();
};

}  // namespace hologram
