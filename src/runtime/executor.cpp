#include "hologram/executor.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/messages.hpp"
#include "hologram/hal/device.hpp"
#include "program/dump.hpp"
#include "runtime/binding.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/selection.hpp"

namespace hologram {

using core::Text;
using program::Access;
using program::Program;

namespace {

uint64_t lanes_of(const Program& program, const Grid& grid) {
  const auto size = program.workgroup();
  return grid[0] * grid[1] * grid[2] * size[0] * size[1] * size[2];
}

}  // namespace

Executor::Executor() : Executor(from_config(BackendConfig::from_environment())) {}

Executor::Executor(BackendType backend) {
  BackendConfig config = BackendConfig::from_environment();
  config.backend_type = backend;
  *this = from_config(config);
}

Executor::Executor(std::shared_ptr<State> state) : state_(std::move(state)) {}

Executor Executor::from_config(const BackendConfig& config) {
  runtime::Selection chosen = runtime::select(config);
  return Executor(std::make_shared<State>(config, std::move(chosen.device), std::move(chosen.why)));
}

Executor Executor::automatic(uint64_t bytes) {
  const BackendConfig config = BackendConfig::from_environment();
  runtime::Selection chosen = runtime::select(config, bytes);
  return Executor(std::make_shared<State>(config, std::move(chosen.device), std::move(chosen.why)));
}

Executor Executor::from_native(void* context, void* stream) {
  return from_native(context, stream, BackendConfig::from_environment());
}

Executor Executor::from_native(void* context, void* stream, const BackendConfig& config) {
  runtime::Selection chosen = runtime::select_native(config, context, stream);
  return Executor(std::make_shared<State>(config, std::move(chosen.device), std::move(chosen.why)));
}

Executor Executor::on_stream(void* stream, const BackendConfig& config) {
  runtime::Selection chosen = runtime::select_on_stream(config, stream);
  return Executor(std::make_shared<State>(config, std::move(chosen.device), std::move(chosen.why)));
}

const DeviceInfo& Executor::device() const { return state_->device->info(); }
const BackendConfig& Executor::config() const { return state_->config; }
std::string Executor::why() const { return state_->why; }

Counters Executor::counters() const {
  return {state_->launches,  state_->library_calls, state_->programs,
          state_->fallbacks, state_->tuning_runs,   state_->rejected_candidates};
}
void Executor::synchronize() const {
  const std::lock_guard lock(state_->stream_mutex);
  state_->stream->wait(state_->stream->submit(), {});
}

Array Executor::pinned(DType dtype, Shape shape) const {
  const size_t bytes = Array::borrow(dtype, shape, static_cast<const void*>(nullptr)).bytes();
  auto memory = bytes == 0 ? nullptr : state_->device->host_memory(bytes);
  if (memory == nullptr) return {dtype, std::move(shape)};
  std::memset(memory.get(), 0, bytes);
  // The memory may outlive this executor, and it goes back to the device.
  void* const data = memory.get();
  return Array::borrow(
      dtype, std::move(shape), data,
      std::make_shared<std::pair<std::shared_ptr<hal::Device>, std::shared_ptr<std::byte>>>(
          state_->device, std::move(memory)));
}

PoolStatistics Executor::pool_statistics() const { return state_->pool->statistics(); }
uint64_t Executor::trim() const { return state_->pool->trim(); }

Profile Executor::profile() const {
  if (state_->profiler != nullptr) {
    try {
      state_->collect_times(true);
    } catch (const Error&) {
      // Of a device that is lost, what is known is told.
    }
    Profile profile = state_->profiler->snapshot();
    state_->note(profile);
    return profile;
  }
  Profile nothing;
  nothing.device = device().name;
  return nothing;
}

PoolConfig Executor::State::pool_config(const BackendConfig& config) {
  PoolConfig pool = config.pool;
  if (const uint64_t limit = config.cache_size_mb << 20; limit > 0)
    pool.max_size = pool.max_size > 0 ? std::min(pool.max_size, limit) : limit;
  return pool;
}

std::shared_ptr<hal::Executable> Executor::State::known(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = executables_.find(key);
  return found != executables_.end() ? found->second : nullptr;
}

std::string Executor::State::note(const Program& program) {
  if (const auto ready = known({program.hash(), program.name()})) return ready->note();
  return device->compile(program, {.check = config.check})->note();
}

void Executor::State::note(Profile& profile) {
  std::map<std::string, std::shared_ptr<hal::Executable>> ready;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, executable] : executables_) ready.emplace(key.name, executable);
  }
  for (KernelProfile& kernel : profile.kernels)
    if (const auto found = ready.find(kernel.kernel); found != ready.end())
      kernel.note = found->second->note();
}

std::shared_ptr<hal::Executable> Executor::State::executable(const Program& program) {
  return compiled(program, {.check = config.check});
}

std::shared_ptr<hal::Executable> Executor::State::executable(const Program& program,
                                                             std::span<const uint64_t> scalars) {
  return compiled(program, {.check = config.check, .later = true, .scalars = scalars});
}

std::shared_ptr<hal::Executable> Executor::State::compiled(const Program& program,
                                                           const hal::CompileOptions& options) {
  const Key key{program.hash(), program.name()};
  if (auto ready = known(key)) return ready;
  refuse_if_too_large(program);
  // Compiled without the lock; if two threads do it at once, one result is dropped.
  std::shared_ptr<hal::Executable> made =
      with_memory([&] { return device->compile(program, options); });
  programs++;
  if (program::is_dumped()) program::dump(program, "atlas", program.optimized_text());
  const std::lock_guard lock(mutex_);
  if (executables_.size() >= kMostExecutables) executables_.clear();
  return executables_.emplace(key, std::move(made)).first->second;
}

void Executor::State::refuse_if_too_large(const Program& program) const {
  const DeviceInfo& info = device->info();
  const auto refuse = [&](uint64_t needed, const char* what, uint64_t there) {
    throw core::error(Text::ProgramTooLarge, program.name(), needed, what, info.name, there);
  };
  const program::Needs& needs = program.needs();
  if (needs.lanes > info.max_lanes) refuse(needs.lanes, "lanes in a workgroup", info.max_lanes);
  if (needs.buffers > info.max_bindings) refuse(needs.buffers, "buffers", info.max_bindings);
  if (needs.shared_bytes > info.max_shared_bytes)
    refuse(needs.shared_bytes, "bytes of workgroup memory", info.max_shared_bytes);
  if (const auto refusal = device->refuses(program))
    throw core::error(Text::ProgramRefused, program.name(), info.name, refusal->reason);
}

// Runs one launch over arrays in host memory: in place where the device can reach it, else through
// copies on the device.
void Executor::State::launch(const Program& program, std::vector<Array>& arrays,
                             std::span<const uint64_t> scalars, const Grid& grid,
                             const RunOptions& options) {
  const std::shared_ptr<hal::Executable> ready = executable(program);
  const auto params = program.buffers();
  // What a device does before it returns needs no order, and may run beside other work.
  const std::unique_ptr<hal::Stream> own = device->asynchronous() ? nullptr : device->stream();
  hal::Stream* const stream = own != nullptr ? own.get() : this->stream.get();
  std::unique_lock lock(stream_mutex, std::defer_lock);
  if (own == nullptr) lock.lock();
  std::vector<std::unique_ptr<hal::Buffer>> adopted;
  std::vector<runtime::Block> blocks;
  std::vector<hal::Binding> bindings;
  std::vector<bool> copied(arrays.size(), false);
  for (size_t i = 0; i < arrays.size(); i++) {
    // A buffer that is only read is adopted through a pointer that nobody writes to.
    auto* memory = const_cast<std::byte*>(arrays[i].data());
    const uint64_t bytes = arrays[i].bytes();
    if (auto buffer = device->adopt(memory, bytes)) {
      bindings.push_back({buffer.get(), 0, bytes});
      adopted.push_back(std::move(buffer));
      continue;
    }
    copied[i] = true;
    bindings.push_back(blocks.emplace_back(pool->allocate(bytes)).binding());
    hal::HostBuffer host(memory, bytes);
    if (params[i].access != Access::Out) stream->copy(bindings.back(), {&host, 0, bytes});
  }

  hal::Launch launch{.executable = ready.get(),
                     .grid = grid,
                     .bindings = bindings,
                     .scalars = scalars,
                     .deadline = {},
                     .budget = options.budget,
                     .progress = options.progress};
  const auto start = hal::Clock::now();
  if (config.timeout_ms > 0) launch.deadline = start + std::chrono::milliseconds(config.timeout_ms);
  launches++;
  const program::Cost& cost = program.cost();
  const auto lanes = static_cast<double>(lanes_of(program, grid));
  const runtime::Work work{.bytes = (cost.bytes_read + cost.bytes_written) * lanes,
                           .flops = cost.flops * lanes,
                           .least = cost.has_unknown_loops};
  const bool own_clock = profiler != nullptr && device->has_timestamps();
  program::dump_launch(program, device->info().name, grid, scalars);
  if (own_clock) launch_timed(program, launch, work);
  else with_memory([&] { stream->launch(launch); });
  stream->wait(stream->submit(), launch.deadline);
  const auto end = hal::Clock::now();
  if (profiler != nullptr && !own_clock) profiler->record(program.name(), start, end, work);
  if (options.report != nullptr) {
    options.report->grid = grid;
    options.report->launches++;
    options.report->seconds += std::chrono::duration<double>(end - start).count();
  }
  for (size_t i = 0; i < arrays.size(); i++) {
    if (!copied[i] || params[i].access == Access::In) continue;
    const uint64_t bytes = arrays[i].bytes();
    hal::HostBuffer host(arrays[i].mutable_data(), bytes);
    stream->copy({&host, 0, bytes}, bindings[i]);
    stream->wait(stream->submit(), {});
  }
}

void Executor::State::launch_timed(const Program& program, hal::Launch launch,
                                   const runtime::Work& work) {
  launch.timed = profiler->next_number();
  const auto now = hal::Clock::now();
  with_memory([&] { stream->launch(launch); });
  profiler->expect(launch.timed, program.name(), now, work);
  if (launch.timed % kTimesAtOnce == 0) collect_times(false, true);
}

void Executor::State::collect_times(bool all, bool locked) {
  if (profiler == nullptr || !device->has_timestamps()) return;
  std::unique_lock lock(stream_mutex, std::defer_lock);
  if (!locked) lock.lock();
  for (const hal::Timing& timing : stream->times(all))
    profiler->known(timing.number, timing.seconds);
}

void Executor::State::announce(const Program& program, const Grid& grid,
                               const RunOptions& options) {
  if (options.progress != nullptr) options.progress->total = lanes_of(program, grid);
}

uint64_t Executor::State::memory_limit() const {
  return config.cache_size_mb > 0 ? config.cache_size_mb << 20 : UINT64_MAX;
}

std::map<std::string, Array> Executor::run(const Program& program,
                                           const std::vector<Argument>& arguments,
                                           const RunOptions& options) const {
  runtime::BoundProgram bound = runtime::bind(program, arguments, options);
  const auto params = program.buffers();
  uint64_t total = 0;
  for (size_t i = 0; i < params.size(); i++) total += bound.lengths[i] * size_of(params[i].type);
  if (total > state_->memory_limit())
    throw core::error(
        Text::OutOfMemory, device().name, total,
        " within HOLOGRAM_CACHE_SIZE_MB=" + std::to_string(state_->config.cache_size_mb));
  for (size_t i = 0; i < params.size(); i++)
    if (bound.missing[i]) bound.arrays[i] = Array(params[i].type, bound.shapes[i]);
  runtime::refuse_overlaps(program, bound.arrays);
  State::announce(program, bound.grid, options);
  state_->launch(program, bound.arrays, bound.scalars, bound.grid, options);

  std::map<std::string, Array> written;
  for (size_t i = 0; i < params.size(); i++)
    if (params[i].access != Access::In) written.emplace(params[i].name, bound.arrays[i]);
  return written;
}

std::map<std::string, Array> Executor::run(const Program& program,
                                           const std::vector<Argument>& arguments,
                                           Grid grid) const {
  RunOptions options;
  options.grid = grid;
  return run(program, arguments, options);
}

}  // namespace hologram
