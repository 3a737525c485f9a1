// docs/conformance.md.
#pragma once

#include <string>

#include "hologram/conformance.hpp"

namespace hologram::conformance {

// The whole document, from a report of all cases on the CPU.
std::string document(const ConformanceReport& report);

}  // namespace hologram::conformance
