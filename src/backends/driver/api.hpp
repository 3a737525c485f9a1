// What is used of a driver for GPUs: CUDA's functions and numbers, most of which HIP has under
// other names. Each backend fills the table from its driver's library, and translates what differs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::backends::driver {

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

struct DriverFunctions {
  Status (*init)(unsigned flags) = nullptr;
  Status (*version)(int* version) = nullptr;
  Status (*device_count)(int* count) = nullptr;
  Status (*device)(DeviceNumber* device, int index) = nullptr;
  Status (*device_name)(char* name, int length, DeviceNumber device) = nullptr;
  Status (*device_memory)(size_t* bytes, DeviceNumber device) = nullptr;
  Status (*device_attribute)(int* value, int attribute, DeviceNumber device) = nullptr;
  Status (*device_pci)(char* id, int length, DeviceNumber device) = nullptr;
  Status (*context_retain)(Context* context, DeviceNumber device) = nullptr;
  Status (*context_push)(Context context) = nullptr;
  Status (*context_pop)(Context* context) = nullptr;
  Status (*context_synchronize)() = nullptr;
  Status (*peer_possible)(int* possible, DeviceNumber device, DeviceNumber peer) = nullptr;
  Status (*peer_enable)(Context peer, unsigned flags) = nullptr;
  Status (*memory_info)(size_t* free, size_t* total) = nullptr;
  Status (*allocate)(Address* memory, size_t bytes) = nullptr;
  Status (*release)(Address memory) = nullptr;
  Status (*allocate_host)(void** memory, size_t bytes, unsigned flags) = nullptr;
  Status (*release_host)(void* memory) = nullptr;
  Status (*pointer_attributes)(unsigned count, int* attributes, void** values,
                               Address pointer) = nullptr;
  Status (*copy_in)(Address to, const void* from, size_t bytes, NativeStream stream) = nullptr;
  Status (*copy_out)(void* to, Address from, size_t bytes, NativeStream stream) = nullptr;
  Status (*copy)(Address to, Address from, size_t bytes, NativeStream stream) = nullptr;
  Status (*copy_peer)(Address to, Context to_context, Address from, Context from_context,
                      size_t bytes, NativeStream stream) = nullptr;
  Status (*fill)(Address where, unsigned pattern, size_t count, NativeStream stream) = nullptr;
  Status (*module_load)(Module* module, const void* image, unsigned count, int* options,
                        void** values) = nullptr;
  Status (*module_unload)(Module module) = nullptr;
  Status (*module_function)(Function* function, Module module, const char* name) = nullptr;
  Status (*function_attribute)(int* value, int attribute, Function function) = nullptr;
  Status (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   NativeStream stream, void** parameters, void** extra) = nullptr;
  Status (*stream_create)(NativeStream* stream, unsigned flags) = nullptr;
  Status (*stream_destroy)(NativeStream stream) = nullptr;
  Status (*stream_synchronize)(NativeStream stream) = nullptr;
  Status (*event_create)(Event* event, unsigned flags) = nullptr;
  Status (*event_destroy)(Event event) = nullptr;
  Status (*event_record)(Event event, NativeStream stream) = nullptr;
  Status (*event_query)(Event event) = nullptr;
  Status (*event_synchronize)(Event event) = nullptr;
  Status (*event_elapsed)(float* milliseconds, Event from, Event to) = nullptr;
  Status (*graph_create)(Graph* graph, unsigned flags) = nullptr;
  Status (*graph_destroy)(Graph graph) = nullptr;
  Status (*capture_begin)(NativeStream stream, int mode) = nullptr;
  Status (*capture_end)(NativeStream stream, Graph* graph) = nullptr;
  Status (*graph_add_child)(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                            Graph child) = nullptr;
  Status (*graph_set_child)(ReadyGraph ready, GraphNode node, Graph child) = nullptr;
  Status (*graph_instantiate)(ReadyGraph* ready, Graph graph, unsigned long long flags) = nullptr;
  Status (*graph_upload)(ReadyGraph ready, NativeStream stream) = nullptr;
  Status (*graph_launch)(ReadyGraph ready, NativeStream stream) = nullptr;
  Status (*graph_ready_destroy)(ReadyGraph ready) = nullptr;
  Status (*error_name)(Status status, const char** text) = nullptr;
  Status (*error_text)(Status status, const char** text) = nullptr;

  // What CUDA alone has: contexts of the application's.
  Status (*context_state)(DeviceNumber device, unsigned* flags, int* active) = nullptr;
  Status (*context_device)(DeviceNumber* device) = nullptr;
  Status (*stream_context)(NativeStream stream, Context* context) = nullptr;
  // Kernels and fills that are nodes by themselves. Elsewhere they are captured from a stream.
  Status (*graph_add_kernel)(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                             const KernelNode* kernel) = nullptr;
  Status (*graph_add_fill)(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                           const FillNode* fill, Context context) = nullptr;
  Status (*graph_set_kernel)(ReadyGraph ready, GraphNode node, const KernelNode* kernel) = nullptr;
  // Kernels that are started early; not all of its versions.
  Status (*launch_with)(const LaunchConfig* config, Function function, void** parameters,
                        void** extra) = nullptr;
  Status (*graph_add_edges)(Graph graph, const GraphNode* from, const GraphNode* to,
                            const Edge* edges, size_t count) = nullptr;

  // What HIP alone has: where the device finds memory of the host.
  Status (*host_address)(Address* memory, void* host, unsigned flags) = nullptr;
};

// CUresult. Any other number is an error that only the text of the driver explains.
inline constexpr Status kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600,
                        kOutOfResources = 701;
// After one of these no call of the process on that device succeeds.
inline constexpr Status kLosing[] = {4,   46,  201, 214, 220, 226, 700, 702, 709,
                                     710, 714, 715, 716, 717, 718, 719, 721, 999};

// CUdevice_attribute.
inline constexpr int kMaxThreads = 1, kMaxShared = 8, kMultiprocessors = 16, kIntegrated = 18;
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

}  // namespace hologram::backends::driver
