// A program on the CPU: interpreted until it has earned the time to compile it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "hologram/hal/launch.hpp"
#include "interp/bytecode.hpp"
#include "interp/interpreter.hpp"
#include "jit/jit.hpp"

namespace hologram::backends::cpu {

class CpuProgram : public hal::Executable {
 public:
  CpuProgram(const program::Program& program, const interp::KernelTable& kernels, jit::Isa isa,
             Jit when, bool check);

  // The launch says whether it checks, as the program does.
  interp::Outcome run(const interp::Launch& launch, core::Threads& threads) const;
  // "compiled: AVX-512, 1,234 bytes", "interpreted: its lanes share memory".
  std::string note() const override;
  // Of the bytes of an element of the buffer.
  int log2_size(size_t buffer) const { return log2_sizes_[buffer]; }
  const std::string& name() const { return code_.name; }
  bool checks() const { return check_; }

 private:
  // What it takes to compile a program: so long it is interpreted at most.
  static constexpr std::chrono::nanoseconds kSpent{200'000};
  static constexpr uint64_t kSteps = 1 << 20;  // of lanes: what the interpreter does in that time

  void compile() const;
  // Where it can do without: what lacks memory is interpreted, and compiled another time.
  void compile_if_there_is_memory() const;

  const interp::Bytecode code_;
  std::vector<uint8_t> log2_sizes_;
  const bool check_;
  const program::Program program_;
  const jit::Isa isa_;
  const Jit when_;
  // What launches have found out so far.
  mutable interp::Machines machines_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> settled_;  // compiled, or not to be
  mutable std::atomic<const jit::Compiled*> compiled_{nullptr};
  mutable std::shared_ptr<const jit::Compiled> kept_;
  mutable std::string refusal_;
  mutable std::atomic<int64_t> spent_{0};  // nanoseconds
};

}  // namespace hologram::backends::cpu
