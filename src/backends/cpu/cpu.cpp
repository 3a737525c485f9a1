#include "backends/cpu/cpu.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "backends/cpu/memory.hpp"
#include "backends/cpu/program.hpp"
#include "core/host_memory.hpp"
#include "core/log.hpp"
#include "core/messages.hpp"
#include "core/parallel.hpp"
#include "core/system/system.hpp"
#include "interp/targets.hpp"
#include "libraries/cblas/cblas.hpp"
#include "libraries/host_ops.hpp"

namespace hologram::backends::cpu {
namespace {

using core::Text;

// Of a launch's buffers: with more than the last cache holds, what it writes is not found there
// later. A cache that cores of other tasks share is not counted whole: many threads have more of
// it.
uint64_t more_than_caches(int threads) {
  constexpr uint64_t kShare = 64 << 20, kOfAThread = 8 << 20, kUsual = 32 << 20;
  uint64_t last = kUsual;
#ifdef _SC_LEVEL3_CACHE_SIZE
  if (const long size = sysconf(_SC_LEVEL3_CACHE_SIZE); size > 0)
    last = static_cast<uint64_t>(size);
#endif
  return std::min(last, std::max(kShare, kOfAThread * static_cast<uint64_t>(threads)));
}

// The work of a launch is done when launch returns; what went wrong waits for wait().
class CpuStream : public hal::Stream {
 public:
  CpuStream(std::shared_ptr<core::Threads> threads, std::string device)
      : threads_(std::move(threads)), device_(std::move(device)) {}

  void launch(const hal::Launch& launch) override {
    if (failure_) return;
    const auto& program = static_cast<const CpuProgram&>(*launch.executable);
    buffers_.clear();
    buffers_.reserve(launch.bindings.size());
    uint64_t bytes = 0;
    for (size_t i = 0; i < launch.bindings.size(); i++) {
      const hal::Binding& b = launch.bindings[i];
      buffers_.push_back({b.buffer->host() + b.offset, b.size >> program.log2_size(i)});
      bytes += b.size;
    }
    const auto start = launch.deadline ? hal::Clock::now() : hal::Clock::time_point();
    try {
      const interp::Outcome outcome = program.run({.buffers = buffers_,
                                                   .scalars = launch.scalars,
                                                   .grid = launch.grid,
                                                   .deadline = launch.deadline,
                                                   .budget = launch.budget,
                                                   .progress = launch.progress,
                                                   .non_temporal = bytes > more_than_caches_,
                                                   .check = program.checks()},
                                                  *threads_);
      if (outcome == interp::Outcome::Cancelled)
        throw core::error(Text::ProgramCancelled, program.name());
      if (outcome == interp::Outcome::OverBudget)
        throw core::error(Text::ProgramBudget, program.name(), launch.budget);
      if (outcome == interp::Outcome::TimedOut) {
        const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(
            *launch.deadline - start + std::chrono::microseconds(500));
        throw core::error(Text::ProgramTimeout, program.name(), limit.count(), device_);
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    value_++;
  }

  void call(const hal::LibraryPlan& plan, std::span<const hal::Binding> bindings,
            hal::Binding workspace) override {
    if (failure_) return;
    try {
      static_cast<const libraries::HostPlan&>(plan).run(bindings, workspace, *threads_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    value_++;
  }

  void copy(hal::Binding to, hal::Binding from) override {
    std::memcpy(to.buffer->host() + to.offset, from.buffer->host() + from.offset, from.size);
    value_++;
  }

  void fill(hal::Binding where, uint32_t pattern) override {
    std::byte* p = where.buffer->host() + where.offset;
    for (uint64_t i = 0; i + sizeof pattern <= where.size; i += sizeof pattern)
      std::memcpy(p + i, &pattern, sizeof pattern);
    value_++;
  }

  hal::Point submit() override { return {value_}; }

  hal::State wait(hal::Point, hal::Deadline) override {
    if (!failure_) return hal::State::Done;
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  std::shared_ptr<core::Threads> threads_;
  std::string device_;
  InlineVector<interp::BoundBuffer, 8> buffers_;  // of the launch under way
  const uint64_t more_than_caches_ = more_than_caches(threads_->count());  // bytes
  std::exception_ptr failure_;
  uint64_t value_ = 0;
};

std::string model_name() {
  const std::string name = core::system::processor_name();
  return name.empty() ? "CPU" : name;
}

DeviceInfo describe(int threads, std::string_view target, Jit jit) {
  DeviceInfo info;
  info.backend = BackendType::Cpu;
  info.name = model_name();
  const bool compiles = jit != Jit::Off && jit::isa_of(target) != jit::Isa::None;
  info.driver = (compiles ? "interpreter and compiler, " : "interpreter, ") + std::string(target);
  const core::HostMemory memory = core::host_memory();
  info.total_memory = info.max_allocation = memory.total;
  info.free_memory = memory.free;
  info.compute_units = static_cast<uint32_t>(threads);
  info.max_lanes = 1024;
  info.max_shared_bytes = 32 << 10;
  info.binding_alignment = 16;
  info.unified_memory = true;
  info.numerics = Numerics::Exact;
  for (size_t t = 1; t < kDTypeCount; t++) {
    info.storage.add(static_cast<DType>(t));
    if (is_compute_type(static_cast<DType>(t))) info.compute.add(static_cast<DType>(t));
  }
  return info;
}

// The CBLAS that the configuration asks for, or null: none, or one that it forbids to be used.
const libraries::cblas::Cblas* cblas_of(const BackendConfig& config) {
  if (config.cblas.empty() || config.cblas == "none") return nullptr;
  return &libraries::cblas::Cblas::named(config.cblas);
}

class CpuDevice : public hal::Device {
 public:
  CpuDevice(const interp::Target& target, const BackendConfig& config)
      : kernels_(interp::kernel_table(target)),
        isa_(jit::isa_of(target.name)),
        jit_(config.jit),
        threads_(std::make_shared<core::Threads>(config.num_threads)),
        info_(describe(threads_->count(), target.name, config.jit)),
        library_(threads_->count(), config.reproducible, cblas_of(config)) {}

  const DeviceInfo& info() const override { return info_; }
  std::optional<hal::Refusal> refuses(const program::Program&) const override { return {}; }

  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    try {
      return allocate_memory(bytes);
    } catch (const std::bad_alloc&) {
      throw core::error(Text::OutOfMemory, info_.name, bytes, std::string());
    }
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte* memory, uint64_t bytes) override {
    return std::make_unique<hal::HostBuffer>(memory, bytes);
  }
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override {
    return std::make_shared<CpuProgram>(program, kernels_, isa_, jit_, options.check);
  }
  std::unique_ptr<hal::Stream> stream() override {
    return std::make_unique<CpuStream>(threads_, info_.name);
  }
  hal::LibraryOps* library() override { return &library_; }

 private:
  const interp::KernelTable& kernels_;
  const jit::Isa isa_;
  const Jit jit_;
  std::shared_ptr<core::Threads> threads_;
  DeviceInfo info_;
  libraries::HostOps library_;
};

class CpuBackend : public hal::Backend {
 public:
  BackendType type() const override { return BackendType::Cpu; }

  hal::Expected<std::vector<DeviceInfo>> discover() override {
    return std::vector{
        describe(core::available_threads(), interp::supported_targets().front().name, Jit::On)};
  }

  hal::Expected<std::shared_ptr<hal::Device>> open(int, const BackendConfig& config) override {
    const auto targets = interp::supported_targets();
    interp::Target target = config.enable_simd ? targets.front() : targets.back();
    if (!config.cpu_target.empty()) {
      const auto named = interp::find_target(config.cpu_target);
      if (!named) return hal::Refusal{"it has no instruction set " + config.cpu_target};
      target = *named;
    }
    // Somebody wants it: that it is not there is no secret.
    if (const auto* const cblas = cblas_of(config); cblas != nullptr && !config.reproducible)
      if (const std::string& reason = cblas->info().reason; !reason.empty()) {
        if (config.strict || config.cblas != "auto")
          return hal::Refusal{"HOLOGRAM_CBLAS=" + config.cblas + " is " + reason};
        core::log(LogLevel::Warning, "HOLOGRAM_CBLAS=auto: no CBLAS is used: " + reason);
      }
    return std::make_shared<CpuDevice>(target, config);
  }

  std::vector<LibraryInfo> libraries() override {
    std::vector<LibraryInfo> found;
    for (const libraries::HostLibrary* library : libraries::host_libraries())
      found.push_back(library->info());
    if (const auto* const cblas = cblas_of(BackendConfig::from_environment())) {
      found.push_back(cblas->info());
      if (found.back().name != "CBLAS") found.back().name = "CBLAS: " + found.back().name;
    }
    return found;
  }
};

}  // namespace

hal::Backend& backend() {
  static CpuBackend instance;
  return instance;
}

}  // namespace hologram::backends::cpu
