// Showing where in a source text an error lies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hologram/error.hpp"

namespace hologram::program {

// The line (counted from 1) as it is shown below an error: a line end, the number, the text. Empty
// if the text has no such line.
std::string excerpt(std::string_view text, uint32_t line);

// The error with `file:line: ` before its message and the line below it.
Error at_line(const Error& error, std::string_view text, std::string_view file, uint32_t line);

// The error with `file:line:column: ` before its message and below it the line with a caret under
// the bytes from `offset`, `length` of them (within the line).
Error at_place(const Error& error, std::string_view text, std::string_view file, size_t offset,
               size_t length);

}  // namespace hologram::program
