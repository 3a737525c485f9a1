// Runs printed CUDA, HIP and Metal on the processor: compiled as C++ (Metal as C++ for OpenCL,
// which has its address spaces) over a shim for what their compilers bring, one fiber a thread. It
// says nothing of a GPU's memory or scheduling, all of what the text computes, and finds a barrier
// that not all threads come by.
#pragma once

#include <string>
#include <vector>

#include "dialects/run_request.hpp"
#include "oracle/naive_interpreter.hpp"

namespace hologram::dialects {

// Why the language cannot be compiled here; empty if it can.
std::string why_not(Language language);

// Launches once. What went wrong; empty if nothing did. `ran_out` is what the Stop argument holds
// in the end.
std::string run_on_host(Language language, const RunRequest& request,
                        std::vector<oracle::Memory>& buffers, uint32_t* ran_out = nullptr);

// What the vendor's own compiler makes of the text for its own processor, where clang is one: HIP
// for gfx90a. Empty if it has nothing against it.
std::string compile_for_amd(const Printed& printed);
// OpenCL that needs what no device here has, such as half.
std::string compile_opencl_by_clang(const Printed& printed);

}  // namespace hologram::dialects
