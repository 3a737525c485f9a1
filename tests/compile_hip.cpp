// compile_hip LIBRARY OPTION…: compiles the texts whose paths it reads, a line each, by that
// hipRTC. For each it prints the path, the status and, of what does not compile, the log; what
// compiles stands in PATH.co. Runs with whatever C library that hipRTC wants
// (scripts/compile-kernels).
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "libraries/hiprtc/api.hpp"

namespace {

using hologram::libraries::Compilation;

hologram::libraries::CompilerFunctions load(const char* file) {
  hologram::libraries::CompilerFunctions functions;
  void* const library = dlopen(file, RTLD_NOW);
  if (library == nullptr) return functions;
#define FIND(member, symbol) \
  functions.member = reinterpret_cast<decltype(functions.member)>(dlsym(library, #symbol));
  HOLOGRAM_HIPRTC(FIND)
#undef FIND
  return functions;
}

template <class Size, class Get>
std::string fetch(Compilation compilation, Size size, Get get) {
  size_t bytes = 0;
  size(compilation, &bytes);
  std::string result(bytes, '\0');
  if (bytes > 0) get(compilation, result.data());
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  const auto functions = load(count > 1 ? arguments[1] : "");
  if (functions.code == nullptr) {
    std::fprintf(stderr, "%s\n", count > 1 ? dlerror() : "usage: compile_hip LIBRARY OPTION...");
    return 2;
  }
  const std::vector<const char*> options(arguments + 2, arguments + count);
  for (std::string path; std::getline(std::cin, path);) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Compilation compilation = nullptr;
    int status = functions.create(&compilation, text.c_str(), "program.hip", 0, nullptr, nullptr);
    if (status == 0)
      status = functions.compile(compilation, static_cast<int>(options.size()), options.data());
    std::cout << path << '\t' << status << '\n';
    if (status == 0)
      std::ofstream(path + ".co", std::ios::binary)
          << fetch(compilation, functions.code_size, functions.code);
    else std::cout << fetch(compilation, functions.log_size, functions.log).c_str() << '\n';
    std::cout.flush();
    functions.destroy(&compilation);
  }
  return 0;
}
