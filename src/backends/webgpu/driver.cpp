#include "backends/webgpu/driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "core/host_memory.hpp"
#include "core/signal_handlers.hpp"

namespace hologram::backends::webgpu {
namespace {

using std::chrono::seconds;

// Drivers that run on the host's processor, some of which say that they are something else.
constexpr const char* kSoftware[] = {"llvmpipe", "lavapipe", "SwiftShader", "Basic Render"};
constexpr seconds kPatience{20};  // for an adapter
// Where the system has one way to a GPU, the others are only more libraries to load.
#ifdef __linux__
constexpr Native kNative = Native::Vulkan;
#else
constexpr Native kNative = Native::Undefined;
#endif

std::atomic<bool> g_ending{false};

// Made after the library is loaded, so that it goes before anything of the library's does.
struct AtExit {
  ~AtExit() { g_ending = true; }
};

// The answers that callbacks still have to bring.
struct Expected {
  std::mutex mutex;
  std::unordered_map<void*, Awaited> answers;
};
Expected& expected() {
  static auto* const instance = new Expected;
  return *instance;
}

template <class Function>
Callback<Function> callback(const Awaited& answer, Function* call) {
  const std::lock_guard lock(expected().mutex);
  expected().answers.emplace(answer.get(), answer);
  return {.call = call, .user = answer.get()};
}
Awaited taken(void* user) {
  const std::lock_guard lock(expected().mutex);
  return std::move(expected().answers.extract(user).mapped());
}
void settle(void* user, Status status, StringView message, void* object, ErrorType error) {
  const Awaited answer = taken(user);
  answer->status = status;
  answer->message = string_of(message);
  answer->object = object;
  answer->error = error;
  answer->there = true;
}

}  // namespace

bool is_ending() { return g_ending; }

std::string string_of(StringView text) {
  if (text.data == nullptr) return {};
  return {text.data, text.length == kWholeText ? std::strlen(text.data) : text.length};
}

Callback<AdapterFound> on_adapter(const Awaited& answer) {
  return callback<AdapterFound>(
      answer, [](Status status, Adapter* adapter, StringView message, void* user, void*) {
        settle(user, status, message, adapter, ErrorType::None);
      });
}

Callback<DeviceMade> on_device(const Awaited& answer) {
  return callback<DeviceMade>(
      answer, [](Status status, DeviceObject* device, StringView message, void* user, void*) {
        settle(user, status, message, device, ErrorType::None);
      });
}

Callback<PipelineMade> on_pipeline(const Awaited& answer) {
  return callback<PipelineMade>(
      answer, [](Status status, ComputePipeline* pipeline, StringView message, void* user, void*) {
        settle(user, status, message, pipeline, ErrorType::None);
      });
}

Callback<Done> on_done(const Awaited& answer) {
  return callback<Done>(answer, [](Status status, StringView message, void* user, void*) {
    settle(user, status, message, nullptr, ErrorType::None);
  });
}

Callback<ScopeEnded> on_scope(const Awaited& answer) {
  return callback<ScopeEnded>(
      answer, [](Status status, ErrorType error, StringView message, void* user, void*) {
        settle(user, status, message, nullptr, error);
      });
}

Owned<Adapter> request(const Api& api, Instance* instance, Power power, bool fallback,
                       std::string& reason) {
  const AdapterOptions options{
      .level = kCore, .power = power, .fallback = fallback ? 1u : 0u, .native = kNative};
  const auto answer = std::make_shared<Answer>();
  api.wgpuInstanceRequestAdapter(instance, &options, on_adapter(answer));
  if (!wait_for(api, instance, hal::Clock::now() + kPatience, [&] { return answer->there; }))
    reason = "it does not answer when it is asked for an adapter";
  else if (answer->object == nullptr)
    reason = answer->message.empty() ? "it has no adapter" : answer->message;
  return own(static_cast<Adapter*>(answer->object), api.wgpuAdapterRelease);
}

// Bytes of memory that are the adapter's own; 0 where the library does not tell.
uint64_t memory_of(const Api& api, Adapter* adapter) {
  const auto has = [&](uint32_t feature) {
    return api.wgpuAdapterHasFeature(adapter, feature) != 0;
  };
  if (api.wgpuAdapterPropertiesMemoryHeapsFreeMembers == nullptr ||
      std::none_of(std::begin(kMemoryHeaps), std::end(kMemoryHeaps), has))
    return 0;
  for (const uint32_t type : kHeapsOfAdapter) {
    MemoryHeaps heaps;
    heaps.chain.type = type;
    AdapterInfo about;
    about.next = &heaps.chain;
    if (api.wgpuAdapterGetInfo(adapter, &about) != Status::Success) continue;
    api.wgpuAdapterInfoFreeMembers(about);
    if (heaps.heaps == nullptr) continue;
    uint64_t bytes = 0;
    for (size_t k = 0; k < heaps.count; k++)
      if ((heaps.heaps[k].properties & kHeapOfDevice) != 0) bytes += heaps.heaps[k].bytes;
    api.wgpuAdapterPropertiesMemoryHeapsFreeMembers(heaps);
    return bytes;
  }
  return 0;
}

std::string describe(const Api& api, Adapter* adapter, DeviceInfo& info) {
  AdapterInfo about;
  Limits limits;
  if (api.wgpuAdapterGetInfo(adapter, &about) != Status::Success ||
      api.wgpuAdapterGetLimits(adapter, &limits) != Status::Success)
    return "an adapter does not tell what it is";
  info.backend = BackendType::WebGpu;
  info.name = string_of(about.device);
  info.driver = string_of(about.description);
  const std::string vendor = string_of(about.vendor);
  if (info.name.empty()) info.name = vendor.empty() ? "an adapter without a name" : vendor;
  if (info.driver.empty()) info.driver = fmt::format("{:x}:{:x}", about.vendor_id, about.device_id);
  info.software = about.kind == Kind::Cpu;
  for (const char* driver : kSoftware)
    info.software = info.software || info.name.find(driver) != std::string::npos ||
                    info.driver.find(driver) != std::string::npos;
  api.wgpuAdapterInfoFreeMembers(about);

  info.max_allocation = std::min(limits.storage_binding_bytes, limits.buffer_bytes);
  info.max_lanes = std::min(limits.workgroup_lanes, limits.workgroup_sizes[0]);
  info.max_shared_bytes = limits.workgroup_bytes;
  // One is left for what stops endless loops.
  info.max_bindings = std::max(limits.storage_buffers, 1u) - 1;
  info.binding_alignment = std::max(limits.storage_alignment, 4u);
  // WebGPU does not say how much memory there is, nor how many processors: what is the host's we
  // know, Dawn tells of other memory, and elsewhere there is as much as the largest buffer takes,
  // and one processor.
  info.unified_memory = info.software || about.kind == Kind::Integrated;
  const core::HostMemory host = core::host_memory();
  const uint64_t own = info.unified_memory ? 0 : memory_of(api, adapter);
  info.total_memory = info.unified_memory ? host.total : std::max(own, info.max_allocation);
  info.free_memory = info.unified_memory ? host.free : info.total_memory;
  info.compute_units = info.software ? std::max(std::thread::hardware_concurrency(), 1u) : 1;
  info.numerics = Numerics::Relaxed;
  for (size_t t = 1; t < kDTypeCount; t++) {
    const auto type = static_cast<DType>(t);
    if (type == DType::F64) continue;
    info.storage.add(type);
    if (is_compute_type(type)) info.compute.add(type);
  }
  return {};
}

const Driver& Driver::instance() {
  static const auto* const driver = new Driver;
  static const AtExit at_exit;
  return *driver;
}

Driver::Driver() {
  // Drivers of Vulkan bring LLVM, which takes signals for itself.
  const core::KeepSignalHandlers keep;
  reason_ = load(api_, library_);
  if (reason_.empty()) find_adapters();
}

void Driver::find_adapters() {
  const auto instance = own(api_.wgpuCreateInstance(nullptr), api_.wgpuInstanceRelease);
  if (instance == nullptr) {
    reason_ = fmt::format("{} does not start", library_);
    return;
  }
  struct Question {
    Power power;
    bool fallback;
  };
  static constexpr Question kQuestions[] = {
      {Power::High, false}, {Power::Low, false}, {Power::Undefined, true}};
  for (const Question& question : kQuestions) {
    std::string why;
    Found found{{}, question.power, question.fallback};
    const auto adapter = request(api_, instance.get(), question.power, question.fallback, why);
    if (adapter != nullptr) why = describe(api_, adapter.get(), found.info);
    if (!why.empty()) {
      if (reason_.empty()) reason_ = why;
      continue;
    }
    const bool known = std::any_of(adapters_.begin(), adapters_.end(), [&](const Found& other) {
      return other.info.name == found.info.name && other.info.driver == found.info.driver;
    });
    if (!known) adapters_.push_back(std::move(found));
  }
  std::stable_sort(adapters_.begin(), adapters_.end(), [](const Found& a, const Found& b) {
    return a.info.software < b.info.software;
  });
  for (size_t i = 0; i < adapters_.size(); i++) adapters_[i].info.index = static_cast<int>(i);
  if (adapters_.empty()) reason_ = fmt::format("{} finds no adapter: {}", library_, reason_);
  else reason_.clear();
}

}  // namespace hologram::backends::webgpu
