// What is used of the CUDA driver, the same in its versions 11.2 to 13. A test compares these
// declarations with the vendor's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::backends::cuda {

using Status = int;                  // CUresult
using Address = unsigned long long;  // CUdeviceptr
using DeviceNumber = int;            // CUdevice
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using NativeStream = struct StreamHandle*;
using Event = struct EventHandle*;

// ROW(member, exported name, parameters); every function returns a Status.
#define HOLOGRAM_CUDA_DRIVER(ROW)                                                                  \
  ROW(init, cuInit, (unsigned flags))                                                              \
  ROW(version, cuDriverGetVersion, (int* version))                                                 \
  ROW(device_count, cuDeviceGetCount, (int* count))                                                \
  ROW(device, cuDeviceGet, (DeviceNumber * device, int index))                                     \
  ROW(device_name, cuDeviceGetName, (char* name, int length, DeviceNumber device))                 \
  ROW(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, DeviceNumber device))                   \
  ROW(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, DeviceNumber device))    \
  ROW(device_pci, cuDeviceGetPCIBusId, (char* id, int length, DeviceNumber device))                \
  ROW(context_retain, cuDevicePrimaryCtxRetain, (Context * context, DeviceNumber device))          \
  ROW(context_push, cuCtxPushCurrent_v2, (Context context))                                        \
  ROW(context_pop, cuCtxPopCurrent_v2, (Context * context))                                        \
  ROW(memory_info, cuMemGetInfo_v2, (size_t * free, size_t * total))                               \
  ROW(allocate, cuMemAlloc_v2, (Address * memory, size_t bytes))                                   \
  ROW(release, cuMemFree_v2, (Address memory))                                                     \
  ROW(allocate_host, cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                \
  ROW(pointer_attributes, cuPointerGetAttributes,                                                  \
      (unsigned count, int* attributes, void** values, Address pointer))                           \
  ROW(copy_in, cuMemcpyHtoDAsync_v2,                                                               \
      (Address to, const void* from, size_t bytes, NativeStream stream))                           \
  ROW(copy_out, cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, NativeStream stream)) \
  ROW(copy, cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, NativeStream stream))   \
  ROW(fill, cuMemsetD32Async,                                                                      \
      (Address where, unsigned pattern, size_t count, NativeStream stream))                        \
  ROW(module_load, cuModuleLoadDataEx,                                                             \
      (Module * module, const void* image, unsigned count, int* options, void** values))           \
  ROW(module_unload, cuModuleUnload, (Module module))                                              \
  ROW(module_function, cuModuleGetFunction,                                                        \
      (Function * function, Module module, const char* name))                                      \
  ROW(function_attribute, cuFuncGetAttribute, (int* value, int attribute, Function function))      \
  ROW(launch, cuLaunchKernel,                                                                      \
      (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
       unsigned block_y, unsigned block_z, unsigned shared, NativeStream stream,                   \
       void** parameters, void** extra))                                                           \
  ROW(stream_create, cuStreamCreate, (NativeStream * stream, unsigned flags))                      \
  ROW(event_create, cuEventCreate, (Event * event, unsigned flags))                                \
  ROW(event_record, cuEventRecord, (Event event, NativeStream stream))                             \
  ROW(event_query, cuEventQuery, (Event event))                                                    \
  ROW(event_synchronize, cuEventSynchronize, (Event event))                                        \
  ROW(error_name, cuGetErrorName, (Status status, const char** text))                              \
  ROW(error_text, cuGetErrorString, (Status status, const char** text))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(member, symbol, parameters) Status(*member) parameters = nullptr;
struct DriverFunctions {
  HOLOGRAM_CUDA_DRIVER(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

// CUresult. Any other number is an error that only the text of the driver explains.
inline constexpr Status kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600,
                        kOutOfResources = 701;
// After one of these no call of the process on that device succeeds.
inline constexpr Status kLosing[] = {4,   46,  201, 214, 220, 226, 700, 702, 709,
                                     710, 714, 715, 716, 717, 718, 719, 721, 999};

// CUdevice_attribute.
inline constexpr int kMaxThreads = 1, kMaxShared = 8, kMultiprocessors = 16, kIntegrated = 18,
                     kMajor = 75, kMinor = 76;
// CUpointer_attribute, CUmemorytype: memory of the host that the device reads by itself.
inline constexpr int kMemoryType = 2, kHostMemory = 1;
// CUfunction_attribute.
inline constexpr int kLocalBytes = 3, kRegisters = 4;
// Flags of streams, events and host memory.
inline constexpr unsigned kNonBlocking = 1, kBlockingSync = 1, kNoTiming = 2, kPortable = 1;

}  // namespace hologram::backends::cuda
