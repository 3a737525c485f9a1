#pragma once

#include <string>

#include "hologram/log.hpp"

namespace hologram::core {

// The level where set_log_callback was told none.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message);

}  // namespace hologram::core
