#pragma once

#include <string_view>

namespace hologram::core {

// The whole text as a decimal number, whatever the locale of the host program; false if it is none.
bool parse_real(std::string_view text, double& value);

}  // namespace hologram::core
