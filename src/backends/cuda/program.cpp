#include "backends/cuda/program.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/disk_cache.hpp"
#include "core/messages.hpp"

namespace hologram::backends::cuda {
namespace {

using dialects::Language;

constexpr dialects::Options kOptions = {.f64 = true, .f16 = true, .stop = dialects::Stop::Flag};

// Never destroyed: programs may be compiled while static objects go.
const core::DiskCache& cache() {
  static const auto* const instance = new core::DiskCache("cuda");
  return *instance;
}

}  // namespace

CudaProgram::CudaProgram(Gpu& gpu, const program::Program& program)
    : gpu_(gpu),
      name_(std::make_shared<const std::string>(program.name())),
      lanes_(program.workgroup()[0] * program.workgroup()[1] * program.workgroup()[2]) {
  const dialects::Printed printed = dialects::print(program, Language::Cuda, kOptions);
  threads_ = printed.lanes;
  groups_ = printed.groups;
  for (const dialects::Argument& a : printed.arguments) {
    const bool length = a.kind == dialects::Argument::Kind::Length;
    const size_t element = length ? size_of(program.buffers()[a.slot].type) : 1;
    slots_.push_back({a.kind, static_cast<uint8_t>(std::countr_zero(element)), a.slot});
  }
  const std::vector<std::string> flags = dialects::compiler_flags(Language::Cuda);
  const Nvrtc& compiler = gpu.compiler();
  const std::string key =
      core::DiskCache::key({printed.text, fmt::format("{}", fmt::join(flags, " ")),
                            gpu.architecture(), "NVRTC " + compiler.version()});
  const Gpu::Current current(gpu);
  const auto load = [&](const std::vector<std::byte>& code) {
    const Status status =
        Driver::instance()->module_load(&module_, code.data(), 0, nullptr, nullptr);
    bytes_ = code.size();
    return status;
  };
  // What was kept may have been damaged, or not suit this driver.
  if (const auto kept = cache().load(key); !kept || load(*kept) != kSuccess) {
    gpu.require_usable();
    const auto made = compiler.compile(printed.text, gpu.architecture(), flags);
    if (const auto* refusal = std::get_if<hal::Refusal>(&made))
      throw core::error(core::Text::ProgramNotCompiled, *name_, gpu.name(), refusal->reason);
    const auto& code = std::get<std::vector<std::byte>>(made);
    gpu.check(load(code), "loading a program");
    cache().store(key, code);
  }
  const Status status =
      Driver::instance()->module_function(&function_, module_, printed.entry.c_str());
  if (status == kSuccess) return;
  Driver::instance()->module_unload(module_);
  throw gpu.error(status, "loading a program");
}

CudaProgram::~CudaProgram() {
  if (!gpu_.releases()) return;
  const Gpu::Current current(gpu_);
  Driver::instance()->module_unload(module_);
}

std::string CudaProgram::note() const {
  const Gpu::Current current(gpu_);
  int registers = 0, local = 0;
  Driver::instance()->function_attribute(&registers, kRegisters, function_);
  Driver::instance()->function_attribute(&local, kLocalBytes, function_);
  return fmt::format("compiled: {}, {} bytes, {} registers{}", gpu_.architecture(), bytes_,
                     registers, local > 0 ? fmt::format(", {} bytes of local memory", local) : "");
}

}  // namespace hologram::backends::cuda
