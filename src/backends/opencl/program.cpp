// Programs: printed, compiled or taken from the cache, and their launches.
#include <fmt/format.h>

#include <algorithm>

#include "backends/opencl/session.hpp"
#include "core/messages.hpp"
#include "core/signal_handlers.hpp"
#include "program/dump.hpp"

namespace hologram::backends::opencl {
namespace {

using core::Text;
using dialects::Argument;

// Drivers count the lanes of a launch in 32 bits, some in 31.
constexpr uint64_t kMostLanes = uint64_t{1} << 30;
constexpr uint64_t kManyBlocks = uint64_t{1} << 16;

// Threads of groups with several lanes have barriers under a condition, which PoCL cannot do.
dialects::Options options_for(const Session& session, const program::Program& program) {
  return {.f64 = session.info().compute.has(DType::F64),
          .f16 = false,
          .stop = session.sees_host() ? dialects::Stop::Flag : dialects::Stop::Budget,
          .lanes_a_thread = session.info().software ? 1u : dialects::kLanesOfAccess,
          .lanes_a_group_thread =
              session.info().software ? 1u : dialects::lanes_a_group_thread(program),
          .unroll = !session.info().software};
}

// Compilers can be talkative, and what is wrong stands first.
std::string first_lines(const std::string& log) {
  constexpr int kLines = 4;
  size_t end = log.find_first_not_of(" \n\r\t");
  if (end == std::string::npos) return "its compiler does not say why";
  const size_t begin = end;
  for (int line = 0; line < kLines && end != std::string::npos; line++)
    end = log.find('\n', end + (line > 0 ? 1 : 0));
  std::string text = log.substr(begin, std::min<size_t>(end, begin + 1000) - begin);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

}  // namespace

Owned<ProgramObject> build(const Session& session, const std::string& name, const std::string& text,
                           uint32_t lanes) {
  const core::KeepSignalHandlers keep;
  const Api& api = session.api();
  const char* source = text.c_str();
  const size_t size = text.size();
  Device* const device = session.id();
  int32_t status = kSuccess;
  auto program =
      session.own(api.clCreateProgramWithSource(session.context(), 1, &source, &size, &status),
                  api.clReleaseProgram);
  session.check(status, "clCreateProgramWithSource");
  const std::string flags = session.flags(lanes);
  status = api.clBuildProgram(program.get(), 1, &device, flags.c_str(), nullptr, nullptr);
  if (status == kMemoryFailure || status == kOutOfHost) session.check(status, "clBuildProgram");
  if (status == kSuccess) return program;
  size_t length = 0;
  api.clGetProgramBuildInfo(program.get(), device, BuildInfo::Log, 0, nullptr, &length);
  std::string log(length, '\0');
  api.clGetProgramBuildInfo(program.get(), device, BuildInfo::Log, length, log.data(), nullptr);
  throw core::error(Text::ProgramNotCompiled, name, session.info().name,
                    fmt::format("{}: {}", name_of_status(status), first_lines(log)));
}

ClProgram::ClProgram(std::shared_ptr<Session> session, const program::Program& program)
    : session_(std::move(session)),
      name_(program.name()),
      printed_(
          dialects::print(program, dialects::Language::OpenCl, options_for(*session_, program))),
      group_lanes_(program.needs().lanes) {
  program::dump(program, "cl", printed_.text);
  for (const program::BufferParam& buffer : program.buffers()) {
    elements_.push_back(buffer.type);
    written_.push_back(buffer.access != program::Access::In);
  }
  for (const Argument& argument : printed_.arguments)
    may_go_on_ = may_go_on_ || argument.kind == Argument::Kind::Stop;
  const DeviceInfo& info = session_->info();
  const std::string key = core::DiskCache::key({printed_.text, session_->flags(printed_.lanes),
                                                info.name, info.compute_capability, info.driver});
  program_ = from_cache(key);
  if (program_ != nullptr) kernel_ = kernel_of(program_.get());
  if (kernel_ == nullptr) {
    session_->cache().remove(key);
    program_ = build(*session_, name_, printed_.text, printed_.lanes);
    kernel_ = kernel_of(program_.get());
    if (kernel_ == nullptr)
      throw core::error(Text::ProgramNotCompiled, name_, info.name,
                        "it has no kernel " + printed_.entry);
    keep(key, program_.get());
  }
  // The compiler may have used up so many registers that the device has too few for all lanes. One
  // that was told how many there are has not, whatever it says: NVIDIA's always says 256.
  if (session_->limits_registers()) return;
  size_t lanes = 0;
  session_->check(
      session_->api().clGetKernelWorkGroupInfo(
          kernel_.get(), session_->id(), KernelInfo::WorkGroupSize, sizeof lanes, &lanes, nullptr),
      "clGetKernelWorkGroupInfo");
  if (lanes < printed_.lanes)
    throw core::error(Text::ProgramTooLarge, name_, printed_.lanes, "lanes in a workgroup",
                      info.name, lanes);
}

Owned<ProgramObject> ClProgram::from_cache(const std::string& key) const {
  const Api& api = session_->api();
  const auto binary = session_->cache().load(key);
  if (!binary) return {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary->data());
  const size_t size = binary->size();
  Device* const device = session_->id();
  int32_t loaded = kSuccess, status = kSuccess;
  auto program = session_->own(api.clCreateProgramWithBinary(session_->context(), 1, &device, &size,
                                                             &bytes, &loaded, &status),
                               api.clReleaseProgram);
  if (status != kSuccess || loaded != kSuccess ||
      api.clBuildProgram(program.get(), 1, &device, session_->flags(printed_.lanes).c_str(),
                         nullptr, nullptr) != kSuccess)
    return {};
  return program;
}

// A driver that does not show what it compiled compiles again next time.
void ClProgram::keep(const std::string& key, ProgramObject* program) const {
  const Api& api = session_->api();
  size_t size = 0;
  if (session_->cache().folder().empty() ||
      api.clGetProgramInfo(program, ProgramInfo::BinarySizes, sizeof size, &size, nullptr) !=
          kSuccess ||
      size == 0)
    return;
  std::vector<std::byte> binary(size);
  std::byte* into = binary.data();
  if (api.clGetProgramInfo(program, ProgramInfo::Binaries, sizeof into, &into, nullptr) == kSuccess)
    session_->cache().store(key, binary);
}

Owned<Kernel> ClProgram::kernel_of(ProgramObject* program) const {
  const Api& api = session_->api();
  int32_t status = kSuccess;
  auto kernel = session_->own(api.clCreateKernel(program, printed_.entry.c_str(), &status),
                              api.clReleaseKernel);
  return status == kSuccess ? std::move(kernel) : Owned<Kernel>();
}

void ClProgram::set(uint32_t place, const Argument& argument, const hal::Launch& launch,
                    const Part& part) const {
  const auto give = [&](size_t size, const void* value) {
    session_->check(session_->api().clSetKernelArg(kernel_.get(), place, size, value),
                    "clSetKernelArg");
  };
  const auto number = [&](uint64_t value) { give(size_of(argument.type), &value); };
  const auto memory = [&](Memory* value) { give(sizeof(void*), &value); };
  const uint32_t slot = argument.slot;
  switch (argument.kind) {
    case Argument::Kind::Buffer:
      return memory(static_cast<const ClBuffer*>(launch.bindings[slot].buffer)->memory());
    case Argument::Kind::Offset:
      return number(launch.bindings[slot].offset / size_of(elements_[slot]));
    case Argument::Kind::Length:
      return number(launch.bindings[slot].size / size_of(elements_[slot]));
    case Argument::Kind::Scalar: return number(launch.scalars[slot]);
    case Argument::Kind::Groups: return number(launch.grid[slot]);
    case Argument::Kind::FirstGroup: return number(part.first);
    case Argument::Kind::EndGroup: return number(part.end);
    case Argument::Kind::Budget: return number(part.budget);
    case Argument::Kind::Stop: return memory(part.stop);
    case Argument::Kind::Local: return give(argument.place, nullptr);
    case Argument::Kind::Early:
    case Argument::Kind::Zero: return number(0);
  }
}

void ClProgram::uses(const hal::Launch& launch, std::vector<Order::Use>& uses) const {
  uses.clear();
  for (size_t slot = 0; slot < written_.size(); slot++) {
    const hal::Binding& bound = launch.bindings[slot];
    uses.push_back({static_cast<const ClBuffer*>(bound.buffer)->memory(), bound.offset,
                    bound.offset + bound.size, written_[slot]});
  }
}

Owned<Event> ClProgram::enqueue_watched(const hal::Launch& launch, const Part& part) const {
  Event* event = nullptr;
  enqueue(session_->queue(), launch, part, &event);
  return session_->own(event, session_->api().clReleaseEvent);
}

void ClProgram::enqueue(Queue* queue, const hal::Launch& launch, const Part& part,
                        Event** event) const {
  const Api& api = session_->api();
  const uint64_t most = std::max<uint64_t>(1, kMostLanes / printed_.lanes);
  const uint64_t needed =
      part.end > part.first ? (part.end - part.first - 1) / printed_.groups + 1 : 1;
  const uint64_t blocks = std::min(most, part.all_blocks ? kManyBlocks : needed);
  const size_t lanes = printed_.lanes, all = blocks * lanes;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < printed_.arguments.size(); i++)
    set(static_cast<uint32_t>(i), printed_.arguments[i], launch, part);
  session_->check(
      api.clEnqueueNDRangeKernel(queue, kernel_.get(), 1, nullptr, &all, &lanes, 0, nullptr, event),
      "clEnqueueNDRangeKernel");
}

void ClProgram::prepare(const hal::Launch& launch, Part part) const {
  if (prepared_) return;
  part.end = part.first;
  for (const bool all : {false, true}) {
    part.all_blocks = all;
    const auto event = enqueue_watched(launch, part);
    Event* const one = event.get();
    session_->api().clWaitForEvents(1, &one);
    session_->check(session_->status_of(one), "a kernel");
  }
  prepared_ = true;
}

}  // namespace hologram::backends::opencl
