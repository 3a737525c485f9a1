// Our declarations of WebGPU against the header of wgpu-native, where that was fetched. Compiling
// is the test.
#include <gtest/gtest.h>

#include <type_traits>

#include "backends/webgpu/api.hpp"

#if __has_include(<webgpu.h>)
#include <webgpu.h>
#define HOLOGRAM_HAS_WEBGPU_HEADER
#endif

namespace hologram::backends::webgpu {
namespace {

#ifdef HOLOGRAM_HAS_WEBGPU_HEADER
// The same to a caller: enumerations are passed like integers, handles are pointers to structures.
template <class Ours, class Theirs>
struct Same : std::bool_constant<std::is_same_v<Ours, Theirs> ||
                                 (std::is_class_v<Ours> && std::is_class_v<Theirs>)> {};
template <class Ours, class Theirs>
requires(std::is_enum_v<Ours> || std::is_enum_v<Theirs>) struct Same<Ours, Theirs>
    : std::bool_constant<sizeof(Ours) == sizeof(Theirs) && !std::is_class_v<Theirs>> {
};
template <class Ours, class Theirs>
struct Same<Ours*, Theirs*>
    : std::bool_constant<Same<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>::value ||
                         std::is_void_v<Ours>> {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct Same<R(P...), S(Q...)>
    : std::bool_constant<(Same<R, S>::value && ... && Same<P, Q>::value)> {
};
static_assert(Same<int(GpuBuffer*), int(WGPUBuffer)>::value);
static_assert(!Same<int(GpuBuffer*), int(int*)>::value);
static_assert(!Same<int(int), int()>::value);
static_assert(!Same<int(int64_t), int(int32_t)>::value);
static_assert(!Same<int(Status), int(uint64_t)>::value);

#define CALL(name) static_assert(Same<call::name, decltype(::name)>::value, #name);
HOLOGRAM_WEBGPU_CALLS(CALL)
HOLOGRAM_WEBGPU_CALLS_OF_SOME(CALL)
#undef CALL
#define SAME(ours, theirs) \
  static_assert(Same<ours, std::remove_pointer_t<WGPU##theirs##Callback>>::value, #theirs);
SAME(AdapterFound, RequestAdapter)
SAME(DeviceMade, RequestDevice)
SAME(PipelineMade, CreateComputePipelineAsync)
SAME(Done, BufferMap)
SAME(Done, QueueWorkDone)
SAME(ScopeEnded, PopErrorScope)
SAME(DeviceLost, DeviceLost)
SAME(ErrorSeen, UncapturedError)
#undef SAME

// What we hand over has their size; what they fill in fits into ours.
#define SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(WGPU##theirs), #theirs);
#define ROOM(ours, theirs) static_assert(sizeof(ours) > sizeof(WGPU##theirs), #theirs);
#define AT(ours, a, theirs, b) static_assert(offsetof(ours, a) == offsetof(WGPU##theirs, b), #b);
SIZE(StringView, StringView)
AT(StringView, length, StringView, length)
SIZE(Chain, ChainedStruct)
AT(Chain, type, ChainedStruct, sType)
SIZE(Future, Future)
SIZE(AdapterOptions, RequestAdapterOptions)
AT(AdapterOptions, level, RequestAdapterOptions, featureLevel)
AT(AdapterOptions, power, RequestAdapterOptions, powerPreference)
AT(AdapterOptions, fallback, RequestAdapterOptions, forceFallbackAdapter)
AT(AdapterOptions, native, RequestAdapterOptions, backendType)
AT(AdapterOptions, surface, RequestAdapterOptions, compatibleSurface)
ROOM(AdapterInfo, AdapterInfo)
AT(AdapterInfo, vendor, AdapterInfo, vendor)
AT(AdapterInfo, device, AdapterInfo, device)
AT(AdapterInfo, description, AdapterInfo, description)
AT(AdapterInfo, native, AdapterInfo, backendType)
AT(AdapterInfo, kind, AdapterInfo, adapterType)
AT(AdapterInfo, vendor_id, AdapterInfo, vendorID)
AT(AdapterInfo, device_id, AdapterInfo, deviceID)
ROOM(Limits, Limits)
AT(Limits, bind_groups, Limits, maxBindGroups)
AT(Limits, bindings_of_group, Limits, maxBindingsPerBindGroup)
AT(Limits, storage_buffers, Limits, maxStorageBuffersPerShaderStage)
AT(Limits, storage_binding_bytes, Limits, maxStorageBufferBindingSize)
AT(Limits, storage_alignment, Limits, minStorageBufferOffsetAlignment)
AT(Limits, uniform_binding_bytes, Limits, maxUniformBufferBindingSize)
AT(Limits, uniform_alignment, Limits, minUniformBufferOffsetAlignment)
AT(Limits, buffer_bytes, Limits, maxBufferSize)
AT(Limits, workgroup_bytes, Limits, maxComputeWorkgroupStorageSize)
AT(Limits, workgroup_lanes, Limits, maxComputeInvocationsPerWorkgroup)
AT(Limits, workgroup_sizes, Limits, maxComputeWorkgroupSizeX)
AT(Limits, workgroups, Limits, maxComputeWorkgroupsPerDimension)
#define CALLBACK(ours, theirs)                   \
  SIZE(ours, theirs##CallbackInfo)               \
  AT(ours, call, theirs##CallbackInfo, callback) \
  AT(ours, user, theirs##CallbackInfo, userdata1)
CALLBACK(Callback<AdapterFound>, RequestAdapter)
AT(Callback<AdapterFound>, mode, RequestAdapterCallbackInfo, mode)
CALLBACK(Callback<DeviceMade>, RequestDevice)
CALLBACK(Callback<PipelineMade>, CreateComputePipelineAsync)
CALLBACK(Callback<Done>, BufferMap)
CALLBACK(Callback<Done>, QueueWorkDone)
CALLBACK(Callback<ScopeEnded>, PopErrorScope)
CALLBACK(Callback<DeviceLost>, DeviceLost)
CALLBACK(ErrorCallback, UncapturedError)
#undef CALLBACK
SIZE(DeviceDescription, DeviceDescriptor)
AT(DeviceDescription, features, DeviceDescriptor, requiredFeatures)
AT(DeviceDescription, limits, DeviceDescriptor, requiredLimits)
AT(DeviceDescription, queue, DeviceDescriptor, defaultQueue)
AT(DeviceDescription, lost, DeviceDescriptor, deviceLostCallbackInfo)
AT(DeviceDescription, error, DeviceDescriptor, uncapturedErrorCallbackInfo)
SIZE(BufferDescription, BufferDescriptor)
AT(BufferDescription, uses, BufferDescriptor, usage)
AT(BufferDescription, bytes, BufferDescriptor, size)
AT(BufferDescription, mapped, BufferDescriptor, mappedAtCreation)
SIZE(ShaderSource, ShaderSourceWGSL)
AT(ShaderSource, code, ShaderSourceWGSL, code)
SIZE(ShaderDescription, ShaderModuleDescriptor)
SIZE(PipelineDescription, ComputePipelineDescriptor)
AT(PipelineDescription, layout, ComputePipelineDescriptor, layout)
AT(PipelineDescription, module, ComputePipelineDescriptor, compute.module)
AT(PipelineDescription, entry, ComputePipelineDescriptor, compute.entryPoint)
AT(PipelineDescription, constants, ComputePipelineDescriptor, compute.constants)
SIZE(QuerySetDescription, QuerySetDescriptor)
AT(QuerySetDescription, type, QuerySetDescriptor, type)
AT(QuerySetDescription, count, QuerySetDescriptor, count)
SIZE(PassTimes, PassTimestampWrites)
AT(PassTimes, set, PassTimestampWrites, querySet)
AT(PassTimes, begin, PassTimestampWrites, beginningOfPassWriteIndex)
AT(PassTimes, end, PassTimestampWrites, endOfPassWriteIndex)
SIZE(PassDescription, ComputePassDescriptor)
AT(PassDescription, times, ComputePassDescriptor, timestampWrites)
SIZE(BufferLayout, BufferBindingLayout)
AT(BufferLayout, type, BufferBindingLayout, type)
AT(BufferLayout, moves, BufferBindingLayout, hasDynamicOffset)
AT(BufferLayout, least_bytes, BufferBindingLayout, minBindingSize)
SIZE(LayoutEntry, BindGroupLayoutEntry)
AT(LayoutEntry, binding, BindGroupLayoutEntry, binding)
AT(LayoutEntry, stages, BindGroupLayoutEntry, visibility)
AT(LayoutEntry, array, BindGroupLayoutEntry, bindingArraySize)
AT(LayoutEntry, buffer, BindGroupLayoutEntry, buffer)
AT(LayoutEntry, sampler_next, BindGroupLayoutEntry, sampler)
AT(LayoutEntry, texture_next, BindGroupLayoutEntry, texture)
AT(LayoutEntry, storage_texture_next, BindGroupLayoutEntry, storageTexture)
SIZE(LayoutDescription, BindGroupLayoutDescriptor)
AT(LayoutDescription, entries, BindGroupLayoutDescriptor, entries)
SIZE(PipelineLayoutDescription, PipelineLayoutDescriptor)
AT(PipelineLayoutDescription, groups, PipelineLayoutDescriptor, bindGroupLayouts)
AT(PipelineLayoutDescription, immediate_bytes, PipelineLayoutDescriptor, immediateSize)
SIZE(BindGroupEntry, BindGroupEntry)
AT(BindGroupEntry, binding, BindGroupEntry, binding)
AT(BindGroupEntry, buffer, BindGroupEntry, buffer)
AT(BindGroupEntry, offset, BindGroupEntry, offset)
AT(BindGroupEntry, bytes, BindGroupEntry, size)
SIZE(BindGroupDescription, BindGroupDescriptor)
AT(BindGroupDescription, layout, BindGroupDescriptor, layout)
AT(BindGroupDescription, entries, BindGroupDescriptor, entries)
#undef AT
#undef ROOM
#undef SIZE

constexpr bool is(auto ours, auto theirs) {
  return static_cast<uint64_t>(ours) == static_cast<uint64_t>(theirs);
}
static_assert(is(kWholeText, WGPU_STRLEN) && is(kAllowEvents, WGPUCallbackMode_AllowProcessEvents));
static_assert(is(kCore, WGPUFeatureLevel_Core) && is(kWgslSource, WGPUSType_ShaderSourceWGSL));
static_assert(is(kMapRead, WGPUMapMode_Read) && is(kUseMapRead, WGPUBufferUsage_MapRead));
static_assert(is(kMapWrite, WGPUMapMode_Write) && is(kUseMapWrite, WGPUBufferUsage_MapWrite));
static_assert(is(kUseCopyFrom, WGPUBufferUsage_CopySrc));
static_assert(is(kUseCopyTo, WGPUBufferUsage_CopyDst));
static_assert(is(kComputeStage, WGPUShaderStage_Compute));
static_assert(is(BindingType::None, WGPUBufferBindingType_BindingNotUsed));
static_assert(is(BindingType::Uniform, WGPUBufferBindingType_Uniform));
static_assert(is(BindingType::Storage, WGPUBufferBindingType_Storage));
static_assert(is(BindingType::ReadOnlyStorage, WGPUBufferBindingType_ReadOnlyStorage));
static_assert(is(kUseUniform, WGPUBufferUsage_Uniform));
static_assert(is(kUseStorage, WGPUBufferUsage_Storage) && is(kTimes, WGPUQueryType_Timestamp) &&
              is(kUseTimes, WGPUBufferUsage_QueryResolve));
static_assert(is(kTimestamps[0], WGPUFeatureName_TimestampQuery) &&
              is(kHalves[0], WGPUFeatureName_ShaderF16) &&
              is(kSubgroups[0], WGPUFeatureName_Subgroups));
static_assert(is(Power::Undefined, WGPUPowerPreference_Undefined));
static_assert(is(Power::Low, WGPUPowerPreference_LowPower));
static_assert(is(Power::High, WGPUPowerPreference_HighPerformance));
static_assert(is(Native::Undefined, WGPUBackendType_Undefined));
static_assert(is(Native::Vulkan, WGPUBackendType_Vulkan));
static_assert(is(Kind::Discrete, WGPUAdapterType_DiscreteGPU) &&
              is(Kind::Cpu, WGPUAdapterType_CPU));
static_assert(is(Kind::Integrated, WGPUAdapterType_IntegratedGPU));
static_assert(is(Kind::Unknown, WGPUAdapterType_Unknown));
static_assert(is(Status::Success, WGPUStatus_Success));
static_assert(is(Status::Success, WGPURequestAdapterStatus_Success));
static_assert(is(Status::Success, WGPURequestDeviceStatus_Success));
static_assert(is(Status::Success, WGPUMapAsyncStatus_Success));
static_assert(is(Status::Success, WGPUCreatePipelineAsyncStatus_Success));
static_assert(is(Status::Success, WGPUQueueWorkDoneStatus_Success));
static_assert(is(Status::Success, WGPUPopErrorScopeStatus_Success));
static_assert(is(ErrorType::None, WGPUErrorType_NoError));
static_assert(is(ErrorType::Validation, WGPUErrorType_Validation));
static_assert(is(ErrorType::OutOfMemory, WGPUErrorType_OutOfMemory));
static_assert(is(ErrorType::Internal, WGPUErrorType_Internal));
static_assert(is(ErrorType::Unknown, WGPUErrorType_Unknown));
static_assert(is(Filter::Validation, WGPUErrorFilter_Validation));
static_assert(is(Filter::OutOfMemory, WGPUErrorFilter_OutOfMemory));
static_assert(is(Filter::Internal, WGPUErrorFilter_Internal));
static_assert(is(Lost::Unknown, WGPUDeviceLostReason_Unknown));
static_assert(is(Lost::Destroyed, WGPUDeviceLostReason_Destroyed));
static_assert(is(Lost::Cancelled, WGPUDeviceLostReason_CallbackCancelled));
static_assert(is(Lost::FailedCreation, WGPUDeviceLostReason_FailedCreation));
#endif

TEST(WebGpuHeader, SaysTheSame) {
#ifndef HOLOGRAM_HAS_WEBGPU_HEADER
  GTEST_SKIP() << "webgpu.h is not there; scripts/software-webgpu fetches it";
#endif
}

}  // namespace
}  // namespace hologram::backends::webgpu
