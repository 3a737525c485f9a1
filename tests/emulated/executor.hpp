// Runs launches of kernels on the processor.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "block.hpp"

namespace hologram::emulated {

// With a copy of its arguments.
struct Launch {
  const Kernel* kernel = nullptr;
  unsigned blocks = 0, threads = 0;
  std::vector<std::byte> values;  // each at the next multiple of kAlignment
  static constexpr size_t kAlignment = 16;
};
Launch launch_of(const Kernel& kernel, unsigned blocks, unsigned threads,
                 const void* const* arguments);

// Thread-safe: one launch at a time.
class Executor {
 public:
  void set(const Settings& settings);
  // What went wrong, which ends the launch; empty: nothing.
  std::string run(const Launch& launch);

 private:
  std::mutex mutex_;
  Block block_;
};

}  // namespace hologram::emulated
