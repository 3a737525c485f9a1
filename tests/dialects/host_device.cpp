#include "dialects/host_device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "emulated/executor.hpp"
#include "emulated/kernel_library.hpp"

namespace hologram::dialects {
namespace {

namespace fs = std::filesystem;

// How a language is compiled; %: the folder that the text stands in, where it is not C++.
struct Row {
  Language language;
  const char* compiler;
  const char* command;
};
constexpr Row kRows[] = {
    {Language::Cuda, "g++", "g++ -std=c++17 -O1 -w -ffp-contract=off"},
    {Language::Hip, "clang++-14", "clang++-14 -std=c++17 -O1 -w -ffp-contract=off"},
    {Language::Metal, "clang++-14",
     "clang++-14 -O1 -mf16c -w -fPIC -shared -ffp-contract=off -cl-no-stdinc -I " HOLOGRAM_SHIMS
     " -x clcpp %/text.cl -x c++ %/call.cpp -o %/text.so -lm"},
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

bool is_pointer(const Argument& a) {
  return a.kind == Argument::Kind::Buffer || a.kind == Argument::Kind::Stop;
}

// What the executor knows of a kernel of Metal, whose text is no C++: pointers, the last of them to
// all values, then the numbers of thread and block.
std::string metal_entry(const Printed& printed) {
  std::string types, values, sizes;
  const auto pointers =
      std::count_if(printed.arguments.begin(), printed.arguments.end(), is_pointer);
  for (ptrdiff_t i = 0; i <= pointers; i++) {
    types += "void*, ";
    values += "*(void**)a[" + std::to_string(i) + "], ";
    sizes += "sizeof(void*), ";
  }
  const bool waits = printed.text.find("threadgroup_barrier(") != std::string::npos;
  return "#include \"" HOLOGRAM_SHIMS
         "/../../emulated/kernel_abi.hpp\"\n"
         "extern \"C\" {\nhologram::emulated::Runtime emulated_runtime;\n"
         "void metal_barrier() { emulated_runtime.wait_for_block(0); }\n"
         "void " +
         printed.entry + "(" + types +
         "unsigned, unsigned, unsigned);\n"
         "static void call(void** a) {\n  const auto& r = emulated_runtime;\n  " +
         printed.entry + "(" + values +
         "r.thread.x, r.block.x, r.blocks.x);\n}\n"
         "static const unsigned sizes[] = {" +
         sizes +
         "};\n"
         "extern const hologram::emulated::KernelEntry kernel;\n"
         "const hologram::emulated::KernelEntry kernel = {\"" +
         printed.entry + "\", call, " + std::to_string(pointers + 1) + ", sizes, 0, 0, " +
         (waits ? "true" : "false") + "};\n}\n";
}

// The kernel of a text, compiled. What it was made of lives as long.
class Compiled {
 public:
  // `log`: what the compiler says where it fails.
  Compiled(const Printed& printed, const Row& row, std::string& log) {
    if (row.language != Language::Metal) {
      library_.emplace(folder_.path(), row.command);
      if (const emulated::Kernel* found = library_->find(printed.text, log)) kernel_ = *found;
      return;
    }
    std::ofstream(folder_ / "text.cl") << printed.text;
    std::ofstream(folder_ / "call.cpp") << metal_entry(printed);
    log = folder_.execute(row.command);
    if (!log.empty()) return;
    metal_.reset(dlopen((folder_ / "text.so").c_str(), RTLD_NOW | RTLD_LOCAL));
    if (metal_ == nullptr) {
      log = dlerror();
      return;
    }
    kernel_ = {static_cast<const emulated::KernelEntry*>(dlsym(metal_.get(), "kernel")),
               static_cast<emulated::Runtime*>(dlsym(metal_.get(), "emulated_runtime"))};
  }
  const emulated::Kernel& kernel() const { return kernel_; }

 private:
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  Folder folder_;
  std::optional<emulated::KernelLibrary> library_;
  std::unique_ptr<void, Close> metal_;
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
