#include "hologram/config.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "core/messages.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

using core::Text;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

template <class T>
void read_number(const char* name, T& field, uint64_t most) {
  const std::string_view text = variable(name);
  if (text.empty()) return;
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value > most)
    throw core::error(Text::BadConfigValue, name, text, fmt::format("a number from 0 to {}", most));
  field = static_cast<T>(value);
}

void read_flag(const char* name, bool& field) {
  const std::string_view text = variable(name);
  if (text.empty()) return;
  if (text != "0" && text != "1") throw core::error(Text::BadConfigValue, name, text, "0 or 1");
  field = text == "1";
}

void read_backend(BackendConfig& config) {
  std::string_view text = variable("HOLOGRAM_BACKEND");
  if (text.empty()) return;
  std::vector<BackendType> types;
  for (;;) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    const auto type = parse_backend(name);
    if (!type) throw core::error(Text::UnknownBackend, name, runtime::backend_names());
    types.push_back(*type);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (types.size() == 1) config.backend_type = types[0];
  else config.preference = std::move(types);
}

}  // namespace

BackendConfig BackendConfig::from_environment() {
  BackendConfig config;
  read_backend(config);
  read_number("HOLOGRAM_DEVICE_ID", config.device_id, 1023);
  read_flag("HOLOGRAM_ENABLE_PROFILING", config.enable_backend_profiling);
  read_number("HOLOGRAM_CACHE_SIZE_MB", config.cache_size_mb, uint64_t{1} << 40);
  read_number("HOLOGRAM_TIMEOUT_MS", config.timeout_ms, uint64_t{1} << 40);
  read_number("HOLOGRAM_NUM_THREADS", config.num_threads, 1024);
  read_flag("HOLOGRAM_CHECK", config.check);
  config.cpu_target = variable("HOLOGRAM_CPU_TARGET");
  return config;
}

}  // namespace hologram
