#include "executor.hpp"

#include <cstdlib>
#include <cstring>

namespace hologram::emulated {
namespace {

size_t aligned(size_t bytes) {
  return (bytes + Launch::kAlignment - 1) / Launch::kAlignment * Launch::kAlignment;
}

}  // namespace

Settings Settings::from_environment(const std::string& prefix) {
  Settings settings;
  if (const char* wave = std::getenv((prefix + "_WAVE").c_str()))
    settings.wave = std::atoi(wave) == 64 ? 64 : 32;
  if (const char* order = std::getenv((prefix + "_ORDER").c_str()))
    settings.order = std::strcmp(order, "reverse") == 0  ? Order::Reverse
                     : std::strcmp(order, "random") == 0 ? Order::Random
                                                         : Order::Forward;
  if (const char* seed = std::getenv((prefix + "_SEED").c_str()))
    settings.seed = std::strtoull(seed, nullptr, 10);
  return settings;
}

Launch launch_of(const Kernel& kernel, unsigned blocks, unsigned threads,
                 const void* const* arguments) {
  Launch launch{&kernel, blocks, threads, {}};
  for (unsigned i = 0; i < kernel.entry->arguments; i++) {
    const size_t at = launch.values.size();
    launch.values.resize(at + aligned(kernel.entry->sizes[i]));
    std::memcpy(&launch.values[at], arguments[i], kernel.entry->sizes[i]);
  }
  return launch;
}

void Executor::set(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  block_.set(settings);
}

std::string Executor::run(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  const KernelEntry& entry = *launch.kernel->entry;
  std::vector<std::byte> values = launch.values;
  std::vector<void*> arguments;
  size_t at = 0;
  for (unsigned i = 0; i < entry.arguments; i++) {
    arguments.push_back(&values[at]);
    at += aligned(entry.sizes[i]);
  }
  std::vector<unsigned> order(launch.blocks);
  block_.put_in_order(order);
  for (const unsigned block : order) {
    const std::string wrong =
        block_.run(*launch.kernel, arguments.data(), launch.threads, block, launch.blocks);
    if (!wrong.empty())
      return "kernel " + std::string(entry.name) + ", block " + std::to_string(block) + " of " +
             std::to_string(launch.blocks) + ": " + wrong;
  }
  return {};
}

}  // namespace hologram::emulated
