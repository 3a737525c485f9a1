// cuBLASLt and hipBLASLt: products of matrices on NVIDIA's and on AMD's GPUs.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/dynamic_library.hpp"
#include "hologram/device.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/operations.hpp"
#include "libraries/blaslt/vendor.hpp"
#include "libraries/gpu_plan.hpp"
#include "libraries/matrix_view.hpp"
#include "libraries/stream_handles.hpp"

namespace hologram::libraries::blaslt {

inline constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // Hopper's algorithms can use it

// Thread-safe. Opened by the first call that asks for it, and open for the life of the process.
class BlasLt {
 public:
  // From where HOLOGRAM_CUBLASLT_LIBRARY says, or the newest that a driver for CUDA `driver_major`
  // can work with. Only the first call's driver counts.
  static const BlasLt& of_cuda(int driver_major);
  // From where HOLOGRAM_HIPBLASLT_LIBRARY says, or one of ROCm's that works by this HIP, whose
  // hipInit it is. The version of the file's name stands for its own, which a handle tells.
  static const BlasLt& of_rocm(const void* hip);

  const LibraryInfo& info() const { return info_; }
  const Vendor& vendor() const { return vendor_; }
  const Functions* operator->() const { return &functions_; }
  // "status 13 (CUBLAS_STATUS_EXECUTION_FAILED)".
  std::string text(Status status) const;

 private:
  // `stranger`: the file of one that cannot be used with the driver that is.
  BlasLt(const Vendor& vendor, const core::DynamicLibrary& library, const std::string& stranger);
  std::string problem_of(const core::DynamicLibrary& library);

  const Vendor& vendor_;
  Functions functions_;
  LibraryInfo info_;
};

// What a library keeps of one device, as long as the process lives. Thread-safe.
class Handles {
 public:
  // Waits until what the library has put on the device's own stream is done; false: it failed.
  using Settle = std::function<bool()>;

  Handles(const BlasLt& library, Settle settle) : library_(library), settle_(std::move(settle)) {}

  // That for calls on the stream, or for plans: null. The device's context is current.
  Status of(NativeStream stream, Handle& handle);
  // Nothing is on the stream any more: another one may have its handle.
  void forget(NativeStream stream) { handles_.forget(stream); }
  // Of the library, once there is a handle; what is wrong with it otherwise.
  std::string learn_version();
  const std::string& version() const { return version_; }

 private:
  const BlasLt& library_;
  const Settle settle_;
  StreamHandles<Handle, NativeStream> handles_;
  std::string version_;
};

// What the library proposes for a product.
struct Proposal {
  Algorithm algorithm{};
  uint64_t workspace = 0;
  Status state = kSuccess;
};

// A product with an algorithm for it.
class GemmPlan final : public GpuPlan {
 public:
  uint64_t workspace() const override { return workspace_; }
  std::span<const std::shared_ptr<const LibraryPlan>> alternatives() const override {
    return alternatives_;
  }
  std::string way() const override;
  std::optional<Failure> run(std::span<void* const> operands, void* workspace,
                             void* stream) const override;
  void require_inside(std::span<const hal::Binding> operands) const override;
  const char* variable() const override;
  const std::shared_ptr<const std::string>& shared_name() const override { return name_; }

  // The same with an epilogue, by the same algorithm, so that sums have the same bits; made once.
  hal::Expected<std::shared_ptr<const GemmPlan>> with(const hal::Epilogue& epilogue) const;
  // Of the same types and layouts, by the same algorithm, but square: what can be tried. Refused if
  // the algorithm is not for such.
  hal::Expected<std::shared_ptr<const GemmPlan>> square(int64_t side) const;
  const hal::GemmDesc& desc() const { return of_->desc; }
  // Of one with an epilogue: whether somebody has found that it leaves the right bits.
  bool is_trusted() const { return ended_->trusted.load(std::memory_order_relaxed); }
  void trust() const { ended_->trusted.store(true, std::memory_order_relaxed); }
  // Everything about it but sizes and where operands lie.
  std::string manner() const;

 private:
  friend class Products;
  // An operation of the library's with what is done before it stores.
  struct Ended {
    explicit Ended(const BlasLt& library) : library(library) {}
    ~Ended();
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;

    const BlasLt& library;
    Operation operation = nullptr;
    bool bias = false;
    std::atomic<bool> trusted{false};
    std::mutex mutex;  // between telling it where the bias is and the call
  };
  // The product in the library's terms, which all ways to compute it share.
  struct Described {
    Described(const BlasLt& library, const std::shared_ptr<Handles>& handles,
              const hal::GemmDesc& desc, const Manner& manner);
    ~Described();
    Described(const Described&) = delete;
    Described& operator=(const Described&) = delete;

    const BlasLt& library;
    const std::shared_ptr<Handles> handles;
    const hal::GemmDesc desc;
    const Manner manner;
    Operation operation = nullptr;
    Layout a = nullptr, b = nullptr, d = nullptr;
    std::mutex mutex;  // around calls that keep notes in the operation
  };

  GemmPlan(const BlasLt& library, const std::shared_ptr<Handles>& handles,
           const hal::GemmDesc& desc, const Manner& manner);
  GemmPlan(const GemmPlan& first, const Proposal& proposal);
  Status describe();
  Status make(Operation& operation) const;
  Status choose();
  // Whether the algorithm is for another operation; only of a vendor that says so.
  Status check(Operation operation, Proposal& found) const;
  // Why it is not asked.
  std::optional<hal::Refusal> unasked() const;
  Status make_with(const hal::Epilogue& epilogue, std::shared_ptr<const GemmPlan>& made) const;

  const std::shared_ptr<Described> of_;
  std::shared_ptr<const std::string> name_;
  Algorithm algorithm_{};
  uint64_t workspace_ = 0;
  std::vector<std::shared_ptr<const LibraryPlan>> alternatives_;
  std::shared_ptr<Ended> ended_;  // null: without an epilogue

  using WithEpilogue = std::optional<hal::Expected<std::shared_ptr<const GemmPlan>>>;
  mutable std::mutex mutex_;
  mutable std::array<WithEpilogue, 4> with_;  // by what the epilogue has
};

// The products of one device: each is planned once. Thread-safe.
class Products {
 public:
  using Open = std::function<const BlasLt&()>;

  explicit Products(Open open, Handles::Settle settle = {})
      : open_(std::move(open)), settle_(std::move(settle)) {}

  // The device's context is current. What is refused for want of the library, or because a call of
  // it failed, is a fallback.
  hal::Expected<std::shared_ptr<GemmPlan>> plan(const hal::GemmDesc& desc, const Manner& manner);
  // A stream, a cudaStream_t or hipStream_t, goes, on which nothing is any more.
  void forget(void* stream);

 private:
  struct Key {
    hal::GemmDesc desc;
    Manner manner;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  hal::Expected<std::shared_ptr<GemmPlan>> make(const Key& key);

  const Open open_;
  const Handles::Settle settle_;
  std::mutex mutex_;
  std::shared_ptr<Handles> handles_;
  std::unordered_map<Key, hal::Expected<std::shared_ptr<GemmPlan>>, KeyHash> known_;
};

// The row of the table of types that a product is of.
struct Types {
  DType operands, result;
  int operand_type, result_type, scale;
  int Vendor::*compute;
};
const Types* types_of(const hal::GemmDesc& desc);
bool uses_tf32(const hal::GemmDesc& desc, const Manner& manner);
inline constexpr uint32_t kBestAlignment = 256;  // bytes

}  // namespace hologram::libraries::blaslt
