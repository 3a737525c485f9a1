// rocBLAS: products of matrices on AMD's GPUs, those among them for which hipBLASLt has no kernels.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/dynamic_library.hpp"
#include "hologram/device.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/operations.hpp"
#include "libraries/gpu_plan.hpp"
#include "libraries/rocblas/api.hpp"
#include "libraries/stream_handles.hpp"

namespace hologram::libraries::rocblas {

inline constexpr const char* kVariable = "HOLOGRAM_ROCBLAS_LIBRARY";

// Thread-safe. Opened by the first call that asks for it, and open for the life of the process.
class RocBlas {
 public:
  // From where HOLOGRAM_ROCBLAS_LIBRARY says, or one of ROCm's that works by this HIP, whose
  // hipInit it is.
  static const RocBlas& instance(const void* hip);

  const LibraryInfo& info() const { return info_; }
  const Functions* operator->() const { return &functions_; }
  // Why it must not be asked for a GPU of this architecture ("gfx1030"): rocBLAS ends the process
  // where it finds no kernels. Empty if it has some.
  std::string lacks(const std::string& architecture) const;
  static std::string text(Status status);  // "status 5 (rocblas_status_memory_error)"

 private:
  RocBlas(const core::DynamicLibrary& library, const std::string& stranger);
  std::string problem_of(const core::DynamicLibrary& library);

  Functions functions_;
  LibraryInfo info_;
};

// The products of one device. Thread-safe.
class Products {
 public:
  using Open = std::function<const RocBlas&()>;

  explicit Products(Open open) : open_(std::move(open)) {}

  // The device's context is current. What is refused for want of the library, or of kernels for
  // the device, is a fallback.
  hal::Expected<std::shared_ptr<GpuPlan>> plan(const hal::GemmDesc& desc,
                                               const std::string& architecture);
  // A stream, a hipStream_t, goes, on which nothing is any more.
  void forget(void* stream) { handles_->forget(static_cast<NativeStream>(stream)); }

 private:
  using Handles = StreamHandles<Handle, NativeStream>;
  class Plan;

  // Whether there are kernels for the device is looked up once.
  const std::string& lacks(const RocBlas& library, const std::string& architecture);

  const Open open_;
  std::once_flag looked_;
  std::string lacks_;
  const std::shared_ptr<Handles> handles_ = std::make_shared<Handles>();
};

}  // namespace hologram::libraries::rocblas
