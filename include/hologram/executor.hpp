// Running programs.
//
//   Executor executor;
//   auto out = executor.run(blur, {{"src", picture}, {"sigma", 2.0}});
//   Array result = out.at("dst");
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "hologram/array.hpp"
#include "hologram/config.hpp"
#include "hologram/device.hpp"
#include "hologram/executor_builder.hpp"
#include "hologram/memory.hpp"
#include "hologram/profiler.hpp"
#include "hologram/program.hpp"

namespace hologram {

// A number given for a scalar parameter; it must fit the parameter's type (floats round).
struct Number {
  template <class T>
  requires std::is_arithmetic_v<T> Number(T value)
      : real(static_cast<double>(value)), is_integer(std::is_integral_v<T>) {
    if constexpr (std::is_integral_v<T>) {
      integer = static_cast<int64_t>(value);
      exceeds_int64 = std::is_unsigned_v<T> && integer < 0;
    }
  }
  double real;
  int64_t integer = 0;
  bool is_integer;
  bool exceeds_int64 = false;  // an unsigned number beyond int64_t: `integer` holds its bits
};

// A named argument: an array for a buffer parameter, a number for a scalar.
struct Argument {
  std::string name;
  std::variant<Array, Number> value;
};

// Workgroups along x, y and z.
using Grid = std::array<uint64_t, 3>;

// Shared with a running launch: read how many lanes are done of the total, set `cancel`.
struct Progress {
  std::atomic<uint64_t> done{0};
  std::atomic<uint64_t> total{0};
  std::atomic<bool> cancel{false};
};

// What a launch did.
struct RunReport {
  Grid grid = {1, 1, 1};
  double seconds = 0;     // wall time of the launches
  uint64_t launches = 0;  // more than 1 where the work was done by strips
};

// Receives rows [first_row, first_row + rows.shape()[0]) of an output, in order.
using OutputSink =
    std::function<void(const std::string& output, int64_t first_row, const Array& rows)>;

struct RunOptions {
  std::optional<Grid> grid;  // else from the program's lanes(…), else one lane an output element
  std::map<std::string, Shape> shapes;  // of outputs that cannot be derived
  // The most loop rounds that a block of lanes may go; 0: any number. Unlike a time-out it stops a
  // program at the same place on every machine. CPU only.
  uint64_t budget = 0;
  Progress* progress = nullptr;
  RunReport* report = nullptr;
};

struct Counters {
  uint64_t launches = 0;       // of programs
  uint64_t library_calls = 0;  // of vendor libraries
  uint64_t programs = 0;       // compiled
  uint64_t fallbacks = 0;      // work that was not done the way it was asked for
  uint64_t tuning_runs = 0;    // for the fastest way to do some work (BackendConfig::autotuning_ms)
  uint64_t rejected_candidates = 0;  // found by them: faster, but with other results; never used
};

// A device, and everything needed to run programs on it. Cheap to copy (copies share the device);
// any thread may use it.
class HOLOGRAM_API Executor {
 public:
  // The best device there is, or what the environment asks for. BackendUnavailable says why not.
  Executor();
  explicit Executor(BackendType backend);
  static Executor automatic() { return Executor(); }
  // The first device with so many bytes free, among those that the environment allows. OutOfMemory
  // says what each of them lacks.
  static Executor automatic(uint64_t bytes);
  static Executor from_config(const BackendConfig& config);
  static ExecutorBuilder builder() { return {}; }
  // In the application's own CUDA context (a CUcontext), with all work on its stream (a CUstream of
  // that context; null: the default stream). Both stay the application's: they must outlive the
  // executor and every tensor, graph and program that was made with it. What the application puts
  // on the stream and what hologram does run in the order of the calls. BackendUnavailable says
  // what is not right with them.
  static Executor from_native(void* context, void* stream);
  static Executor from_native(void* context, void* stream, const BackendConfig& config);
  // The same with a stream (a CUstream or hipStream_t; null: the default stream) in the context
  // that the process has of device `config.device_id`: that of programs over the runtime API, as
  // PyTorch.
  static Executor on_stream(void* stream, const BackendConfig& config);

  const DeviceInfo& device() const;
  const BackendConfig& config() const;
  std::string why() const;  // how the device was chosen

  // Launches the program and waits. Arguments are matched by name. Buffers that are only written
  // may be left out where their shape follows from the others' dimensions; in and inout buffers may
  // not. An inout argument is changed in place. Returns every buffer that the program writes, by
  // name.
  std::map<std::string, Array> run(const program::Program& program,
                                   const std::vector<Argument>& arguments,
                                   const RunOptions& options = {}) const;
  std::map<std::string, Array> run(const program::Program& program,
                                   const std::vector<Argument>& arguments, Grid grid) const;

  // The same, but an output leaves through `sink` by strips of whole rows, so that inputs and one
  // strip are all that must fit into `cache_size_mb`. UnsupportedOperation if the program cannot be
  // cut that way: a strip of the grid must write its own rows only.
  void run_tiled(const program::Program& program, const std::vector<Argument>& arguments,
                 const OutputSink& sink, const RunOptions& options = {}) const;

  // Zeros in memory of the host that this device copies from and to by itself, at the full speed of
  // its link: page-locked memory for CUDA, on other devices the memory that any Array has. Tensors
  // made of it and Tensor::copy_to into it need no other buffer on the way. It is scarce: the
  // system cannot lend it to anybody else. OutOfMemory.
  Array pinned(DType dtype, Shape shape) const;

  // Returns when the device has done all that was asked of it; throws what went wrong. Reading a
  // tensor waits by itself.
  void synchronize() const;

  PoolStatistics pool_statistics() const;
  // Gives memory that is not in use back to the device; returns how many bytes.
  uint64_t trim() const;

  // What launches took so far; of no launches unless enable_backend_profiling is set.
  Profile profile() const;

  // What has been done since the executor was made, by programs and tensors together.
  Counters counters() const;

  // For the library itself.
  struct State;
  explicit Executor(std::shared_ptr<State> state);
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hologram
