// Kernels of the emulated CUDA driver: recorded, and executed where that is asked for.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_cuda_world.hpp"

// NOLINTBEGIN(performance-no-int-to-ptr)
namespace hologram::fake {
namespace {

constexpr double kKernelTakes = 0.005;  // milliseconds

// False if it is not to run any more.
bool record(World& w, const Ran& kernel) {
  const std::lock_guard lock(w.mutex);
  if (w.lost != 0) return false;
  w.running = w.hang;
  w.clock += kKernelTakes;
  w.ran.push_back(kernel);
  const uint32_t one = 1;
  if (kernel.marked != 0) std::memcpy(reinterpret_cast<void*>(kernel.marked), &one, sizeof one);
  if (w.copied > 0 && around(w, kernel.arguments[1], w.copied) != nullptr &&
      around(w, kernel.arguments[0], w.copied) != nullptr)
    std::memmove(reinterpret_cast<void*>(kernel.arguments[1]),
                 reinterpret_cast<const void*>(kernel.arguments[0]), w.copied);
  return true;
}

}  // namespace

KernelRun kernel_of(Function function, unsigned blocks, unsigned threads, void** parameters) {
  KernelRun kernel{{blocks, threads, {}, 0}, {}};
  // As many as the tests' programs have at least.
  for (size_t i = 0; i < 2; i++)
    std::memcpy(&kernel.ran.arguments[i], parameters[i], sizeof(uint64_t));
  if (const int marks = world().marks; marks >= 0)
    std::memcpy(&kernel.ran.marked, parameters[marks], sizeof(uint64_t));
  const Object* module = find(function, "module");
  if (module != nullptr && module->kernel != nullptr)
    kernel.launch = emulated::launch_of(*module->kernel, blocks, threads, parameters);
  return kernel;
}

void run(World& w, const KernelRun& kernel) {
  if (!record(w, kernel.ran) || kernel.launch.kernel == nullptr) return;
  const std::string wrong = w.executor.run(kernel.launch);
  if (wrong.empty()) return;
  std::fprintf(stderr, "emulated %s driver: %s\n", kName, wrong.c_str());
  const std::lock_guard lock(w.mutex);
  w.lost = kLaunchFailed;
}

bool has_raised_word(const World& w) {
  return std::any_of(w.memory.begin(), w.memory.end(), [](const auto& memory) {
    uint32_t word = 0;
    if (!memory.second.host || memory.second.bytes != 2 * sizeof word) return false;
    std::memcpy(&word, reinterpret_cast<const void*>(memory.first), sizeof word);
    return word == 1;
  });
}

emulated::Streams::Ticket put(NativeStream stream, std::function<void()> work,
                              emulated::Streams::Kind kind) {
  if (taken_down(stream, {.call = work})) return 0;
  return world().streams.put(stream, kind, std::move(work));
}

void execute(World& w, const Execution* how) {
  w.streams.run_at_once();
  w.kernels = nullptr;
  if (how == nullptr) return;
  // For the life of the process, as modules may be.
  static auto* const kernels = [] {
    const char* folder = setting_of("KERNELS");
    return new emulated::KernelLibrary(folder == nullptr ? EMULATED_KERNELS : folder);
  }();
  w.kernels = kernels;
  w.executor.set(*how);
  if (how->beside) w.streams.run_beside(how->seed);
}

}  // namespace hologram::fake
// NOLINTEND(performance-no-int-to-ptr)
