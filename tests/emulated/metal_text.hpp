// Printed Metal for the compiler of the processor: clang takes it as C++ for OpenCL, whose address
// spaces are checked as Metal's are.
#pragma once

#include <string>

namespace hologram::emulated::metal {

// Of the function that is declared a kernel; empty if there is none.
std::string name_of_kernel(const std::string& text);
bool waits(const std::string& text);

// What is compiled of a kernel: its text, in a namespace of its own, and C++ that exports it as
// kernel_KEY. Both come behind a header: the shim of metal_stdlib, and kernel_abi.hpp.
struct Units {
  std::string metal, cpp;
};
Units units_of(const std::string& text, const std::string& key);

// What the C++ of all kernels of a library begins with.
extern const char* const kPrelude;

}  // namespace hologram::emulated::metal
