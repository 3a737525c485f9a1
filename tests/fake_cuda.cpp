// A CUDA driver and an NVRTC for machines without a GPU: memory is the host's, copies are done,
// kernels are taken down and not run. Any call can be made to fail. What a test sees here "runs on
// an emulated driver", no more.
//
// FAKE_CUDA_CAPABILITY is the compute capability of its two devices, 90 unless set. FAKE_CUDA_TEXTS
// is a folder that gets a copy of what is compiled, and the compiler's options.
#include "fake_cuda.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/api.hpp"
#include "libraries/nvrtc/api.hpp"

// Names and types are the vendor's; memory is handed out as a driver does.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)
// NOLINTBEGIN(performance-no-int-to-ptr, cppcoreguidelines-no-malloc)
namespace {

using namespace hologram::backends::cuda;
using hologram::FakeCuda;
using hologram::libraries::nvrtc::Compilation;

constexpr size_t kMemory = size_t{128} << 20;
constexpr size_t kOfHologram = 64;  // smaller ones are a stream's own, which is kept

struct Failure {
  int skip, count, status;
};

struct World {
  std::recursive_mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::map<Address, size_t> memory;  // device and pinned
  uint64_t allocated = 0;
  FakeCuda::Hang hang = FakeCuda::Never;
  FakeCuda::Hang running = FakeCuda::Never;  // the last launch
  int lost = 0;
  unsigned blocks = 0, threads = 0;
  std::vector<uint64_t> arguments;
  std::string options;
};
World& world() {
  static auto* const instance = new World;
  return *instance;
}
thread_local int t_depth = 0;

// What every call begins with: 0, or the status that it is to give.
int enter(const char* name) {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.calls[name]++;
  const auto found = w.failures.find(name);
  if (found == w.failures.end() || found->second.skip-- > 0) return 0;
  if (found->second.count-- <= 0) return 0;
  return found->second.status;
}

#define ENTER                                            \
  if (const int status = enter(__func__)) return status; \
  World& w = world();                                    \
  const std::lock_guard lock(w.mutex)

bool busy(const World& w) { return w.running != FakeCuda::Never; }

int capability() {
  const char* text = std::getenv("FAKE_CUDA_CAPABILITY");
  return text == nullptr ? 90 : std::atoi(text);
}

int take(World& w, void** memory, size_t bytes, bool device) {
  if (device && w.allocated + bytes > kMemory) return kOutOfMemory;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, 0xa5, bytes);
  w.memory[reinterpret_cast<Address>(*memory)] = bytes;
  if (device && bytes >= kOfHologram) w.allocated += bytes;
  return 0;
}

// The copy, if the ends on the device lie inside an allocation.
int move(World& w, Address to, bool to_device, Address from, bool from_device, size_t bytes) {
  const auto inside = [&](Address address) {
    const auto after = w.memory.upper_bound(address);
    if (after == w.memory.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return address + bytes <= begin + size;
  };
  if ((to_device && !inside(to)) || (from_device && !inside(from))) return 1;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return 0;
}

void write(const std::string& name, const std::string& text) {
  if (const char* folder = std::getenv("FAKE_CUDA_TEXTS"))
    std::ofstream(std::string(folder) + '/' + name) << text;
}

template <class Handle>
Handle handle(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  ENTER;
  return 0;
}
int cuDriverGetVersion(int* version) {
  ENTER;
  *version = 12080;
  return 0;
}
int cuDeviceGetCount(int* count) {
  ENTER;
  *count = 2;
  return 0;
}
int cuDeviceGet(DeviceNumber* device, int index) {
  ENTER;
  *device = index + 7;
  return 0;
}
int cuDeviceGetName(char* name, int length, DeviceNumber device) {
  ENTER;
  std::strncpy(name, device == 7 ? "Emulated GPU" : "Second emulated GPU",
               static_cast<size_t>(length));
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  ENTER;
  *bytes = kMemory;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  ENTER;
  const std::map<int, int> values = {{kMaxThreads, 1024},         {kMaxShared, 48 << 10},
                                     {kMultiprocessors, 132},     {kIntegrated, 0},
                                     {kMajor, capability() / 10}, {kMinor, capability() % 10}};
  *value = values.at(attribute);
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int length, DeviceNumber device) {
  ENTER;
  std::strncpy(id, device == 7 ? "0000:01:00.0" : "0000:02:00.0", static_cast<size_t>(length));
  return 0;
}
int cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
  ENTER;
  *context = handle<Context>(static_cast<uintptr_t>(device));
  return 0;
}
int cuCtxPushCurrent_v2(Context) {
  ENTER;
  t_depth++;
  return 0;
}
int cuCtxPopCurrent_v2(Context*) {
  ENTER;
  t_depth--;
  return 0;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER;
  *total = kMemory;
  *free = kMemory - w.allocated;
  return 0;
}
int cuMemAlloc_v2(Address* memory, size_t bytes) {
  ENTER;
  void* taken = nullptr;
  const int status = take(w, &taken, bytes, true);
  *memory = reinterpret_cast<Address>(taken);
  return status;
}
int cuMemFree_v2(Address memory) {
  ENTER;
  if (const size_t bytes = w.memory.at(memory); bytes >= kOfHologram) w.allocated -= bytes;
  w.memory.erase(memory);
  std::free(reinterpret_cast<void*>(memory));
  return 0;
}
int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  ENTER;
  const int status = take(w, memory, bytes, false);
  return status;
}
int cuPointerGetAttributes(unsigned, int*, void**, Address) {
  ENTER;
  return 0;
}
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, NativeStream) {
  ENTER;
  const int status = move(w, to, true, reinterpret_cast<Address>(from), false, bytes);
  uint32_t word = 0;
  if (bytes == sizeof word) std::memcpy(&word, from, bytes);
  if (w.running == FakeCuda::Obedient && word == 1) w.running = FakeCuda::Never;
  return status;
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, NativeStream) {
  ENTER;
  return move(w, reinterpret_cast<Address>(to), false, from, true, bytes);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, NativeStream) {
  ENTER;
  return move(w, to, true, from, true, bytes);
}
int cuMemsetD32Async(Address where, unsigned pattern, size_t count, NativeStream) {
  ENTER;
  for (size_t i = 0; i < count; i++)
    std::memcpy(reinterpret_cast<std::byte*>(where) + 4 * i, &pattern, 4);
  return 0;
}
// The code is what the fake compiler made.
int cuModuleLoadDataEx(Module* module, const void* image, unsigned, int*, void**) {
  ENTER;
  if (std::memcmp(image, "fake", 4) != 0) return 200;
  *module = handle<Module>(1);
  return 0;
}
int cuModuleUnload(Module) {
  ENTER;
  return 0;
}
int cuModuleGetFunction(Function* function, Module, const char*) {
  ENTER;
  *function = handle<Function>(2);
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, Function) {
  ENTER;
  *value = attribute == kRegisters ? 32 : 0;
  return 0;
}
int cuLaunchKernel(Function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned,
                   unsigned, unsigned, NativeStream, void** parameters, void**) {
  ENTER;
  w.running = w.hang;
  w.blocks = grid_x;
  w.threads = block_x;
  w.arguments.clear();
  // As many as the tests' programs have at least.
  for (int i = 0; i < 2; i++) {
    uint64_t value = 0;
    std::memcpy(&value, parameters[i], sizeof value);
    w.arguments.push_back(value);
  }
  return 0;
}
int cuStreamCreate(NativeStream* stream, unsigned) {
  ENTER;
  *stream = handle<NativeStream>(3);
  return 0;
}
int cuEventCreate(Event* event, unsigned) {
  ENTER;
  static uintptr_t next = 4;
  *event = handle<Event>(next++);
  return 0;
}
int cuEventRecord(Event, NativeStream) {
  ENTER;
  return 0;
}
int cuEventQuery(Event) {
  ENTER;
  return busy(w) ? kNotReady : 0;
}
int cuEventSynchronize(Event) {
  ENTER;
  return busy(w) ? 999 : 0;  // a test would wait for ever
}
int cuGetErrorName(int status, const char** text) {
  *text = status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
int cuGetErrorString(int status, const char** text) {
  *text = status == 700 ? "an illegal memory access was encountered" : "an injected failure";
  return 0;
}

int nvrtcVersion(int* major, int* minor) {
  ENTER;
  *major = 12;
  *minor = 8;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  ENTER;
  *count = 3;
  return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
  ENTER;
  architectures[0] = 75;
  architectures[1] = 80;
  architectures[2] = 90;
  return 0;
}
int nvrtcCreateProgram(Compilation* program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  ENTER;
  *program = handle<Compilation>(1);
  write(std::to_string(std::hash<std::string_view>()(text)) + ".cu", text);
  return 0;
}
int nvrtcDestroyProgram(Compilation*) {
  ENTER;
  return 0;
}
int nvrtcCompileProgram(Compilation, int count, const char* const* options) {
  ENTER;
  w.options.clear();
  for (int i = 0; i < count; i++) w.options += std::string(i > 0 ? " " : "") + options[i];
  write("options", w.options);
  return 0;
}
constexpr char kLog[] = "program.cu(1): error: injected\n  here\n";
int nvrtcGetProgramLogSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = sizeof kLog;
  return 0;
}
int nvrtcGetProgramLog(Compilation, char* text) {
  ENTER;
  std::memcpy(text, kLog, sizeof kLog);
  return 0;
}
constexpr char kCode[] = "fake code";
int nvrtcGetCUBINSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = 8;
  return 0;
}
int nvrtcGetCUBIN(Compilation, char* bytes) {
  ENTER;
  std::memcpy(bytes, kCode, 8);
  return 0;
}
int nvrtcGetPTXSize(Compilation, size_t* bytes) {
  ENTER;
  *bytes = sizeof kCode;
  return 0;
}
int nvrtcGetPTX(Compilation, char* text) {
  ENTER;
  std::memcpy(text, kCode, sizeof kCode);
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
  control->allocated = [] { return world().allocated; };
  control->depth = [] { return t_depth; };
  control->blocks = [] { return world().blocks; };
  control->threads = [] { return world().threads; };
  control->argument = [](int index) { return world().arguments.at(static_cast<size_t>(index)); };
  control->options = [] { return world().options.c_str(); };
}

}  // extern "C"

// What is emulated is what is called.
#define SAME(member, symbol, parameters) \
  static_assert(std::is_same_v<decltype(&symbol), decltype(DriverFunctions::member)>);
HOLOGRAM_CUDA_DRIVER(SAME)
#undef SAME
#define SAME(member, symbol, parameters) \
  static_assert(                         \
      std::is_same_v<decltype(&symbol), decltype(hologram::libraries::nvrtc::Functions::member)>);
HOLOGRAM_NVRTC(SAME)
// NOLINTEND(performance-no-int-to-ptr, cppcoreguidelines-no-malloc)
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
