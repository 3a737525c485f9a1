#include "libraries/rocblas/rocblas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "libraries/library.hpp"
#include "libraries/matrix_view.hpp"
#include "libraries/of_vendors.hpp"

namespace hologram::libraries::rocblas {
namespace {

namespace fs = std::filesystem;
using hal::GemmDesc;
using hal::Refusal;

// Of ROCm 7, 6, 5 and before.
constexpr const char* kFiles[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.0",
                                  "librocblas.so"};
constexpr int64_t kMostBatch = 65535;  // of one launch
constexpr const char* kStatuses[] = {
    "success",         "invalid_handle",      "not_implemented",
    "invalid_pointer", "invalid_size",        "memory_error",
    "internal_error",  "perf_degraded",       "size_query_mismatch",
    "size_increased",  "size_unchanged",      "invalid_value",
    "continue",        "check_numerics_fail", "excluded_from_build",
    "arch_mismatch"};

// The types of the operands and of the result; sums are f32, or f64.
struct Types {
  DType operands, result;
  int operand_type, result_type, compute;
};
constexpr Types kTypes[] = {
    {DType::F32, DType::F32, kF32, kF32, kF32},     {DType::F64, DType::F64, kF64, kF64, kF64},
    {DType::F16, DType::F16, kF16, kF16, kF32},     {DType::F16, DType::F32, kF16, kF32, kF32},
    {DType::BF16, DType::BF16, kBF16, kBF16, kF32}, {DType::BF16, DType::F32, kBF16, kF32, kF32},
};
const Types* types_of(const GemmDesc& desc) {
  for (const Types& t : kTypes)
    if (desc.a == t.operands && desc.b == t.operands && desc.d == t.result &&
        desc.accumulate == compute_type(t.result))
      return &t;
  return nullptr;
}

// Whether a file of kernels is for the architecture: "TensileLibrary_lazy_gfx1030.dat",
// "Kernels.so-000-gfx90a-xnack+.hsaco".
bool is_for(const std::string& file, const std::string& architecture) {
  const size_t at = file.find(architecture);
  if (at == std::string::npos) return false;
  const size_t end = at + architecture.size();
  return end == file.size() || std::string_view(".-_:").find(file[end]) != std::string_view::npos;
}

}  // namespace

const RocBlas& RocBlas::instance(const void* hip) {
  static const auto* const library = [&] {
    std::string stranger;
    const auto found = open_of_rocm(kVariable, kFiles, hip, stranger);
    return new RocBlas(found, stranger);
  }();
  return *library;
}

RocBlas::RocBlas(const core::DynamicLibrary& library, const std::string& stranger) {
  info_.name = "rocBLAS";
  if (library.loaded()) {
    info_.path = library.path();
    const std::string what = problem_of(library);
    if (!what.empty()) info_.reason = fmt::format("not usable ({})", what);
  } else {
    info_.reason =
        reason_without(library, stranger, "it is ROCm's package rocblas, and ", kVariable);
  }
}

// Fills the table.
std::string RocBlas::problem_of(const core::DynamicLibrary& library) {
  std::string missing;
#define HOLOGRAM_FIND(member, name, parameters) \
  library.get<Status parameters>("rocblas_" #name, functions_.member, missing);
  HOLOGRAM_ROCBLAS(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  std::string absent;  // where no sum is added up so
  library.get<Status(Handle, int)>("rocblas_set_atomics_mode", functions_.set_atomics, absent);
  if (!missing.empty()) return fmt::format("it lacks {}", missing);
  std::array<char, 256> version{};
  const Status status = functions_.version(version.data(), version.size() - 1);
  if (status != kSuccess) return "it does not tell its version: " + text(status);
  info_.version = version.data();
  return {};
}

std::string RocBlas::lacks(const std::string& architecture) const {
  const char* const named = std::getenv("ROCBLAS_TENSILE_LIBPATH");
  std::error_code error;
  const fs::path folder = named != nullptr && *named != '\0'
                              ? fs::path(named)
                              : fs::canonical(info_.path, error).parent_path() / "rocblas";
  const auto skip = fs::directory_options::skip_permission_denied;
  for (auto file = fs::recursive_directory_iterator(folder, skip, error);
       !error && file != fs::recursive_directory_iterator(); file.increment(error))
    if (is_for(file->path().filename().string(), architecture)) return {};
  return fmt::format("it has no kernels for {} in {}", architecture, folder.string());
}

std::string RocBlas::text(Status status) {
  if (status < 0 || static_cast<size_t>(status) >= std::size(kStatuses))
    return fmt::format("status {}", status);
  return fmt::format("status {} (rocblas_status_{})", status, kStatuses[status]);
}

// The library keeps what memory it needs itself, a part for each handle.
class Products::Plan final : public GpuPlan {
 public:
  Plan(const RocBlas& library, std::shared_ptr<Handles> handles, const GemmDesc& desc)
      : library_(library),
        handles_(std::move(handles)),
        desc_(desc),
        types_(*types_of(desc)),
        name_(std::make_shared<const std::string>(
            fmt::format("rocBLAS {}{}", name_of(desc.a),
                        desc.a == desc.d ? "" : fmt::format(" to {}", name_of(desc.d))))) {}

  uint64_t workspace() const override { return 0; }
  const char* variable() const override { return kVariable; }
  const std::shared_ptr<const std::string>& shared_name() const override { return name_; }
  void require_inside(std::span<const hal::Binding> operands) const override {
    require_matrices_inside(desc_, operands);
  }

  // What a stream is, and in which order sums are added, belongs to the handle.
  Status handle_of(NativeStream stream, Handle& handle) const {
    const auto take = [&](Handle& one) { return library_->set_stream(one, stream); };
    const auto make = [&](Handle& one) {
      Status status = library_->create(&one);
      if (status != kSuccess) return status;
      if (library_->set_atomics != nullptr) status = library_->set_atomics(one, kNoAtomics);
      if (status == kSuccess) status = take(one);
      if (status != kSuccess) library_->destroy(one);
      return status;
    };
    return handles_->of(stream, handle, make, take);
  }

  // The library's matrices are column-major: d = a b is d' = b' a' there, and what is stored row by
  // row is its transpose already.
  std::optional<Failure> run(std::span<void* const> operands, void* /*workspace*/,
                             void* stream) const override {
    static constexpr float kFloats[] = {1, 0};
    static constexpr double kDoubles[] = {1, 0};
    const bool wide = types_.compute == kF64;
    const void* const one = wide ? static_cast<const void*>(&kDoubles[0]) : &kFloats[0];
    const void* const zero = wide ? static_cast<const void*>(&kDoubles[1]) : &kFloats[1];
    Handle handle = nullptr;
    Status status = handle_of(static_cast<NativeStream>(stream), handle);
    if (status == kSuccess) {
      const auto side = [](int64_t n) { return static_cast<int32_t>(n); };
      const GemmDesc& g = desc_;
      void* const d = operands[2];
      status = library_->multiply(
          handle, g.transpose_b ? kTransposed : kPlain, g.transpose_a ? kTransposed : kPlain,
          side(g.n), side(g.m), side(g.k), one, operands[1], types_.operand_type, side(g.ldb),
          g.stride_b, operands[0], types_.operand_type, side(g.lda), g.stride_a, zero, d,
          types_.result_type, side(g.ldd), g.stride_d, d, types_.result_type, side(g.ldd),
          g.stride_d, side(g.batch), types_.compute, kStandard, 0, 0);
    }
    if (status == kSuccess || status == kPerfDegraded) return {};
    return Failure{status == kMemoryError, RocBlas::text(status)};
  }

 private:
  const RocBlas& library_;
  const std::shared_ptr<Handles> handles_;
  const GemmDesc desc_;
  const Types& types_;
  const std::shared_ptr<const std::string> name_;
};

const std::string& Products::lacks(const RocBlas& library, const std::string& architecture) {
  std::call_once(looked_, [&] { lacks_ = library.lacks(architecture); });
  return lacks_;
}

hal::Expected<std::shared_ptr<GpuPlan>> Products::plan(const GemmDesc& desc,
                                                       const std::string& architecture) {
  if (auto refusal = malformed(desc)) return *refusal;
  if (types_of(desc) == nullptr) return Refusal{"rocBLAS: " + no_such_product(desc).reason};
  if (desc.m == 0 || desc.n == 0 || desc.batch == 0) return Refusal{"there is nothing to compute"};
  if (desc.k == 0) return Refusal{"the sums are empty"};
  const GemmDesc g = fold(desc);
  const RocBlas& library = open_();
  const auto fallback = [](const std::string& reason) {
    return Refusal{"rocBLAS: " + reason, true};
  };
  if (!library.info().reason.empty()) return fallback(library.info().reason);
  if (const std::string& reason = lacks(library, architecture); !reason.empty())
    return fallback(reason);
  if (std::max({g.m, g.n, g.k, g.lda, g.ldb, g.ldd}) > std::numeric_limits<int32_t>::max())
    return fallback("a side, or what lies between two rows, is more than 2147483647");
  if (g.batch > kMostBatch) return fallback(fmt::format("a batch of more than {}", kMostBatch));
  auto plan = std::make_shared<Plan>(library, handles_, g);
  Handle handle = nullptr;
  if (const Status status = plan->handle_of(nullptr, handle); status != kSuccess)
    return fallback("it does not start: " + RocBlas::text(status));
  return std::shared_ptr<GpuPlan>(std::move(plan));
}

}  // namespace hologram::libraries::rocblas
