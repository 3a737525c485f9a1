#include "kernel_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace hologram::emulated {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeader = EMULATED_TESTS "/dialects/shim/cuda.h";
constexpr const char* kAbi = EMULATED_TESTS "/emulated/kernel_abi.hpp";

// The first that is installed; EMULATED_COMPILER names another.
constexpr const char* kCompilers[] = {"clang++-19", "clang++-14", "g++"};
// Unoptimised code is compiled three times as fast, and runs fast enough. Variables that nobody has
// written hold a pattern.
constexpr const char* kOptions =
    " -std=c++17 -O0 -w -ffp-contract=off -fno-math-errno -ftrivial-auto-var-init=pattern";

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

std::string default_command() {
  std::string compiler;
  if (const char* named = std::getenv("EMULATED_COMPILER")) compiler = named;
  for (const char* candidate : kCompilers)
    if (compiler.empty() && installed(candidate)) compiler = candidate;
  return compiler.empty() ? "" : compiler + kOptions + architecture();
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

KernelLibrary::KernelLibrary(std::string folder, std::string command)
    : folder_(std::move(folder)), command_(std::move(command)) {
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  if (command_.empty()) command_ = default_command();
  if (command_.empty()) reason_ = "neither clang nor g++ is installed";
  version_ = std::hash<std::string>()(command_ + contents(kHeader) + contents(kAbi));
}

KernelLibrary::~KernelLibrary() {
  for (void* library : libraries_) dlclose(library);
}

std::string KernelLibrary::key_of(const std::string& text) const {
  return hexadecimal(std::hash<std::string>()(text) ^ version_);
}

bool KernelLibrary::has(const std::string& text) const { return fs::exists(path_of(key_of(text))); }

std::string KernelLibrary::compile(const std::vector<std::string>& texts) const {
  std::set<std::string> keys;
  std::string code = "#include \"" + std::string(kHeader) + "\"\n", all;
  for (const std::string& text : texts) {
    if (name_of_kernel(text).empty()) return "there is no kernel in\n" + text;
    const std::string key = key_of(text);
    if (fs::exists(path_of(key)) || !keys.insert(key).second) continue;
    code += in_its_namespace(text, key);
    all += key;
  }
  if (keys.empty()) return {};
  const std::string batch = "batch-" + hexadecimal(std::hash<std::string>()(all));
  const std::string scratch =
      folder_ + '/' + batch + '.' + std::to_string(getpid()) + '.' + *keys.begin();
  std::ofstream(scratch + ".cpp") << code;
  const std::string command =
      command_ + " -fPIC -shared " + scratch + ".cpp -o " + scratch + ".so -lm";
  const bool good = std::system((command + " >" + scratch + ".log 2>&1").c_str()) == 0;
  std::string log;
  std::error_code error;
  if (good) {
    // Each is there under its own name, and whole, or not at all.
    fs::rename(scratch + ".so", folder_ + '/' + batch + ".so", error);
    for (const std::string& key : keys) {
      fs::create_symlink(batch + ".so", scratch + ".link", error);
      fs::rename(scratch + ".link", path_of(key), error);
      if (error) log = folder_ + ": " + error.message();
    }
  } else {
    log = command + '\n' + contents(scratch + ".log");
  }
  for (const char* extension : {".cpp", ".log"}) fs::remove(scratch + extension, error);
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
