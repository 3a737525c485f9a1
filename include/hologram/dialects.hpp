// Programs in the languages of GPUs: docs/dialects.md says what the text promises and how to read
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hologram/export.hpp"
#include "hologram/program.hpp"

namespace hologram {

// "cuda", "opencl", "hip", "metal".
HOLOGRAM_API std::span<const std::string_view> dialect_names();

// The program as a whole translation unit of that language, which is what a device of it compiles.
// InvalidArgument if there is no such language, UnsupportedOperation if the program computes with
// what the language does not have.
HOLOGRAM_API std::string in_dialect(const Program& program, std::string_view dialect);

}  // namespace hologram
