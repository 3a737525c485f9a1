// What is used of the CUDA driver, the same in its versions 11.4 to 13. A test compares these
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
using Graph = struct GraphHandle*;            // CUgraph
using GraphNode = struct GraphNodeHandle*;    // CUgraphNode
using ReadyGraph = struct ReadyGraphHandle*;  // CUgraphExec

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS, first version
  Function function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  void** parameters;
  void** extra;
};
struct LaunchAttribute {  // CUlaunchAttribute
  int id;
  alignas(8) int value;
  char room[60] = {};  // that other attributes need
};
struct LaunchConfig {  // CUlaunchConfig
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  NativeStream stream;
  const LaunchAttribute* attributes;
  unsigned count;
};
struct Edge {  // CUgraphEdgeData
  uint8_t from_port, to_port, type;
  uint8_t reserved[5] = {};
};
struct FillNode {  // CUDA_MEMSET_NODE_PARAMS
  Address to;
  size_t pitch;
  unsigned value, element;  // bytes of it
  size_t width, height;     // elements
};

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
  ROW(context_state, cuDevicePrimaryCtxGetState,                                                   \
      (DeviceNumber device, unsigned* flags, int* active))                                         \
  ROW(context_push, cuCtxPushCurrent_v2, (Context context))                                        \
  ROW(context_pop, cuCtxPopCurrent_v2, (Context * context))                                        \
  ROW(context_device, cuCtxGetDevice, (DeviceNumber * device))                                     \
  ROW(context_synchronize, cuCtxSynchronize, ())                                                   \
  ROW(peer_possible, cuDeviceCanAccessPeer,                                                        \
      (int* possible, DeviceNumber device, DeviceNumber peer))                                     \
  ROW(peer_enable, cuCtxEnablePeerAccess, (Context peer, unsigned flags))                          \
  ROW(memory_info, cuMemGetInfo_v2, (size_t * free, size_t * total))                               \
  ROW(allocate, cuMemAlloc_v2, (Address * memory, size_t bytes))                                   \
  ROW(release, cuMemFree_v2, (Address memory))                                                     \
  ROW(allocate_host, cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                \
  ROW(release_host, cuMemFreeHost, (void* memory))                                                 \
  ROW(pointer_attributes, cuPointerGetAttributes,                                                  \
      (unsigned count, int* attributes, void** values, Address pointer))                           \
  ROW(copy_in, cuMemcpyHtoDAsync_v2,                                                               \
      (Address to, const void* from, size_t bytes, NativeStream stream))                           \
  ROW(copy_out, cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t bytes, NativeStream stream)) \
  ROW(copy, cuMemcpyDtoDAsync_v2, (Address to, Address from, size_t bytes, NativeStream stream))   \
  ROW(copy_peer, cuMemcpyPeerAsync,                                                                \
      (Address to, Context to_context, Address from, Context from_context, size_t bytes,           \
       NativeStream stream))                                                                       \
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
  ROW(stream_destroy, cuStreamDestroy_v2, (NativeStream stream))                                   \
  ROW(stream_synchronize, cuStreamSynchronize, (NativeStream stream))                              \
  ROW(stream_context, cuStreamGetCtx, (NativeStream stream, Context * context))                    \
  ROW(event_create, cuEventCreate, (Event * event, unsigned flags))                                \
  ROW(event_destroy, cuEventDestroy_v2, (Event event))                                             \
  ROW(event_record, cuEventRecord, (Event event, NativeStream stream))                             \
  ROW(event_query, cuEventQuery, (Event event))                                                    \
  ROW(event_synchronize, cuEventSynchronize, (Event event))                                        \
  ROW(event_elapsed, cuEventElapsedTime, (float* milliseconds, Event from, Event to))              \
  ROW(graph_create, cuGraphCreate, (Graph * graph, unsigned flags))                                \
  ROW(graph_destroy, cuGraphDestroy, (Graph graph))                                                \
  ROW(graph_add_kernel, cuGraphAddKernelNode,                                                      \
      (GraphNode * node, Graph graph, const GraphNode* after, size_t count,                        \
       const KernelNode* kernel))                                                                  \
  ROW(graph_add_fill, cuGraphAddMemsetNode,                                                        \
      (GraphNode * node, Graph graph, const GraphNode* after, size_t count, const FillNode* fill,  \
       Context context))                                                                           \
  ROW(capture_begin, cuStreamBeginCapture_v2, (NativeStream stream, int mode))                     \
  ROW(capture_end, cuStreamEndCapture, (NativeStream stream, Graph * graph))                       \
  ROW(graph_add_child, cuGraphAddChildGraphNode,                                                   \
      (GraphNode * node, Graph graph, const GraphNode* after, size_t count, Graph child))          \
  ROW(graph_set_child, cuGraphExecChildGraphNodeSetParams,                                         \
      (ReadyGraph ready, GraphNode node, Graph child))                                             \
  ROW(graph_instantiate, cuGraphInstantiateWithFlags,                                              \
      (ReadyGraph * ready, Graph graph, unsigned long long flags))                                 \
  ROW(graph_set_kernel, cuGraphExecKernelNodeSetParams,                                            \
      (ReadyGraph ready, GraphNode node, const KernelNode* kernel))                                \
  ROW(graph_upload, cuGraphUpload, (ReadyGraph ready, NativeStream stream))                        \
  ROW(graph_launch, cuGraphLaunch, (ReadyGraph ready, NativeStream stream))                        \
  ROW(graph_ready_destroy, cuGraphExecDestroy, (ReadyGraph ready))                                 \
  ROW(error_name, cuGetErrorName, (Status status, const char** text))                              \
  ROW(error_text, cuGetErrorString, (Status status, const char** text))

// What only newer drivers have, 11.8 and 12.3; null in others.
#define HOLOGRAM_CUDA_NEWER_DRIVER(ROW)                                                 \
  ROW(launch_with, cuLaunchKernelEx,                                                    \
      (const LaunchConfig* config, Function function, void** parameters, void** extra)) \
  ROW(graph_add_edges, cuGraphAddDependencies_v2,                                       \
      (Graph graph, const GraphNode* from, const GraphNode* to, const Edge* edges, size_t count))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(member, symbol, parameters) Status(*member) parameters = nullptr;
struct DriverFunctions {
  HOLOGRAM_CUDA_DRIVER(HOLOGRAM_MEMBER)
  HOLOGRAM_CUDA_NEWER_DRIVER(HOLOGRAM_MEMBER)
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
// CUpointer_attribute, CUmemorytype; the host's is memory that the device reads by itself.
inline constexpr int kMemoryType = 2, kDeviceOrdinal = 9, kRangeStart = 11, kRangeSize = 12,
                     kHostMemory = 1, kDeviceMemory = 2;
// CUfunction_attribute.
inline constexpr int kLocalBytes = 3, kRegisters = 4;
// Of a kernel that waits for the one before it by itself: CUlaunchAttributeID, and what an edge of
// a graph is then.
inline constexpr int kWaitsItself = 6;
inline constexpr uint8_t kWhenItsBlocksEnd = 1, kProgrammatic = 1;
// CUstreamCaptureMode: the thread that captures may do everything else meanwhile.
inline constexpr int kCaptureRelaxed = 2;
// Flags of streams, events and host memory.
inline constexpr unsigned kNonBlocking = 1, kBlockingSync = 1, kNoTiming = 2, kPortable = 1;

}  // namespace hologram::backends::cuda
