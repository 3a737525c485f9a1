#include "backends/driver/program.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/disk_cache.hpp"
#include "core/messages.hpp"
#include "program/dump.hpp"

namespace hologram::backends::driver {
namespace {

using dialects::Language;

constexpr int kFewBytes = 32;  // of a thread that wait in memory: what is seldom needed

// Threads that shall find room on a multiprocessor: the fewer registers each has, the more do. The
// first of these is taken that leaves them enough.
constexpr uint32_t kMinThreadsPerSm[] = {1536, 1024, 0};

dialects::Printed print(const program::Program& program, Language language, dialects::Stop stop,
                        uint32_t min_threads_per_sm) {
  return dialects::print(program, language,
                         {.f64 = true,
                          .f16 = true,
                          .stop = stop,
                          .lanes_a_thread = dialects::kLanesOfAccess,
                          .lanes_a_group_thread = dialects::lanes_a_group_thread(program),
                          .min_threads_per_sm = min_threads_per_sm,
                          .unroll = true});
}

}  // namespace

DeviceProgram::DeviceProgram(Gpu& gpu, const program::Program& program)
    : gpu_(gpu),
      program_(program),
      name_(std::make_shared<const std::string>(program.name())),
      lanes_(program.workgroup()[0] * program.workgroup()[1] * program.workgroup()[2]),
      plain_(compile(dialects::Stop::None)) {}

Kernel DeviceProgram::compile(dialects::Stop stop) const {
  Kernel kernel;
  std::string tried;
  const Platform& platform = gpu_.driver().platform();
  for (const uint32_t min_threads_per_sm : kMinThreadsPerSm) {
    const dialects::Printed printed = print(program_, platform.language, stop, min_threads_per_sm);
    if (printed.text == tried) continue;
    if (kernel.module != nullptr)
      gpu_.if_usable([&](const DriverFunctions& driver) { driver.module_unload(kernel.module); });
    kernel = load(printed);
    if (attribute(kernel, kLocalBytes) <= kFewBytes) break;
    tried = printed.text;
  }
  return kernel;
}

int DeviceProgram::attribute(const Kernel& kernel, int which) const {
  int value = 0;
  gpu_.if_usable([&](const DriverFunctions& driver) {
    driver.function_attribute(&value, which, kernel.function);
  });
  return value;
}

Kernel DeviceProgram::load(const dialects::Printed& printed) const {
  Kernel kernel;
  kernel.threads = printed.lanes;
  kernel.groups = printed.groups;
  kernel.most_blocks = std::min<uint64_t>(
      INT32_MAX, gpu_.driver().platform().most_threads / std::max(printed.lanes, 1U));
  for (const dialects::Argument& a : printed.arguments) {
    const bool length = a.kind == dialects::Argument::Kind::Length;
    const size_t element = length ? size_of(program_.buffers()[a.slot].type) : 1;
    const bool buffer = a.kind == dialects::Argument::Kind::Buffer;
    const auto access = buffer ? program_.buffers()[a.slot].access : program::Access::In;
    if (a.kind == dialects::Argument::Kind::Early) kernel.early = kernel.slots.size();
    kernel.slots.push_back({a.kind, static_cast<uint8_t>(std::countr_zero(element)), a.slot,
                            buffer && access != program::Access::Out,
                            access != program::Access::In});
  }
  const std::string work = "loading program '" + *name_ + '\'';
  const Driver& driver = gpu_.driver();
  const core::DiskCache& cache = driver.cache();
  const libraries::RuntimeCompiler& compiler = gpu_.compiler();
  const std::vector<std::string> flags = dialects::compiler_flags(driver.platform().language);
  const std::string key = core::DiskCache::key(
      {printed.text, fmt::format("{}", fmt::join(flags, " ")), gpu_.architecture(),
       fmt::format("{} {}", compiler.name(), compiler.version())});
  gpu_.require_usable();
  const Gpu::Current current(gpu_);
  const bool hip = driver.platform().language == dialects::Language::Hip;
  program::dump(program_, hip ? "hip" : "cu", printed.text);
  const auto load = [&](const std::vector<std::byte>& code) {
    kernel.bytes = code.size();
    program::dump(program_, "bin", code);
    return driver->module_load(&kernel.module, code.data(), 0, nullptr, nullptr);
  };
  // What was kept may have been damaged, or not suit this driver.
  const auto kept = cache.load(key);
  if (!kept || load(*kept) != kSuccess) {
    if (kept) cache.remove(key);
    const auto made = compiler.compile(printed.text, gpu_.architecture(), flags);
    if (const auto* refusal = std::get_if<hal::Refusal>(&made))
      throw core::error(core::Text::ProgramNotCompiled, *name_, gpu_.name(), refusal->reason);
    const auto& code = std::get<std::vector<std::byte>>(made);
    gpu_.check(load(code), work);
    cache.store(key, code);
  }
  const Status status =
      driver->module_function(&kernel.function, kernel.module, printed.entry.c_str());
  if (status == kSuccess) return kernel;
  driver->module_unload(kernel.module);
  throw gpu_.error(status, work);
}

Status start(const Gpu& gpu, const Kernel& kernel, unsigned blocks, void** parameters,
             NativeStream stream) {
  if (!gpu.kernels_wait())
    return gpu.driver()->launch(kernel.function, blocks, 1, 1, kernel.threads, 1, 1, 0, stream,
                                parameters, nullptr);
  const LaunchAttribute early{.id = kWaitsItself, .value = 1};
  const LaunchConfig config{blocks, 1, 1, kernel.threads, 1, 1, 0, stream, &early, 1};
  return gpu.driver()->launch_with(&config, kernel.function, parameters, nullptr);
}

const Kernel& DeviceProgram::kernel(bool stoppable) const {
  if (!stoppable) return plain_;
  const std::lock_guard lock(mutex_);
  if (stoppable_ == nullptr) stoppable_ = std::make_unique<Kernel>(compile(dialects::Stop::Flag));
  return *stoppable_;
}

DeviceProgram::~DeviceProgram() {
  gpu_.if_usable([this](const DriverFunctions& driver) {
    driver.module_unload(plain_.module);
    if (stoppable_ != nullptr) driver.module_unload(stoppable_->module);
  });
}

std::string DeviceProgram::note() const {
  const int registers = attribute(plain_, kRegisters), local = attribute(plain_, kLocalBytes);
  return fmt::format("compiled: {}, {} bytes, {} registers{}", gpu_.architecture(), plain_.bytes,
                     registers, local > 0 ? fmt::format(", {} bytes of local memory", local) : "");
}

}  // namespace hologram::backends::driver
