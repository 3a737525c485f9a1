// What a context does with its device: memory, launches, copies. While a graph is captured all of
// it is recorded.
#include <fmt/format.h>

#include <cstring>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "core/spare_memory.hpp"
#include "engine/context.hpp"
#include "hal/deferred_checks.hpp"
#include "hologram/tensor.hpp"
#include "program/dump.hpp"

namespace hologram::graph {

void Context::call(const std::shared_ptr<const hal::LibraryPlan>& plan,
                   std::span<const hal::Binding> operands, hal::Binding workspace,
                   runtime::Work work) {
  if (recorder_ != nullptr) return recorder_->call(plan, operands, workspace);
  state_.library_calls++;
  if (state_.profiler == nullptr) return stream().call(*plan, operands, workspace);
  const auto start = hal::Clock::now();
  stream().call(*plan, operands, workspace);
  wait();
  state_.profiler->record(plan->name(), start, hal::Clock::now(), work);
}

Storage Context::allocate(uint64_t bytes) {
  if (recorder_ != nullptr) return recorder_->allocate(*state_.pool, bytes);
  auto block = std::allocate_shared<runtime::Block>(core::SpareAllocator<runtime::Block>(),
                                                    state_.pool->allocate(bytes));
  const hal::Binding where = block->binding();
  return {std::move(block), where, true};
}

void Context::launch(const Program& program, const Grid& grid,
                     std::span<const hal::Binding> buffers, std::span<const uint64_t> scalars,
                     runtime::Work work, uint64_t budget) {
  const std::shared_ptr<hal::Executable> ready = state_.executable(program, scalars);
  launch(ready,
         {.executable = ready.get(),
          .grid = grid,
          .bindings = buffers,
          .scalars = scalars,
          .deadline = deadline(),
          .budget = budget,
          .progress = nullptr},
         program, work);
}

hal::Deadline Context::deadline() const {
  if (config().timeout_ms == 0 || recorder_ != nullptr) return {};
  return hal::Clock::now() + std::chrono::milliseconds(config().timeout_ms);
}

void Context::launch(const std::shared_ptr<const hal::Executable>& executable,
                     const hal::Launch& launch, const Program& program, runtime::Work work) {
  program::dump_launch(program, device().name, launch.grid, launch.scalars);
  if (recorder_ != nullptr) return recorder_->launch(executable, launch);
  state_.launches++;
  const auto start_it = [&] { stream().launch(launch); };
  if (state_.profiler == nullptr) return state_.with_memory(start_it);
  // Timed alone: what is measured is the kernel and not what waits behind it.
  if (work.bytes == 0)
    for (const hal::Binding& binding : launch.bindings)
      work.bytes += static_cast<double>(binding.size);
  if (state_.device->has_timestamps()) return state_.launch_timed(program, launch, work);
  const auto start = hal::Clock::now();
  state_.with_memory(start_it);
  wait();
  state_.profiler->record(program.name(), start, hal::Clock::now(), work);
}

void Context::settle() {
  if (recorder_ != nullptr) return;
  if (!state_.device->asynchronous() || config().timeout_ms > 0) wait();
}

void Context::wait() { stream().wait(stream().submit(), {}); }

void Context::fill(const Storage& where, uint32_t pattern) {
  if (recorder_ != nullptr) return recorder_->fill(where.where, pattern);
  stream().fill(where.where, pattern);
}

void Context::check(const Storage& word, std::function<Error()> error, bool later) {
  if (recorder_ != nullptr) return recorder_->check(word, std::move(error));
  hal::require_zero(stream(), word.where, std::move(error), later);
}

void Context::copy(const Storage& to, const Storage& from) {
  if (to.where.buffer == from.where.buffer && to.where.offset == from.where.offset) return;
  if (recorder_ != nullptr) return recorder_->copy(to.where, from.where);
  stream().copy(to.where, from.where);
}

void Context::copy_to_host(const Storage& from, std::byte* to, uint64_t bytes) {
  if (recorder_ != nullptr) Recorder::refuse("the host looks at a value");
  if (bytes == 0) return;
  hal::HostBuffer host(to, bytes);
  stream().copy({&host, 0, bytes}, {from.where.buffer, from.where.offset, bytes});
  wait();
}

void Context::copy_from_host(const std::byte* from, const Storage& to, uint64_t bytes) {
  if (bytes == 0) return;
  // A source is only read.
  hal::HostBuffer host(const_cast<std::byte*>(from), bytes);
  stream().copy({to.where.buffer, to.where.offset, bytes}, {&host, 0, bytes});
  settle();
}

Storage Context::adopt(const Array& array) {
  // What tensors are made of is only read.
  auto* memory = const_cast<std::byte*>(array.data());
  if (std::shared_ptr<hal::Buffer> buffer = state_.device->adopt(memory, array.bytes())) {
    const hal::Binding where{buffer.get(), 0, array.bytes()};
    // The buffer goes first: a device may still be at work on what is the array's.
    auto both =
        std::make_shared<std::pair<Array, std::shared_ptr<hal::Buffer>>>(array, std::move(buffer));
    return {std::move(both), where};
  }
  Storage storage = allocate(array.bytes());
  const std::lock_guard lock(mutex());
  copy_from_host(memory, storage, array.bytes());
  return storage;
}

std::optional<Storage> Context::bring(const Node& node) {
  Context& other = *node.context;
  if (!other.state_.device->copies_to(*state_.device)) return std::nullopt;
  const uint64_t bytes = bytes_of(node);
  Storage storage = allocate(bytes);
  if (bytes == 0) return storage;
  const std::scoped_lock lock(mutex(), other.mutex());
  try {
    // What had this memory before is done with it, and whoever reads it finds it written.
    wait();
    other.stream().copy(storage.where, node.result.where);
    other.wait();
  } catch (const Error& error) {
    core::log(LogLevel::Info, fmt::format("a tensor goes through the host: {}", error.what()));
    return std::nullopt;
  }
  return storage;
}

Array Context::read(const Node& node) {
  const Storage& from = node.result;
  if (std::byte* host = from.where.buffer->host()) {
    if (state_.device->asynchronous()) {
      const std::lock_guard lock(mutex());
      wait();
    }
    return Array::borrow(node.dtype, node.shape, static_cast<const void*>(host + from.where.offset),
                         from.owner);
  }
  Array array(node.dtype, node.shape);
  read(node, array.mutable_data());
  return array;
}

DeviceMemory Context::lend(const Node& node) {
  hal::Buffer& buffer = *node.result.where.buffer;
  if (buffer.native() == nullptr)
    throw core::error(core::Text::NoDeviceAddress, device().name, name_of(device().backend));
  {
    const std::lock_guard lock(mutex());
    wait();
  }
  buffer.wait_for_everybody();
  const auto owner = std::make_shared<const std::shared_ptr<const void>>(node.result.owner);
  // The device is waited for before the memory is anybody's again.
  std::shared_ptr<const void> until_idle(
      owner.get(), [owner, &buffer](const void*) { buffer.wait_for_everybody(); });
  return {static_cast<std::byte*>(buffer.native()) + node.result.where.offset,
          std::move(until_idle)};
}

void Context::read(const Node& node, std::byte* to) {
  const uint64_t bytes = static_cast<uint64_t>(element_count(node.shape)) * size_of(node.dtype);
  if (node.result.where.buffer->host() == nullptr) {
    const std::lock_guard lock(mutex());
    return copy_to_host(node.result, to, bytes);
  }
  const Array array = read(node);
  if (bytes > 0) std::memcpy(to, array.data(), bytes);
}

}  // namespace hologram::graph
