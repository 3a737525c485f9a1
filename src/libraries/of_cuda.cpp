#include "libraries/of_cuda.hpp"

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
constexpr const char* kFolders[] = {
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

// Files that a pattern of kFolders stands for, those with the highest names first.
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

}  // namespace

core::DynamicLibrary open_of_cuda(const char* variable, std::span<const CudaRelease> releases,
                                  int driver_major) {
  const char* only = std::getenv(variable);
  if (only != nullptr && *only != '\0') return core::DynamicLibrary({only});
  core::DynamicLibrary none({});
  for (const CudaRelease& release : releases) {
    if (release.major > driver_major) continue;
    core::DynamicLibrary library({release.file});
    if (library.loaded()) return library;
    for (const char* folder : kFolders)
      for (const std::string& file : files(folder, release.file)) {
        core::DynamicLibrary there({file.c_str()});
        if (there.loaded()) return there;
      }
    none = std::move(library);
  }
  return none;
}

}  // namespace hologram::libraries
