// What is used of NVRTC, the same in its versions 11.2 to 13. A test compares these declarations
// with the vendor's own.
#pragma once

#include <cstddef>

#include "libraries/runtime_compiler.hpp"

namespace hologram::libraries::nvrtc {

using Status = int;  // nvrtcResult; 0 if all went well
using libraries::Compilation;

// ROW(member, exported name, parameters); every function returns a Status.
#define HOLOGRAM_NVRTC(ROW)                                                                       \
  ROW(version, nvrtcVersion, (int* major, int* minor))                                            \
  ROW(architecture_count, nvrtcGetNumSupportedArchs, (int* count))                                \
  ROW(architectures, nvrtcGetSupportedArchs, (int* architectures))                                \
  ROW(create, nvrtcCreateProgram,                                                                 \
      (Compilation * program, const char* text, const char* name, int headers,                    \
       const char* const* texts, const char* const* names))                                       \
  ROW(destroy, nvrtcDestroyProgram, (Compilation * program))                                      \
  ROW(compile, nvrtcCompileProgram, (Compilation program, int count, const char* const* options)) \
  ROW(log_size, nvrtcGetProgramLogSize, (Compilation program, size_t * bytes))                    \
  ROW(log, nvrtcGetProgramLog, (Compilation program, char* text))                                 \
  ROW(cubin_size, nvrtcGetCUBINSize, (Compilation program, size_t * bytes))                       \
  ROW(cubin, nvrtcGetCUBIN, (Compilation program, char* bytes))                                   \
  ROW(ptx_size, nvrtcGetPTXSize, (Compilation program, size_t * bytes))                           \
  ROW(ptx, nvrtcGetPTX, (Compilation program, char* text))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(member, symbol, parameters) Status(*member) parameters = nullptr;
struct Functions {
  HOLOGRAM_NVRTC(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

}  // namespace hologram::libraries::nvrtc
