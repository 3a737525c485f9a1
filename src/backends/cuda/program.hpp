// A program made ready for one GPU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/gpu.hpp"
#include "dialects/dialect.hpp"

namespace hologram::backends::cuda {

class CudaProgram : public hal::Executable {
 public:
  // UnsupportedOperation, CompilerFailed, or what the driver says.
  CudaProgram(Gpu& gpu, const program::Program& program);
  ~CudaProgram() override;
  CudaProgram(const CudaProgram&) = delete;
  CudaProgram& operator=(const CudaProgram&) = delete;

  // What one argument of the kernel is.
  struct Slot {
    dialects::Argument::Kind kind;
    uint8_t shift;  // of Length: log2 of the element's bytes
    uint32_t slot;
  };
  std::span<const Slot> slots() const { return slots_; }
  Function function() const { return function_; }
  uint32_t threads() const { return threads_; }  // of a block
  uint32_t groups() const { return groups_; }    // that a block does at a time
  uint32_t lanes() const { return lanes_; }      // of a group
  // Lives on after the program.
  const std::shared_ptr<const std::string>& name() const { return name_; }
  std::string note() const override;

 private:
  Gpu& gpu_;
  const std::shared_ptr<const std::string> name_;
  const uint32_t lanes_;
  std::vector<Slot> slots_;
  Module module_ = nullptr;
  Function function_ = nullptr;
  uint32_t threads_ = 0, groups_ = 1;
  size_t bytes_ = 0;  // of code
};

}  // namespace hologram::backends::cuda
