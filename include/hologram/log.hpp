// Messages to the host program. hologram itself never prints.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "hologram/export.hpp"

namespace hologram {

enum class LogLevel { Off, Error, Warning, Info, Debug };

// Called with each message at or below the level, possibly from several threads, never while a lock
// of hologram's is held. It must not throw.
using LogCallback = std::function<void(LogLevel, std::string_view message)>;

// Replaces the callback (none at first); an empty one silences everything. Without a level that of
// BackendConfig::log_level holds, as the last executor was made with it, or else Warning.
HOLOGRAM_API void set_log_callback(LogCallback callback,
                                   std::optional<LogLevel> level = std::nullopt);

}  // namespace hologram
