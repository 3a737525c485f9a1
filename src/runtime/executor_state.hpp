// What the copies of an Executor share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/hal/device.hpp"
#include "runtime/pool.hpp"
#include "runtime/profiler.hpp"

namespace hologram {

struct Executor::State : std::enable_shared_from_this<Executor::State> {
  State(BackendConfig config, std::shared_ptr<hal::Device> device, std::string why)
      : config(std::move(config)),
        device(std::move(device)),
        why(std::move(why)),
        pool(runtime::Pool::make(this->device, pool_config(this->config))),
        stream(this->device->stream()) {
    if (this->config.enable_backend_profiling)
      profiler = std::make_unique<runtime::Profiler>(this->device->info().name);
  }

  std::shared_ptr<hal::Executable> executable(const program::Program& program);
  // The same, for a launch with these scalars that comes next.
  std::shared_ptr<hal::Executable> executable(const program::Program& program,
                                              std::span<const uint64_t> scalars);
  // How the device runs the program; empty if there is nothing to say. Nothing is kept or counted.
  std::string note(const program::Program& program);
  // The same of the kernels of a profile.
  void note(Profile& profile);
  void refuse_if_too_large(const program::Program& program) const;
  void launch(const program::Program& program, std::vector<Array>& arrays,
              std::span<const uint64_t> scalars, const Grid& grid, const RunOptions& options);
  // Of a device that keeps the time itself; nobody waits. The stream is locked.
  void launch_timed(const program::Program& program, hal::Launch launch, const runtime::Work& work);
  void collect_times(bool all, bool locked = false);
  // Tells the progress how many lanes there are in all.
  static void announce(const program::Program& program, const Grid& grid,
                       const RunOptions& options);
  uint64_t memory_limit() const;  // bytes of arrays
  // Tries again what found no memory on the device, once what the pool keeps is given back.
  template <class Work>
  auto with_memory(const Work& work) {
    try {
      return work();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::OutOfMemory || pool->trim() == 0) throw;
    }
    return work();
  }

  const BackendConfig config;
  const std::shared_ptr<hal::Device> device;
  const std::string why;
  const std::shared_ptr<runtime::Pool> pool;
  // All work that uses memory of the pool is on this stream, as what one piece of work has let go
  // of is the next one's while a device still works: whoever uses it holds the lock.
  std::mutex stream_mutex;
  const std::unique_ptr<hal::Stream> stream;
  std::unique_ptr<runtime::Profiler> profiler;  // null unless profiling; never changes
  std::atomic<uint64_t> launches{0}, library_calls{0}, programs{0}, fallbacks{0}, tuning_runs{0},
      rejected_candidates{0};
  // What the rooms above keep with an executor; made once, under `above_once`.
  std::shared_ptr<void> above;
  std::once_flag above_once;

 private:
  static PoolConfig pool_config(const BackendConfig& config);

  static constexpr size_t kMostExecutables = 512;
  static constexpr uint64_t kTimesAtOnce = 256;

  // Programs that differ in their name only do the same, but name different culprits in errors.
  struct Key {
    program::Hash128 hash;
    std::string name;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.hash.low; }
  };
  std::shared_ptr<hal::Executable> known(const Key& key);
  std::shared_ptr<hal::Executable> compiled(const program::Program& program,
                                            const hal::CompileOptions& options);

  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<hal::Executable>, KeyHash> executables_;
};

}  // namespace hologram
