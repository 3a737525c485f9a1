// The driver of the GPUs of one vendor.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "backends/driver/api.hpp"
#include "core/disk_cache.hpp"
#include "dialects/dialect.hpp"
#include "hologram/device.hpp"
#include "hologram/hal/expected.hpp"

namespace hologram::backends::driver {

class Gpu;

// What is not the same everywhere and is no function.
struct Platform {
  BackendType backend;
  const char* name;       // in messages: "CUDA"
  const char* no_device;  // why there is nothing to run on where the driver finds no GPU
  dialects::Language language;
  const char* cache;      // folder of what was compiled, among the user's caches
  uint64_t most_threads;  // of a launch
};

// Open for the life of the process.
class Driver {
 public:
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Platform& platform() const { return platform_; }
  const std::string& reason() const { return reason_; }  // why there is no device; empty: there is
  int version() const { return version_; }               // as the driver counts
  const DriverFunctions* operator->() const { return &functions_; }
  const DriverFunctions& operator*() const { return functions_; }

  virtual std::string release() const = 0;  // "CUDA 12.8"

  // "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string text(Status status) const;
  // Whether the process is on its way out, and drivers with it: nothing is given back any more.
  static bool over();

  const core::DiskCache& cache() const { return *cache_; }  // of what was compiled

  // In the driver's order; none if it is not there.
  std::span<Gpu* const> gpus() const;
  // That of a context of the application's, which stays its own, or what is not right with it.
  hal::Expected<Gpu*> gpu_of(Context context) const;

 protected:
  explicit Driver(const Platform& platform);
  // When the table is full: starts the driver. What it is called if that fails: "the NVIDIA
  // driver".
  void start(const char* called);
  virtual std::unique_ptr<Gpu> make(int index, DeviceNumber device, Context context) const = 0;

  DriverFunctions functions_;
  std::string reason_;

 private:
  const Platform platform_;
  const core::DiskCache* const cache_;  // never destroyed: programs may be compiled at exit
  int version_ = 0;
  mutable std::once_flag looked_;
  mutable std::vector<Gpu*> gpus_;
  mutable std::mutex mutex_;
  mutable std::vector<Gpu*> foreign_;  // in contexts of the application's
};

}  // namespace hologram::backends::driver
