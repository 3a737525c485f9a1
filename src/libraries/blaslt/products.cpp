// The products of a device, and what the library keeps of it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "libraries/blaslt/blaslt.hpp"
#include "libraries/library.hpp"

namespace hologram::libraries::blaslt {
namespace {

using hal::GemmDesc;
using hal::Refusal;

constexpr size_t kMostPlans = 4096;
constexpr int64_t kMostBatch = 65535;              // of one launch
constexpr int64_t kMostTermsOfI8 = (1 << 17) - 1;  // (-128)^2 so often fits an i32
constexpr int kOldest = 600;  // hipBLASLt 0.6.0; those before have other numbers

std::string name_of_version(int number) {
  return fmt::format("{}.{}.{}", number / 100'000, number / 100 % 1000, number % 100);
}

}  // namespace

// hipBLASLt's handle has counters in memory of the device, by which the groups of a kernel find out
// who is the last: kernels of two streams must not count in the same ones. They are zeroed on the
// device's own stream, for which others do not wait.
Status Handles::of(NativeStream stream, Handle& handle) {
  if (!library_.vendor().keeps_notes) stream = nullptr;
  const auto make = [&](Handle& made) {
    const Status status = library_->create(&made);
    if (status != kSuccess) return status;
    if (settle_ && !settle_()) {
      library_->destroy(made);
      return kNotInitialized;
    }
    return kSuccess;
  };
  return handles_.of(stream, handle, make, [](Handle&) { return kSuccess; });
}

std::string Handles::learn_version() {
  version_ = library_.info().version;
  if (library_->version == nullptr) return {};
  Handle handle = nullptr;
  int number = 0;
  Status status = of(nullptr, handle);
  if (status != kSuccess) return "it does not start: " + library_.text(status);
  status = library_->version(handle, &number);
  if (status != kSuccess) return "it does not tell its version: " + library_.text(status);
  if (number < kOldest)
    return fmt::format("it is version {}, and {} is the oldest that is known",
                       name_of_version(number), name_of_version(kOldest));
  version_ = name_of_version(number);
  return {};
}

size_t Products::KeyHash::operator()(const Key& key) const {
  const GemmDesc& g = key.desc;
  uint64_t hash = 0;
  const auto add = [&](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (const DType type : {g.a, g.b, g.d, g.accumulate}) add(type);
  for (const bool flag : {g.transpose_a, g.transpose_b, key.manner.tensor_cores, key.manner.tf32})
    add(flag);
  for (const int64_t number :
       {g.m, g.n, g.k, g.batch, g.lda, g.ldb, g.ldd, g.stride_a, g.stride_b, g.stride_d})
    add(number);
  for (const uint32_t alignment : {g.alignment_a, g.alignment_b, g.alignment_d}) add(alignment);
  return hash;
}

hal::Expected<std::shared_ptr<GemmPlan>> Products::plan(const GemmDesc& desc,
                                                        const Manner& manner) {
  if (auto refusal = malformed(desc)) return *refusal;
  if (types_of(desc) == nullptr) return no_such_product(desc);
  if (desc.m == 0 || desc.n == 0 || desc.batch == 0) return Refusal{"there is nothing to compute"};
  if (desc.k == 0) return Refusal{"the sums are empty"};
  Key key{fold(desc), manner};
  for (uint32_t* alignment : {&key.desc.alignment_a, &key.desc.alignment_b, &key.desc.alignment_d})
    *alignment = std::min(*alignment, kBestAlignment);
  const std::lock_guard lock(mutex_);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return make(key);
}

void Products::forget(void* stream) {
  const std::lock_guard lock(mutex_);
  if (handles_ != nullptr) handles_->forget(static_cast<NativeStream>(stream));
}

hal::Expected<std::shared_ptr<GemmPlan>> Products::make(const Key& key) {
  const GemmDesc& g = key.desc;
  const BlasLt& library = open_();
  const Vendor& vendor = library.vendor();
  const auto fallback = [&](const std::string& reason) {
    return Refusal{fmt::format("{}: {}", vendor.name, reason), true};
  };
  if (!library.info().reason.empty()) return fallback(library.info().reason);
  if (std::max({g.m, g.n, g.k}) > std::numeric_limits<int32_t>::max())
    return fallback("a side is more than 2147483647");
  if (g.batch > kMostBatch) return fallback(fmt::format("a batch of more than {}", kMostBatch));
  if (g.a == DType::I8 && g.k > kMostTermsOfI8)
    return fallback(fmt::format("sums of more than {} products of i8", kMostTermsOfI8));
  if (std::min({g.alignment_a, g.alignment_b, g.alignment_d}) < vendor.alignment)
    return fallback(fmt::format("an operand's address may be no multiple of {}", vendor.alignment));
  if (handles_ == nullptr) {
    auto handles = std::make_shared<Handles>(library, settle_);
    if (const std::string what = handles->learn_version(); !what.empty()) return fallback(what);
    handles_ = std::move(handles);
  }
  std::shared_ptr<GemmPlan> plan;
  const auto plan_by = [&](const Manner& manner) {
    plan.reset(new GemmPlan(library, handles_, g, manner));
    const Status described = plan->describe();
    return described == kSuccess ? plan->choose() : described;
  };
  Status status = plan_by(key.manner);
  // A library that does not round operands to TF32 on this device may do without.
  if (status != kSuccess && uses_tf32(g, key.manner)) {
    Manner exact = key.manner;
    exact.tf32 = false;
    status = plan_by(exact);
  }
  if (status != kSuccess && status != vendor.not_supported)
    return fallback("it does not plan the product: " + library.text(status));
  hal::Expected<std::shared_ptr<GemmPlan>> answer = plan;
  if (status == vendor.not_supported) answer = fallback("it has no algorithm for the product");
  if (known_.size() >= kMostPlans) known_.clear();
  return known_.emplace(key, std::move(answer)).first->second;
}

}  // namespace hologram::libraries::blaslt
