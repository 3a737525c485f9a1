#include "engine/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/half.hpp"
#include "engine/context.hpp"

namespace hologram::graph {
namespace {

constexpr size_t kMostSearches = 256;  // of an executor
constexpr int kMostVain = 4;
constexpr uint64_t kPart = uint64_t{8} << 20;  // bytes that are compared at a time

// The slot of a device on its bus, which some drivers' names end with, is no version.
std::string version_of(const std::string& driver) {
  return driver.substr(0, driver.find(", PCI "));
}

double element(DType type, const std::byte* at) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case DType::F64: return read(double{});
    case DType::F32: return static_cast<double>(read(float{}));
    case DType::F16: return static_cast<double>(core::f16_to_f32(read(uint16_t{})));
    case DType::BF16: return static_cast<double>(core::bf16_to_f32(read(uint16_t{})));
    case DType::I32: return read(int32_t{});
    default: return 1;  // compared by bits
  }
}

// The memory in parts that the host looks at; `each` returns false to stop.
void by_parts(Context& context, const hal::Binding& where,
              const std::function<bool(uint64_t at, std::span<const std::byte>)>& each) {
  std::vector<std::byte> part;
  for (uint64_t at = 0; at < where.size; at += kPart) {
    part.resize(std::min(kPart, where.size - at));
    context.copy_to_host({nullptr, {where.buffer, where.offset + at, part.size()}}, part.data(),
                         part.size());
    if (!each(at, part)) return;
  }
}

}  // namespace

Tuner::Tuner(Context& context)
    : context_(context),
      cache_(context.config().autotuning_cache_file,
             {context.device().name, version_of(context.device().driver), HOLOGRAM_VERSION},
             [this](LogLevel level, std::string text) { context_.say(level, std::move(text)); }) {}

size_t Tuner::way(const std::string& work, const std::function<Choices()>& choices) {
  if (const auto known = known_.find(work); known != known_.end()) return known->second;
  const auto name = cache_.find(work);
  const bool may_search = context_.config().autotuning_ms > 0 && searches_ < kMostSearches;
  if (!name && !may_search) return known_[work] = 0;
  if (context_.is_recording()) return 0;
  const Choices all = choices();
  if (name) {
    const auto found = std::find(all.ways.begin(), all.ways.end(), *name);
    if (found != all.ways.end())
      return known_[work] = static_cast<size_t>(found - all.ways.begin());
  }
  if (all.ways.size() < 2 || !may_search) return known_[work] = 0;
  return search(work, all);
}

size_t Tuner::search(const std::string& work, const Choices& choices) {
  Executor::State& state = context_.executor();
  const auto find = [&]() -> runtime::TuningResult {
    const Storage memory = context_.allocate((choices.result.size + 3) / 4 * 4);
    const hal::Binding scratch{memory.where.buffer, memory.where.offset, choices.result.size};
    choices.start(0, choices.result);
    const Reference reference = look_at(choices);
    if (!reference.useful) return {};
    runtime::TuningTask task;
    task.ways = choices.ways;
    task.run = [&](size_t way, int times) {
      for (int i = 0; i < times; i++) choices.start(way, way == 0 ? choices.result : scratch);
      context_.wait();
    };
    task.right = [&](size_t way) {
      // Whatever it had left undone would still be there.
      context_.fill(memory, 0xa5a5a5a5);
      task.run(way, 1);
      return agrees(choices, scratch, reference.largest);
    };
    return runtime::search(task,
                           {.seconds = static_cast<double>(context_.config().autotuning_ms) * 1e-3},
                           runtime::steady_seconds);
  };
  runtime::TuningResult found;
  try {
    found = find();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::OutOfMemory) throw;
    context_.say(LogLevel::Info, fmt::format("{} is not tuned: {}", work, error.what()));
    return known_[work] = 0;
  }
  if (found.tried == 0) {
    if (++vain_[work] >= kMostVain) known_[work] = 0;
    return 0;
  }
  searches_++;
  state.tuning_runs++;
  state.rejected_candidates += found.wrong;
  context_.say(
      found.wrong > 0 ? LogLevel::Warning : LogLevel::Info,
      fmt::format("tuned {}: {} of {} ways tried in {}, {} not right, {} not possible; by {}: "
                  "{:.1f} us instead of {:.1f}",
                  work, found.tried, choices.ways.size(), found.in_time ? "time" : "the time given",
                  found.wrong, found.failed, choices.ways[found.way], found.seconds * 1e6,
                  found.first_seconds * 1e6));
  // What took too long to be timed may be timed on another day.
  if (std::isfinite(found.seconds))
    cache_.store(work, choices.ways[found.way], found.seconds, found.first_seconds);
  return known_[work] = found.way;
}

Tuner::Reference Tuner::look_at(const Choices& choices) const {
  Reference reference;
  reference.useful = true;
  const size_t size = size_of(choices.dtype);
  bool any = false;
  by_parts(context_, choices.result, [&](uint64_t, std::span<const std::byte> part) {
    any =
        any || std::any_of(part.begin(), part.end(), [](std::byte b) { return b != std::byte{}; });
    for (size_t i = 0; i < part.size(); i += size) {
      const double value = std::abs(element(choices.dtype, part.data() + i));
      if (!std::isfinite(value)) reference.useful = false;
      reference.largest = std::max(reference.largest, value);
    }
    return reference.useful;
  });
  reference.useful = reference.useful && any && reference.largest > 0;
  return reference;
}

bool Tuner::agrees(const Choices& choices, const hal::Binding& other, double largest) const {
  const size_t size = size_of(choices.dtype);
  const double most = choices.tolerance * largest;
  std::vector<std::byte> right;
  bool same = true;
  by_parts(context_, other, [&](uint64_t at, std::span<const std::byte> part) {
    right.resize(part.size());
    context_.copy_to_host(
        {nullptr, {choices.result.buffer, choices.result.offset + at, part.size()}}, right.data(),
        right.size());
    if (std::memcmp(right.data(), part.data(), part.size()) == 0) return true;
    same = most > 0;
    for (size_t i = 0; same && i < part.size(); i += size)
      same = std::abs(element(choices.dtype, part.data() + i) -
                      element(choices.dtype, right.data() + i)) <= most;
    return same;
  });
  return same;
}

}  // namespace hologram::graph
