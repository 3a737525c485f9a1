// HIP and hipRTC on CUDA's driver and NVRTC: the ROCm backend runs its streams, events, copies,
// graphs and kernels on NVIDIA's hardware. What AMD's compiler and GPUs make of them it does not
// tell. A library of this name is given by HOLOGRAM_HIP_LIBRARY and HOLOGRAM_HIPRTC_LIBRARY;
// HIP_ON_CUDA_DRIVER and HIP_ON_CUDA_NVRTC say what is beneath it.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/api.hpp"
#include "backends/rocm/api.hpp"
#include "libraries/hiprtc/api.hpp"

using namespace hologram;
using namespace hologram::backends;
using driver::Address;
using driver::Context;
using driver::NativeStream;
using driver::Status;
using libraries::Compilation;

namespace {

constexpr int kHipVersion = 60'400'000, kWave = 32, kMostDevices = 16;

void* opened(const char* variable, std::initializer_list<const char*> names) {
  const char* const named = std::getenv(variable);
  if (named != nullptr) return dlopen(named, RTLD_NOW);
  for (const char* name : names)
    if (void* const library = dlopen(name, RTLD_NOW)) return library;
  return nullptr;
}

template <class F>
void find(void* library, const char* name, F*& function) {
  function = library == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library, name));
}

struct Cuda : driver::DriverFunctions {
  Cuda() {
    void* const library = opened("HIP_ON_CUDA_DRIVER", {"libcuda.so.1"});
#define FIND(member, symbol) find(library, #symbol, member);
    HOLOGRAM_CUDA_DRIVER(FIND)
#undef FIND
  }
};
const Cuda& of_cuda() {
  static const Cuda functions;
  return functions;
}

struct Nvrtc : libraries::CompilerFunctions {
  Nvrtc() {
    void* const library = opened("HIP_ON_CUDA_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"});
    find(library, "nvrtcCreateProgram", create);
    find(library, "nvrtcDestroyProgram", destroy);
    find(library, "nvrtcCompileProgram", compile);
    find(library, "nvrtcGetProgramLogSize", log_size);
    find(library, "nvrtcGetProgramLog", log);
    find(library, "nvrtcGetCUBINSize", code_size);
    find(library, "nvrtcGetCUBIN", code);
  }
};
const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

// Without a driver hipInit says so, and nothing else is called.
// NOLINTBEGIN(readability-identifier-naming, clang-analyzer-core.CallAndMessage)
thread_local int t_device = 0;

// Primary contexts are kept.
Context context_of(int device) {
  static Context contexts[kMostDevices];
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (device < 0 || device >= kMostDevices) return nullptr;
  if (contexts[device] == nullptr) of_cuda().context_retain(&contexts[device], device);
  return contexts[device];
}
// In HIP a device is always current, on each thread.
Status enter() {
  thread_local int t_entered = -1;
  if (t_entered == t_device) return driver::kSuccess;
  Context before = nullptr;
  if (t_entered >= 0) of_cuda().context_pop(&before);
  t_entered = t_device;
  return of_cuda().context_push(context_of(t_device));
}

int attribute(int number) {
  int value = 0;
  of_cuda().device_attribute(&value, number, t_device);
  return value;
}

// Of hipRTC's C++ what NVRTC lacks.
constexpr std::string_view kHeader = R"(#ifdef __CUDA_ARCH__
#define __builtin_memcpy memcpy
struct _Float16 {
  unsigned short bits;
  _Float16() = default;
  __device__ explicit _Float16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
  __device__ explicit operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
  }
};
#endif
)";

}  // namespace

extern "C" {

// ROW(symbol, member, parameters, arguments): the same as a function of CUDA's.
#define ROW(symbol, member, parameters, arguments)                 \
  Status symbol parameters {                                       \
    if (const Status status = enter(); status != 0) return status; \
    return of_cuda().member arguments;                             \
  }
ROW(hipDeviceSynchronize, context_synchronize, (), ())
ROW(hipMemGetInfo, memory_info, (size_t * free, size_t* total), (free, total))
ROW(hipMalloc, allocate, (Address * memory, size_t bytes), (memory, bytes))
ROW(hipFree, release, (Address memory), (memory))
ROW(hipHostMalloc, allocate_host, (void** memory, size_t bytes, unsigned flags),
    (memory, bytes, flags & 7))
ROW(hipHostFree, release_host, (void* memory), (memory))
ROW(hipDrvPointerGetAttributes, pointer_attributes,
    (unsigned count, int* attributes, void** values, Address pointer),
    (count, attributes, values, pointer))
ROW(hipMemcpyHtoDAsync, copy_in, (Address to, const void* from, size_t bytes, NativeStream stream),
    (to, from, bytes, stream))
ROW(hipMemcpyDtoHAsync, copy_out, (void* to, Address from, size_t bytes, NativeStream stream),
    (to, from, bytes, stream))
ROW(hipMemcpyDtoDAsync, copy, (Address to, Address from, size_t bytes, NativeStream stream),
    (to, from, bytes, stream))
ROW(hipMemsetD32Async, fill, (Address where, unsigned pattern, size_t count, NativeStream stream),
    (where, pattern, count, stream))
ROW(hipModuleLoadDataEx, module_load,
    (driver::Module * module, const void* image, unsigned, int*, void**),
    (module, image, 0, nullptr, nullptr))
ROW(hipModuleUnload, module_unload, (driver::Module module), (module))
ROW(hipModuleGetFunction, module_function,
    (driver::Function * function, driver::Module module, const char* name),
    (function, module, name))
ROW(hipFuncGetAttribute, function_attribute, (int* value, int attribute, driver::Function function),
    (value, attribute, function))
ROW(hipModuleLaunchKernel, launch,
    (driver::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
     unsigned block_y, unsigned block_z, unsigned shared, NativeStream stream, void** parameters,
     void** extra),
    (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters,
     extra))
ROW(hipStreamCreateWithFlags, stream_create, (NativeStream * stream, unsigned flags),
    (stream, flags))
ROW(hipStreamDestroy, stream_destroy, (NativeStream stream), (stream))
ROW(hipStreamSynchronize, stream_synchronize, (NativeStream stream), (stream))
ROW(hipEventCreateWithFlags, event_create, (driver::Event * event, unsigned flags), (event, flags))
ROW(hipEventDestroy, event_destroy, (driver::Event event), (event))
ROW(hipEventRecord, event_record, (driver::Event event, NativeStream stream), (event, stream))
ROW(hipEventQuery, event_query, (driver::Event event), (event))
ROW(hipEventSynchronize, event_synchronize, (driver::Event event), (event))
ROW(hipEventElapsedTime, event_elapsed, (float* milliseconds, driver::Event from, driver::Event to),
    (milliseconds, from, to))
ROW(hipGraphCreate, graph_create, (driver::Graph * graph, unsigned flags), (graph, flags))
ROW(hipGraphDestroy, graph_destroy, (driver::Graph graph), (graph))
ROW(hipStreamBeginCapture, capture_begin, (NativeStream stream, int mode), (stream, mode))
ROW(hipStreamEndCapture, capture_end, (NativeStream stream, driver::Graph* graph), (stream, graph))
ROW(hipGraphAddChildGraphNode, graph_add_child,
    (driver::GraphNode * node, driver::Graph graph, const driver::GraphNode* after, size_t count,
     driver::Graph child),
    (node, graph, after, count, child))
ROW(hipGraphExecChildGraphNodeSetParams, graph_set_child,
    (driver::ReadyGraph ready, driver::GraphNode node, driver::Graph child), (ready, node, child))
ROW(hipGraphInstantiateWithFlags, graph_instantiate,
    (driver::ReadyGraph * ready, driver::Graph graph, unsigned long long flags),
    (ready, graph, flags))
ROW(hipGraphUpload, graph_upload, (driver::ReadyGraph ready, NativeStream stream), (ready, stream))
ROW(hipGraphLaunch, graph_launch, (driver::ReadyGraph ready, NativeStream stream), (ready, stream))
ROW(hipGraphExecDestroy, graph_ready_destroy, (driver::ReadyGraph ready), (ready))
ROW(hipDeviceEnablePeerAccess, peer_enable, (int peer, unsigned flags), (context_of(peer), flags))
ROW(hipMemcpyPeerAsync, copy_peer,
    (Address to, int to_device, Address from, int from_device, size_t bytes, NativeStream stream),
    (to, context_of(to_device), from, context_of(from_device), bytes, stream))
#undef ROW

// Host and device have one address space.
Status hipHostGetDevicePointer(Address* memory, void* host, unsigned) {
  *memory = reinterpret_cast<Address>(host);
  return driver::kSuccess;
}
Status hipMemGetAddressRange(Address* start, size_t* bytes, Address inside) {
  int attributes[] = {driver::kRangeStart, driver::kRangeSize};
  void* values[] = {start, bytes};
  const Status status = enter();
  return status == driver::kSuccess ? of_cuda().pointer_attributes(2, attributes, values, inside)
                                    : status;
}

// What needs no device.
Status hipInit(unsigned flags) {
  return of_cuda().init == nullptr ? driver::kNoDevice : of_cuda().init(flags);
}
Status hipDriverGetVersion(int* version) {
  *version = kHipVersion;
  return driver::kSuccess;
}
Status hipGetDeviceCount(int* count) { return of_cuda().device_count(count); }
Status hipDeviceGet(int* device, int index) { return of_cuda().device(device, index); }
Status hipDeviceGetName(char* name, int length, int device) {
  return of_cuda().device_name(name, length, device);
}
Status hipDeviceTotalMem(size_t* bytes, int device) {
  return of_cuda().device_memory(bytes, device);
}
Status hipDeviceGetPCIBusId(char* id, int length, int device) {
  return of_cuda().device_pci(id, length, device);
}
Status hipDeviceCanAccessPeer(int* possible, int device, int peer) {
  return of_cuda().peer_possible(possible, device, peer);
}
Status hipSetDevice(int device) {
  t_device = device;
  return enter();
}
Status hipGetDevice(int* device) {
  *device = t_device;
  return driver::kSuccess;
}
Status hipDeviceGetAttribute(int* value, int number, int device) {
  if (number == rocm::kHipWave) {
    *value = kWave;
    return driver::kSuccess;
  }
  static constexpr int kNumbers[][2] = {{rocm::kHipMaxThreads, driver::kMaxThreads},
                                        {rocm::kHipMaxShared, driver::kMaxShared},
                                        {rocm::kHipMultiprocessors, driver::kMultiprocessors},
                                        {rocm::kHipIntegrated, driver::kIntegrated}};
  for (const auto& [hip, theirs] : kNumbers)
    if (hip == number) return of_cuda().device_attribute(value, theirs, device);
  return 1;
}
// As HIP 6 lays them out; a GPU with waves of 32 lanes.
Status hipGetDevicePropertiesR0600(void* properties, int device) {
  constexpr size_t kBytes = 1472, kArchitecture = 1160;
  auto* const bytes = static_cast<char*>(properties);
  std::memset(bytes, 0, kBytes);
  std::strcpy(bytes + kArchitecture, "gfx1100");
  return of_cuda().device_name(bytes, rocm::kNameBytes, device);
}
const char* hipGetErrorName(Status status) {
  const char* text = nullptr;
  return of_cuda().error_name(status, &text) == driver::kSuccess ? text : "an error";
}
const char* hipGetErrorString(Status status) {
  const char* text = nullptr;
  return of_cuda().error_text(status, &text) == driver::kSuccess ? text : "an error";
}

int hiprtcCreateProgram(Compilation* made, const char* text, const char* name, int headers,
                        const char* const* texts, const char* const* names) {
  return nvrtc().create(made, (std::string(kHeader) + text).c_str(), name, headers, texts, names);
}
int hiprtcDestroyProgram(Compilation* compilation) { return nvrtc().destroy(compilation); }
int hiprtcCompileProgram(Compilation compilation, int count, const char* const* options) {
  std::vector<std::string> flags;
  for (int i = 0; i < count; i++) {
    const std::string_view flag = options[i];
    if (flag.substr(0, 14) == "--offload-arch")
      flags.push_back("--gpu-architecture=sm_" + std::to_string(attribute(cuda::kMajor)) +
                      std::to_string(attribute(cuda::kMinor)));
    if (flag == "-ffp-contract=off") flags.emplace_back("--fmad=false");
  }
  std::vector<const char*> pointers;
  pointers.reserve(flags.size());
  for (const std::string& flag : flags) pointers.push_back(flag.c_str());
  return nvrtc().compile(compilation, static_cast<int>(pointers.size()), pointers.data());
}
int hiprtcGetProgramLogSize(Compilation compilation, size_t* bytes) {
  return nvrtc().log_size(compilation, bytes);
}
int hiprtcGetProgramLog(Compilation compilation, char* text) {
  return nvrtc().log(compilation, text);
}
int hiprtcGetCodeSize(Compilation compilation, size_t* bytes) {
  return nvrtc().code_size(compilation, bytes);
}
int hiprtcGetCode(Compilation compilation, char* bytes) { return nvrtc().code(compilation, bytes); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming, clang-analyzer-core.CallAndMessage)
