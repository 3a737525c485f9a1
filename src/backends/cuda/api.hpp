// What is used of the CUDA driver, the same in its versions 11.4 to 13. A test compares these
// declarations with the vendor's own.
#pragma once

#include "backends/driver/api.hpp"

namespace hologram::backends::cuda {

// ROW(member of DriverFunctions, exported name).
#define HOLOGRAM_CUDA_DRIVER(ROW)                          \
  ROW(init, cuInit)                                        \
  ROW(version, cuDriverGetVersion)                         \
  ROW(device_count, cuDeviceGetCount)                      \
  ROW(device, cuDeviceGet)                                 \
  ROW(device_name, cuDeviceGetName)                        \
  ROW(device_memory, cuDeviceTotalMem_v2)                  \
  ROW(device_attribute, cuDeviceGetAttribute)              \
  ROW(device_pci, cuDeviceGetPCIBusId)                     \
  ROW(context_retain, cuDevicePrimaryCtxRetain)            \
  ROW(context_state, cuDevicePrimaryCtxGetState)           \
  ROW(context_push, cuCtxPushCurrent_v2)                   \
  ROW(context_pop, cuCtxPopCurrent_v2)                     \
  ROW(context_device, cuCtxGetDevice)                      \
  ROW(context_synchronize, cuCtxSynchronize)               \
  ROW(peer_possible, cuDeviceCanAccessPeer)                \
  ROW(peer_enable, cuCtxEnablePeerAccess)                  \
  ROW(memory_info, cuMemGetInfo_v2)                        \
  ROW(allocate, cuMemAlloc_v2)                             \
  ROW(release, cuMemFree_v2)                               \
  ROW(allocate_host, cuMemHostAlloc)                       \
  ROW(release_host, cuMemFreeHost)                         \
  ROW(pointer_attributes, cuPointerGetAttributes)          \
  ROW(copy_in, cuMemcpyHtoDAsync_v2)                       \
  ROW(copy_out, cuMemcpyDtoHAsync_v2)                      \
  ROW(copy, cuMemcpyDtoDAsync_v2)                          \
  ROW(copy_peer, cuMemcpyPeerAsync)                        \
  ROW(fill, cuMemsetD32Async)                              \
  ROW(module_load, cuModuleLoadDataEx)                     \
  ROW(module_unload, cuModuleUnload)                       \
  ROW(module_function, cuModuleGetFunction)                \
  ROW(function_attribute, cuFuncGetAttribute)              \
  ROW(launch, cuLaunchKernel)                              \
  ROW(stream_create, cuStreamCreate)                       \
  ROW(stream_destroy, cuStreamDestroy_v2)                  \
  ROW(stream_synchronize, cuStreamSynchronize)             \
  ROW(stream_context, cuStreamGetCtx)                      \
  ROW(event_create, cuEventCreate)                         \
  ROW(event_destroy, cuEventDestroy_v2)                    \
  ROW(event_record, cuEventRecord)                         \
  ROW(event_query, cuEventQuery)                           \
  ROW(event_synchronize, cuEventSynchronize)               \
  ROW(event_elapsed, cuEventElapsedTime)                   \
  ROW(graph_create, cuGraphCreate)                         \
  ROW(graph_destroy, cuGraphDestroy)                       \
  ROW(graph_add_kernel, cuGraphAddKernelNode)              \
  ROW(graph_add_fill, cuGraphAddMemsetNode)                \
  ROW(capture_begin, cuStreamBeginCapture_v2)              \
  ROW(capture_end, cuStreamEndCapture)                     \
  ROW(graph_add_child, cuGraphAddChildGraphNode)           \
  ROW(graph_set_child, cuGraphExecChildGraphNodeSetParams) \
  ROW(graph_instantiate, cuGraphInstantiateWithFlags)      \
  ROW(graph_set_kernel, cuGraphExecKernelNodeSetParams)    \
  ROW(graph_upload, cuGraphUpload)                         \
  ROW(graph_launch, cuGraphLaunch)                         \
  ROW(graph_ready_destroy, cuGraphExecDestroy)             \
  ROW(error_name, cuGetErrorName)                          \
  ROW(error_text, cuGetErrorString)

// What only newer drivers have, 11.8 and 12.3; null in others.
#define HOLOGRAM_CUDA_NEWER_DRIVER(ROW) \
  ROW(launch_with, cuLaunchKernelEx)    \
  ROW(graph_add_edges, cuGraphAddDependencies_v2)

// CUdevice_attribute.
inline constexpr int kMajor = 75, kMinor = 76;

}  // namespace hologram::backends::cuda
