// An emulated WebGPU library: it copies and fills, runs no kernel, and takes the texts of kernels
// down in FAKE_WEBGPU_TEXTS, a folder. Its adapter calls itself a GPU of ordinary limits, or with
// FAKE_WEBGPU_SOFTWARE=1 one in software, as kernels are printed otherwise for those.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "backends/webgpu/api.hpp"

// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr)
namespace hologram::backends::webgpu {

struct GpuBuffer {
  std::vector<std::byte> bytes;
};

}  // namespace hologram::backends::webgpu

using namespace hologram::backends::webgpu;

namespace {

// Nothing looks into any other object.
template <class T>
T* something() {
  static uint64_t memory;
  return reinterpret_cast<T*>(&memory);
}

StringView text(const char* words) { return {words, std::strlen(words)}; }

void take_down(StringView code) {
  const char* const folder = std::getenv("FAKE_WEBGPU_TEXTS");
  if (folder == nullptr) return;
  const std::string all(code.data, code.length);
  std::ofstream(std::string(folder) + '/' + std::to_string(std::hash<std::string>{}(all)) + ".wgsl")
      << all;
}

}  // namespace

extern "C" {

Instance* wgpuCreateInstance(const void*) { return something<Instance>(); }
void wgpuInstanceGetWGSLLanguageFeatures() {}
void wgpuInstanceProcessEvents(Instance*) {}
Future wgpuInstanceRequestAdapter(Instance*, const AdapterOptions*, Callback<AdapterFound> found) {
  found.call(Status::Success, something<Adapter>(), {}, found.user, found.user2);
  return {};
}
Status wgpuAdapterGetInfo(Adapter*, AdapterInfo* info) {
  info->device = text("emulated GPU");
  info->kind = std::getenv("FAKE_WEBGPU_SOFTWARE") != nullptr ? Kind::Cpu : Kind::Discrete;
  return Status::Success;
}
void wgpuAdapterInfoFreeMembers(AdapterInfo) {}
Status wgpuAdapterGetLimits(Adapter*, Limits* limits) {
  limits->storage_buffers = 8;
  limits->storage_binding_bytes = limits->buffer_bytes = uint64_t{1} << 30;
  limits->uniform_alignment = limits->storage_alignment = 256;
  limits->workgroup_bytes = 32768;
  limits->workgroup_lanes = limits->workgroup_sizes[0] = 1024;
  return Status::Success;
}
QuerySet* wgpuDeviceCreateQuerySet(DeviceObject*, const QuerySetDescription*) {
  return something<QuerySet>();
}
void wgpuQuerySetRelease(QuerySet*) {}
uint32_t wgpuAdapterHasFeature(Adapter*, uint32_t) { return 0; }
Future wgpuAdapterRequestDevice(Adapter*, const DeviceDescription*, Callback<DeviceMade> made) {
  made.call(Status::Success, something<DeviceObject>(), {}, made.user, made.user2);
  return {};
}
Queue* wgpuDeviceGetQueue(DeviceObject*) { return something<Queue>(); }

GpuBuffer* wgpuDeviceCreateBuffer(DeviceObject*, const BufferDescription* description) {
  return new GpuBuffer{std::vector<std::byte>(description->bytes)};
}
ShaderModule* wgpuDeviceCreateShaderModule(DeviceObject*, const ShaderDescription* description) {
  take_down(reinterpret_cast<const ShaderSource*>(description->next)->code);
  return something<ShaderModule>();
}
ComputePipeline* wgpuDeviceCreateComputePipeline(DeviceObject*, const PipelineDescription*) {
  return something<ComputePipeline>();
}
BindGroupLayout* wgpuDeviceCreateBindGroupLayout(DeviceObject*, const LayoutDescription*) {
  return something<BindGroupLayout>();
}
PipelineLayout* wgpuDeviceCreatePipelineLayout(DeviceObject*, const PipelineLayoutDescription*) {
  return something<PipelineLayout>();
}
BindGroup* wgpuDeviceCreateBindGroup(DeviceObject*, const BindGroupDescription*) {
  return something<BindGroup>();
}
CommandEncoder* wgpuDeviceCreateCommandEncoder(DeviceObject*, const void*) {
  return something<CommandEncoder>();
}
BindGroupLayout* wgpuComputePipelineGetBindGroupLayout(ComputePipeline*, uint32_t) {
  return something<BindGroupLayout>();
}

void wgpuDevicePushErrorScope(DeviceObject*, Filter) {}
Future wgpuDevicePopErrorScope(DeviceObject*, Callback<ScopeEnded> ended) {
  ended.call(Status::Success, ErrorType::None, {}, ended.user, ended.user2);
  return {};
}
void wgpuDeviceDestroy(DeviceObject*) {}

void wgpuCommandEncoderResolveQuerySet(CommandEncoder*, QuerySet*, uint32_t, uint32_t, GpuBuffer*,
                                       uint64_t) {}
ComputePass* wgpuCommandEncoderBeginComputePass(CommandEncoder*, const PassDescription*) {
  return something<ComputePass>();
}
// What is recorded is done at once: nothing waits for a kernel.
void wgpuCommandEncoderCopyBufferToBuffer(CommandEncoder*, GpuBuffer* from, uint64_t from_offset,
                                          GpuBuffer* to, uint64_t to_offset, uint64_t bytes) {
  std::memmove(&to->bytes.at(to_offset), &from->bytes.at(from_offset), bytes);
}
void wgpuCommandEncoderClearBuffer(CommandEncoder*, GpuBuffer* buffer, uint64_t offset,
                                   uint64_t bytes) {
  std::memset(&buffer->bytes.at(offset), 0, bytes);
}
CommandBuffer* wgpuCommandEncoderFinish(CommandEncoder*, const void*) {
  return something<CommandBuffer>();
}
void wgpuComputePassEncoderSetPipeline(ComputePass*, ComputePipeline*) {}
void wgpuComputePassEncoderSetBindGroup(ComputePass*, uint32_t, BindGroup*, size_t,
                                        const uint32_t*) {}
void wgpuComputePassEncoderDispatchWorkgroups(ComputePass*, uint32_t, uint32_t, uint32_t) {}
void wgpuComputePassEncoderEnd(ComputePass*) {}
void wgpuQueueSubmit(Queue*, size_t, CommandBuffer* const*) {}
void wgpuQueueWriteBuffer(Queue*, GpuBuffer* buffer, uint64_t offset, const void* data,
                          size_t bytes) {
  std::memcpy(&buffer->bytes.at(offset), data, bytes);
}
Future wgpuQueueOnSubmittedWorkDone(Queue*, Callback<Done> done) {
  done.call(Status::Success, {}, done.user, done.user2);
  return {};
}
Future wgpuBufferMapAsync(GpuBuffer*, uint64_t, size_t, size_t, Callback<Done> done) {
  done.call(Status::Success, {}, done.user, done.user2);
  return {};
}
const void* wgpuBufferGetConstMappedRange(GpuBuffer* buffer, size_t offset, size_t) {
  return &buffer->bytes.at(offset);
}
void wgpuBufferUnmap(GpuBuffer*) {}
void wgpuBufferDestroy(GpuBuffer*) {}
void wgpuBufferRelease(GpuBuffer* buffer) { delete buffer; }

void wgpuInstanceRelease(Instance*) {}
void wgpuAdapterRelease(Adapter*) {}
void wgpuDeviceRelease(DeviceObject*) {}
void wgpuShaderModuleRelease(ShaderModule*) {}
void wgpuComputePipelineRelease(ComputePipeline*) {}
void wgpuBindGroupLayoutRelease(BindGroupLayout*) {}
void wgpuPipelineLayoutRelease(PipelineLayout*) {}
void wgpuBindGroupRelease(BindGroup*) {}
void wgpuCommandEncoderRelease(CommandEncoder*) {}
void wgpuComputePassEncoderRelease(ComputePass*) {}
void wgpuCommandBufferRelease(CommandBuffer*) {}
void wgpuQueueRelease(Queue*) {}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
