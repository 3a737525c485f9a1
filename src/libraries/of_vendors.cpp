#include "libraries/of_vendors.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::libraries {
namespace {

// Where they lie if the system's loader does not know them; $NAME is each folder that a variable
// lists, * any name.
constexpr const char* kFoldersOfCuda[] = {
    "$CUDA_PATH/lib64",
    "$CUDA_HOME/lib64",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda-*/lib64",
    "$VIRTUAL_ENV/lib/python3*/site-packages/nvidia/*/lib",
    "$CONDA_PREFIX/lib",
    "$PATH/../lib/python3*/site-packages/nvidia/*/lib",
    "$HOME/.local/lib/python3*/site-packages/nvidia/*/lib",
    "/usr/local/lib/python3*/dist-packages/nvidia/*/lib",
    "/usr/local/lib/python3*/site-packages/nvidia/*/lib",
    "/usr/lib/python3*/dist-packages/nvidia/*/lib",
};
// AMD's packages for Python are named after the GPUs that they are for.
constexpr const char* kFoldersOfRocm[] = {
    "$ROCM_PATH/lib",
    "/opt/rocm/lib",
    "/opt/rocm-*/lib",
    "$VIRTUAL_ENV/lib/python3*/site-packages/*rocm_sdk_libraries*/lib",
    "$VIRTUAL_ENV/lib/python3*/site-packages/torch/lib",
    "$CONDA_PREFIX/lib",
    "$PATH/../lib/python3*/site-packages/*rocm_sdk_libraries*/lib",
    "$PATH/../lib/python3*/site-packages/torch/lib",
    "$HOME/.local/lib/python3*/site-packages/*rocm_sdk_libraries*/lib",
    "$HOME/.local/lib/python3*/site-packages/torch/lib",
};

// Files that a pattern of folders stands for, those with the highest names first.
std::vector<std::string> files(std::string_view pattern, const char* file) {
  std::vector<std::string> patterns = {std::string(pattern)};
  if (pattern.front() == '$') {
    patterns.clear();
    const size_t end = pattern.find('/');
    const char* value = std::getenv(std::string(pattern.substr(1, end - 1)).c_str());
    std::istringstream folders(value == nullptr ? "" : value);
    for (std::string folder; std::getline(folders, folder, ':');)
      if (!folder.empty()) patterns.push_back(folder + std::string(pattern.substr(end)));
  }
  std::vector<std::string> found;
  for (const std::string& each : patterns) {
    glob_t matches{};
    if (glob((each + '/' + file).c_str(), 0, nullptr, &matches) == 0)
      for (size_t i = matches.gl_pathc; i-- > 0;) found.emplace_back(matches.gl_pathv[i]);
    globfree(&matches);
  }
  return found;
}

using core::DynamicLibrary;

// The first of that name which will do, as the system finds it or in one of the folders; if none
// will, one that is not loaded.
template <class Test>
DynamicLibrary first_of(const char* file, std::span<const char* const> folders, Test&& will_do) {
  DynamicLibrary library({file});
  if (library.loaded() && will_do(library)) return library;
  for (const char* folder : folders)
    for (const std::string& each : files(folder, file)) {
      DynamicLibrary there({each.c_str()});
      if (there.loaded() && will_do(there)) return there;
    }
  return library.loaded() ? DynamicLibrary({}) : library;
}

const char* named(const char* variable) {
  const char* only = std::getenv(variable);
  return only != nullptr && *only != '\0' ? only : nullptr;
}

}  // namespace

DynamicLibrary open_of_cuda(const char* variable, std::span<const CudaRelease> releases,
                            int driver_major) {
  if (const char* only = named(variable)) return DynamicLibrary({only});
  DynamicLibrary none({});
  for (const CudaRelease& release : releases) {
    if (release.major > driver_major) continue;
    DynamicLibrary library =
        first_of(release.file, kFoldersOfCuda, [](const DynamicLibrary&) { return true; });
    if (library.loaded()) return library;
    none = std::move(library);
  }
  return none;
}

DynamicLibrary open_of_rocm(const char* variable, std::span<const char* const> files,
                            const void* hip, std::string& stranger) {
  // What a library depends on is found by way of it.
  const auto will_do = [&](const DynamicLibrary& library) {
    const auto* const its = reinterpret_cast<const void*>(library.get<int(unsigned)>("hipInit"));
    const bool good = its == nullptr || its == hip;
    if (!good && stranger.empty()) stranger = library.path();
    return good;
  };
  if (const char* only = named(variable)) {
    DynamicLibrary library({only});
    return library.loaded() && !will_do(library) ? DynamicLibrary({}) : library;
  }
  DynamicLibrary none({});
  for (const char* file : files) {
    DynamicLibrary library = first_of(file, kFoldersOfRocm, will_do);
    if (library.loaded()) return library;
    if (!library.reason().empty()) none = std::move(library);
  }
  return none;
}

std::string reason_without(const DynamicLibrary& library, const std::string& stranger,
                           const char* remedy, const char* variable) {
  if (!stranger.empty())
    return fmt::format(
        "not usable ({} works by another HIP than the one that is in use); {} may say where one is",
        stranger, variable);
  return fmt::format("not found ({}); {}{} may say where it is", library.reason(), remedy,
                     variable);
}

}  // namespace hologram::libraries
