// An Executor in one expression:
//
//   auto executor = Executor::builder().backend(BackendType::Cpu).threads(2).strict().build();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/config.hpp"
#include "hologram/export.hpp"

namespace hologram {

class Executor;

// Starts from what the environment says; what is called overrides it. The functions are named like
// the fields of BackendConfig that they set.
class HOLOGRAM_API ExecutorBuilder {
 public:
  ExecutorBuilder();  // InvalidConfig for a bad variable

  ExecutorBuilder& backend(BackendType type);  // forces it; Auto leaves the choice to hologram
  // By name, as HOLOGRAM_BACKEND spells it: also one that was registered (backend.hpp).
  // InvalidConfig if there is none of that name.
  ExecutorBuilder& backend(std::string_view name);
  ExecutorBuilder& prefer(std::vector<BackendType> types);  // the first of these that is there
  ExecutorBuilder& device(int index);
  ExecutorBuilder& threads(int count);
  ExecutorBuilder& cache_size_mb(uint64_t mebibytes);
  ExecutorBuilder& timeout_ms(uint64_t milliseconds);
  ExecutorBuilder& strict(bool on = true);
  ExecutorBuilder& allow_transfers(bool on = true);
  ExecutorBuilder& fusion(bool on = true);
  ExecutorBuilder& check(bool on = true);
  ExecutorBuilder& profiling(bool on = true);
  ExecutorBuilder& log_level(LogLevel level);
  ExecutorBuilder& cpu_target(std::string name);
  ExecutorBuilder& jit(Jit when);
  ExecutorBuilder& simd(bool on = true);
  ExecutorBuilder& tensor_cores(bool on = true);
  ExecutorBuilder& tf32(bool on = true);
  ExecutorBuilder& winograd(bool on = true);
  ExecutorBuilder& deterministic(bool on = true);
  ExecutorBuilder& reproducible(bool on = true);
  ExecutorBuilder& cudnn(bool on = true);
  ExecutorBuilder& cblas(std::string name);  // "auto", "none" or a file
  ExecutorBuilder& autotuning_ms(uint64_t milliseconds);
  ExecutorBuilder& autotuning_cache_file(std::string path);

  ExecutorBuilder& pool(const PoolConfig& config);

  const BackendConfig& config() const { return config_; }

  // InvalidConfig for a bad value, BackendUnavailable if there is no such device.
  Executor build() const;

 private:
  BackendConfig config_;
};

}  // namespace hologram
