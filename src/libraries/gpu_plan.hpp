// What the vendors' libraries put on a stream of a GPU's driver.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hologram/hal/buffer.hpp"
#include "hologram/hal/library.hpp"

namespace hologram::libraries {

// How operations may be computed.
struct Manner {
  bool tensor_cores = true;
  bool tf32 = false;  // operands of f32 may be rounded to 11 bits where tensor cores are allowed
  bool winograd = false;  // convolutions may be made of sums of small tiles
  friend bool operator==(const Manner&, const Manner&) = default;
};

// An operation that is ready to be run as often as wanted, by any thread.
class GpuPlan : public hal::LibraryPlan {
 public:
  struct Failure {
    bool memory = false;  // there was not enough
    std::string what;     // "status 13 (CUBLAS_STATUS_EXECUTION_FAILED)"
  };

  // Puts the operation on the stream, a cudaStream_t or hipStream_t; the device's context is
  // current. `workspace` has as many bytes as the plan says, at a multiple of 256.
  virtual std::optional<Failure> run(std::span<void* const> operands, void* workspace,
                                     void* stream) const = 0;
  // InternalError if an operand is beyond its memory.
  virtual void require_inside(std::span<const hal::Binding> operands) const = 0;
  // The environment variable that says where the library is.
  virtual const char* variable() const = 0;

  const std::string& name() const override { return *shared_name(); }
  // Lives on after the plan.
  virtual const std::shared_ptr<const std::string>& shared_name() const = 0;
};

}  // namespace hologram::libraries
