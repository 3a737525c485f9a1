// Records launches in bounded memory: the latest ones each, all of them by kernel.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "hologram/hal/launch.hpp"
#include "hologram/profiler.hpp"

namespace hologram::runtime {

// The work of a launch.
struct Work {
  double bytes = 0;  // read and written
  double flops = 0;
  bool least = false;  // there may be more, as a loop's length is unknown
};

// Thread-safe.
class Profiler {
 public:
  static constexpr size_t kMostLaunches = 1 << 16;
  static constexpr size_t kMostKernels = 4096;  // later ones are counted as kOthers
  static constexpr std::string_view kOthers = "(others)";

  explicit Profiler(std::string device) : device_(std::move(device)) {}

  void record(std::string_view kernel, hal::Clock::time_point start, hal::Clock::time_point end,
              const Work& work);
  // A launch that the device times: it is recorded when the time is `known`.
  uint64_t next_number() { return ++numbers_; }
  void expect(uint64_t number, std::string_view kernel, hal::Clock::time_point asked,
              const Work& work);
  void known(uint64_t number, double seconds);
  Profile snapshot() const;

 private:
  struct Event {
    uint32_t kernel, thread;
    double start, seconds;
    Work work;
  };
  struct Expected {
    std::string kernel;
    std::thread::id thread;
    hal::Clock::time_point asked;
    Work work;
  };
  uint32_t index_of(std::string_view kernel);
  void add(std::string_view kernel, std::thread::id thread_id, double start, double seconds,
           const Work& work);

  const std::string device_;
  const hal::Clock::time_point began_ = hal::Clock::now();

  mutable std::mutex mutex_;
  std::vector<KernelProfile> kernels_;
  std::unordered_map<std::string, uint32_t> indices_;  // into kernels_
  std::unordered_map<std::thread::id, uint32_t> threads_;
  std::vector<Event> ring_;
  std::unordered_map<uint64_t, Expected> expected_;
  double last_end_ = 0;  // of those that a device timed, which it does one after the other
  std::atomic<uint64_t> numbers_{0};
  uint64_t recorded_ = 0;  // the next event goes to this place modulo kMostLaunches
};

}  // namespace hologram::runtime
