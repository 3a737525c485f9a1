// What the parts of the emulated Metal share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <optional>

#include "emulated/executor.hpp"
#include "emulated/kernel_library.hpp"
#include "emulated/streams.hpp"
#include "fake_metal.hpp"
#include "fake_objc.hpp"

namespace hologram::fake {

struct World {
  std::mutex mutex;
  emulated::KernelLibrary* kernels = nullptr;  // null: they are recorded, not executed
  emulated::Executor executor;
  emulated::Streams streams;
  std::string options;
  unsigned limit = 1024;
  std::atomic<uint64_t> allocated = 0;
  std::atomic<int> launches = 0;
  std::atomic<double> clock = 0;  // seconds that command buffers took
  std::mutex hang_mutex;
  std::condition_variable unhung;
  bool hangs = false;
};
World& world();

struct Gpu final : Thing {  // an MTLDevice
  Gpu(const char* name, bool unified, metal::Int family)
      : Thing("MTLDevice"), name(name), unified(unified), family(family) {}
  const char* const name;
  const bool unified;
  const metal::Int family;
};

struct Bytes final : Thing {  // an MTLBuffer
  Bytes(size_t size, bool shared, std::byte* lent);
  void go() override;
  const size_t size;
  const bool shared, lent;
  std::byte* memory;
};

struct Pipe final : Thing {  // an MTLComputePipelineState
  explicit Pipe(std::string name) : Thing("MTLComputePipelineState"), name(std::move(name)) {}
  const std::string name;
  size_t buffers = 0;  // that the kernel has, numbers among them
  metal::UInt most_threads = 0;
  const emulated::Kernel* kernel = nullptr;
};

// What messages of a queue and all that comes of it do.
void answer_commands();
Thing* new_queue();

}  // namespace hologram::fake
