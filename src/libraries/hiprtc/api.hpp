// What is used of hipRTC, the same in its versions 5.2 to 7.1. A test compares these declarations
// with the vendor's own.
#pragma once

#include "libraries/runtime_compiler.hpp"

namespace hologram::libraries::hiprtc {

// ROW(member of CompilerFunctions, exported name).
#define HOLOGRAM_HIPRTC(ROW)             \
  ROW(create, hiprtcCreateProgram)       \
  ROW(destroy, hiprtcDestroyProgram)     \
  ROW(compile, hiprtcCompileProgram)     \
  ROW(log_size, hiprtcGetProgramLogSize) \
  ROW(log, hiprtcGetProgramLog)          \
  ROW(code_size, hiprtcGetCodeSize)      \
  ROW(code, hiprtcGetCode)

}  // namespace hologram::libraries::hiprtc
