#include "libraries/cublaslt/cublaslt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

#include "core/messages.hpp"
#include "libraries/library.hpp"
#include "libraries/of_cuda.hpp"

namespace hologram::libraries::cublaslt {
namespace {

using hal::GemmDesc;
using hal::Refusal;

constexpr const char* kVariable = "HOLOGRAM_CUBLASLT_LIBRARY";
constexpr CudaRelease kReleases[] = {
    {13, "libcublasLt.so.13"}, {12, "libcublasLt.so.12"}, {11, "libcublasLt.so.11"}};

constexpr uint32_t kBestAlignment = 256;
constexpr int kCandidates = 8;
constexpr size_t kMostPlans = 4096;
constexpr int64_t kMostBatch = 65535;              // of one launch
constexpr int64_t kMostTermsOfI8 = (1 << 17) - 1;  // (-128)^2 so often fits an i32

struct Types {
  DType operands, result;
  int operand_type, result_type, compute, scale;
};
constexpr Types kTypes[] = {
    {DType::F32, DType::F32, kF32, kF32, kComputeF32, kF32},
    {DType::F64, DType::F64, kF64, kF64, kComputeF64, kF64},
    {DType::F16, DType::F16, kF16, kF16, kComputeF32, kF32},
    {DType::F16, DType::F32, kF16, kF32, kComputeF32, kF32},
    {DType::BF16, DType::BF16, kBF16, kBF16, kComputeF32, kF32},
    {DType::BF16, DType::F32, kBF16, kF32, kComputeF32, kF32},
    {DType::I8, DType::I32, kI8, kI32, kComputeI32, kI32},
};

const Types* types_of(const GemmDesc& desc) {
  for (const Types& t : kTypes)
    if (desc.a == t.operands && desc.b == t.operands && desc.d == t.result &&
        desc.accumulate == compute_type(t.result))
      return &t;
  return nullptr;
}

bool uses_tf32(const GemmDesc& desc, const Manner& manner) {
  return desc.a == DType::F32 && manner.tf32 && manner.tensor_cores;
}

// Where alpha and beta are read.
struct Factors {
  const void* one;
  const void* zero;
};
Factors factors_of(DType result) {
  static constexpr float kFloats[] = {1, 0};
  static constexpr double kDoubles[] = {1, 0};
  static constexpr int32_t kIntegers[] = {1, 0};
  if (result == DType::F64) return {&kDoubles[0], &kDoubles[1]};
  if (result == DType::I32) return {&kIntegers[0], &kIntegers[1]};
  return {&kFloats[0], &kFloats[1]};
}

Refusal missed(std::string reason) { return {"cuBLASLt: " + std::move(reason), true}; }

}  // namespace

const CublasLt& CublasLt::instance(int driver_major) {
  static const auto* const library = new CublasLt(driver_major);
  return *library;
}

CublasLt::CublasLt(int driver_major) {
  info_.name = "cuBLASLt";
  const core::DynamicLibrary library = open_of_cuda(kVariable, kReleases, driver_major);
  if (!library.loaded()) {
    info_.reason =
        fmt::format("not found ({}); {} may say where it is", library.reason(), kVariable);
    return;
  }
  info_.path = library.path();
  std::string missing;
#define HOLOGRAM_FIND(member, symbol, parameters) \
  library.get<Status parameters>(#symbol, functions_.member, missing);
  HOLOGRAM_CUBLASLT(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  std::array<int, 3> version{};
  if (!missing.empty()) {
    info_.reason = fmt::format("not usable (it lacks {})", missing);
  } else if (functions_.property(kMajor, &version[0]) != kSuccess ||
             functions_.property(kMinor, &version[1]) != kSuccess ||
             functions_.property(kPatch, &version[2]) != kSuccess) {
    info_.reason = "not usable (it does not tell its version)";
  } else {
    info_.version = fmt::format("{}", fmt::join(version, "."));
  }
}

std::string text(Status status) {
  static constexpr std::pair<Status, const char*> kNames[] = {
      {kNotInitialized, "NOT_INITIALIZED"}, {kAllocFailed, "ALLOC_FAILED"},
      {kInvalidValue, "INVALID_VALUE"},     {kArchMismatch, "ARCH_MISMATCH"},
      {kMappingError, "MAPPING_ERROR"},     {kExecutionFailed, "EXECUTION_FAILED"},
      {kInternalError, "INTERNAL_ERROR"},   {kNotSupported, "NOT_SUPPORTED"},
      {kLicenseError, "LICENSE_ERROR"}};
  for (const auto& [known, name] : kNames)
    if (status == known) return fmt::format("status {} (CUBLAS_STATUS_{})", status, name);
  return fmt::format("status {}", status);
}

GemmPlan::Described::Described(const CublasLt& library, Handle handle, const GemmDesc& desc,
                               const Manner& manner)
    : library(library), handle(handle), desc(desc), manner(manner) {}

GemmPlan::Described::~Described() {
  if (operation != nullptr) library->operation_destroy(operation);
  for (auto* const layout : {a, b, d})
    if (layout != nullptr) library->layout_destroy(layout);
}

GemmPlan::GemmPlan(const CublasLt& library, Handle handle, const GemmDesc& desc,
                   const Manner& manner)
    : of_(std::make_shared<Described>(library, handle, desc, manner)) {}

GemmPlan::GemmPlan(const GemmPlan& first, const Candidate& candidate)
    : of_(first.of_),
      name_(first.name_),
      algorithm_(candidate.algorithm),
      workspace_(candidate.workspace) {}

// An algorithm has no name; its bits mean something to this version of the library alone.
std::string GemmPlan::way() const {
  std::string text = "cuBLASLt " + of_->library.info().version;
  for (const uint64_t word : algorithm_.data)
    fmt::format_to(std::back_inserter(text), " {:x}", word);
  return text;
}

// The library's matrices are column-major: d = a b is d' = b' a' there, and what is stored row by
// row is its transpose already.
Status GemmPlan::make(Operation& operation) const {
  const CublasLt& library = of_->library;
  const Types& types = *types_of(of_->desc);
  const int compute = uses_tf32(of_->desc, of_->manner) ? kComputeTf32 : types.compute;
  Status status = library->operation_create(&operation, compute, types.scale);
  const auto turned = [&](int attribute, bool transpose) {
    const int32_t value = transpose ? kTransposed : kPlain;
    if (status == kSuccess)
      status = library->operation_set(operation, attribute, &value, sizeof value);
  };
  turned(kTransposeA, of_->desc.transpose_b);
  turned(kTransposeB, of_->desc.transpose_a);
  return status;
}

Status GemmPlan::describe() {
  const CublasLt& library = of_->library;
  const Types& types = *types_of(of_->desc);
  Status status = make(of_->operation);
  const auto then = [&](auto&& call) {
    if (status == kSuccess) status = call();
  };
  const std::array<Stored, 3> matrices = stored(of_->desc);
  const auto lay_out = [&](Layout& layout, const Stored& s, int type) {
    then([&] {
      return library->layout_create(&layout, type, static_cast<uint64_t>(s.columns),
                                    static_cast<uint64_t>(s.rows), s.row);
    });
    if (s.batch == 1) return;
    const auto count = static_cast<int32_t>(s.batch);
    then([&] { return library->layout_set(layout, kBatchCount, &count, sizeof count); });
    then([&] { return library->layout_set(layout, kBatchStride, &s.stride, sizeof s.stride); });
  };
  lay_out(of_->a, matrices[1], types.operand_type);
  lay_out(of_->b, matrices[0], types.operand_type);
  lay_out(of_->d, matrices[2], types.result_type);
  name_ = std::make_shared<const std::string>(
      fmt::format("cuBLASLt {}{}{}", name_of(of_->desc.a),
                  of_->desc.a == of_->desc.d ? "" : fmt::format(" to {}", name_of(of_->desc.d)),
                  uses_tf32(of_->desc, of_->manner) ? " by tf32" : ""));
  return status;
}

Status GemmPlan::choose() {
  const CublasLt& library = of_->library;
  struct Wishes {
    const CublasLt& library;
    Preference preference = nullptr;
    ~Wishes() {
      if (preference != nullptr) library->preference_destroy(preference);
    }
  } wishes{library};
  Status status = library->preference_create(&wishes.preference);
  const auto set = [&](int attribute, const auto& value) {
    if (status == kSuccess)
      status = library->preference_set(wishes.preference, attribute, &value, sizeof value);
  };
  set(kMaxWorkspace, kMostWorkspace);
  // Small results with long sums have too few tiles for a GPU: split sums fill it. Only out of
  // place, in the type that is summed in, reduced in a fixed order: other schemes round partial
  // sums, or add them as they come, with other bits from run to run.
  set(kReductionSchemes, kReductionOfSums);
  const auto alignment = [&](uint32_t known, DType type) {
    return std::clamp(known, static_cast<uint32_t>(size_of(type)), kBestAlignment);
  };
  set(kAlignmentA, alignment(of_->desc.alignment_b, of_->desc.b));
  set(kAlignmentB, alignment(of_->desc.alignment_a, of_->desc.a));
  set(kAlignmentC, alignment(of_->desc.alignment_d, of_->desc.d));
  set(kAlignmentD, alignment(of_->desc.alignment_d, of_->desc.d));
  if (!of_->manner.tensor_cores) set(kImplementations, ~kTensorCores);
  if (status != kSuccess) return status;
  std::array<Candidate, kCandidates> found{};
  int count = 0;
  status = library->candidates(of_->handle, of_->operation, of_->a, of_->b, of_->d, of_->d,
                               wishes.preference, kCandidates, found.data(), &count);
  if (status != kSuccess) return status;
  bool chosen = false;
  for (int i = 0; i < std::min(count, kCandidates); i++) {
    const Candidate& candidate = found[static_cast<size_t>(i)];
    if (candidate.state != kSuccess || candidate.workspace > kMostWorkspace) continue;
    if (!chosen) {
      algorithm_ = candidate.algorithm;
      workspace_ = candidate.workspace;
      chosen = true;
    } else {
      alternatives_.emplace_back(new GemmPlan(*this, candidate));
    }
  }
  return chosen ? kSuccess : kNotSupported;
}

void GemmPlan::require_inside(std::span<const hal::Binding> operands) const {
  const auto require = [](const char* name, __int128 bytes, const hal::Binding& where) {
    if (bytes > static_cast<__int128>(where.size))
      throw core::error(core::Text::InternalError, fmt::format("{} is beyond its memory", name));
  };
  const std::array<Stored, 3> matrices = stored(of_->desc);
  for (size_t i = 0; i < matrices.size(); i++)
    require(matrices[i].name, extent(matrices[i]), operands[i]);
  if (operands.size() > matrices.size())
    require("the bias", __int128{of_->desc.n} * static_cast<int64_t>(size_of(of_->desc.d)),
            operands[3]);
}

const char* GemmPlan::variable() const { return kVariable; }

std::optional<CudaPlan::Failure> GemmPlan::run(std::span<void* const> operands, void* workspace,
                                               void* stream) const {
  const CublasLt& library = of_->library;
  const Factors factors = factors_of(of_->desc.d);
  void* const d = operands[2];
  Operation operation = of_->operation;
  std::unique_lock<std::mutex> alone;
  if (ended_ != nullptr) operation = ended_->operation;
  if (ended_ != nullptr && ended_->bias) {
    alone = std::unique_lock(ended_->mutex);
    const void* const bias = operands[3];
    const Status status = library->operation_set(operation, kBiasPointer, &bias, sizeof bias);
    if (status != kSuccess) return Failure{status == kAllocFailed, text(status)};
  }
  const Status status = library->multiply(
      of_->handle, operation, factors.one, operands[1], of_->a, operands[0], of_->b, factors.zero,
      d, of_->d, d, of_->d, &algorithm_, workspace, workspace_, static_cast<NativeStream>(stream));
  if (status == kSuccess) return {};
  return Failure{status == kAllocFailed, text(status)};
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

hal::Expected<std::shared_ptr<GemmPlan>> Products::make(const Key& key) {
  const GemmDesc& g = key.desc;
  const CublasLt& library = CublasLt::instance(driver_major_);
  if (!library.info().reason.empty()) return missed(library.info().reason);
  if (std::max({g.m, g.n, g.k}) > std::numeric_limits<int32_t>::max())
    return missed("a side is more than 2147483647");
  if (g.batch > kMostBatch) return missed(fmt::format("a batch of more than {}", kMostBatch));
  if (g.a == DType::I8 && g.k > kMostTermsOfI8)
    return missed(fmt::format("sums of more than {} products of i8", kMostTermsOfI8));
  if (handle_ == nullptr)
    if (const Status status = library->create(&handle_); status != kSuccess) {
      handle_ = nullptr;
      return missed("it does not start: " + text(status));
    }
  const std::shared_ptr<GemmPlan> plan(new GemmPlan(library, handle_, g, key.manner));
  Status status = plan->describe();
  if (status == kSuccess) status = plan->choose();
  if (status != kSuccess && status != kNotSupported)
    return missed("it does not plan the product: " + text(status));
  hal::Expected<std::shared_ptr<GemmPlan>> answer = plan;
  if (status == kNotSupported) answer = missed("it has no algorithm for the product");
  if (known_.size() >= kMostPlans) known_.clear();
  return known_.emplace(key, std::move(answer)).first->second;
}

}  // namespace hologram::libraries::cublaslt
