// The list of functions in docs/expressions.md.
#pragma once

#include <string>
#include <string_view>

namespace hologram::expression {

// The document with its generated part, from the heading "## Functions" to the end, made anew.
std::string with_function_reference(std::string_view document);

}  // namespace hologram::expression
