#include "dialects/host_device.hpp"

#include <dlfcn.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace hologram::dialects {
namespace {

namespace fs = std::filesystem;

// How a language is compiled; %: the folder that the text stands in.
struct Row {
  Language language;
  const char* compiler;
  const char* text;  // the name of the file
  const char* command;
  const char* before;  // stands before the text
  const char* barrier;
};
constexpr Row kRows[] = {
    {Language::Cuda, "g++", "text.cpp",
     "g++ -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off %/text.cpp %/call.cpp",
     "#include \"" HOLOGRAM_SHIMS "/cuda.h\"\n", "__syncthreads()"},
    {Language::Hip, "clang++-14", "text.cpp",
     "clang++-14 -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off %/text.cpp %/call.cpp",
     "#include \"" HOLOGRAM_SHIMS "/cuda.h\"\n", "__syncthreads()"},
    {Language::Metal, "clang++-14", "text.cl",
     "clang++-14 -O1 -mf16c -w -fPIC -shared -ffp-contract=off -cl-no-stdinc -I " HOLOGRAM_SHIMS
     " -x clcpp %/text.cl -x c++ %/call.cpp",
     "", "threadgroup_barrier("},
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

// A function that calls the kernel with arguments from a list of addresses; what is no pointer is
// passed by its bits, in a register of the right kind.
std::string caller(const Printed& printed, Language language) {
  const auto type = [](DType t) -> std::string {
    if (t == DType::F32) return "float";
    if (t == DType::F64) return "double";
    return size_of(t) == 8 ? "unsigned long" : size_of(t) == 4 ? "unsigned" : "unsigned char";
  };
  std::string types, values;
  size_t number = 0;
  const auto add = [&](const std::string& t, const std::string& value) {
    types += (types.empty() ? "" : ", ") + t;
    values += (values.empty() ? "" : ", ") + value;
  };
  for (const Argument& a : printed.arguments) {
    if (is_pointer(a)) add("void*", "a[" + std::to_string(number++) + "]");
    else if (language != Language::Metal)
      add(type(a.type), "*(" + type(a.type) + "*)a[" + std::to_string(number++) + "]");
  }
  std::string text = "extern \"C\" {\n";
  if (language == Language::Metal) {
    add("void*", "a[" + std::to_string(number) + "]");
    add("unsigned, unsigned, unsigned", "place[0], place[1], place[2]");
    text +=
        "unsigned place[3];\nvoid (*wait_for_all)();\nvoid metal_barrier() { wait_for_all(); }\n"
        "void set_place(unsigned t, unsigned b, unsigned n) { place[0] = t; place[1] = b; "
        "place[2] = n; }\n";
  }
  return text + "void " + printed.entry + "(" + types + ");\nvoid call(void** a) { " +
         printed.entry + "(" + values + "); }\n}\n";
}

// The threads of a block, in turn, from barrier to barrier.
class Block {
 public:
  Block(void (*call)(void**), void (*place)(unsigned, unsigned, unsigned), void** arguments,
        unsigned threads)
      : call_(call), place_(place), arguments_(arguments), fibers_(threads) {
    for (Fiber& fiber : fibers_) fiber.stack = std::make_unique<char[]>(kStack);
  }

  ~Block() { current_block = nullptr; }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Without barriers a thread is just a call.
  void run_one_by_one(unsigned block, unsigned blocks) {
    for (unsigned t = 0; t < fibers_.size(); t++) {
      place_(t, block, blocks);
      call_(arguments_);
    }
  }

  bool run(unsigned block, unsigned blocks) {
    current_block = this;
    for (Fiber& fiber : fibers_) {
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &scheduler_;
      fiber.state = State::Ready;
      makecontext(&fiber.context, &Block::start, 0);
    }
    for (size_t done = 0; done < fibers_.size();) {
      if (!release()) return false;
      for (at_ = 0; at_ < fibers_.size(); at_++) {
        Fiber& fiber = fibers_[at_];
        if (fiber.state != State::Ready) continue;
        place_(static_cast<unsigned>(at_), block, blocks);
        swapcontext(&scheduler_, &fiber.context);
        done += fiber.state == State::Done ? 1 : 0;
      }
    }
    return true;
  }

  static void wait_for_all() { current_block->wait(State::AtBarrier); }
  static void wait_for_warp() { current_block->wait(State::InWarp); }

 private:
  static constexpr size_t kStack = 256 * 1024;
  enum class State { Ready, AtBarrier, InWarp, Done };
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    State state = State::Ready;
  };

  void wait(State state) {
    fibers_[at_].state = state;
    swapcontext(&fibers_[at_].context, &scheduler_);
  }

  // Those who wait go on where all are there that they wait for. False if nobody can.
  bool release() {
    const auto all = [&](size_t first, size_t last, State state) {
      return std::all_of(fibers_.begin() + static_cast<ptrdiff_t>(first),
                         fibers_.begin() + static_cast<ptrdiff_t>(last),
                         [&](const Fiber& fiber) { return fiber.state == state; });
    };
    bool any = false;
    const auto go_on = [&](size_t first, size_t last, State state) {
      if (all(first, last, state))
        for (size_t i = first; i < last; i++) fibers_[i].state = State::Ready;
    };
    go_on(0, fibers_.size(), State::AtBarrier);
    for (size_t first = 0; first + 32 <= fibers_.size(); first += 32)
      go_on(first, first + 32, State::InWarp);
    for (const Fiber& fiber : fibers_) any = any || fiber.state == State::Ready;
    return any;
  }

  static void start() {
    Block& b = *current_block;
    b.call_(b.arguments_);
    b.fibers_[b.at_].state = State::Done;
  }

  static inline Block* current_block = nullptr;
  void (*call_)(void**);
  void (*place_)(unsigned, unsigned, unsigned);
  void** arguments_;
  std::vector<Fiber> fibers_;
  ucontext_t scheduler_ = {};
  size_t at_ = 0;
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
  const Row& row = row_of(language);
  const Folder folder;
  std::ofstream(folder / row.text) << row.before << printed.text;
  std::ofstream(folder / "call.cpp") << caller(printed, language);
  const std::string log = folder.execute(std::string(row.command) + " -o %/text.so -lm");
  if (!log.empty()) return log + printed.text;
  void* library = dlopen((folder / "text.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  const std::unique_ptr<void, int (*)(void*)> close(library, dlclose);
  auto* const call = reinterpret_cast<void (*)(void**)>(dlsym(library, "call"));
  auto* const place =
      reinterpret_cast<void (*)(unsigned, unsigned, unsigned)>(dlsym(library, "set_place"));
  *static_cast<void (**)()>(dlsym(library, "wait_for_all")) = &Block::wait_for_all;
  if (void* warp = dlsym(library, "wait_for_warp"))
    *static_cast<void (**)()>(warp) = &Block::wait_for_warp;

  uint32_t flag = request.stop ? 1 : 0;
  std::vector<std::vector<uint8_t>> images(buffers.size());
  std::vector<uint64_t> values;
  values.reserve(printed.arguments.size());
  std::vector<uint8_t> structure;
  std::vector<void*> arguments;
  for (const Argument& a : printed.arguments) {
    if (a.kind == Argument::Kind::Stop) {
      arguments.push_back(&flag);
    } else if (a.kind == Argument::Kind::Buffer) {
      // As an offset of so many elements leaves it: no better aligned than those.
      std::vector<uint8_t>& image = images[a.slot];
      const size_t before = kGuardBytes + request.offset * size_of(a.type);
      image.assign(before + buffers[a.slot].size() + kGuardBytes, kGuard);
      std::copy(buffers[a.slot].begin(), buffers[a.slot].end(),
                image.begin() + static_cast<ptrdiff_t>(before));
      arguments.push_back(image.data() + before);
    } else {
      const size_t size = size_of(a.type);
      values.push_back(bits_of(a, request));
      structure.resize((structure.size() + size - 1) / size * size + size);
      std::memcpy(structure.data() + structure.size() - size, &values.back(), size);
      if (language != Language::Metal) arguments.push_back(&values.back());
    }
  }
  if (language == Language::Metal) arguments.push_back(structure.data());

  Block block(call, place, arguments.data(), printed.lanes);
  const auto blocks = static_cast<unsigned>(blocks_of(request));
  const bool waits = printed.text.find(row.barrier) != std::string::npos;
  for (unsigned b = 0; b < blocks; b++)
    if (!waits) block.run_one_by_one(b, blocks);
    else if (!block.run(b, blocks)) return "not all threads come by a barrier\n" + printed.text;
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
