// An emulated WebGPU library: it copies and fills, runs no kernel, and takes the texts of kernels
// down in FAKE_WEBGPU_TEXTS, a folder. Its adapter calls itself a GPU of ordinary limits, or with
// FAKE_WEBGPU_SOFTWARE=1 one in software, as kernels are printed otherwise for those. Tests make
// its calls fail by fake_webgpu.hpp.
#include "fake_webgpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/webgpu/api.hpp"

// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr)
namespace hologram::backends::webgpu {

struct GpuBuffer {
  std::vector<std::byte> bytes;
  uint64_t uses;
  enum { Device, Asked, Host } whose;
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

struct World {
  struct Failure {
    int skip, count;
  };
  struct Scope {
    Filter filter;
    ErrorType error = ErrorType::None;
    const char* message = "";
  };
  std::recursive_mutex mutex;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  std::vector<std::function<void()>> events;
  std::vector<std::pair<int, std::function<void()>>> coming;  // after so many looks
  std::vector<Scope> scopes;
  Callback<DeviceLost> lost;
  std::string wrong;
  uintptr_t groups = 0;
  int live = 0, made = 0, most_made = 0, looks_at_work = 0;

  // What calls that may fail begin with: whether this one does.
  bool fails(const char* name) {
    const std::lock_guard lock(mutex);
    calls[name]++;
    const auto found = failures.find(name);
    if (found == failures.end() || found->second.skip-- > 0) return false;
    return found->second.count-- > 0;
  }
  void scoped(Filter filter, ErrorType error, const char* message) {
    for (size_t i = scopes.size(); i-- > 0;)
      if (scopes[i].filter == filter) {
        scopes[i].error = error;
        scopes[i].message = message;
        return;
      }
  }
  void expect(bool right, const char* what) {
    if (!right && wrong.empty()) wrong = what;
  }
};
World& world() {
  static auto* const world = new World;
  return *world;
}

void lose(const char* why) {
  const auto lost = std::exchange(world().lost, {});
  if (lost.call != nullptr)
    lost.call(nullptr, Lost::Unknown, {why, std::strlen(why)}, lost.user, lost.user2);
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
void wgpuInstanceProcessEvents(Instance*) {
  for (const auto& event : std::exchange(world().events, {})) event();
  // Making pipelines takes a while, and work may.
  auto& coming = world().coming;
  for (auto& each : coming) each.first--;
  while (!coming.empty() && coming.front().first <= 0) {
    const auto done = std::move(coming.front().second);
    coming.erase(coming.begin());
    done();
  }
}
Future wgpuInstanceRequestAdapter(Instance*, const AdapterOptions*, Callback<AdapterFound> found) {
  found.call(Status::Success, something<Adapter>(), {}, found.user, found.user2);
  return {};
}
Status wgpuAdapterGetInfo(Adapter*, AdapterInfo* info) {
  info->device = text("emulated GPU");
  info->kind = std::getenv("FAKE_WEBGPU_SOFTWARE") != nullptr ? Kind::Cpu : Kind::Discrete;
  const char* const memory = std::getenv("FAKE_WEBGPU_MEMORY");
  if (memory != nullptr && info->next != nullptr && info->next->type == kHeapsOfAdapter[0]) {
    auto* const heaps = reinterpret_cast<MemoryHeaps*>(info->next);
    heaps->count = 2;
    heaps->heaps = new MemoryHeap[2]{{kHeapOfDevice, std::stoull(memory)}, {2, 12345}};
  }
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
// As Dawn, if FAKE_WEBGPU_MEMORY says how many bytes there are.
uint32_t wgpuAdapterHasFeature(Adapter*, uint32_t feature) {
  return feature == kMemoryHeaps[0] && std::getenv("FAKE_WEBGPU_MEMORY") != nullptr ? 1 : 0;
}
void wgpuAdapterPropertiesMemoryHeapsFreeMembers(MemoryHeaps heaps) { delete[] heaps.heaps; }
Future wgpuAdapterRequestDevice(Adapter*, const DeviceDescription* description,
                                Callback<DeviceMade> made) {
  world().lost = description->lost;
  made.call(Status::Success, something<DeviceObject>(), {}, made.user, made.user2);
  return {};
}
Queue* wgpuDeviceGetQueue(DeviceObject*) { return something<Queue>(); }

GpuBuffer* wgpuDeviceCreateBuffer(DeviceObject*, const BufferDescription* description) {
  if (world().fails("wgpuDeviceCreateBuffer"))
    world().scoped(Filter::OutOfMemory, ErrorType::OutOfMemory, "there is no more");
  world().live++;
  return new GpuBuffer{std::vector<std::byte>(description->bytes), description->uses,
                       description->mapped != 0 ? GpuBuffer::Host : GpuBuffer::Device};
}
ShaderModule* wgpuDeviceCreateShaderModule(DeviceObject*, const ShaderDescription* description) {
  take_down(reinterpret_cast<const ShaderSource*>(description->next)->code);
  return something<ShaderModule>();
}
ComputePipeline* wgpuDeviceCreateComputePipeline(DeviceObject*, const PipelineDescription*) {
  return something<ComputePipeline>();
}
Future wgpuDeviceCreateComputePipelineAsync(DeviceObject*, const PipelineDescription*,
                                            Callback<PipelineMade> done) {
  const bool fails = world().fails("wgpuDeviceCreateComputePipelineAsync");
  world().most_made = std::max(world().most_made, ++world().made);
  world().coming.emplace_back(50, [=] {
    world().made--;
    done.call(fails ? Status{3} : Status::Success, fails ? nullptr : something<ComputePipeline>(),
              fails ? text("it is too hard") : StringView{}, done.user, done.user2);
  });
  return {};
}
BindGroupLayout* wgpuDeviceCreateBindGroupLayout(DeviceObject*, const LayoutDescription*) {
  return something<BindGroupLayout>();
}
PipelineLayout* wgpuDeviceCreatePipelineLayout(DeviceObject*, const PipelineLayoutDescription*) {
  return something<PipelineLayout>();
}
BindGroup* wgpuDeviceCreateBindGroup(DeviceObject*, const BindGroupDescription*) {
  return reinterpret_cast<BindGroup*>(++world().groups);
}
CommandEncoder* wgpuDeviceCreateCommandEncoder(DeviceObject*, const void*) {
  return something<CommandEncoder>();
}
BindGroupLayout* wgpuComputePipelineGetBindGroupLayout(ComputePipeline*, uint32_t) {
  return something<BindGroupLayout>();
}

void wgpuDevicePushErrorScope(DeviceObject*, Filter filter) { world().scopes.push_back({filter}); }
Future wgpuDevicePopErrorScope(DeviceObject*, Callback<ScopeEnded> ended) {
  const World::Scope scope = world().scopes.back();
  world().scopes.pop_back();
  ended.call(Status::Success, scope.error, text(scope.message), ended.user, ended.user2);
  return {};
}
void wgpuDeviceDestroy(DeviceObject*) { lose("it was destroyed"); }

void wgpuCommandEncoderResolveQuerySet(CommandEncoder*, QuerySet*, uint32_t, uint32_t, GpuBuffer*,
                                       uint64_t) {}
ComputePass* wgpuCommandEncoderBeginComputePass(CommandEncoder*, const PassDescription*) {
  return something<ComputePass>();
}
// What is recorded is done at once: nothing waits for a kernel.
void wgpuCommandEncoderCopyBufferToBuffer(CommandEncoder*, GpuBuffer* from, uint64_t from_offset,
                                          GpuBuffer* to, uint64_t to_offset, uint64_t bytes) {
  world().expect(from->whose == GpuBuffer::Device && to->whose == GpuBuffer::Device,
                 "a copy of a buffer that is the host's");
  world().expect((from->uses & kUseCopyFrom) != 0 && (to->uses & kUseCopyTo) != 0,
                 "a copy of a buffer that was not made for it");
  world().expect(bytes % 4 == 0 && to_offset % 4 == 0 && from_offset % 4 == 0 &&
                     from_offset + bytes <= from->bytes.size() &&
                     to_offset + bytes <= to->bytes.size(),
                 "a copy that is not of words, or leaves a buffer");
  std::memmove(&to->bytes.at(to_offset), &from->bytes.at(from_offset), bytes);
}
void wgpuCommandEncoderClearBuffer(CommandEncoder*, GpuBuffer* buffer, uint64_t offset,
                                   uint64_t bytes) {
  std::memset(&buffer->bytes.at(offset), 0, bytes);
}
CommandBuffer* wgpuCommandEncoderFinish(CommandEncoder*, const void*) {
  return something<CommandBuffer>();
}
void wgpuComputePassEncoderSetPipeline(ComputePass*, ComputePipeline*) {
  world().fails("wgpuComputePassEncoderSetPipeline");
}
void wgpuComputePassEncoderSetBindGroup(ComputePass*, uint32_t, BindGroup*, size_t,
                                        const uint32_t*) {
  world().fails("wgpuComputePassEncoderSetBindGroup");
}
void wgpuComputePassEncoderDispatchWorkgroups(ComputePass*, uint32_t, uint32_t, uint32_t) {
  world().fails("wgpuComputePassEncoderDispatchWorkgroups");
}
void wgpuComputePassEncoderEnd(ComputePass*) {}
void wgpuQueueSubmit(Queue*, size_t, CommandBuffer* const*) { world().fails("wgpuQueueSubmit"); }
void wgpuQueueWriteBuffer(Queue*, GpuBuffer* buffer, uint64_t offset, const void* data,
                          size_t bytes) {
  world().fails("wgpuQueueWriteBuffer");
  world().expect(bytes % 4 == 0 && offset + bytes <= buffer->bytes.size(),
                 "a write that is not of words, or leaves a buffer");
  std::memcpy(&buffer->bytes.at(offset), data, bytes);
}
Future wgpuQueueOnSubmittedWorkDone(Queue*, Callback<Done> done) {
  const auto tell = [done] { done.call(Status::Success, {}, done.user, done.user2); };
  if (world().looks_at_work == 0) tell();
  else world().coming.emplace_back(world().looks_at_work, tell);
  return {};
}
Future wgpuBufferMapAsync(GpuBuffer* buffer, uint64_t mode, size_t, size_t, Callback<Done> done) {
  world().expect(buffer->whose == GpuBuffer::Device && (buffer->uses & mode) != 0,
                 "a mapping of a buffer that is the host's, or was not made for it");
  const bool fails = world().fails("wgpuBufferMapAsync");
  if (!fails) buffer->whose = GpuBuffer::Asked;
  world().events.emplace_back([=] {
    if (!fails) buffer->whose = GpuBuffer::Host;
    done.call(fails ? Status{3} : Status::Success, fails ? text("it may not be") : StringView{},
              done.user, done.user2);
  });
  return {};
}
void* wgpuBufferGetMappedRange(GpuBuffer* buffer, size_t offset, size_t bytes) {
  const bool fails = world().fails("wgpuBufferGetMappedRange");
  if (fails || buffer->whose != GpuBuffer::Host || offset + bytes > buffer->bytes.size())
    return nullptr;
  return &buffer->bytes.at(offset);
}
const void* wgpuBufferGetConstMappedRange(GpuBuffer* buffer, size_t offset, size_t bytes) {
  return wgpuBufferGetMappedRange(buffer, offset, bytes);
}
void wgpuBufferUnmap(GpuBuffer* buffer) {
  world().expect(buffer->whose == GpuBuffer::Host, "an end of a mapping that there is not");
  buffer->whose = GpuBuffer::Device;
}
void wgpuBufferDestroy(GpuBuffer*) {}
void wgpuBufferRelease(GpuBuffer* buffer) {
  if (buffer->whose == GpuBuffer::Asked) wgpuInstanceProcessEvents(nullptr);
  world().live--;
  delete buffer;
}

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

void fake_webgpu(hologram::FakeWebGpu* control) {
  control->fail = [](const char* name, int skip, int count) {
    const std::lock_guard lock(world().mutex);
    if (name == nullptr) world().failures.clear();
    else world().failures[name] = {skip, count};
  };
  control->calls = [](const char* name) {
    const std::lock_guard lock(world().mutex);
    return world().calls[name];
  };
  control->lose = lose;
  control->live = [] { return world().live; };
  control->most_made = [] { return world().most_made; };
  control->work = [](int looks) { world().looks_at_work = looks; };
  control->wrong = [] { return world().wrong.c_str(); };
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
