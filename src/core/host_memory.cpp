#include "core/host_memory.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include "core/system/system.hpp"

namespace hologram::core {
namespace {

// The number after a word at the beginning of a line.
std::optional<uint64_t> number_after(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line);
    std::string first;
    uint64_t number = 0;
    if (parts >> first >> number && first == word) return number;
  }
  return std::nullopt;
}

std::optional<uint64_t> number(const std::string& text) {
  std::istringstream parts(text);
  uint64_t value = 0;
  return parts >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

HostMemory host_memory(const MemoryTexts& texts) {
  HostMemory memory;
  memory.total = number_after(texts.meminfo, "MemTotal:").value_or(0) << 10;
  memory.free = number_after(texts.meminfo, "MemAvailable:").value_or(0) << 10;
  const auto limit = number(texts.limit);  // "max": none
  if (!limit || (memory.total > 0 && *limit >= memory.total)) return memory;
  // Files that nobody has touched for a while count as used, but give way.
  const uint64_t used = number(texts.used).value_or(0);
  const uint64_t kept =
      used - std::min(used, number_after(texts.stat, "inactive_file").value_or(0));
  const uint64_t left = *limit - std::min(*limit, kept);
  memory.free = memory.total > 0 ? std::min(memory.free, left) : left;
  memory.total = *limit;
  return memory;
}

HostMemory host_memory() { return system::memory(); }

}  // namespace hologram::core
