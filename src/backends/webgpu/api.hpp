// What is used of WebGPU's interface for C, webgpu.h in its final form of 2025: calls, structures
// and numbers that mean the same in Dawn and in wgpu-native. A test compares them with the header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::backends::webgpu {

// What handles point to.
struct Instance;
struct Adapter;
struct DeviceObject;
struct Queue;
struct GpuBuffer;
struct ShaderModule;
struct ComputePipeline;
struct BindGroupLayout;
struct PipelineLayout;
struct BindGroup;
struct CommandEncoder;
struct ComputePass;
struct CommandBuffer;
struct QuerySet;

inline constexpr size_t kWholeText = SIZE_MAX;  // of StringView: up to a zero
inline constexpr uint32_t kAllowEvents = 2;     // callbacks come in wgpuInstanceProcessEvents
inline constexpr uint32_t kCore = 2;            // of WebGPU, not its compatibility mode
inline constexpr uint32_t kWgslSource = 2;      // a Chain of ShaderSource
inline constexpr uint32_t kTimes = 2;           // of a QuerySet
inline constexpr uint64_t kMapRead = 1, kMapWrite = 2;
inline constexpr uint64_t kComputeStage = 4;

enum class Power : uint32_t { Undefined = 0, Low = 1, High = 2 };
enum class Native : uint32_t { Undefined = 0, Vulkan = 6 };  // what it is made on
enum class Kind : uint32_t { Discrete = 1, Integrated = 2, Cpu = 3, Unknown = 4 };
// Of requests, mappings and work: success is 1 everywhere, what else there is differs.
enum class Status : uint32_t { Success = 1 };
enum class ErrorType : uint32_t {
  None = 1,
  Validation = 2,
  OutOfMemory = 3,
  Internal = 4,
  Unknown = 5
};
enum class Filter : uint32_t { Validation = 1, OutOfMemory = 2, Internal = 3 };
enum class Lost : uint32_t { Unknown = 1, Destroyed = 2, Cancelled = 3, FailedCreation = 4 };
// Each has two numbers, of today's interface and of that before CoreFeaturesAndLimits became 1, and
// there is no call that tells which. Both are asked for: what else they mean does no harm.
inline constexpr uint32_t kTimestamps[] = {9, 3}, kHalves[] = {11, 10}, kSubgroups[] = {18, 17};
enum class BindingType : uint32_t { None = 0, Uniform = 2, Storage = 3, ReadOnlyStorage = 4 };

// Of a buffer, added up.
inline constexpr uint64_t kUseMapRead = 1, kUseMapWrite = 2, kUseCopyFrom = 4, kUseCopyTo = 8,
                          kUseUniform = 64, kUseStorage = 128, kUseTimes = 512;

struct StringView {
  const char* data = nullptr;
  size_t length = kWholeText;  // null of this length: no text; of length 0: an empty one
};
struct Chain {
  const Chain* next = nullptr;
  uint32_t type = 0;
};
struct Future {
  uint64_t id;
};

// Newer versions make what they fill in longer, and some write what they think it is.
struct Reserve {
  uint64_t words[16] = {};
};

struct AdapterOptions {
  const Chain* next = nullptr;
  uint32_t level = 0;
  Power power = Power::Undefined;
  uint32_t fallback = 0;
  Native native = Native::Undefined;
  void* surface = nullptr;
};
struct AdapterInfo {
  Chain* next = nullptr;
  StringView vendor, architecture, device, description;
  Native native = Native::Undefined;
  Kind kind = Kind::Unknown;
  uint32_t vendor_id = 0, device_id = 0;
  uint32_t least_subgroup = 0, most_subgroup = 0;
  Reserve reserve;
};
// Of Dawn alone, behind AdapterInfo: what memory the adapter has. Numbers of several interfaces, as
// above; what the others mean leaves `heaps` null.
inline constexpr uint32_t kMemoryHeaps[] = {0x50014, 0x50015, 0x50016};
inline constexpr uint32_t kHeapsOfAdapter[] = {0x50013, 0x50014};
struct MemoryHeap {
  uint32_t properties = 0;
  uint64_t bytes = 0;
};
inline constexpr uint32_t kHeapOfDevice = 1;
struct MemoryHeaps {
  Chain chain;
  size_t count = 0;
  const MemoryHeap* heaps = nullptr;
};
struct Limits {
  Chain* next = nullptr;
  uint32_t textures[4] = {};
  uint32_t bind_groups = 0;
  uint32_t bind_groups_and_vertex_buffers = 0;
  uint32_t bindings_of_group = 0;
  uint32_t dynamic_buffers[2] = {};
  uint32_t stage_textures[2] = {};
  uint32_t storage_buffers = 0;  // of one kernel
  uint32_t storage_textures = 0;
  uint32_t uniform_buffers = 0;
  uint64_t uniform_binding_bytes = 0;
  uint64_t storage_binding_bytes = 0;
  uint32_t uniform_alignment = 0;
  uint32_t storage_alignment = 0;
  uint32_t vertex_buffers = 0;
  uint64_t buffer_bytes = 0;
  uint32_t drawing[5] = {};
  uint32_t workgroup_bytes = 0;
  uint32_t workgroup_lanes = 0;
  uint32_t workgroup_sizes[3] = {};
  uint32_t workgroups = 0;  // of one launch, along one axis
  uint32_t immediate_bytes = 0;
  Reserve reserve;
};

template <class Function>
struct Callback {  // by what is asked for
  const Chain* next = nullptr;
  uint32_t mode = kAllowEvents;
  Function* call = nullptr;
  void* user = nullptr;
  void* user2 = nullptr;
};
using PipelineMade = void(Status, ComputePipeline*, StringView, void*, void*);
using AdapterFound = void(Status, Adapter*, StringView, void*, void*);
using DeviceMade = void(Status, DeviceObject*, StringView, void*, void*);
using Done = void(Status, StringView, void*, void*);  // a mapping, or work that was submitted
using ScopeEnded = void(Status, ErrorType, StringView, void*, void*);
using DeviceLost = void(DeviceObject* const*, Lost, StringView, void*, void*);
using ErrorSeen = void(DeviceObject* const*, ErrorType, StringView, void*, void*);
struct ErrorCallback {  // it comes at any time
  const Chain* next = nullptr;
  ErrorSeen* call = nullptr;
  void* user = nullptr;
  void* user2 = nullptr;
};

struct QueueDescription {
  const Chain* next = nullptr;
  StringView label = {};
};
struct DeviceDescription {
  const Chain* next = nullptr;
  StringView label = {};
  size_t feature_count = 0;
  const uint32_t* features = nullptr;
  const Limits* limits = nullptr;
  QueueDescription queue = {};
  Callback<DeviceLost> lost;
  ErrorCallback error;
};
struct BufferDescription {
  const Chain* next = nullptr;
  StringView label = {};
  uint64_t uses = 0;
  uint64_t bytes = 0;
  uint32_t mapped = 0;
};
struct ShaderSource {
  Chain chain;
  StringView code;
};
struct ShaderDescription {
  const Chain* next = nullptr;
  StringView label = {};
};
struct PipelineDescription {
  const Chain* next = nullptr;
  StringView label = {};
  PipelineLayout* layout = nullptr;  // null: as the kernel says
  const Chain* compute_next = nullptr;
  ShaderModule* module = nullptr;
  StringView entry;
  size_t constant_count = 0;
  const void* constants = nullptr;
};
struct BufferLayout {
  Chain* next = nullptr;
  BindingType type = BindingType::None;
  uint32_t moves = 0;  // has an offset that is told when it is bound
  uint64_t least_bytes = 0;
};
struct QuerySetDescription {
  const Chain* next = nullptr;
  StringView label = {};
  uint32_t type = kTimes;
  uint32_t count = 0;
};
struct PassTimes {  // in nanoseconds, under these numbers of the set
  const Chain* next = nullptr;
  QuerySet* set = nullptr;
  uint32_t begin = 0, end = 0;
};
struct PassDescription {
  const Chain* next = nullptr;
  StringView label = {};
  const PassTimes* times = nullptr;
};
struct DawnToggles {  // of Dawn alone; others pass over it
  Chain chain{nullptr, 0x0005000a};
  size_t enabled_count = 0;
  const char* const* enabled = nullptr;
  size_t disabled_count = 0;
  const char* const* disabled = nullptr;
};
struct LayoutEntry {
  Chain* next = nullptr;
  uint32_t binding = 0;
  uint64_t stages = 0;
  uint32_t array = 0;
  BufferLayout buffer = {};
  // Textures and the like, of which there are none.
  Chain* sampler_next = nullptr;
  uint64_t sampler = 0;
  Chain* texture_next = nullptr;
  uint32_t texture[3] = {};
  Chain* storage_texture_next = nullptr;
  uint32_t storage_texture[3] = {};
};
struct LayoutDescription {
  const Chain* next = nullptr;
  StringView label = {};
  size_t entry_count = 0;
  const LayoutEntry* entries = nullptr;
};
struct PipelineLayoutDescription {
  const Chain* next = nullptr;
  StringView label = {};
  size_t group_count = 0;
  BindGroupLayout* const* groups = nullptr;
  uint32_t immediate_bytes = 0;
};
struct BindGroupEntry {
  Chain* next = nullptr;
  uint32_t binding = 0;
  GpuBuffer* buffer = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  void* sampler = nullptr;
  void* texture = nullptr;
};
struct BindGroupDescription {
  const Chain* next = nullptr;
  StringView label = {};
  BindGroupLayout* layout = nullptr;
  size_t entry_count = 0;
  const BindGroupEntry* entries = nullptr;
};

namespace call {
using wgpuCreateInstance = Instance*(const void*);
using wgpuInstanceRelease = void(Instance*);
using wgpuInstanceProcessEvents = void(Instance*);
using wgpuInstanceRequestAdapter = Future(Instance*, const AdapterOptions*, Callback<AdapterFound>);
using wgpuAdapterGetInfo = Status(Adapter*, AdapterInfo*);
using wgpuAdapterInfoFreeMembers = void(AdapterInfo);
using wgpuAdapterPropertiesMemoryHeapsFreeMembers = void(MemoryHeaps);
using wgpuAdapterGetLimits = Status(Adapter*, Limits*);
using wgpuAdapterHasFeature = uint32_t(Adapter*, uint32_t);
using wgpuAdapterRequestDevice = Future(Adapter*, const DeviceDescription*, Callback<DeviceMade>);
using wgpuAdapterRelease = void(Adapter*);
using wgpuDeviceGetQueue = Queue*(DeviceObject*);
using wgpuDeviceCreateBuffer = GpuBuffer*(DeviceObject*, const BufferDescription*);
using wgpuDeviceCreateShaderModule = ShaderModule*(DeviceObject*, const ShaderDescription*);
using wgpuDeviceCreateComputePipeline = ComputePipeline*(DeviceObject*, const PipelineDescription*);
using wgpuDeviceCreateComputePipelineAsync = Future(DeviceObject*, const PipelineDescription*,
                                                    Callback<PipelineMade>);
using wgpuDeviceCreateBindGroupLayout = BindGroupLayout*(DeviceObject*, const LayoutDescription*);
using wgpuDeviceCreatePipelineLayout = PipelineLayout*(DeviceObject*,
                                                       const PipelineLayoutDescription*);
using wgpuDeviceCreateBindGroup = BindGroup*(DeviceObject*, const BindGroupDescription*);
using wgpuDeviceCreateCommandEncoder = CommandEncoder*(DeviceObject*, const void*);
using wgpuDeviceCreateQuerySet = QuerySet*(DeviceObject*, const QuerySetDescription*);
using wgpuQuerySetRelease = void(QuerySet*);
using wgpuDevicePushErrorScope = void(DeviceObject*, Filter);
using wgpuDevicePopErrorScope = Future(DeviceObject*, Callback<ScopeEnded>);
using wgpuDeviceDestroy = void(DeviceObject*);
using wgpuDeviceRelease = void(DeviceObject*);
using wgpuShaderModuleRelease = void(ShaderModule*);
using wgpuComputePipelineGetBindGroupLayout = BindGroupLayout*(ComputePipeline*, uint32_t);
using wgpuComputePipelineRelease = void(ComputePipeline*);
using wgpuBindGroupLayoutRelease = void(BindGroupLayout*);
using wgpuPipelineLayoutRelease = void(PipelineLayout*);
using wgpuBindGroupRelease = void(BindGroup*);
using wgpuCommandEncoderBeginComputePass = ComputePass*(CommandEncoder*, const PassDescription*);
using wgpuCommandEncoderResolveQuerySet = void(CommandEncoder*, QuerySet*, uint32_t, uint32_t,
                                               GpuBuffer*, uint64_t);
using wgpuCommandEncoderCopyBufferToBuffer = void(CommandEncoder*, GpuBuffer*, uint64_t, GpuBuffer*,
                                                  uint64_t, uint64_t);
using wgpuCommandEncoderClearBuffer = void(CommandEncoder*, GpuBuffer*, uint64_t, uint64_t);
using wgpuCommandEncoderFinish = CommandBuffer*(CommandEncoder*, const void*);
using wgpuCommandEncoderRelease = void(CommandEncoder*);
using wgpuComputePassEncoderSetPipeline = void(ComputePass*, ComputePipeline*);
using wgpuComputePassEncoderSetBindGroup = void(ComputePass*, uint32_t, BindGroup*, size_t,
                                                const uint32_t*);
using wgpuComputePassEncoderDispatchWorkgroups = void(ComputePass*, uint32_t, uint32_t, uint32_t);
using wgpuComputePassEncoderEnd = void(ComputePass*);
using wgpuComputePassEncoderRelease = void(ComputePass*);
using wgpuCommandBufferRelease = void(CommandBuffer*);
using wgpuQueueSubmit = void(Queue*, size_t, CommandBuffer* const*);
using wgpuQueueWriteBuffer = void(Queue*, GpuBuffer*, uint64_t, const void*, size_t);
using wgpuQueueOnSubmittedWorkDone = Future(Queue*, Callback<Done>);
using wgpuQueueRelease = void(Queue*);
using wgpuBufferMapAsync = Future(GpuBuffer*, uint64_t, size_t, size_t, Callback<Done>);
using wgpuBufferGetMappedRange = void*(GpuBuffer*, size_t, size_t);
using wgpuBufferGetConstMappedRange = const void*(GpuBuffer*, size_t, size_t);
using wgpuBufferUnmap = void(GpuBuffer*);
using wgpuBufferDestroy = void(GpuBuffer*);
using wgpuBufferRelease = void(GpuBuffer*);
}  // namespace call

// clang-format off
#define HOLOGRAM_WEBGPU_CALLS(X)                                                                 \
  X(wgpuCreateInstance) X(wgpuInstanceRelease) X(wgpuInstanceProcessEvents)                      \
  X(wgpuInstanceRequestAdapter) X(wgpuAdapterGetInfo) X(wgpuAdapterInfoFreeMembers)              \
  X(wgpuAdapterGetLimits) X(wgpuAdapterHasFeature) X(wgpuAdapterRequestDevice) X(wgpuAdapterRelease)                      \
  X(wgpuDeviceGetQueue) X(wgpuDeviceCreateBuffer) X(wgpuDeviceCreateShaderModule)                \
  X(wgpuDeviceCreateComputePipeline) X(wgpuDeviceCreateBindGroupLayout)                          \
  X(wgpuDeviceCreatePipelineLayout) X(wgpuDeviceCreateBindGroup)                                 \
  X(wgpuDeviceCreateCommandEncoder) X(wgpuDeviceCreateQuerySet) X(wgpuQuerySetRelease) X(wgpuDevicePushErrorScope) X(wgpuDevicePopErrorScope)       \
  X(wgpuDeviceDestroy) X(wgpuDeviceRelease) X(wgpuShaderModuleRelease)                           \
  X(wgpuComputePipelineGetBindGroupLayout) X(wgpuComputePipelineRelease)                         \
  X(wgpuBindGroupLayoutRelease) X(wgpuPipelineLayoutRelease) X(wgpuBindGroupRelease)             \
  X(wgpuCommandEncoderBeginComputePass) X(wgpuCommandEncoderResolveQuerySet) X(wgpuCommandEncoderCopyBufferToBuffer)                  \
  X(wgpuCommandEncoderClearBuffer) X(wgpuCommandEncoderFinish) X(wgpuCommandEncoderRelease)      \
  X(wgpuComputePassEncoderSetPipeline) X(wgpuComputePassEncoderSetBindGroup)                     \
  X(wgpuComputePassEncoderDispatchWorkgroups) X(wgpuComputePassEncoderEnd)                       \
  X(wgpuComputePassEncoderRelease) X(wgpuCommandBufferRelease) X(wgpuQueueSubmit)                \
  X(wgpuQueueWriteBuffer) X(wgpuQueueOnSubmittedWorkDone) X(wgpuQueueRelease)                    \
  X(wgpuBufferMapAsync) X(wgpuBufferGetMappedRange) X(wgpuBufferGetConstMappedRange)             \
  X(wgpuBufferUnmap) X(wgpuBufferDestroy) X(wgpuBufferRelease)
// What not every library does.
#define HOLOGRAM_WEBGPU_CALLS_OF_SOME(X) X(wgpuDeviceCreateComputePipelineAsync)
// What Dawn does alone.
#define HOLOGRAM_WEBGPU_CALLS_OF_DAWN(X) X(wgpuAdapterPropertiesMemoryHeapsFreeMembers)
// clang-format on

// The functions of the library; null before it is there, and where it does not do that.
struct Api {
#define CALL(name) call::name* name = nullptr;
  HOLOGRAM_WEBGPU_CALLS(CALL)
  HOLOGRAM_WEBGPU_CALLS_OF_SOME(CALL)
  HOLOGRAM_WEBGPU_CALLS_OF_DAWN(CALL)
#undef CALL
};

}  // namespace hologram::backends::webgpu
