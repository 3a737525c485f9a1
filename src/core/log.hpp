#pragma once

#include <string>

#include "hologram/log.hpp"

namespace hologram::core {

bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message);

}  // namespace hologram::core
