// The list of instructions in docs/atlas.md.
#pragma once

#include <string>
#include <string_view>

namespace hologram::program {

// Tables in Markdown, one for each category, from the rows of all_ops().
std::string instruction_reference();

// The document with its generated part, which two comments enclose, made anew.
std::string with_instruction_reference(std::string_view document);

}  // namespace hologram::program
