// Programs: printed, compiled, and their launches.
#include "backends/metal/program.hpp"

#include <algorithm>
#include <cstring>

#include "dialects/numbers.hpp"
#include "program/dump.hpp"

namespace hologram::backends::metal {
namespace {

using dialects::Argument;

constexpr uint64_t kMostThreads = uint64_t{1} << 30;  // of a launch; a block does several groups
constexpr size_t kUnit = 16;                          // what the structure of numbers is made of

// The system ends what runs for long, and nothing promises that a kernel sees what the host writes
// meanwhile: loops are counted. Halves are converted by whole numbers, as nobody has seen yet what
// the devices make of the small ones.
constexpr dialects::Options kOptions{.f64 = false, .stop = dialects::Stop::Budget, .unroll = true};

}  // namespace

MetalProgram::MetalProgram(std::shared_ptr<Session> session, const program::Program& program)
    : session_(std::move(session)),
      name_(program.name()),
      printed_(dialects::print(program, dialects::Language::Metal, kOptions)),
      group_lanes_(program.needs().lanes),
      pipeline_(session_->pipeline(name_, printed_)) {
  program::dump(program, "metal", printed_.text);
  for (const program::BufferParam& buffer : program.buffers())
    element_bytes_.push_back(static_cast<uint32_t>(size_of(buffer.type)));
  for (const Argument& argument : printed_.arguments)
    may_go_on_ = may_go_on_ || argument.kind == Argument::Kind::Stop;
}

uint64_t MetalProgram::launch(const hal::Launch& launch, const Part& part) const {
  std::vector<Session::Memory> bound;
  std::vector<std::byte> numbers;
  for (const Argument& argument : printed_.arguments) {
    if (argument.kind == Argument::Kind::Buffer) {
      const hal::Binding& binding = launch.bindings[argument.slot];
      // Nothing is bound at the beginning, as there may be no element behind the last.
      bound.push_back(
          metal_buffer(binding)->at(binding.size == 0 ? 0 : binding.offset, binding.size));
    } else if (argument.kind == Argument::Kind::Stop) {
      bound.push_back(part.stop->at(0, part.stop->size()));
    } else {
      const size_t size = size_of(argument.type);
      const size_t at = (numbers.size() + size - 1) / size * size;
      numbers.resize(at + size);
      const uint64_t value = dialects::number_of(
          argument, launch, {part.first, part.end, part.budget}, element_bytes_);
      std::memcpy(&numbers[at], &value, size);
    }
  }
  numbers.resize((numbers.size() + kUnit - 1) / kUnit * kUnit);
  const uint64_t needed =
      part.end > part.first ? (part.end - part.first - 1) / printed_.groups + 1 : 1;
  const uint64_t most = std::max<uint64_t>(1, kMostThreads / printed_.lanes);
  return session_->launch(name_, pipeline_.get(), bound, numbers, std::min(needed, most),
                          printed_.lanes);
}

}  // namespace hologram::backends::metal
