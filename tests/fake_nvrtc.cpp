// The emulated NVRTC: takes texts down and makes code that the emulated driver takes.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "fake_cuda_world.hpp"
#include "libraries/nvrtc/api.hpp"

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
using namespace hologram;
using libraries::nvrtc::Compilation;

namespace {

void write(const std::string& name, const std::string& text) {
  if (const char* folder = std::getenv("FAKE_CUDA_TEXTS"))
    std::ofstream(std::string(folder) + '/' + name) << text;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  ENTER;
  *major = 12;
  *minor = 8;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  ENTER;
  *count = 3;
  return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
  ENTER;
  architectures[0] = 75;
  architectures[1] = 80;
  architectures[2] = 90;
  return 0;
}
int nvrtcCreateProgram(Compilation* program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  ENTER;
  *program = fake::handle<Compilation>(1);
  write(std::to_string(std::hash<std::string_view>()(text)) + ".cu", text);
  return 0;
}
int nvrtcDestroyProgram(Compilation*) {
  ENTER;
  return 0;
}
int nvrtcCompileProgram(Compilation, int count, const char* const* options) {
  ENTER;
  w.options.clear();
  for (int i = 0; i < count; i++) w.options += std::string(i > 0 ? " " : "") + options[i];
  write("options", w.options);
  return 0;
}
constexpr char kLog[] = "program.cu(1): error: injected\n  here\n";
int nvrtcGetProgramLogSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = sizeof kLog;
  return 0;
}
int nvrtcGetProgramLog(Compilation, char* text) {
  ENTER;
  std::memcpy(text, kLog, sizeof kLog);
  return 0;
}
constexpr char kCode[] = "fake code";
int nvrtcGetCUBINSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = 8;
  return 0;
}
int nvrtcGetCUBIN(Compilation, char* bytes) {
  ENTER;
  std::memcpy(bytes, kCode, 8);
  return 0;
}
int nvrtcGetPTXSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = sizeof kCode;
  return 0;
}
int nvrtcGetPTX(Compilation, char* text) {
  ENTER;
  std::memcpy(text, kCode, sizeof kCode);
  return 0;
}

}  // extern "C"

#define SAME(member, symbol, parameters) \
  static_assert(                         \
      std::is_same_v<decltype(&symbol), decltype(hologram::libraries::nvrtc::Functions::member)>);
HOLOGRAM_NVRTC(SAME)
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
