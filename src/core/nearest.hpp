// "Did you mean …?"
#pragma once

#include <span>
#include <string_view>

namespace hologram::core {

// The known name that differs least from a mistyped one; empty if none is close (more than a third
// of its letters differ).
std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known);

}  // namespace hologram::core
