// Programs: printed, compiled, and their launches.
#include "backends/webgpu/program.hpp"

#include <algorithm>
#include <cstring>

#include "dialects/numbers.hpp"
#include "program/dump.hpp"

namespace hologram::backends::webgpu {
namespace {

using dialects::Argument;

// What every device allows along one axis of a dispatch.
constexpr uint64_t kMostBlocks = 65535;

// Four f32 are what a thread loads at once. In software it would be four times as much to compile.
constexpr uint32_t kLanesAThread = 4;

dialects::Options options_for(const Session& session, bool several) {
  const DeviceInfo& info = session.info();
  const Traits& traits = session.traits();
  dialects::Options options;
  options.f64 = false;
  options.stop = dialects::Stop::Budget;
  if (several && !info.software) options.lanes_a_thread = kLanesAThread;
  options.webgpu = {.lanes = info.max_lanes,
                    .shared_bytes = info.max_shared_bytes,
                    .storage_buffers = info.max_bindings + 1,
                    .fused = traits.fused,
                    .divides = traits.divides,
                    .contracts = traits.contracts,
                    .pairs = kInPage || traits.flushes,
                    .halves = traits.halves,
                    .packed = traits.packed,
                    .subgroup = traits.subgroup};
  return options;
}

}  // namespace

WgProgram::WgProgram(std::shared_ptr<Session> session, const program::Program& program,
                     const hal::CompileOptions& options)
    : session_(std::move(session)), name_(program.name()), group_lanes_(program.needs().lanes) {
  for (const program::BufferParam& buffer : program.buffers())
    element_bytes_.push_back(static_cast<uint32_t>(size_of(buffer.type)));
  const auto print = [&](bool several) {
    return dialects::print(program, dialects::Language::Wgsl, options_for(*session_, several));
  };
  several_.printed = print(true);
  for (const Argument& argument : several_.printed.arguments) {
    may_go_on_ = may_go_on_ || argument.kind == Argument::Kind::Stop;
    if (argument.kind == Argument::Kind::Buffer || argument.kind == Argument::Kind::Stop)
      bindings_++;
  }
  const bool one = several_.printed.multiples.empty();
  if (!one) single_.printed = print(false);
  program::dump(program, "wgsl", several_.printed.text);
  if (!one) program::dump(program, "single.wgsl", single_.printed.text);
  Kernel& first = options.later ? kernel_for(options.scalars) : one ? several_ : single_;
  if (options.later) started(first);
  else made(first);
}

WgProgram::Kernel& WgProgram::kernel_for(std::span<const uint64_t> scalars) const {
  for (const uint32_t slot : several_.printed.multiples)
    if (scalars[slot] % several_.printed.lanes_a_thread != 0) return single_;
  return several_;
}

std::shared_ptr<Pipeline> WgProgram::started(Kernel& kernel) const {
  const std::lock_guard lock(mutex_);
  if (kernel.pipeline == nullptr) kernel.pipeline = session_->start(name_, kernel.printed);
  return kernel.pipeline;
}

std::shared_ptr<Pipeline> WgProgram::made(Kernel& kernel) const {
  std::shared_ptr<Pipeline> pipeline = started(kernel);
  try {
    session_->wait(name_, pipeline);
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    kernel.pipeline = nullptr;
    throw;
  }
  return pipeline;
}

void WgProgram::launch(const hal::Launch& launch, const Part& part) const {
  Kernel& kernel = kernel_for(launch.scalars);
  const std::shared_ptr<Pipeline> pipeline = made(kernel);
  const dialects::Printed& printed = kernel.printed;
  std::vector<Session::Bound> bound(bindings_);
  std::vector<std::byte> parameters(printed.block_bytes);
  for (const Argument& argument : printed.arguments) {
    if (argument.kind == Argument::Kind::Buffer) {
      const hal::Binding& binding = launch.bindings[argument.slot];
      const auto& buffer = static_cast<const WgBuffer&>(*binding.buffer);
      // Nothing is bound for an element at least, which no lane comes near if there is none.
      constexpr uint64_t kLeast = 16;
      const uint64_t unit = argument.unit;
      const uint64_t bytes = std::max((binding.size + unit - 1) / unit * unit, kLeast);
      bound[argument.place] = {buffer.buffer(), binding.offset,
                               std::min(bytes, buffer.room() - binding.offset),
                               !argument.read_only};
    } else if (argument.kind == Argument::Kind::Stop) {
      bound[argument.place] = {part.stop, 0, StopWord::kBytes, true};
    } else {
      const uint64_t value = dialects::number_of(
          argument, launch, {part.first, part.end, part.budget}, element_bytes_);
      std::memcpy(parameters.data() + argument.place, &value, size_of(argument.type));
    }
  }
  const uint64_t needed =
      part.end > part.first ? (part.end - part.first - 1) / printed.groups + 1 : 1;
  session_->launch(name_, *pipeline, bound, parameters,
                   static_cast<uint32_t>(std::min(needed, kMostBlocks)), part.times);
}

}  // namespace hologram::backends::webgpu
