// The document that lists the programs of the library.
#pragma once

#include <string>
#include <string_view>

namespace hologram::program {

// docs/program-library.md, all of it: what stood there before plays no part.
std::string library_reference(std::string_view document);

}  // namespace hologram::program
