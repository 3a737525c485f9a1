#include "dialects/webgpu.hpp"

#include <cstring>

#include "webgpu_fixture.hpp"

namespace hologram::dialects {
namespace {

using namespace backends::webgpu;

constexpr size_t kGuardBytes = 256;
constexpr uint8_t kGuard = 0xc3;
constexpr std::chrono::seconds kPatience{60};

hal::Deadline soon() { return hal::Clock::now() + kPatience; }

// What is bound: whole units, and at least one, or one element.
size_t bound_bytes(size_t bytes, const Argument& a) {
  const size_t unit = a.unit;
  return std::max((bytes + unit - 1) / unit * unit, std::max(unit, size_of(a.type)));
}

}  // namespace

WebGpu* WebGpu::get(std::string& reason) {
  static std::string why;
  static WebGpu* const found = []() -> WebGpu* {
    const auto& adapters = tests::webgpu_adapters(why);
    if (adapters.empty()) return nullptr;
    std::unique_ptr<WebGpu> made(new WebGpu(Driver::instance().api()));
    why = made->open(adapters.front());
    return why.empty() ? made.release() : nullptr;
  }();
  reason = why;
  return found;
}

std::string WebGpu::open(const Found& found) {
  instance_ = api_.wgpuCreateInstance(nullptr);
  std::string reason;
  const auto adapter = request(api_, instance_, found.power, found.fallback, reason);
  if (adapter == nullptr) return reason;
  Limits limits;
  api_.wgpuAdapterGetLimits(adapter.get(), &limits);
  limits.next = nullptr;
  gives_ = {.lanes = std::min(limits.workgroup_lanes, limits.workgroup_sizes[0]),
            .shared_bytes = limits.workgroup_bytes,
            .storage_buffers = limits.storage_buffers};
  const auto answer = std::make_shared<Answer>();
  DeviceDescription description;
  description.limits = &limits;
  api_.wgpuAdapterRequestDevice(adapter.get(), &description, on_device(answer));
  wait_for(api_, instance_, soon(), [&] { return answer->there; });
  device_ = static_cast<DeviceObject*>(answer->object);
  if (device_ == nullptr) return "no device: " + answer->message;
  queue_ = api_.wgpuDeviceGetQueue(device_);
  const Program program = Program::parse(
      "program probe(inout x: f32[]) workgroup(1) {\n"
      "  x[0] = fma(x[0], x[0], x[1]); x[2] = x[2] + x[2] }");
  const Printed printed = print(program, Language::Wgsl, {});
  RunRequest probe;
  probe.printed = &printed;
  probe.lengths = {3};
  constexpr float kNearOne = 1 + 0x1p-23f;
  std::array<float, 3> values = {kNearOne, -(1 + 0x1p-22f), 0x1p-140f};
  std::vector<oracle::Memory> memory = {oracle::Memory(sizeof values)};
  std::memcpy(memory[0].data(), values.data(), sizeof values);
  if (std::string wrong = run(probe, memory); !wrong.empty()) return wrong;
  std::memcpy(values.data(), memory[0].data(), sizeof values);
  gives_.fused = values[0] == 0x1p-46f;
  flushes_ = values[2] != 0x1p-139f;
  return {};
}

GpuBuffer* WebGpu::buffer(uint64_t uses, uint64_t bytes) const {
  BufferDescription description;
  description.uses = uses;
  description.bytes = bytes;
  return api_.wgpuDeviceCreateBuffer(device_, &description);
}

void WebGpu::begin_errors() const { api_.wgpuDevicePushErrorScope(device_, Filter::Validation); }

std::string WebGpu::end_errors() const {
  const auto answer = std::make_shared<Answer>();
  api_.wgpuDevicePopErrorScope(device_, on_scope(answer));
  wait_for(api_, instance_, soon(), [&] { return answer->there; });
  return answer->message;
}

std::string WebGpu::compile(const Printed& printed) {
  begin_errors();
  const ShaderSource source{{nullptr, kWgslSource}, text(printed.text)};
  ShaderDescription description;
  description.next = &source.chain;
  api_.wgpuShaderModuleRelease(api_.wgpuDeviceCreateShaderModule(device_, &description));
  const std::string said = end_errors();
  return said.empty() ? said : said + "\n" + printed.text;
}

std::string WebGpu::read(GpuBuffer* from, std::vector<uint8_t>& bytes) {
  const auto staging = own(buffer(kUseMapRead | kUseCopyTo, bytes.size()), api_.wgpuBufferRelease);
  CommandEncoder* encoder = api_.wgpuDeviceCreateCommandEncoder(device_, nullptr);
  api_.wgpuCommandEncoderCopyBufferToBuffer(encoder, from, 0, staging.get(), 0, bytes.size());
  CommandBuffer* commands = api_.wgpuCommandEncoderFinish(encoder, nullptr);
  api_.wgpuQueueSubmit(queue_, 1, &commands);
  api_.wgpuCommandBufferRelease(commands);
  api_.wgpuCommandEncoderRelease(encoder);
  const auto answer = std::make_shared<Answer>();
  api_.wgpuBufferMapAsync(staging.get(), kMapRead, 0, bytes.size(), on_done(answer));
  wait_for(api_, instance_, soon(), [&] { return answer->there; });
  if (!answer->good()) return "a buffer cannot be read: " + answer->message;
  std::memcpy(bytes.data(), api_.wgpuBufferGetConstMappedRange(staging.get(), 0, bytes.size()),
              bytes.size());
  api_.wgpuBufferUnmap(staging.get());
  return {};
}

std::string WebGpu::run(const RunRequest& request, std::vector<oracle::Memory>& buffers,
                        uint32_t* ran_out) {
  begin_errors();
  const ShaderSource source{{nullptr, kWgslSource}, text(request.printed->text)};
  ShaderDescription description;
  description.next = &source.chain;
  const auto module =
      own(api_.wgpuDeviceCreateShaderModule(device_, &description), api_.wgpuShaderModuleRelease);
  const std::string wrong = dispatch(request, buffers, ran_out, module.get());
  const std::string said = end_errors();
  return said.empty() ? wrong : said + "\n" + request.printed->text;
}

std::string WebGpu::dispatch(const RunRequest& request, std::vector<oracle::Memory>& buffers,
                             uint32_t* ran_out, ShaderModule* module) {
  const Printed& printed = *request.printed;
  PipelineDescription wanted;
  wanted.module = module;
  wanted.entry = text(printed.entry);
  const auto pipeline =
      own(api_.wgpuDeviceCreateComputePipeline(device_, &wanted), api_.wgpuComputePipelineRelease);
  std::vector<Owned<GpuBuffer>> memory;
  std::vector<BindGroupEntry> entries;
  std::vector<std::vector<uint8_t>> images;
  const auto add = [&](uint32_t binding, uint64_t use, std::vector<uint8_t> image, uint64_t offset,
                       uint64_t bytes) {
    memory.push_back(
        own(buffer(use | kUseCopyTo | kUseCopyFrom, image.size()), api_.wgpuBufferRelease));
    api_.wgpuQueueWriteBuffer(queue_, memory.back().get(), 0, image.data(), image.size());
    entries.push_back(
        {.binding = binding, .buffer = memory.back().get(), .offset = offset, .bytes = bytes});
    images.push_back(std::move(image));
  };
  std::vector<uint8_t> block(printed.block_bytes);
  for (const Argument& a : printed.arguments) {
    if (a.kind == Argument::Kind::Buffer) {
      const oracle::Memory& from = buffers[a.slot];
      const size_t bytes = bound_bytes(from.size(), a);
      std::vector<uint8_t> image(kGuardBytes + bytes + kGuardBytes, kGuard);
      std::copy(from.begin(), from.end(), image.begin() + kGuardBytes);
      add(a.place, kUseStorage, std::move(image), kGuardBytes, bytes);
    } else if (a.kind == Argument::Kind::Stop) {
      add(a.place, kUseStorage, {0, 0, 0, 0}, 0, 4);
    } else {
      const uint64_t bits = bits_of(a, request);
      std::memcpy(&block[a.place], &bits, size_of(a.type));
    }
  }
  add(printed.block_binding, kUseUniform, block, 0, block.size());
  const auto layout = own(api_.wgpuComputePipelineGetBindGroupLayout(pipeline.get(), 0),
                          api_.wgpuBindGroupLayoutRelease);
  BindGroupDescription group;
  group.layout = layout.get();
  group.entry_count = entries.size();
  group.entries = entries.data();
  const auto bound =
      own(api_.wgpuDeviceCreateBindGroup(device_, &group), api_.wgpuBindGroupRelease);
  CommandEncoder* encoder = api_.wgpuDeviceCreateCommandEncoder(device_, nullptr);
  ComputePass* pass = api_.wgpuCommandEncoderBeginComputePass(encoder, nullptr);
  api_.wgpuComputePassEncoderSetPipeline(pass, pipeline.get());
  api_.wgpuComputePassEncoderSetBindGroup(pass, 0, bound.get(), 0, nullptr);
  api_.wgpuComputePassEncoderDispatchWorkgroups(pass, static_cast<uint32_t>(blocks_of(request)), 1,
                                                1);
  api_.wgpuComputePassEncoderEnd(pass);
  api_.wgpuComputePassEncoderRelease(pass);
  CommandBuffer* commands = api_.wgpuCommandEncoderFinish(encoder, nullptr);
  api_.wgpuQueueSubmit(queue_, 1, &commands);
  api_.wgpuCommandBufferRelease(commands);
  api_.wgpuCommandEncoderRelease(encoder);

  size_t number = 0;
  for (const Argument& a : printed.arguments) {
    if (a.kind != Argument::Kind::Buffer && a.kind != Argument::Kind::Stop) continue;
    std::vector<uint8_t> image(images[number].size());
    if (std::string wrong = read(memory[number].get(), image); !wrong.empty()) return wrong;
    if (a.kind == Argument::Kind::Buffer) {
      oracle::Memory& to = buffers[a.slot];
      std::copy_n(image.begin() + kGuardBytes, to.size(), to.begin());
      std::copy_n(images[number].begin() + kGuardBytes, to.size(), image.begin() + kGuardBytes);
      if (image != images[number])
        return "buffer " + std::to_string(a.slot) + " was written outside";
    } else if (ran_out != nullptr) {
      std::memcpy(ran_out, image.data(), sizeof *ran_out);
    }
    number++;
  }
  return {};
}

}  // namespace hologram::dialects
