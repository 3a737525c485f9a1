// What is used of HIP, the same in its versions 5.2 to 7.1. A test compares these declarations with
// the vendor's own.
#pragma once

#include "backends/driver/api.hpp"

namespace hologram::backends::rocm {

using driver::Address;
using driver::Context;
using driver::DeviceNumber;
using driver::NativeStream;
using driver::Status;

// Functions that are CUDA's under another name. ROW(member of DriverFunctions, exported name).
#define HOLOGRAM_HIP_DRIVER(ROW)                 \
  ROW(version, hipDriverGetVersion)              \
  ROW(device_count, hipGetDeviceCount)           \
  ROW(device, hipDeviceGet)                      \
  ROW(device_name, hipDeviceGetName)             \
  ROW(device_memory, hipDeviceTotalMem)          \
  ROW(device_pci, hipDeviceGetPCIBusId)          \
  ROW(context_synchronize, hipDeviceSynchronize) \
  ROW(peer_possible, hipDeviceCanAccessPeer)     \
  ROW(memory_info, hipMemGetInfo)                \
  ROW(allocate, hipMalloc)                       \
  ROW(release, hipFree)                          \
  ROW(release_host, hipHostFree)                 \
  ROW(host_address, hipHostGetDevicePointer)     \
  ROW(copy_in, hipMemcpyHtoDAsync)               \
  ROW(copy_out, hipMemcpyDtoHAsync)              \
  ROW(copy, hipMemcpyDtoDAsync)                  \
  ROW(fill, hipMemsetD32Async)                   \
  ROW(module_load, hipModuleLoadDataEx)          \
  ROW(module_unload, hipModuleUnload)            \
  ROW(module_function, hipModuleGetFunction)     \
  ROW(function_attribute, hipFuncGetAttribute)   \
  ROW(launch, hipModuleLaunchKernel)             \
  ROW(stream_create, hipStreamCreateWithFlags)   \
  ROW(stream_destroy, hipStreamDestroy)          \
  ROW(stream_synchronize, hipStreamSynchronize)  \
  ROW(event_create, hipEventCreateWithFlags)     \
  ROW(event_destroy, hipEventDestroy)            \
  ROW(event_record, hipEventRecord)              \
  ROW(event_query, hipEventQuery)                \
  ROW(event_synchronize, hipEventSynchronize)    \
  ROW(event_elapsed, hipEventElapsedTime)

// Likewise, of HIP 6 and newer: older ones have no hipGraphUpload.
#define HOLOGRAM_HIP_GRAPHS(ROW)                            \
  ROW(graph_create, hipGraphCreate)                         \
  ROW(graph_destroy, hipGraphDestroy)                       \
  ROW(capture_begin, hipStreamBeginCapture)                 \
  ROW(capture_end, hipStreamEndCapture)                     \
  ROW(graph_add_child, hipGraphAddChildGraphNode)           \
  ROW(graph_set_child, hipGraphExecChildGraphNodeSetParams) \
  ROW(graph_instantiate, hipGraphInstantiateWithFlags)      \
  ROW(graph_upload, hipGraphUpload)                         \
  ROW(graph_launch, hipGraphLaunch)                         \
  ROW(graph_ready_destroy, hipGraphExecDestroy)

// Functions that are HIP's own. ROW(result, member of HipFunctions, exported name, parameters).
#define HOLOGRAM_HIP_OWN(ROW)                                                              \
  ROW(Status, init, hipInit, (unsigned flags))                                             \
  ROW(Status, set_device, hipSetDevice, (int device))                                      \
  ROW(Status, get_device, hipGetDevice, (int* device))                                     \
  ROW(Status, attribute, hipDeviceGetAttribute, (int* value, int attribute, int device))   \
  ROW(Status, enable_peer, hipDeviceEnablePeerAccess, (int peer, unsigned flags))          \
  ROW(Status, copy_peer, hipMemcpyPeerAsync,                                               \
      (void* to, int to_device, const void* from, int from_device, size_t bytes,           \
       NativeStream stream))                                                               \
  ROW(Status, pointer_attributes, hipDrvPointerGetAttributes,                              \
      (unsigned count, int* attributes, void** values, Address pointer))                   \
  ROW(Status, allocate_host, hipHostMalloc, (void** memory, size_t bytes, unsigned flags)) \
  ROW(Status, address_range, hipMemGetAddressRange,                                        \
      (Address * start, size_t * bytes, Address inside))                                   \
  ROW(const char*, error_name, hipGetErrorName, (Status status))                           \
  ROW(const char*, error_text, hipGetErrorString, (Status status))

// hipDeviceProp_t is another structure since HIP 6, under another name.
#define HOLOGRAM_HIP_PROPERTIES(ROW, symbol) \
  ROW(Status, properties, symbol, (void* properties, int device))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(result, member, symbol, parameters) result(*member) parameters = nullptr;
struct HipFunctions {
  HOLOGRAM_HIP_OWN(HOLOGRAM_MEMBER)
  HOLOGRAM_HIP_PROPERTIES(HOLOGRAM_MEMBER, hipGetDeviceProperties)
};
#undef HOLOGRAM_MEMBER

// hipDeviceAttribute_t.
inline constexpr int kHipIntegrated = 16, kHipMaxThreads = 56, kHipMultiprocessors = 63,
                     kHipMaxShared = 74, kHipWave = 87;
// Of memory of the host: a kernel that runs sees what is written to it.
inline constexpr unsigned kHipCoherent = 0x40000000;
// What HIP 5 says where newer ones say that there is no device: hipErrorInvalidDevice.
inline constexpr Status kHip5NoDevice = 101;
// hipMemoryType, since HIP 6 and before.
inline constexpr unsigned kHipHostMemory = 1, kHipDeviceMemory = 2, kHip5HostMemory = 0,
                          kHip5DeviceMemory = 1;
// hipDeviceProp_t: larger than in any version; behind the device's name, which comes first, the
// architecture's begins with "gfx".
inline constexpr size_t kPropertiesBytes = 4096, kNameBytes = 256;

}  // namespace hologram::backends::rocm
