// Our declarations of HIP's and hipRTC's functions against AMD's own headers, where those are
// there. Compiling is the test. A file of its own, as HIP's types have the names of CUDA's.
#include <gtest/gtest.h>

#include <type_traits>

#include "backends/rocm/api.hpp"
#include "libraries/blaslt/vendor.hpp"
#include "libraries/hiprtc/api.hpp"
#include "libraries/rocblas/api.hpp"

#if __has_include(<hip/hip_runtime_api.h>) && __has_include(<hip/hiprtc.h>)
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#define HOLOGRAM_HAS_HIP_HEADERS
#if __has_include(<hipblaslt/hipblaslt.h>) && __has_include(<hipblas-common/hipblas-common.h>)
#include <hipblaslt/hipblaslt.h>
#define HOLOGRAM_HAS_HIPBLASLT_HEADER
#endif
#if __has_include(<rocblas/rocblas.h>)
#include <rocblas/rocblas.h>
#define HOLOGRAM_HAS_ROCBLAS_HEADER
#endif
#endif

namespace hologram::backends::rocm {
namespace {

#ifdef HOLOGRAM_HAS_HIP_HEADERS
using driver::DriverFunctions;

// Passed in the same way: HIP has pointers where CUDA has addresses, and leaves out some `const`.
template <class T>
constexpr bool kWord = std::is_pointer_v<T> || std::is_same_v<std::remove_cv_t<T>, Address> ||
                       std::is_same_v<std::remove_cv_t<T>, size_t>;
template <class T>
constexpr bool kNumber = std::is_enum_v<T> || std::is_integral_v<T>;
template <class Ours, class Theirs>
constexpr bool kSamePlace = (kWord<Ours> && kWord<Theirs>) ||
                            (kNumber<Ours> && kNumber<Theirs> && sizeof(Ours) == sizeof(Theirs));

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct SameCall<R (*)(P...), S (*)(Q...)>
    : std::bool_constant<(kSamePlace<R, S> && ... && kSamePlace<P, Q>)> {
};
static_assert(SameCall<int (*)(void*), int (*)(Address)>::value);
static_assert(!SameCall<int (*)(int), int (*)(Address)>::value);
static_assert(!SameCall<int (*)(int), int (*)(int, int)>::value);

#define SAME(member, symbol) \
  static_assert(SameCall<decltype(DriverFunctions::member), decltype(&::symbol)>::value, #symbol);
HOLOGRAM_HIP_DRIVER(SAME)
HOLOGRAM_HIP_GRAPHS(SAME)
#undef SAME
#define SAME(result, member, symbol, parameters) \
  static_assert(SameCall<decltype(HipFunctions::member), decltype(&::symbol)>::value, #symbol);
HOLOGRAM_HIP_OWN(SAME)
static_assert(
    SameCall<decltype(HipFunctions::properties), hipError_t (*)(hipDeviceProp_t*, int)>::value);
#undef SAME
#define SAME(member, symbol)                                                                \
  static_assert(                                                                            \
      SameCall<decltype(libraries::CompilerFunctions::member), decltype(&::symbol)>::value, \
      #symbol);
HOLOGRAM_HIPRTC(SAME)
#undef SAME

static_assert(driver::kSuccess == hipSuccess && driver::kOutOfMemory == hipErrorOutOfMemory &&
              driver::kNoDevice == hipErrorNoDevice && driver::kNotReady == hipErrorNotReady &&
              driver::kOutOfResources == hipErrorLaunchOutOfResources);
static_assert(kHipIntegrated == hipDeviceAttributeIntegrated &&
              kHipMaxThreads == hipDeviceAttributeMaxThreadsPerBlock &&
              kHipMultiprocessors == hipDeviceAttributeMultiprocessorCount &&
              kHipMaxShared == hipDeviceAttributeMaxSharedMemoryPerBlock &&
              kHipWave == hipDeviceAttributeWarpSize);
static_assert(driver::kMemoryType == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              driver::kDeviceOrdinal == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL &&
              driver::kRangeStart == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR &&
              driver::kRangeSize == HIP_POINTER_ATTRIBUTE_RANGE_SIZE);
#if HIP_VERSION_MAJOR >= 6
static_assert(kHipHostMemory == hipMemoryTypeHost && kHipDeviceMemory == hipMemoryTypeDevice);
#else
static_assert(kHip5HostMemory == hipMemoryTypeHost && kHip5DeviceMemory == hipMemoryTypeDevice);
#endif
static_assert(driver::kLocalBytes == HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES &&
              driver::kRegisters == HIP_FUNC_ATTRIBUTE_NUM_REGS);
static_assert(driver::kNonBlocking == hipStreamNonBlocking &&
              driver::kBlockingSync == hipEventBlockingSync &&
              driver::kNoTiming == hipEventDisableTiming &&
              driver::kPortable == hipHostMallocPortable &&
              driver::kCaptureRelaxed == hipStreamCaptureModeRelaxed);
static_assert(sizeof(hipDeviceProp_t) <= kPropertiesBytes && offsetof(hipDeviceProp_t, name) == 0 &&
              sizeof(hipDeviceProp_t::name) == kNameBytes &&
              offsetof(hipDeviceProp_t, gcnArchName) >= kNameBytes);

#ifdef HOLOGRAM_HAS_HIPBLASLT_HEADER
namespace blaslt = libraries::blaslt;
using blaslt::kHipblasLt;
#define SAME(member, name, parameters) \
  static_assert(                       \
      SameCall<decltype(blaslt::Functions::member), decltype(&::hipblasLt##name)>::value, #name);
HOLOGRAM_BLASLT(SAME)
HOLOGRAM_HIPBLASLT(SAME)
#undef SAME
using Found = hipblasLtMatmulHeuristicResult_t;
static_assert(kHipblasLt.algorithm_bytes == sizeof(hipblasLtMatmulAlgo_t) &&
              sizeof(blaslt::Algorithm) >= sizeof(hipblasLtMatmulAlgo_t) &&
              sizeof(Found) == kHipblasLt.algorithm_bytes + sizeof(blaslt::BehindAlgorithm) &&
              offsetof(Found, algo) == 0 &&
              offsetof(Found, workspaceSize) ==
                  kHipblasLt.algorithm_bytes + offsetof(blaslt::BehindAlgorithm, workspace) &&
              offsetof(Found, state) ==
                  kHipblasLt.algorithm_bytes + offsetof(blaslt::BehindAlgorithm, state));
static_assert(blaslt::kSuccess == HIPBLAS_STATUS_SUCCESS &&
              blaslt::kNotInitialized == HIPBLAS_STATUS_NOT_INITIALIZED &&
              kHipblasLt.alloc_failed == HIPBLAS_STATUS_ALLOC_FAILED &&
              kHipblasLt.invalid_value == HIPBLAS_STATUS_INVALID_VALUE &&
              kHipblasLt.not_supported == HIPBLAS_STATUS_NOT_SUPPORTED);
static_assert(kHipblasLt.statuses[0].first == HIPBLAS_STATUS_NOT_INITIALIZED &&
              kHipblasLt.statuses[1].first == HIPBLAS_STATUS_ALLOC_FAILED &&
              kHipblasLt.statuses[2].first == HIPBLAS_STATUS_INVALID_VALUE &&
              kHipblasLt.statuses[3].first == HIPBLAS_STATUS_MAPPING_ERROR &&
              kHipblasLt.statuses[4].first == HIPBLAS_STATUS_EXECUTION_FAILED &&
              kHipblasLt.statuses[5].first == HIPBLAS_STATUS_INTERNAL_ERROR &&
              kHipblasLt.statuses[6].first == HIPBLAS_STATUS_NOT_SUPPORTED &&
              kHipblasLt.statuses[7].first == HIPBLAS_STATUS_ARCH_MISMATCH &&
              kHipblasLt.statuses[8].first == HIPBLAS_STATUS_HANDLE_IS_NULLPTR &&
              kHipblasLt.statuses[9].first == HIPBLAS_STATUS_INVALID_ENUM &&
              kHipblasLt.statuses[10].first == HIPBLAS_STATUS_UNKNOWN);
static_assert(blaslt::kF32 == HIP_R_32F && blaslt::kF64 == HIP_R_64F && blaslt::kF16 == HIP_R_16F &&
              blaslt::kI8 == HIP_R_8I && blaslt::kI32 == HIP_R_32I && blaslt::kBF16 == HIP_R_16BF);
static_assert(kHipblasLt.compute_f32 == HIPBLAS_COMPUTE_32F &&
              kHipblasLt.compute_tf32 == HIPBLAS_COMPUTE_32F_FAST_TF32 &&
              kHipblasLt.compute_f64 == HIPBLAS_COMPUTE_64F &&
              kHipblasLt.compute_i32 == HIPBLAS_COMPUTE_32I);
static_assert(kHipblasLt.plain == HIPBLAS_OP_N && kHipblasLt.transposed == HIPBLAS_OP_T);
static_assert(kHipblasLt.transpose_a == HIPBLASLT_MATMUL_DESC_TRANSA &&
              kHipblasLt.transpose_b == HIPBLASLT_MATMUL_DESC_TRANSB &&
              kHipblasLt.epilogue == HIPBLASLT_MATMUL_DESC_EPILOGUE &&
              kHipblasLt.bias_pointer == HIPBLASLT_MATMUL_DESC_BIAS_POINTER &&
              kHipblasLt.batch_count == HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              kHipblasLt.batch_stride == HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(blaslt::kMaxWorkspace == HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
#endif

#ifdef HOLOGRAM_HAS_ROCBLAS_HEADER
namespace rocblas = libraries::rocblas;
#define SAME(member, name, parameters) \
  static_assert(                       \
      SameCall<decltype(rocblas::Functions::member), decltype(&::rocblas_##name)>::value, #name);
HOLOGRAM_ROCBLAS(SAME)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HOLOGRAM_ROCBLAS_ATOMICS(SAME)
#undef SAME
static_assert(rocblas::kSuccess == rocblas_status_success &&
              rocblas::kNotImplemented == rocblas_status_not_implemented &&
              rocblas::kMemoryError == rocblas_status_memory_error &&
              rocblas::kPerfDegraded == rocblas_status_perf_degraded);
static_assert(rocblas_status_arch_mismatch == 15 && rocblas_status_excluded_from_build == 14);
static_assert(rocblas::kPlain == rocblas_operation_none &&
              rocblas::kTransposed == rocblas_operation_transpose);
static_assert(rocblas::kF16 == rocblas_datatype_f16_r && rocblas::kF32 == rocblas_datatype_f32_r &&
              rocblas::kF64 == rocblas_datatype_f64_r && rocblas::kBF16 == rocblas_datatype_bf16_r);
static_assert(rocblas::kNoAtomics == rocblas_atomics_not_allowed &&
              rocblas::kStandard == rocblas_gemm_algo_standard);
#endif
#endif

TEST(HipHeaders, OfHipblasLtToo) {
#ifndef HOLOGRAM_HAS_HIPBLASLT_HEADER
  GTEST_SKIP() << "hipBLASLt's header is not there; scripts/offline-hip fetches it";
#endif
}

TEST(HipHeaders, OfRocBlasToo) {
#ifndef HOLOGRAM_HAS_ROCBLAS_HEADER
  GTEST_SKIP() << "rocBLAS's header is not there; scripts/offline-hip fetches it";
#endif
}

TEST(HipHeaders, DeclareWhatIsCalled) {
#ifndef HOLOGRAM_HAS_HIP_HEADERS
  GTEST_SKIP() << "HIP's headers are not there; scripts/offline-hip fetches them";
#endif
}

}  // namespace
}  // namespace hologram::backends::rocm
