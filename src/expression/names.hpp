// Names that an expression may use without being given them.
#pragma once

#include <string_view>

#include "expression/value.hpp"

namespace hologram::expression {

// What a reserved name is, "a dtype" or "a constant"; empty for every other name.
std::string_view reserved(std::string_view name);

// The value of a reserved name.
Value constant(std::string_view name);

}  // namespace hologram::expression
