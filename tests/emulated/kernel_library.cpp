#include "kernel_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "metal_text.hpp"

namespace hologram::emulated {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = EMULATED_TESTS "/dialects/shim/cuda.h";
constexpr const char* kAbi = EMULATED_TESTS "/emulated/kernel_abi.hpp";

// The first that is installed; EMULATED_COMPILER names another.
constexpr const char* kCompilers[] = {"clang++-19", "clang++-14", "g++"};
// Those that take Metal as C++ for OpenCL, in which conversions of halves are instructions.
constexpr const char* kMetalCompilers[] = {"clang++-14", "clang++-19"};
constexpr const char* kMetalShim = EMULATED_TESTS "/dialects/shim";
// Unoptimised code is compiled three times as fast, and runs fast enough. Variables that nobody has
// written hold a pattern.
constexpr const char* kOptions =
    " -O0 -w -ffp-contract=off -fno-math-errno -ftrivial-auto-var-init=pattern";

// With instructions for what kernels ask of libm otherwise.
const char* architecture() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return " -march=x86-64-v3";
#endif
  return "";
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string default_command(KernelLibrary::Text text) {
  const bool metal = text == KernelLibrary::Text::Metal;
  std::string compiler;
  if (const char* named = std::getenv("EMULATED_COMPILER"); named != nullptr && !metal)
    compiler = named;
  for (const char* candidate : metal ? std::span<const char* const>(kMetalCompilers)
                                     : std::span<const char* const>(kCompilers))
    if (compiler.empty() && installed(candidate)) compiler = candidate;
  if (compiler.empty()) return {};
  return compiler + (metal ? "" : " -std=c++17") + kOptions + architecture();
}

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string hexadecimal(uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

// Of the function that is declared __global__, behind the bounds that it has.
std::string name_of_kernel(const std::string& text) {
  const size_t kernel = text.find("__global__");
  const size_t bounds = text.find("__launch_bounds__(", kernel);
  if (kernel == std::string::npos || bounds == std::string::npos) return {};
  const size_t end = text.find(')', bounds);
  const size_t name = text.find_first_not_of(' ', end + 1);
  return text.substr(name, text.find('(', name) - name);
}

bool waits(const std::string& text) {
  return text.find("__syncthreads()") != std::string::npos ||
         text.find("_sync(") != std::string::npos;
}

// In a namespace of its own; the kernel itself, which is in none, has its key for a name.
std::string in_its_namespace(const std::string& text, const std::string& key) {
  const std::string name = name_of_kernel(text), function = "function_" + key,
                    shared = "shared_" + key;
  return "#undef EMULATED_SHARED\n#define EMULATED_SHARED \"" + shared + "\"\n#define " + name +
         " " + function + "\nnamespace of_" + key + " {\n#line 1 \"" + name + ".cu\"\n" + text +
         "\n}\n#undef " + name + "\nEMULATED_KERNEL(kernel_" + key + ", \"" + name + "\", of_" +
         key + "::" + function + ", __start_" + shared + ", __stop_" + shared + ", " +
         (waits(text) ? "true" : "false") + ")\n";
}

}  // namespace

KernelLibrary::KernelLibrary(std::string folder, std::string command, Text text)
    : folder_(std::move(folder)), text_(text), command_(std::move(command)) {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  const bool metal = text_ == Text::Metal;
  if (command_.empty()) command_ = default_command(text_);
  if (command_.empty())
    reason_ = metal ? "clang++-14 is not installed" : "neither clang nor g++ is installed";
  const std::string shim = std::string(kMetalShim) + "/metal_stdlib";
  version_ = std::hash<std::string>()(command_ + contents(metal ? shim : kHeader) + contents(kAbi));
}

KernelLibrary::~KernelLibrary() {
  for (void* library : libraries_) dlclose(library);
}

std::string KernelLibrary::key_of(const std::string& text) const {
  return hexadecimal(std::hash<std::string>()(text) ^ version_);
}

bool KernelLibrary::has(const std::string& text) const { return fs::exists(path_of(key_of(text))); }

std::string KernelLibrary::name_of(const std::string& text) const {
  return text_ == Text::Metal ? metal::name_of_kernel(text) : name_of_kernel(text);
}

std::string KernelLibrary::write(const std::map<std::string, std::string>& texts,
                                 const std::string& scratch) const {
  if (text_ == Text::Cpp) {
    std::ofstream file(scratch + ".cpp");
    file << "#include \"" << kHeader << "\"\n";
    for (const auto& [key, text] : texts) file << in_its_namespace(text, key);
    return scratch + ".cpp";
  }
  std::ofstream metal(scratch + ".cl"), cpp(scratch + ".cpp");
  metal << "#include <metal_stdlib>\n";
  cpp << "#include \"" << kAbi << "\"\n" << metal::kPrelude;
  for (const auto& [key, text] : texts) {
    const metal::Units units = metal::units_of(text, key);
    metal << units.metal;
    cpp << units.cpp;
  }
  return std::string("-cl-no-stdinc -I ") + kMetalShim + " -x clcpp " + scratch + ".cl -x c++ " +
         scratch + ".cpp";
}

std::string KernelLibrary::compile(const std::vector<std::string>& texts) const {
  std::map<std::string, std::string> keys;
  std::string all;
  for (const std::string& text : texts) {
    if (name_of(text).empty()) return "there is no kernel in\n" + text;
    const std::string key = key_of(text);
    if (fs::exists(path_of(key)) || !keys.emplace(key, text).second) continue;
    all += key;
  }
  if (keys.empty()) return {};
  const std::string batch = "batch-" + hexadecimal(std::hash<std::string>()(all));
  const std::string scratch =
      folder_ + '/' + batch + '.' + std::to_string(getpid()) + '.' + keys.begin()->first;
  const std::string command =
      command_ + " -fPIC -shared " + write(keys, scratch) + " -o " + scratch + ".so -lm";
  const bool good = std::system((command + " >" + scratch + ".log 2>&1").c_str()) == 0;
  std::string log;
  std::error_code error;
  if (good) {
    // Each is there under its own name, and whole, or not at all.
    fs::rename(scratch + ".so", folder_ + '/' + batch + ".so", error);
    for (const auto& [key, text] : keys) {
      fs::create_symlink(batch + ".so", scratch + ".link", error);
      fs::rename(scratch + ".link", path_of(key), error);
      if (error) log = folder_ + ": " + error.message();
    }
  } else {
    log = command + '\n' + contents(scratch + ".log");
  }
  for (const char* extension : {".cpp", ".cl", ".log"}) fs::remove(scratch + extension, error);
  return log;
}

const Kernel* KernelLibrary::find(const std::string& text, std::string& log) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(text);
  if (const auto found = loaded_.find(key); found != loaded_.end()) return &found->second;
  log = reason_.empty() ? compile({text}) : reason_;
  if (!log.empty()) return nullptr;
  void* library = dlopen(path_of(key).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    log = dlerror();
    return nullptr;
  }
  libraries_.push_back(library);
  const Kernel kernel{static_cast<const KernelEntry*>(dlsym(library, ("kernel_" + key).c_str())),
                      static_cast<Runtime*>(dlsym(library, "emulated_runtime"))};
  if (kernel.entry == nullptr || kernel.runtime == nullptr) {
    log = path_of(key) + " lacks its kernel";
    return nullptr;
  }
  return &loaded_.emplace(key, kernel).first->second;
}

}  // namespace hologram::emulated
