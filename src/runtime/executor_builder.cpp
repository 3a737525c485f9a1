#include "hologram/executor_builder.hpp"

#include <utility>

#include "hologram/executor.hpp"
#include "runtime/settings.hpp"

namespace hologram {

ExecutorBuilder::ExecutorBuilder() : config_(BackendConfig::from_environment()) {}

ExecutorBuilder& ExecutorBuilder::backend(BackendType type) {
  config_.backend_type = type;
  config_.preference.clear();
  return *this;
}

ExecutorBuilder& ExecutorBuilder::backend(std::string_view name) {
  return backend(runtime::backend_named(name));
}

ExecutorBuilder& ExecutorBuilder::prefer(std::vector<BackendType> types) {
  config_.backend_type = BackendType::Auto;
  config_.preference = std::move(types);
  return *this;
}

ExecutorBuilder& ExecutorBuilder::device(int index) {
  config_.device_id = index;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::threads(int count) {
  config_.num_threads = count;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::cache_size_mb(uint64_t mebibytes) {
  config_.cache_size_mb = mebibytes;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::timeout_ms(uint64_t milliseconds) {
  config_.timeout_ms = milliseconds;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::strict(bool on) {
  config_.strict = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::allow_transfers(bool on) {
  config_.allow_transfers = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::fusion(bool on) {
  config_.fusion = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::check(bool on) {
  config_.check = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::profiling(bool on) {
  config_.enable_backend_profiling = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::log_level(LogLevel level) {
  config_.log_level = level;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::cpu_target(std::string name) {
  config_.cpu_target = std::move(name);
  return *this;
}

ExecutorBuilder& ExecutorBuilder::simd(bool on) {
  config_.enable_simd = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::jit(Jit when) {
  config_.jit = when;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::tensor_cores(bool on) {
  config_.enable_tensor_cores = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::tf32(bool on) {
  config_.allow_tf32 = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::winograd(bool on) {
  config_.allow_winograd = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::deterministic(bool on) {
  config_.deterministic = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::reproducible(bool on) {
  config_.reproducible = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::cudnn(bool on) {
  config_.enable_cudnn = on;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::cblas(std::string name) {
  config_.cblas = std::move(name);
  return *this;
}

ExecutorBuilder& ExecutorBuilder::autotuning_ms(uint64_t milliseconds) {
  config_.autotuning_ms = milliseconds;
  return *this;
}

ExecutorBuilder& ExecutorBuilder::autotuning_cache_file(std::string path) {
  config_.autotuning_cache_file = std::move(path);
  return *this;
}

ExecutorBuilder& ExecutorBuilder::pool(const PoolConfig& config) {
  config_.pool = config;
  return *this;
}

Executor ExecutorBuilder::build() const { return Executor::from_config(config_); }

}  // namespace hologram
