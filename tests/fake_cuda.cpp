// A CUDA driver for machines without a GPU: memory is the host's, copies are done, kernels are
// recorded, or compiled for the processor and executed. Any call can be made to fail. What a test
// sees here "runs on an emulated driver", no more. fake_hip.hpp makes HIP of the same files.
//
// FAKE_CUDA_CAPABILITY is the compute capability of its two devices, 90 unless set,
// FAKE_CUDA_MEMORY_MB their memory, 128 unless set. FAKE_CUDA_TEXTS is a folder that gets a copy of
// what is compiled, and the compiler's options.
//
// With FAKE_CUDA_EXECUTE=1 kernels are executed. FAKE_CUDA_WAVE (32 or 64), FAKE_CUDA_ORDER
// (forward, reverse or random) and FAKE_CUDA_SEED say how, FAKE_CUDA_KERNELS in which folder they
// are kept, and FAKE_CUDA_BESIDE=0 that work is done at once instead of beside the host.
#include "fake_cuda.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "fake_cuda_world.hpp"

// Names and types are the vendor's; memory is handed out as a driver does.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)
// NOLINTBEGIN(performance-no-int-to-ptr, cppcoreguidelines-no-malloc)
namespace hologram::fake {
namespace {

constexpr size_t kOfHologram = 64;  // smaller ones are a stream's own
size_t memory_of_device() { return static_cast<size_t>(number_from("MEMORY_MB", 128)) << 20; }

uint64_t allocated_on(const World& w, DeviceNumber device) {
  uint64_t bytes = 0;
  for (const auto& [address, a] : w.memory)
    if (!a.host && a.bytes >= kOfHologram && device_of(a.context) == device) bytes += a.bytes;
  return bytes;
}

int take(World& w, void** memory, size_t bytes, bool host) {
  if (current() == nullptr) return 201;
  if (!host && allocated_on(w, device_of(current())) + bytes > memory_of_device())
    return kOutOfMemory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xa5, bytes);
  w.memory[reinterpret_cast<Address>(*memory)] = {bytes, current(), host};
  return 0;
}
int give(World& w, Address memory, bool host) {
  const auto found = w.memory.find(memory);
  if (found == w.memory.end() || found->second.host != host) return 1;
  w.memory.erase(found);
  std::free(reinterpret_cast<void*>(memory));
  return 0;
}

}  // namespace

int number_from(const char* setting, int otherwise) {
  const char* text = setting_of(setting);
  return text == nullptr ? otherwise : std::atoi(text);
}

const char* setting_of(const char* setting) {
  return std::getenv((std::string(kSettings) + '_' + setting).c_str());
}

World& world() {
  static auto* const instance = [] {
    auto* const made = new World;
    if (number_from("EXECUTE", 0) != 0) {
      const Execution how{emulated::Settings::from_environment(kSettings),
                          number_from("BESIDE", 1) != 0};
      execute(*made, &how);
    }
    return made;
  }();
  return *instance;
}

const std::pair<const Address, Allocation>* around(const World& w, Address address, size_t bytes) {
  const auto after = w.memory.upper_bound(address);
  if (after == w.memory.begin()) return nullptr;
  const auto& found = *std::prev(after);
  return address + bytes <= found.first + found.second.bytes ? &found : nullptr;
}

bool is_stream(NativeStream stream) {
  return current() != nullptr && (stream == nullptr || find(stream, "stream") != nullptr);
}

bool taken_down(NativeStream stream, Node work) {
  Object* found = find(stream, "stream");
  if (found == nullptr || !found->captures) return false;
  found->nodes.push_back(std::move(work));
  return true;
}

int enter(const char* name) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.calls[name]++;
  const auto found = w.failures.find(name);
  if (found != w.failures.end() && found->second.skip-- <= 0 && found->second.count-- > 0)
    return found->second.status;
  return uses_the_context(name) ? w.lost.load() : 0;
}

}  // namespace hologram::fake

using namespace hologram;
using namespace hologram::fake;

extern "C" {

int cuInit(unsigned) {
  ENTER;
  return 0;
}
int cuDriverGetVersion(int* version) {
  ENTER;
  *version = kVersion;
  return 0;
}
int cuDeviceGetCount(int* count) {
  ENTER;
  *count = 2;
  return 0;
}
int cuDeviceGet(DeviceNumber* device, int index) {
  ENTER;
  *device = index + kFirstDevice;
  return 0;
}
int cuDeviceGetName(char* name, int length, DeviceNumber device) {
  ENTER;
  std::strncpy(name, device == kFirstDevice ? "Emulated GPU" : "Second emulated GPU",
               static_cast<size_t>(length));
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  ENTER;
  *bytes = memory_of_device();
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int length, DeviceNumber device) {
  ENTER;
  std::strncpy(id, device == kFirstDevice ? "0000:01:00.0" : "0000:02:00.0",
               static_cast<size_t>(length));
  return 0;
}
int cuDeviceCanAccessPeer(int* possible, DeviceNumber device, DeviceNumber peer) {
  ENTER;
  *possible = device != peer ? 1 : 0;
  return 0;
}
int cuCtxSynchronize() {
  world().streams.wait_for_all();
  ENTER;
  return current() == nullptr ? 201 : 0;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER;
  if (current() == nullptr) return 201;
  *total = memory_of_device();
  *free = *total - allocated_on(w, device_of(current()));
  return 0;
}
int cuMemAlloc_v2(Address* memory, size_t bytes) {
  ENTER;
  void* taken = nullptr;
  const int status = take(w, &taken, bytes, false);
  *memory = reinterpret_cast<Address>(taken);
  return status;
}
int cuMemFree_v2(Address memory) {
  world().streams.wait_for_all();
  ENTER;
  return give(w, memory, false);
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  ENTER;
  return take(w, memory, bytes, true);
}
int cuMemFreeHost(void* memory) {
  world().streams.wait_for_all();
  ENTER;
  return give(w, reinterpret_cast<Address>(memory), true);
}
// What is unknown to the driver is told as nothing.
// NOLINTNEXTLINE(readability-non-const-parameter)
int cuPointerGetAttributes(unsigned count, int* attributes, void** values, Address pointer) {
  ENTER;
  const auto* found = around(w, pointer, 1);
  for (unsigned i = 0; i < count && found != nullptr; i++) {
    const auto& [start, a] = *found;
    if (attributes[i] == kMemoryType)
      *static_cast<unsigned*>(values[i]) =
          static_cast<unsigned>(a.host ? kHostMemory : kDeviceMemory);
    if (attributes[i] == kDeviceOrdinal)
      *static_cast<int*>(values[i]) = device_of(a.context) - kFirstDevice;
    if (attributes[i] == kRangeStart) *static_cast<Address*>(values[i]) = start;
    if (attributes[i] == kRangeSize) *static_cast<size_t*>(values[i]) = a.bytes;
  }
  return 0;
}
// The code is what the fake compiler made.
int cuModuleLoadDataEx(Module* module, const void* image, unsigned, int*, void**) {
  ENTER;
  const auto* code = static_cast<const char*>(image);
  if (std::memcmp(code, w.kernels == nullptr ? kRecorded : kExecuted, 4) != 0) return 200;
  code += 4;
  const std::string digits(code, 16);
  for (int i = 0; i < kCodeRounds; i++, code += 16)
    if (std::memcmp(code, digits.data(), 16) != 0) return 200;
  std::string log;
  const emulated::Kernel* kernel = w.kernels == nullptr ? nullptr : w.kernels->find(code, log);
  if (w.kernels != nullptr && kernel == nullptr) return 200;
  const int status = make(module, "module");
  if (status != 0) return status;
  Object& made = *find(*module, "module");
  w.loaded = made.code = std::stoull(digits, nullptr, 16);
  made.kernel = kernel;
  return 0;
}
int cuModuleUnload(Module module) {
  ENTER;
  return destroy(module, "module");
}
int cuModuleGetFunction(Function* function, Module module, const char*) {
  ENTER;
  if (find(module, "module") == nullptr) return 400;
  *function = handle<Function>(reinterpret_cast<uintptr_t>(module));
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, Function) {
  ENTER;
  *value = attribute == kRegisters ? 32 : 0;
  return 0;
}
void fake_cuda(FakeCuda* control) {
  control->fail = [](const char* name, int skip, int count, int status) {
    const std::lock_guard lock(world().mutex);
    if (name == nullptr) world().failures.clear();
    else world().failures[name] = {skip, count, status};
  };
  control->calls = [](const char* name) {
    const std::lock_guard lock(world().mutex);
    return world().calls[name];
  };
  control->hang = [](FakeCuda::Hang how) {
    const std::lock_guard lock(world().mutex);
    world().hang = how;
    world().running = FakeCuda::Never;
  };
  control->allocated = [] {
    const std::lock_guard lock(world().mutex);
    return allocated_on(world(), kFirstDevice) + allocated_on(world(), kFirstDevice + 1);
  };
  control->holds = [](const void* start, size_t bytes) {
    const std::lock_guard lock(world().mutex);
    const auto* const found = around(world(), reinterpret_cast<Address>(start), bytes);
    return found != nullptr && !found->second.host;
  };
  control->live = [](const char* kind) {
    const std::lock_guard lock(world().mutex);
    const auto counts = [&](const std::string& name) { return kind == nullptr || name == kind; };
    int count = 0;
    for (const auto& [number, object] : world().objects) count += counts(object.kind) ? 1 : 0;
    for (const auto& [address, a] : world().memory)
      count += counts(a.host ? "host memory" : "memory") ? 1 : 0;
    return count;
  };
  control->depth = depth;
  control->ran = [](int before) {
    const std::lock_guard lock(world().mutex);
    return world().ran.at(world().ran.size() - 1 - static_cast<size_t>(before));
  };
  control->kernels = [] {
    const std::lock_guard lock(world().mutex);
    return static_cast<int>(world().ran.size());
  };
  control->copy = [](size_t bytes) { world().copied = bytes; };
  control->mark = [](int argument) { world().marks = argument; };
  control->put = [](void* stream, std::function<void()> work) {
    const std::lock_guard lock(world().mutex);
    put(static_cast<NativeStream>(stream), std::move(work));
  };
  control->execute = [](const Execution* how) {
    world().streams.wait_for_all();
    const std::lock_guard lock(world().mutex);
    execute(world(), how);
  };
  control->loaded = [] { return world().loaded; };
  control->options = [] { return world().options.c_str(); };
  control->new_context = [](int index) -> void* {
    return handle<void*>(100 * static_cast<uintptr_t>(++world().foreign_contexts) +
                         reinterpret_cast<uintptr_t>(context_of(kFirstDevice + index)));
  };
}

}  // extern "C"

// NOLINTEND(performance-no-int-to-ptr, cppcoreguidelines-no-malloc)
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
