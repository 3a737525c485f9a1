// The calls of webgpu.h that the backend makes, by functions of web/webgpu.js. Handles are numbers;
// 1 stands for the instance, the adapter, the device and its queue, of which a page has one each.
#include "backends/webgpu/browser.hpp"

#include <emscripten/emscripten.h>

#include <array>
#include <cstring>

#include "backends/webgpu/browser_imports.hpp"
#include "backends/webgpu/session.hpp"

namespace hologram::backends::webgpu {
namespace {

template <class T>
T* object(uint32_t handle) {
  return reinterpret_cast<T*>(static_cast<uintptr_t>(handle));
}
template <class T>
uint32_t handle(T* object) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(object));
}
template <class T>
T* the_one() {
  return object<T>(1);
}
uint32_t bytes_of(StringView text) {
  return static_cast<uint32_t>(text.length == kWholeText ? std::strlen(text.data) : text.length);
}

// Where the page tells what goes wrong.
Callback<DeviceLost> g_lost;
ErrorCallback g_error;

void tell_lost(Lost reason, StringView message) {
  const auto lost = std::exchange(g_lost, {});
  g_error = {};
  if (lost.call != nullptr) lost.call(nullptr, reason, message, lost.user, lost.user2);
}

// What the page tells of the adapter.
const std::string& text_of(About about) {
  static std::array<std::string, 6> texts;
  std::string& text = texts[static_cast<size_t>(about)];
  text.resize(gpu_text(static_cast<uint32_t>(about), nullptr));
  if (!text.empty()) gpu_text(static_cast<uint32_t>(about), text.data());
  return text;
}
template <class T>
T number_of(Number number) {
  return static_cast<T>(gpu_number(static_cast<uint32_t>(number)));
}

Future request_adapter(Instance*, const AdapterOptions*, Callback<AdapterFound> found) {
  const std::string& reason = text_of(About::Absence);
  found.call(Status::Success, reason.empty() ? the_one<Adapter>() : nullptr, text(reason),
             found.user, found.user2);
  return {};
}

Status adapter_info(Adapter*, AdapterInfo* info) {
  info->vendor = text(text_of(About::Vendor));
  info->architecture = text(text_of(About::Architecture));
  info->device = text(text_of(About::Device));
  info->description = text(text_of(About::Description));
  info->kind = number_of<uint32_t>(Number::Software) != 0 ? Kind::Cpu : Kind::Unknown;
  info->least_subgroup = number_of<uint32_t>(Number::Subgroup);
  return Status::Success;
}

Status adapter_limits(Adapter*, Limits* limits) {
  limits->storage_buffers = number_of<uint32_t>(Number::StorageBuffers);
  limits->storage_binding_bytes = number_of<uint64_t>(Number::StorageBytes);
  limits->uniform_alignment = number_of<uint32_t>(Number::UniformAlignment);
  limits->storage_alignment = number_of<uint32_t>(Number::StorageAlignment);
  limits->buffer_bytes = number_of<uint64_t>(Number::BufferBytes);
  limits->workgroup_bytes = number_of<uint32_t>(Number::WorkgroupBytes);
  limits->workgroup_lanes = number_of<uint32_t>(Number::WorkgroupLanes);
  limits->workgroup_sizes[0] = number_of<uint32_t>(Number::WorkgroupSize);
  return Status::Success;
}

uint32_t has_feature(Adapter*, uint32_t number) {
  if (number == kHalves[0]) return number_of<uint32_t>(Number::Halves);
  return number == kSubgroups[0] ? number_of<uint32_t>(Number::Subgroup) : 0;
}

Future request_device(Adapter*, const DeviceDescription* description, Callback<DeviceMade> made) {
  g_lost = description->lost;
  g_error = description->error;
  const bool there = gpu_open() != 0;
  made.call(Status::Success, there ? the_one<DeviceObject>() : nullptr,
            text("this runtime's device is gone; make another by Hologram.create()"), made.user,
            made.user2);
  return {};
}

void destroy_device(DeviceObject*) {
  tell_lost(Lost::Destroyed, text("it was let go"));
  gpu_close();
}

GpuBuffer* create_buffer(DeviceObject*, const BufferDescription* description) {
  return object<GpuBuffer>(gpu_buffer(static_cast<double>(description->bytes),
                                      static_cast<uint32_t>(description->uses)));
}

ShaderModule* create_shader(DeviceObject*, const ShaderDescription* description) {
  const auto* source = reinterpret_cast<const ShaderSource*>(description->next);
  return object<ShaderModule>(gpu_shader(source->code.data, bytes_of(source->code),
                                         description->label.data, bytes_of(description->label)));
}

BindGroupLayout* create_layout(DeviceObject*, const LayoutDescription* description) {
  std::vector<LayoutSlot> slots;
  for (size_t i = 0; i < description->entry_count; i++)
    slots.push_back({description->entries[i].binding,
                     static_cast<uint32_t>(description->entries[i].buffer.type)});
  return object<BindGroupLayout>(gpu_layout(slots.data(), static_cast<uint32_t>(slots.size())));
}

PipelineLayout* create_pipeline_layout(DeviceObject*, const PipelineLayoutDescription* given) {
  return object<PipelineLayout>(gpu_pipeline_layout(handle(given->groups[0])));
}

ComputePipeline* create_pipeline(DeviceObject*, const PipelineDescription* description) {
  return object<ComputePipeline>(gpu_pipeline(handle(description->layout),
                                              handle(description->module), description->entry.data,
                                              bytes_of(description->entry)));
}

BindGroup* create_group(DeviceObject*, const BindGroupDescription* description) {
  std::array<GroupSlot, 64> slots;
  const size_t count = std::min(description->entry_count, slots.size());
  for (size_t i = 0; i < count; i++) {
    const BindGroupEntry& entry = description->entries[i];
    slots[i] = {entry.binding, handle(entry.buffer), static_cast<double>(entry.offset),
                static_cast<double>(entry.bytes)};
  }
  return object<BindGroup>(
      gpu_group(handle(description->layout), slots.data(), static_cast<uint32_t>(count)));
}

void copy(CommandEncoder* encoder, GpuBuffer* from, uint64_t from_offset, GpuBuffer* to,
          uint64_t to_offset, uint64_t bytes) {
  gpu_copy(handle(encoder), handle(from), static_cast<double>(from_offset), handle(to),
           static_cast<double>(to_offset), static_cast<double>(bytes));
}

template <class T>
void release(T* object) {
  gpu_release(handle(object));
}
// Of what there is one of, and of what the page forgets by itself.
template <class T>
void keep(T*) {}

constexpr Api page() {
  Api api;
  api.wgpuCreateInstance = [](const void*) { return the_one<Instance>(); };
  api.wgpuInstanceRelease = keep<Instance>;
  api.wgpuInstanceProcessEvents = keep<Instance>;
  api.wgpuInstanceRequestAdapter = request_adapter;
  api.wgpuAdapterGetInfo = adapter_info;
  api.wgpuAdapterInfoFreeMembers = [](AdapterInfo) {};
  api.wgpuAdapterGetLimits = adapter_limits;
  api.wgpuAdapterHasFeature = has_feature;
  api.wgpuAdapterRequestDevice = request_device;
  api.wgpuAdapterRelease = keep<Adapter>;
  api.wgpuDeviceGetQueue = [](DeviceObject*) { return the_one<Queue>(); };
  api.wgpuDeviceCreateBuffer = create_buffer;
  api.wgpuDeviceCreateShaderModule = create_shader;
  api.wgpuDeviceCreateComputePipeline = create_pipeline;
  api.wgpuDeviceCreateBindGroupLayout = create_layout;
  api.wgpuDeviceCreatePipelineLayout = create_pipeline_layout;
  api.wgpuDeviceCreateBindGroup = create_group;
  api.wgpuDeviceCreateCommandEncoder = [](DeviceObject*, const void*) {
    return object<CommandEncoder>(gpu_encoder());
  };
  api.wgpuDeviceDestroy = destroy_device;
  api.wgpuDeviceRelease = keep<DeviceObject>;
  api.wgpuShaderModuleRelease = release<ShaderModule>;
  api.wgpuComputePipelineRelease = release<ComputePipeline>;
  api.wgpuBindGroupLayoutRelease = release<BindGroupLayout>;
  api.wgpuPipelineLayoutRelease = release<PipelineLayout>;
  api.wgpuBindGroupRelease = release<BindGroup>;
  api.wgpuCommandEncoderBeginComputePass = [](CommandEncoder* encoder, const PassDescription*) {
    return object<ComputePass>(gpu_pass(handle(encoder)));
  };
  api.wgpuCommandEncoderCopyBufferToBuffer = copy;
  api.wgpuCommandEncoderClearBuffer = [](CommandEncoder* encoder, GpuBuffer* buffer,
                                         uint64_t offset, uint64_t bytes) {
    gpu_clear(handle(encoder), handle(buffer), static_cast<double>(offset),
              static_cast<double>(bytes));
  };
  api.wgpuCommandEncoderFinish = [](CommandEncoder* encoder, const void*) {
    return object<CommandBuffer>(gpu_finish(handle(encoder)));
  };
  api.wgpuCommandEncoderRelease = release<CommandEncoder>;
  api.wgpuComputePassEncoderSetPipeline = [](ComputePass* pass, ComputePipeline* pipeline) {
    gpu_set_pipeline(handle(pass), handle(pipeline));
  };
  api.wgpuComputePassEncoderSetBindGroup = [](ComputePass* pass, uint32_t, BindGroup* group, size_t,
                                              const uint32_t* offset) {
    gpu_set_group(handle(pass), handle(group), *offset);
  };
  api.wgpuComputePassEncoderDispatchWorkgroups = [](ComputePass* pass, uint32_t x, uint32_t,
                                                    uint32_t) { gpu_dispatch(handle(pass), x); };
  api.wgpuComputePassEncoderEnd = [](ComputePass* pass) { gpu_end(handle(pass)); };
  api.wgpuComputePassEncoderRelease = release<ComputePass>;
  api.wgpuCommandBufferRelease = release<CommandBuffer>;
  api.wgpuQueueSubmit = [](Queue*, size_t, CommandBuffer* const* commands) {
    gpu_submit(handle(*commands));
  };
  api.wgpuQueueWriteBuffer = [](Queue*, GpuBuffer* buffer, uint64_t offset, const void* from,
                                size_t bytes) {
    gpu_write(handle(buffer), static_cast<double>(offset), from, static_cast<uint32_t>(bytes));
  };
  api.wgpuQueueRelease = keep<Queue>;
  api.wgpuBufferRelease = release<GpuBuffer>;
  return api;
}

}  // namespace

std::string load(Api& api, std::string& name) {
  api = page();
  name = "the page";
  return text_of(About::Absence);
}

}  // namespace hologram::backends::webgpu

// What web/webgpu.js tells: an error that nobody caught, and that the device is lost.
extern "C" {

EMSCRIPTEN_KEEPALIVE void hg_gpu_error(const char* message, uint32_t length) {
  using namespace hologram::backends::webgpu;
  if (g_error.call != nullptr)
    g_error.call(nullptr, ErrorType::Unknown, {message, length}, g_error.user, g_error.user2);
}

EMSCRIPTEN_KEEPALIVE void hg_gpu_lost(const char* message, uint32_t length) {
  using namespace hologram::backends::webgpu;
  tell_lost(Lost::Unknown, {message, length});
}

}  // extern "C"
