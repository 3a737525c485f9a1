// A Metal for machines without: memory is the host's, kernels are compiled for the processor as C++
// for OpenCL and executed. Messages can be made to fail, and what is against the rules is noted.
// What a test sees here "runs on an emulated driver", no more.
//
// It has two devices: one that shares the host's memory, and one that does not.
// FAKE_METAL_MEMORY_MB is their memory, 128 unless set. FAKE_METAL_ORDER (forward, reverse or
// random) and FAKE_METAL_SEED say how kernels are executed, FAKE_METAL_KERNELS in which folder they
// are kept, FAKE_METAL_EXECUTE=0 that they are not, and FAKE_METAL_BESIDE=0 that work is done at
// once instead of beside the host. FAKE_METAL_TEXTS is a folder that gets a copy of what is
// compiled, FAKE_METAL_FAIL a list of selectors of which all messages fail. With
// FAKE_METAL_STRICT=1 the process ends in failure where something was against the rules, or objects
// are left.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "emulated/metal_text.hpp"
#include "fake_metal_world.hpp"

// NOLINTBEGIN(cppcoreguidelines-no-malloc)
namespace hologram::fake {
namespace {

using metal::Int;
using metal::Messages;
using metal::UInt;

constexpr size_t kPage = 16384;
constexpr UInt kMostShared = 32 << 10;

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}
size_t memory_of_device() {
  return static_cast<size_t>(number_from("FAKE_METAL_MEMORY_MB", 128)) << 20;
}

struct List final : Thing {  // an NSArray
  List() : Thing("NSArray") {}
  std::vector<Thing*> things;
};
struct Options final : Thing {
  Options() : Thing("MTLCompileOptions") {}
  std::string text;
};
struct Source final : Thing {
  explicit Source(std::string text) : Thing("MTLLibrary"), text(std::move(text)) {}
  const std::string text;
};
struct Entry final : Thing {
  Entry(std::string text, std::string name)
      : Thing("MTLFunction"), text(std::move(text)), name(std::move(name)) {}
  const std::string text, name;
};
struct Descriptor final : Thing {
  Descriptor() : Thing("MTLComputePipelineDescriptor") {}
  void go() override { entry = nullptr; }
  std::shared_ptr<Entry> entry;
  UInt threads = 0;
};

// For the life of the process.
const std::vector<Gpu*>& devices() {
  static const auto* const all = [] {
    Objc& objc = Objc::instance();
    return new std::vector<Gpu*>{
        objc.make<Gpu>("Emulated Apple GPU", true, metal::kLargeGroupsFamily + 3),
        objc.make<Gpu>("Emulated discrete GPU", false, metal::kSecondMacFamily)};
  }();
  return *all;
}

void tell(metal::ErrorObject** where, Int code, const std::string& text) {
  Objc& objc = Objc::instance();
  if (where != nullptr)
    *where = as_named<metal::ErrorObject>(objc.hand_out(objc.make<Trouble>(code, text)));
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) found++;
  return found;
}

void keep_text(const std::string& text) {
  const char* const folder = std::getenv("FAKE_METAL_TEXTS");
  if (folder == nullptr) return;
  const std::string name = std::to_string(std::hash<std::string>()(text)) + ".metal";
  std::ofstream(std::string(folder) + '/' + name) << text;
}

metal::BufferObject* new_buffer(metal::Device*, Selector, UInt bytes, UInt options) {
  Objc& objc = Objc::instance();
  if (objc.fails("newBufferWithLength:options:")) return nullptr;
  if (options != metal::kStorageShared && options != metal::kStoragePrivate)
    objc.fault("a buffer of another storage");
  if (bytes == 0) objc.fault("a buffer of no bytes");
  if (bytes == 0 || bytes > memory_of_device()) return nullptr;
  return as_named<metal::BufferObject>(
      objc.make<Bytes>(bytes, options == metal::kStorageShared, nullptr));
}

metal::BufferObject* adopt(metal::Device*, Selector, const void* memory, UInt bytes, UInt options,
                           metal::Block* block) {
  Objc& objc = Objc::instance();
  if (objc.fails("newBufferWithBytesNoCopy:length:options:deallocator:")) return nullptr;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (reinterpret_cast<uintptr_t>(memory) % page != 0 || bytes % page != 0 || block != nullptr ||
      options != metal::kStorageShared) {
    objc.fault("memory that is no whole pages");
    return nullptr;
  }
  auto* const lent = static_cast<std::byte*>(const_cast<void*>(memory));
  return as_named<metal::BufferObject>(objc.make<Bytes>(bytes, true, lent));
}

metal::Library* new_library(metal::Device*, Selector, metal::String* text,
                            const metal::CompileOptions* options, metal::ErrorObject** error) {
  Objc& objc = Objc::instance();
  {
    const std::lock_guard lock(world().mutex);
    world().options = as<Options>(options)->text;
  }
  if (objc.fails("newLibraryWithSource:options:error:")) {
    tell(error, 3, "program_source:1:1: error: injected\nhere");
    return nullptr;
  }
  keep_text(as<Text>(text)->text);
  return as_named<metal::Library>(objc.make<Source>(as<Text>(text)->text));
}

metal::Function* new_function(metal::Library* self, Selector, metal::String* name) {
  Objc& objc = Objc::instance();
  const std::string& text = as<Source>(self)->text;
  if (objc.fails("newFunctionWithName:") ||
      emulated::metal::name_of_kernel(text) != as<Text>(name)->text)
    return nullptr;
  return as_named<metal::Function>(objc.make<Entry>(text, as<Text>(name)->text));
}

metal::Pipeline* new_pipeline(metal::Device*, Selector, const metal::PipelineDescriptor* descriptor,
                              UInt, metal::Reflection**, metal::ErrorObject** error) {
  Objc& objc = Objc::instance();
  const auto* const asked = as<Descriptor>(descriptor);
  const auto fails = [&](const std::string& why) -> metal::Pipeline* {
    tell(error, 2, why);
    return nullptr;
  };
  if (objc.fails("newComputePipelineStateWithDescriptor:options:reflection:error:"))
    return fails("an injected failure");
  if (asked->entry == nullptr) return fails("there is no function");
  auto* const made = objc.make<Pipe>(asked->entry->name);
  made->buffers = count(asked->entry->text, "[[buffer(");
  made->most_threads = std::min<UInt>(world().limit, asked->threads);
  if (world().kernels != nullptr) {
    std::string log;
    made->kernel = world().kernels->find(asked->entry->text, log);
    if (made->kernel == nullptr) {
      objc.release(made);
      return fails(log);
    }
    const emulated::KernelEntry& entry = *made->kernel->entry;
    if (static_cast<UInt>(entry.shared_end - entry.shared) > kMostShared) {
      objc.release(made);
      return fails("threadgroup memory exceeds what the device has");
    }
  }
  return as_named<metal::Pipeline>(made);
}

void answer_devices(Objc& objc) {
  objc.answer(&Messages::count, "NSArray", "count",
              [](metal::Array* self, Selector) -> UInt { return as<List>(self)->things.size(); });
  objc.answer(&Messages::element, "NSArray",
              "objectAtIndex:", [](metal::Array* self, Selector, UInt i) {
                return as_named<metal::Object>(as<List>(self)->things.at(i));
              });
  objc.answer(&Messages::name, "MTLDevice", "name", [](metal::Device* self, Selector) {
    Objc& o = Objc::instance();
    return as_named<metal::String>(o.hand_out(o.make<Text>(as<Gpu>(self)->name)));
  });
  objc.answer(&Messages::is_unified, "MTLDevice", "hasUnifiedMemory",
              [](metal::Device* self, Selector) -> metal::Bool { return as<Gpu>(self)->unified; });
  objc.answer(&Messages::is_low_power, "MTLDevice", "isLowPower",
              [](metal::Device*, Selector) -> metal::Bool { return false; });
  objc.answer(&Messages::is_removable, "MTLDevice", "isRemovable",
              [](metal::Device* self, Selector) -> metal::Bool { return !as<Gpu>(self)->unified; });
  objc.answer(&Messages::working_set, "MTLDevice", "recommendedMaxWorkingSetSize",
              [](metal::Device*, Selector) -> uint64_t { return memory_of_device(); });
  objc.answer(&Messages::allocated, "MTLDevice", "currentAllocatedSize",
              [](metal::Device*, Selector) -> UInt { return world().allocated; });
  objc.answer(&Messages::most_buffer_bytes, "MTLDevice", "maxBufferLength",
              [](metal::Device*, Selector) -> UInt { return memory_of_device(); });
  objc.answer(&Messages::most_shared_bytes, "MTLDevice", "maxThreadgroupMemoryLength",
              [](metal::Device*, Selector) -> UInt { return kMostShared; });
  objc.answer(&Messages::supports_family, "MTLDevice",
              "supportsFamily:", [](metal::Device* self, Selector, Int family) -> metal::Bool {
                const Int has = as<Gpu>(self)->family;
                return family <= has && family / 1000 == has / 1000;
              });
  objc.answer(&Messages::new_queue, "MTLDevice", "newCommandQueue",
              [](metal::Device*, Selector) -> metal::Queue* {
                if (Objc::instance().fails("newCommandQueue")) return nullptr;
                return as_named<metal::Queue>(new_queue());
              });
  objc.answer(&Messages::new_buffer, "MTLDevice", "newBufferWithLength:options:", &new_buffer);
  objc.answer(&Messages::adopt, "MTLDevice",
              "newBufferWithBytesNoCopy:length:options:deallocator:", &adopt);
  objc.answer(&Messages::contents, "MTLBuffer", "contents",
              [](metal::BufferObject* self, Selector) -> void* {
                const auto* const bytes = as<Bytes>(self);
                return bytes->shared ? bytes->memory : nullptr;
              });
}

void answer_programs(Objc& objc) {
  objc.answer(&Messages::alloc, "+MTLCompileOptions", "alloc", [](metal::Class*, Selector) {
    return as_named<metal::Object>(Objc::instance().make<Options>());
  });
  objc.answer(&Messages::alloc, "+MTLComputePipelineDescriptor", "alloc",
              [](metal::Class*, Selector) {
                return as_named<metal::Object>(Objc::instance().make<Descriptor>());
              });
  objc.answer(&Messages::set_fast_math, "MTLCompileOptions",
              "setFastMathEnabled:", [](metal::CompileOptions* self, Selector, metal::Bool on) {
                as<Options>(self)->text += on ? "fastMath=1 " : "fastMath=0 ";
              });
  objc.answer(&Messages::set_math_mode, "MTLCompileOptions",
              "setMathMode:", [](metal::CompileOptions* self, Selector, Int mode) {
                as<Options>(self)->text += "mathMode=" + std::to_string(mode) + ' ';
              });
  objc.answer(&Messages::set_functions, "MTLCompileOptions", "setMathFloatingPointFunctions:",
              [](metal::CompileOptions* self, Selector, Int which) {
                as<Options>(self)->text += "functions=" + std::to_string(which) + ' ';
              });
  objc.answer(&Messages::set_function, "MTLComputePipelineDescriptor", "setComputeFunction:",
              [](metal::PipelineDescriptor* self, Selector, const metal::Function* function) {
                as<Descriptor>(self)->entry = held(as<Entry>(function));
              });
  objc.answer(&Messages::set_most_threads, "MTLComputePipelineDescriptor",
              "setMaxTotalThreadsPerThreadgroup:",
              [](metal::PipelineDescriptor* self, Selector, UInt threads) {
                as<Descriptor>(self)->threads = threads;
              });
  objc.answer(&Messages::new_library, "MTLDevice",
              "newLibraryWithSource:options:error:", &new_library);
  objc.answer(&Messages::new_function, "MTLLibrary", "newFunctionWithName:", &new_function);
  objc.answer(&Messages::new_pipeline, "MTLDevice",
              "newComputePipelineStateWithDescriptor:options:reflection:error:", &new_pipeline);
  objc.answer(&Messages::most_threads, "MTLComputePipelineState", "maxTotalThreadsPerThreadgroup",
              [](metal::Pipeline* self, Selector) -> UInt { return as<Pipe>(self)->most_threads; });
}

void execute(World& w, const MetalExecution* how) {
  w.streams.run_at_once();
  w.kernels = nullptr;
  if (how == nullptr) return;
  // For the life of the process, as pipelines may be.
  static auto* const kernels = [] {
    const char* folder = std::getenv("FAKE_METAL_KERNELS");
    return new emulated::KernelLibrary(folder == nullptr ? EMULATED_KERNELS : folder, {},
                                       emulated::KernelLibrary::Text::Metal);
  }();
  w.kernels = kernels;
  w.executor.set(*how);
  if (how->beside) w.streams.run_beside(how->seed);
}

void look_back() {
  World& w = world();
  w.streams.wait_for_all();
  Objc& objc = Objc::instance();
  if (objc.faults().empty() && objc.live(nullptr) == 0) return;
  std::fprintf(stderr, "emulated Metal: %d objects are left\n", objc.live(nullptr));
  std::fflush(nullptr);
  _exit(99);
}

}  // namespace

World& world() {
  static auto* const instance = [] {
    auto* const made = new World;
    Objc& objc = Objc::instance();
    answer_devices(objc);
    answer_programs(objc);
    answer_commands();
    if (number_from("FAKE_METAL_EXECUTE", 1) != 0) {
      const MetalExecution how{emulated::Settings::from_environment("FAKE_METAL"),
                               number_from("FAKE_METAL_BESIDE", 1) != 0};
      execute(*made, &how);
    }
    if (number_from("FAKE_METAL_STRICT", 0) != 0) std::atexit(look_back);
    return made;
  }();
  return *instance;
}

Bytes::Bytes(size_t size, bool shared, std::byte* lent)
    : Thing("MTLBuffer"), size(size), shared(shared), lent(lent != nullptr), memory(lent) {
  if (lent != nullptr) return;
  memory = static_cast<std::byte*>(std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage));
  std::memset(memory, 0xa5, size);
  world().allocated += size;
}

void Bytes::go() {
  if (lent) return;
  world().allocated -= size;
  std::memset(memory, 0x5a, size);  // whoever still reads it is found out
  std::free(memory);
}

}  // namespace hologram::fake

using namespace hologram;
using namespace hologram::fake;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

void* MTLCopyAllDevices() {
  world();
  if (Objc::instance().fails("MTLCopyAllDevices")) return nullptr;
  auto* const list = Objc::instance().make<List>();
  for (Gpu* device : devices()) list->things.push_back(device);
  return static_cast<Thing*>(list);
}

void* MTLCreateSystemDefaultDevice() {
  world();
  if (Objc::instance().fails("MTLCreateSystemDefaultDevice")) return nullptr;
  Objc::instance().retain(devices()[0]);
  return static_cast<Thing*>(devices()[0]);
}

void fake_metal(FakeMetal* control) {
  world();
  control->fail = [](const char* selector, int skip, int count, int code) {
    Objc::instance().fail(selector, skip, count, code);
  };
  control->sent = [](const char* selector) { return Objc::instance().sent(selector); };
  control->live = [](const char* of) {
    world().streams.wait_for_all();
    return Objc::instance().live(of);
  };
  control->allocated = []() -> uint64_t {
    world().streams.wait_for_all();
    return world().allocated;
  };
  control->faults = [] { return Objc::instance().faults().c_str(); };
  control->forgive = [] { Objc::instance().forgive(); };
  control->pools = [] { return Objc::instance().pools(); };
  control->launches = []() -> int { return world().launches; };
  control->options = [] { return world().options.c_str(); };
  control->hang = [](bool on) {
    const std::lock_guard lock(world().hang_mutex);
    world().hangs = on;
    world().unhung.notify_all();
  };
  control->limit = [](unsigned threads) { world().limit = threads; };
  control->execute = [](const MetalExecution* how) {
    world().streams.wait_for_all();
    execute(world(), how);
  };
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
// NOLINTEND(cppcoreguidelines-no-malloc)
