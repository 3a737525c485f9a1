#include "backends/cpu/program.hpp"

#include "program/dump.hpp"

#include <fmt/format.h>

#include <bit>
#include <new>

namespace hologram::backends::cpu {

CpuProgram::CpuProgram(const program::Program& program, const interp::KernelTable& kernels,
                       jit::Isa isa, Jit when, bool check)
    : code_(interp::lower(program.optimized(), kernels)),
      check_(check),
      program_(program),
      isa_(isa),
      when_(when),
      settled_(check || when == Jit::Off) {
  for (const program::BufferParam& buffer : code_.buffers)
    log2_sizes_.push_back(static_cast<uint8_t>(std::countr_zero(size_of(buffer.type))));
  if (when == Jit::Always && !check) compile();
}

interp::Outcome CpuProgram::run(const interp::Launch& launch, core::Threads& threads) const {
  // The interpreter counts the rounds of loops as a budget has them.
  if (check_ || launch.budget != 0) return interp::execute(code_, launch, threads, &machines_);
  if (!settled_.load(std::memory_order_acquire)) {
    const uint64_t lanes = launch.grid[0] * launch.grid[1] * launch.grid[2] * code_.workgroup[0] *
                           code_.workgroup[1] * code_.workgroup[2];
    if (lanes * code_.steps.size() >= kSteps) compile_if_there_is_memory();
  }
  if (const jit::Compiled* compiled = compiled_.load(std::memory_order_acquire))
    return compiled->run(launch, threads);
  if (settled_.load(std::memory_order_relaxed))
    return interp::execute(code_, launch, threads, &machines_);
  const auto start = hal::Clock::now();
  const interp::Outcome outcome = interp::execute(code_, launch, threads, &machines_);
  spent_ += std::chrono::nanoseconds(hal::Clock::now() - start).count();
  if (spent_ >= kSpent.count()) compile_if_there_is_memory();
  return outcome;
}

void CpuProgram::compile() const {
  const std::lock_guard lock(mutex_);
  if (settled_.load(std::memory_order_relaxed)) return;
  auto result = jit::compile(program_.optimized(), *code_.kernels, isa_);
  if (auto* compiled = std::get_if<std::shared_ptr<const jit::Compiled>>(&result)) {
    kept_ = std::move(*compiled);
    program::dump(program_, "bin", kept_->code());
    compiled_.store(kept_.get(), std::memory_order_release);
  } else {
    refusal_ = std::get<std::string>(result);
  }
  settled_.store(true, std::memory_order_release);
}

void CpuProgram::compile_if_there_is_memory() const {
  try {
    compile();
  } catch (const std::bad_alloc&) {
    // What the launch is for is done, or can be.
  }
}

std::string CpuProgram::note() const {
  if (check_) return "interpreted: every access is checked";
  if (when_ == Jit::Off) return "interpreted: the compiler is switched off";
  const auto code = [&](const jit::Compiled& compiled) {
    return fmt::format("{}{}, {} bytes", jit::name_of(isa_),
                       compiled.lanes() == jit::Lanes::Scalarized ? ", lane by lane" : "",
                       compiled.bytes());
  };
  const std::lock_guard lock(mutex_);
  if (kept_ != nullptr) return "compiled: " + code(*kept_);
  if (settled_.load(std::memory_order_relaxed)) return "interpreted: " + refusal_;
  const auto result = jit::compile(program_.optimized(), *code_.kernels, isa_);
  if (const auto* reason = std::get_if<std::string>(&result)) return "interpreted: " + *reason;
  return fmt::format("interpreted until it has run for {} us, compiled then: {}",
                     kSpent.count() / 1000,
                     code(*std::get<std::shared_ptr<const jit::Compiled>>(result)));
}

}  // namespace hologram::backends::cpu
