// The emulated NVRTC: takes texts down, compiles them for the processor where kernels are executed,
// and makes code that the emulated driver takes.
#include <cstdio>
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
  if (const char* folder = fake::setting_of("TEXTS"))
    std::ofstream(std::string(folder) + '/' + name) << text;
}

// With a mistake in it, where the setting has one: "what is printed=>what stands there instead".
std::string misprinted(std::string text) {
  const char* setting = fake::setting_of("MISPRINT");
  if (setting == nullptr) return text;
  const std::string_view both = setting;
  const size_t arrow = both.find("=>");
  const std::string_view find = both.substr(0, arrow), replace = both.substr(arrow + 2);
  for (size_t at = 0; (at = text.find(find, at)) != std::string::npos; at += replace.size())
    text.replace(at, find.size(), replace);
  return text;
}

const std::string& text_of(fake::World& w, Compilation compilation) {
  return w.texts[reinterpret_cast<uintptr_t>(compilation)];
}

// Digits of the text, over and over: what the driver runs tells what it was compiled from. The text
// itself, where it is to be executed.
std::string code_of(fake::World& w, Compilation compilation) {
  const std::string& text = text_of(w, compilation);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(std::hash<std::string>()(text)));
  std::string code = w.kernels == nullptr ? fake::kRecorded : fake::kExecuted;
  for (int i = 0; i < fake::kCodeRounds; i++) code += digits;
  if (w.kernels != nullptr) code += text + '\0';
  return code;
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
  w.texts[w.next] = misprinted(text);
  *program = fake::handle<Compilation>(w.next++);
  write(std::to_string(std::hash<std::string_view>()(text)) + ".cu", text);
  return 0;
}
int nvrtcDestroyProgram(Compilation* program) {
  ENTER;
  w.texts.erase(reinterpret_cast<uintptr_t>(*program));
  return 0;
}
int nvrtcCompileProgram(Compilation program, int count, const char* const* options) {
  ENTER;
  w.options.clear();
  for (int i = 0; i < count; i++) w.options += std::string(i > 0 ? " " : "") + options[i];
  write("options", w.options);
  if (w.kernels == nullptr) return 0;
  constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
  std::string log;
  if (w.kernels->find(text_of(w, program), log) != nullptr) return 0;
  std::fprintf(stderr, "emulated compiler for %s: %s\n", fake::kName, log.c_str());
  w.log = log;
  return kCompilation;
}
int nvrtcGetProgramLogSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = w.log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Compilation, char* text) {
  ENTER;
  std::memcpy(text, w.log.c_str(), w.log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(Compilation program, size_t* bytes) {
  ENTER;
  *bytes = code_of(w, program).size();
  return 0;
}
int nvrtcGetCUBIN(Compilation program, char* bytes) {
  ENTER;
  const std::string code = code_of(w, program);
  code.copy(bytes, code.size());
  return 0;
}
int nvrtcGetPTXSize(Compilation program, size_t* bytes) {
  ENTER;
  *bytes = code_of(w, program).size() + 1;
  return 0;
}
int nvrtcGetPTX(Compilation program, char* text) {
  ENTER;
  const std::string code = code_of(w, program);
  std::memcpy(text, code.c_str(), code.size() + 1);
  return 0;
}

}  // extern "C"

#define SAME(member, symbol, parameters) \
  static_assert(                         \
      std::is_same_v<decltype(&symbol), decltype(hologram::libraries::nvrtc::Functions::member)>);
HOLOGRAM_NVRTC(SAME)
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
