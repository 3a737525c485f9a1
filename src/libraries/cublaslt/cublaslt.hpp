// cuBLASLt: products of matrices on NVIDIA's GPUs.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hologram/device.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/operations.hpp"
#include "libraries/cublaslt/api.hpp"
#include "libraries/cuda_plan.hpp"
#include "libraries/stored.hpp"

namespace hologram::libraries::cublaslt {

inline constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // Hopper's algorithms can use it

// Thread-safe. Opened by the first call of `instance`, and open for the life of the process.
class CublasLt {
 public:
  // From where HOLOGRAM_CUBLASLT_LIBRARY says, or the newest that a driver for CUDA `driver_major`
  // can work with. Only the first call's driver counts.
  static const CublasLt& instance(int driver_major);

  const LibraryInfo& info() const { return info_; }
  const Functions* operator->() const { return &functions_; }

 private:
  explicit CublasLt(int driver_major);

  Functions functions_;
  LibraryInfo info_;
};

// "status 13 (CUBLAS_STATUS_EXECUTION_FAILED)".
std::string text(Status status);

// A product with an algorithm for it.
class GemmPlan final : public CudaPlan {
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
    explicit Ended(const CublasLt& library) : library(library) {}
    ~Ended();
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;

    const CublasLt& library;
    Operation operation = nullptr;
    bool bias = false;
    std::atomic<bool> trusted{false};
    std::mutex mutex;  // between telling it where the bias is and the call
  };
  // The product in the library's terms, which all ways to compute it share.
  struct Described {
    Described(const CublasLt& library, Handle handle, const hal::GemmDesc& desc,
              const Manner& manner);
    ~Described();
    Described(const Described&) = delete;
    Described& operator=(const Described&) = delete;

    const CublasLt& library;
    HandleOf* const handle;
    const hal::GemmDesc desc;
    const Manner manner;
    Operation operation = nullptr;
    Layout a = nullptr, b = nullptr, d = nullptr;
  };

  GemmPlan(const CublasLt& library, Handle handle, const hal::GemmDesc& desc, const Manner& manner);
  GemmPlan(const GemmPlan& first, const Candidate& candidate);
  Status describe();
  Status make(Operation& operation) const;
  Status choose();
  Status check(Operation operation, Candidate& found) const;
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
  explicit Products(int driver_major) : driver_major_(driver_major) {}

  // The device's context is current. What is refused for want of the library, or because a call of
  // it failed, is `missed`.
  hal::Expected<std::shared_ptr<GemmPlan>> plan(const hal::GemmDesc& desc, const Manner& manner);

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

  const int driver_major_;
  std::mutex mutex_;
  Handle handle_ = nullptr;
  std::unordered_map<Key, hal::Expected<std::shared_ptr<GemmPlan>>, KeyHash> known_;
};

}  // namespace hologram::libraries::cublaslt
