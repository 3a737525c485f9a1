#include "libraries/blaslt/blaslt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "libraries/of_vendors.hpp"

namespace hologram::libraries::blaslt {
namespace {

using hal::GemmDesc;

constexpr CudaRelease kReleases[] = {
    {13, "libcublasLt.so.13"}, {12, "libcublasLt.so.12"}, {11, "libcublasLt.so.11"}};
constexpr const char* kFilesOfRocm[] = {"libhipblaslt.so.1", "libhipblaslt.so.0",
                                        "libhipblaslt.so"};

constexpr int kCandidates = 8;
constexpr size_t kMostResultBytes = sizeof(Algorithm) + sizeof(BehindAlgorithm);

constexpr Types kTypes[] = {
    {DType::F32, DType::F32, kF32, kF32, kF32, &Vendor::compute_f32},
    {DType::F64, DType::F64, kF64, kF64, kF64, &Vendor::compute_f64},
    {DType::F16, DType::F16, kF16, kF16, kF32, &Vendor::compute_f32},
    {DType::F16, DType::F32, kF16, kF32, kF32, &Vendor::compute_f32},
    {DType::BF16, DType::BF16, kBF16, kBF16, kF32, &Vendor::compute_f32},
    {DType::BF16, DType::F32, kBF16, kF32, kF32, &Vendor::compute_f32},
    {DType::I8, DType::I32, kI8, kI32, kI32, &Vendor::compute_i32},
};

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

// As the file's name tells it: the library itself tells it to who has a handle.
std::string version_of(const std::string& path) {
  constexpr std::string_view kBefore = ".so.";
  std::error_code error;
  const std::string name = std::filesystem::canonical(path, error).filename().string();
  const size_t at = name.find(kBefore);
  return at == std::string::npos ? "unknown" : name.substr(at + kBefore.size());
}

// Results as the vendor lays them out.
class Results {
 public:
  explicit Results(const Vendor& vendor) : vendor_(vendor) {}
  Candidate* memory() { return reinterpret_cast<Candidate*>(bytes_); }
  Proposal at(int index) const {
    Proposal proposal;
    BehindAlgorithm behind{};
    const size_t bytes = vendor_.algorithm_bytes;
    const std::byte* const from = bytes_ + static_cast<size_t>(index) * (bytes + sizeof behind);
    std::memcpy(&proposal.algorithm, from, bytes);
    std::memcpy(&behind, from + bytes, sizeof behind);
    proposal.workspace = behind.workspace;
    proposal.state = behind.state;
    return proposal;
  }

 private:
  const Vendor& vendor_;
  alignas(16) std::byte bytes_[kCandidates * kMostResultBytes]{};
};

}  // namespace

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

const BlasLt& BlasLt::of_cuda(int driver_major) {
  static const auto* const library =
      new BlasLt(kCublasLt, open_of_cuda(kCublasLt.variable, kReleases, driver_major), {});
  return *library;
}

const BlasLt& BlasLt::of_rocm(const void* hip) {
  static const auto* const library = [&] {
    std::string stranger;
    const auto found = open_of_rocm(kHipblasLt.variable, kFilesOfRocm, hip, stranger);
    return new BlasLt(kHipblasLt, found, stranger);
  }();
  return *library;
}

BlasLt::BlasLt(const Vendor& vendor, const core::DynamicLibrary& library,
               const std::string& stranger)
    : vendor_(vendor) {
  info_.name = vendor.name;
  if (library.loaded()) {
    info_.path = library.path();
    const std::string what = problem_of(library);
    if (!what.empty()) info_.reason = fmt::format("not usable ({})", what);
  } else {
    info_.reason = reason_without(library, stranger, vendor.remedy, vendor.variable);
  }
}

// Fills the table.
std::string BlasLt::problem_of(const core::DynamicLibrary& library) {
  std::string missing;
#define HOLOGRAM_FIND(member, name, parameters)                                 \
  {                                                                             \
    const std::string symbol = std::string(vendor_.prefix) + #name;             \
    library.get<Status parameters>(symbol.c_str(), functions_.member, missing); \
  }
  if (vendor_.chooses) {
    HOLOGRAM_CUBLASLT(HOLOGRAM_FIND)
  } else {
    HOLOGRAM_HIPBLASLT(HOLOGRAM_FIND)
  }
  HOLOGRAM_BLASLT(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  if (!missing.empty()) return fmt::format("it lacks {}", missing);
  if (functions_.property == nullptr) {
    info_.version = version_of(info_.path);
    return {};
  }
  std::array<int, 3> version{};
  if (functions_.property(kMajor, &version[0]) != kSuccess ||
      functions_.property(kMinor, &version[1]) != kSuccess ||
      functions_.property(kPatch, &version[2]) != kSuccess)
    return "it does not tell its version";
  info_.version = fmt::format("{}", fmt::join(version, "."));
  return {};
}

std::string BlasLt::text(Status status) const {
  for (const auto& [known, name] : vendor_.statuses)
    if (status == known) return fmt::format("status {} ({}{})", status, vendor_.status, name);
  return fmt::format("status {}", status);
}

GemmPlan::Described::Described(const BlasLt& library, const std::shared_ptr<Handles>& handles,
                               const GemmDesc& desc, const Manner& manner)
    : library(library), handles(handles), desc(desc), manner(manner) {}

GemmPlan::Described::~Described() {
  if (operation != nullptr) library->operation_destroy(operation);
  for (auto* const layout : {a, b, d})
    if (layout != nullptr) library->layout_destroy(layout);
}

GemmPlan::GemmPlan(const BlasLt& library, const std::shared_ptr<Handles>& handles,
                   const GemmDesc& desc, const Manner& manner)
    : of_(std::make_shared<Described>(library, handles, desc, manner)) {}

GemmPlan::GemmPlan(const GemmPlan& first, const Proposal& proposal)
    : of_(first.of_),
      name_(first.name_),
      algorithm_(proposal.algorithm),
      workspace_(proposal.workspace) {}

// An algorithm has no name; its bits mean something to this version of the library alone.
std::string GemmPlan::way() const {
  const Vendor& vendor = of_->library.vendor();
  std::string text = fmt::format("{} {}", vendor.name, of_->handles->version());
  for (size_t i = 0; i < vendor.algorithm_bytes / sizeof(uint64_t); i++)
    fmt::format_to(std::back_inserter(text), " {:x}", algorithm_.data[i]);
  return text;
}

// The library's matrices are column-major: d = a b is d' = b' a' there, and what is stored row by
// row is its transpose already.
Status GemmPlan::make(Operation& operation) const {
  const BlasLt& library = of_->library;
  const Types& types = *types_of(of_->desc);
  const Vendor& vendor = library.vendor();
  const int compute =
      uses_tf32(of_->desc, of_->manner) ? vendor.compute_tf32 : vendor.*types.compute;
  Status status = library->operation_create(&operation, compute, types.scale);
  const auto transposed = [&](int attribute, bool transpose) {
    const int32_t value = transpose ? vendor.transposed : vendor.plain;
    if (status == kSuccess)
      status = library->operation_set(operation, attribute, &value, sizeof value);
  };
  transposed(vendor.transpose_a, of_->desc.transpose_b);
  transposed(vendor.transpose_b, of_->desc.transpose_a);
  return status;
}

Status GemmPlan::describe() {
  const BlasLt& library = of_->library;
  const Vendor& vendor = library.vendor();
  const Types& types = *types_of(of_->desc);
  Status status = make(of_->operation);
  const auto then = [&](auto&& call) {
    if (status == kSuccess) status = call();
  };
  const std::array<MatrixView, 3> matrices = matrix_views(of_->desc);
  const auto lay_out = [&](Layout& layout, const MatrixView& s, int type) {
    then([&] {
      return library->layout_create(&layout, type, static_cast<uint64_t>(s.columns),
                                    static_cast<uint64_t>(s.rows), s.row);
    });
    if (s.batch == 1) return;
    const auto count = static_cast<int32_t>(s.batch);
    then([&] { return library->layout_set(layout, vendor.batch_count, &count, sizeof count); });
    then([&] {
      return library->layout_set(layout, vendor.batch_stride, &s.stride, sizeof s.stride);
    });
  };
  lay_out(of_->a, matrices[1], types.operand_type);
  lay_out(of_->b, matrices[0], types.operand_type);
  lay_out(of_->d, matrices[2], types.result_type);
  name_ = std::make_shared<const std::string>(
      fmt::format("{} {}{}{}", vendor.name, name_of(of_->desc.a),
                  of_->desc.a == of_->desc.d ? "" : fmt::format(" to {}", name_of(of_->desc.d)),
                  uses_tf32(of_->desc, of_->manner) ? " by tf32" : ""));
  return status;
}

Status GemmPlan::choose() {
  const BlasLt& library = of_->library;
  struct Wishes {
    const BlasLt& library;
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
  if (library.vendor().chooses) {
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
  }
  Handle handle = nullptr;
  if (status == kSuccess) status = of_->handles->of(nullptr, handle);
  if (status != kSuccess) return status;
  Results results(library.vendor());
  int count = 0;
  status = library->candidates(handle, of_->operation, of_->a, of_->b, of_->d, of_->d,
                               wishes.preference, kCandidates, results.memory(), &count);
  if (status != kSuccess) return status;
  bool chosen = false;
  for (int i = 0; i < std::min(count, kCandidates); i++) {
    const Proposal proposal = results.at(i);
    if (proposal.state != kSuccess || proposal.workspace > kMostWorkspace) continue;
    if (!chosen) {
      algorithm_ = proposal.algorithm;
      workspace_ = proposal.workspace;
      chosen = true;
    } else {
      alternatives_.emplace_back(new GemmPlan(*this, proposal));
    }
  }
  return chosen ? kSuccess : library.vendor().not_supported;
}

Status GemmPlan::check(Operation operation, Proposal& found) const {
  Handle handle = nullptr;
  Status status = of_->handles->of(nullptr, handle);
  if (status != kSuccess) return status;
  Results results(of_->library.vendor());
  status = of_->library->check(handle, operation, of_->a, of_->b, of_->d, of_->d, &algorithm_,
                               results.memory());
  found = results.at(0);
  return status != kSuccess ? status : found.state;
}

void GemmPlan::require_inside(std::span<const hal::Binding> operands) const {
  require_matrices_inside(of_->desc, operands);
  if (operands.size() > 3)
    libraries::require_inside("the bias",
                              __int128{of_->desc.n} * static_cast<int64_t>(size_of(of_->desc.d)),
                              operands[3]);
}

const char* GemmPlan::variable() const { return of_->library.vendor().variable; }

std::optional<GpuPlan::Failure> GemmPlan::run(std::span<void* const> operands, void* workspace,
                                              void* stream) const {
  const BlasLt& library = of_->library;
  const Vendor& vendor = library.vendor();
  auto* const native = static_cast<NativeStream>(stream);
  const Factors factors = factors_of(of_->desc.d);
  void* const d = operands[2];
  Operation operation = of_->operation;
  if (ended_ != nullptr) operation = ended_->operation;
  const bool bias = ended_ != nullptr && ended_->bias;
  std::unique_lock<std::mutex> alone;
  if (bias) alone = std::unique_lock(ended_->mutex);
  else if (vendor.keeps_notes) alone = std::unique_lock(of_->mutex);
  Status status = kSuccess;
  if (bias) {
    const void* const where = operands[3];
    status = library->operation_set(operation, vendor.bias_pointer, &where, sizeof where);
  }
  Handle handle = nullptr;
  if (status == kSuccess) status = of_->handles->of(native, handle);
  if (status == kSuccess)
    status = library->multiply(handle, operation, factors.one, operands[1], of_->a, operands[0],
                               of_->b, factors.zero, d, of_->d, d, of_->d, &algorithm_, workspace,
                               workspace_, native);
  if (status == kSuccess) return {};
  return Failure{status == vendor.alloc_failed, library.text(status)};
}

}  // namespace hologram::libraries::blaslt
