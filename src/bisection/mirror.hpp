// A device that does everything twice: on a real one, and on a copy of its memory by the host and
// the interpreter. What both leave in memory is compared after each step.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bisection/trace.hpp"
#include "hologram/bisect.hpp"
#include "hologram/hal/device.hpp"

namespace hologram::bisection {

// One launch of a program, with what its buffers held before.
struct LaunchRecord {
  const program::Program* program = nullptr;
  Grid grid = {1, 1, 1};
  std::vector<uint64_t> scalars;
  std::vector<std::vector<std::byte>> before;  // one a buffer parameter
};

// Runs programs on memory of the host: on a device, or by the interpreter.
class Runner {
 public:
  explicit Runner(std::shared_ptr<hal::Device> device)
      : device_(std::move(device)), stream_(device_->stream()) {}
  // Leaves in `buffers` what the launch leaves there.
  void run(const program::Program& program, const Grid& grid, std::span<const uint64_t> scalars,
           std::vector<std::vector<std::byte>>& buffers);

 private:
  std::shared_ptr<hal::Device> device_;
  std::unique_ptr<hal::Stream> stream_;
  // The last program: a trace is run many times.
  program::Hash128 hash_;
  std::shared_ptr<hal::Executable> executable_;
};

// What the streams of a mirror share.
class Search {
 public:
  Search(std::shared_ptr<hal::Device> device, std::shared_ptr<hal::Device> interpreter,
         const BisectOptions& options);

  // What was found ends the work.
  [[noreturn]] void found(Finding finding);
  std::optional<Finding>& finding() { return finding_; }
  const std::shared_ptr<hal::Device>& device() const { return device_; }
  const std::shared_ptr<hal::Device>& interpreter() const { return interpreter_; }
  const Equality& equal() const { return equal_; }
  const BisectOptions& options() const { return options_; }
  // Describes a launch whose buffer `buffer` differs at this element, or has a NaN there.
  Finding explain(const LaunchRecord& launch, size_t buffer, int64_t element, uint64_t expected,
                  uint64_t got, bool is_nan);

 private:
  std::optional<Event> locate(const LaunchRecord& launch, int64_t near, bool is_nan);
  std::optional<Event> look(const LaunchRecord& launch, const program::Program& traced,
                            int64_t first, int64_t lanes, int64_t events, bool is_nan);
  bool write_one_instruction(const program::Inst& inst, const program::Module& module,
                             const Event& event, Finding& finding);
  void write_launch(const LaunchRecord& launch, Finding& finding);
  void write(const program::Program& program, const std::vector<std::vector<std::byte>>& buffers,
             std::span<const uint64_t> scalars, const Grid* grid, Finding& finding);

  std::shared_ptr<hal::Device> device_, interpreter_;
  BisectOptions options_;
  Equality equal_;
  Runner on_device_, on_interpreter_;
  std::optional<Finding> finding_;
};

std::shared_ptr<hal::Device> mirror(std::shared_ptr<Search> search);

// bisect of a device that is there already: tests give one that errs.
std::optional<Finding> bisect_on(std::shared_ptr<hal::Device> device, const BackendConfig& config,
                                 const std::function<void(const Executor&)>& work,
                                 const BisectOptions& options);

std::string shown(DType type, uint64_t bits);  // the bits, and the number that they are
// The element of a type at a place of memory, as bits.
uint64_t bits_at(DType type, const std::byte* memory, int64_t element);

}  // namespace hologram::bisection
