#include "dialects/host_device.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "emulated/executor.hpp"
#include "emulated/kernel_library.hpp"

namespace hologram::dialects {
namespace {

namespace fs = std::filesystem;

// How a language is compiled.
struct Row {
  Language language;
  const char* compiler;
  const char* command;
  emulated::KernelLibrary::Text text;
};
constexpr Row kRows[] = {
    {Language::Cuda, "g++", "g++ -std=c++17 -O1 -w -ffp-contract=off",
     emulated::KernelLibrary::Text::Cpp},
    {Language::Hip, "clang++-14", "clang++-14 -std=c++17 -O1 -w -ffp-contract=off",
     emulated::KernelLibrary::Text::Cpp},
    {Language::Metal, "clang++-14", "clang++-14 -O1 -mf16c -w -ffp-contract=off",
     emulated::KernelLibrary::Text::Metal},
};

const Row& row_of(Language language) {
  return *std::find_if(std::begin(kRows), std::end(kRows),
                       [&](const Row& row) { return row.language == language; });
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

std::string contents(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "hologram-dialects-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }
  std::string path() const { return path_.string(); }

  // What the command says where it fails.
  std::string execute(std::string command) const {
    for (size_t at; (at = command.find('%')) != std::string::npos;)
      command.replace(at, 1, path_.string());
    const fs::path log = path_ / "log";
    if (std::system((command + " >" + log.string() + " 2>&1").c_str()) == 0) return {};
    return command + "\n" + contents(log);
  }

 private:
  fs::path path_;
};

// The kernel of a text, compiled. What it was made of lives as long.
class Compiled {
 public:
  // `log`: what the compiler says where it fails.
  Compiled(const Printed& printed, const Row& row, std::string& log)
      : library_(folder_.path(), row.command, row.text) {
    if (const emulated::Kernel* found = library_.find(printed.text, log)) kernel_ = *found;
  }
  const emulated::Kernel& kernel() const { return kernel_; }

 private:
  Folder folder_;
  emulated::KernelLibrary library_;
  emulated::Kernel kernel_;
};

constexpr uint8_t kGuard = 0x5b;
constexpr size_t kGuardBytes = 256;

}  // namespace

std::string why_not(Language language) {
  const char* compiler = row_of(language).compiler;
  return installed(compiler) ? "" : std::string(compiler) + " is not installed";
}

std::string run_on_host(Language language, const RunRequest& request,
                        std::vector<oracle::Memory>& buffers, uint32_t* ran_out) {
  const Printed& printed = *request.printed;
  std::string log;
  const Compiled compiled(printed, row_of(language), log);
  if (!log.empty()) return log + printed.text;

  uint32_t flag = request.stop ? 1 : 0;
  std::vector<std::vector<uint8_t>> images(buffers.size());
  std::vector<uint64_t> values;
  std::vector<uint8_t> structure;
  const auto pass = [&](const void* pointer) {
    values.push_back(reinterpret_cast<uintptr_t>(pointer));
  };
  for (const Argument& a : printed.arguments) {
    if (a.kind == Argument::Kind::Stop) {
      pass(&flag);
    } else if (a.kind == Argument::Kind::Buffer) {
      // As an offset of so many elements leaves it: no better aligned than those.
      std::vector<uint8_t>& image = images[a.slot];
      const size_t before = kGuardBytes + request.offset * size_of(a.type);
      image.assign(before + buffers[a.slot].size() + kGuardBytes, kGuard);
      std::copy(buffers[a.slot].begin(), buffers[a.slot].end(),
                image.begin() + static_cast<ptrdiff_t>(before));
      pass(image.data() + before);
    } else {
      const size_t size = size_of(a.type);
      const uint64_t bits = bits_of(a, request);
      structure.resize((structure.size() + size - 1) / size * size + size);
      std::memcpy(structure.data() + structure.size() - size, &bits, size);
      if (language != Language::Metal) values.push_back(bits);
    }
  }
  if (language == Language::Metal) pass(structure.data());
  std::vector<const void*> arguments;
  arguments.reserve(values.size());
  for (const uint64_t& value : values) arguments.push_back(&value);

  emulated::Executor executor;
  const std::string wrong =
      executor.run(emulated::launch_of(compiled.kernel(), static_cast<unsigned>(blocks_of(request)),
                                       printed.lanes, arguments.data()));
  if (!wrong.empty()) return wrong + '\n' + printed.text;
  for (size_t b = 0; b < buffers.size(); b++) {
    if (images[b].empty()) continue;
    const size_t before = images[b].size() - kGuardBytes - buffers[b].size();
    for (size_t i = 0; i < images[b].size(); i++)
      if ((i < before || i >= before + buffers[b].size()) && images[b][i] != kGuard)
        return "buffer " + std::to_string(b) + " was written outside\n" + printed.text;
    std::copy_n(images[b].begin() + static_cast<ptrdiff_t>(before), buffers[b].size(),
                buffers[b].begin());
  }
  if (ran_out != nullptr) *ran_out = flag;
  return {};
}

std::string compile_for_amd(const Printed& printed) {
  const Folder folder;
  std::ofstream(folder / "text.hip") << printed.text;
  std::string command =
      "clang++-14 -x hip --offload-arch=gfx90a --cuda-device-only -nogpuinc "
      "-nogpulib -O2 -w -S -include " HOLOGRAM_SHIMS "/hip.h";
  for (const std::string& flag : compiler_flags(Language::Hip)) command += " " + flag;
  const std::string log = folder.execute(command + " %/text.hip -o %/text.s");
  return log.empty() ? log : log + printed.text;
}

std::string compile_opencl_by_clang(const Printed& printed) {
  const Folder folder;
  std::ofstream(folder / "text.cl") << printed.text;
  const std::string log = folder.execute(
      "clang-14 -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O1 -w -S "
      "-cl-fp32-correctly-rounded-divide-sqrt %/text.cl -o %/text.s");
  return log.empty() ? log : log + printed.text;
}

}  // namespace hologram::dialects
