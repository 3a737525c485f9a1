// What is used of cuBLASLt, the same in its versions 11 to 13. A test compares these declarations
// with the vendor's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::libraries::cublaslt {

using Status = int;                           // cublasStatus_t
using Handle = struct HandleOf*;              // cublasLtHandle_t
using Operation = struct OperationHandle*;    // cublasLtMatmulDesc_t
using Layout = struct LayoutHandle*;          // cublasLtMatrixLayout_t
using Preference = struct PreferenceHandle*;  // cublasLtMatmulPreference_t
using NativeStream = struct NativeStreamOf*;  // cudaStream_t, which is the driver's

struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t data[8];
};
struct Candidate {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

// ROW(member, exported name, parameters); every function returns a Status.
#define HOLOGRAM_CUBLASLT(ROW)                                                                     \
  ROW(property, cublasLtGetProperty, (int which, int* value))                                      \
  ROW(create, cublasLtCreate, (Handle * handle))                                                   \
  ROW(operation_create, cublasLtMatmulDescCreate, (Operation * operation, int compute, int scale)) \
  ROW(operation_destroy, cublasLtMatmulDescDestroy, (Operation operation))                         \
  ROW(operation_set, cublasLtMatmulDescSetAttribute,                                               \
      (Operation operation, int attribute, const void* value, size_t bytes))                       \
  ROW(layout_create, cublasLtMatrixLayoutCreate,                                                   \
      (Layout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))               \
  ROW(layout_destroy, cublasLtMatrixLayoutDestroy, (Layout layout))                                \
  ROW(layout_set, cublasLtMatrixLayoutSetAttribute,                                                \
      (Layout layout, int attribute, const void* value, size_t bytes))                             \
  ROW(preference_create, cublasLtMatmulPreferenceCreate, (Preference * preference))                \
  ROW(preference_destroy, cublasLtMatmulPreferenceDestroy, (Preference preference))                \
  ROW(preference_set, cublasLtMatmulPreferenceSetAttribute,                                        \
      (Preference preference, int attribute, const void* value, size_t bytes))                     \
  ROW(candidates, cublasLtMatmulAlgoGetHeuristic,                                                  \
      (Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d,                 \
       Preference preference, int most, Candidate* found, int* count))                             \
  ROW(check, cublasLtMatmulAlgoCheck,                                                              \
      (Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d,                 \
       const Algorithm* algorithm, Candidate* found))                                              \
  ROW(multiply, cublasLtMatmul,                                                                    \
      (Handle handle, Operation operation, const void* alpha, const void* a, Layout layout_a,      \
       const void* b, Layout layout_b, const void* beta, const void* c, Layout layout_c, void* d,  \
       Layout layout_d, const Algorithm* algorithm, void* workspace, size_t bytes,                 \
       NativeStream stream))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(member, symbol, parameters) Status(*member) parameters = nullptr;
struct Functions {
  HOLOGRAM_CUBLASLT(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

// cublasStatus_t.
inline constexpr Status kSuccess = 0, kNotInitialized = 1, kAllocFailed = 3, kInvalidValue = 7,
                        kArchMismatch = 8, kMappingError = 11, kExecutionFailed = 13,
                        kInternalError = 14, kNotSupported = 15, kLicenseError = 16;
// libraryPropertyType: what `property` tells.
inline constexpr int kMajor = 0, kMinor = 1, kPatch = 2;
// cudaDataType.
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kI8 = 3, kI32 = 10, kBF16 = 14;
// cublasComputeType_t.
inline constexpr int kComputeF32 = 68, kComputeTf32 = 77, kComputeF64 = 70, kComputeI32 = 72;
// cublasOperation_t.
inline constexpr int32_t kPlain = 0, kTransposed = 1;
// cublasLtEpilogue_t: sums as they are, or one or both of these.
inline constexpr uint32_t kNoEpilogue = 1, kRelu = 2, kBias = 4;
// Attributes of an operation, of a layout, of a preference.
inline constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
inline constexpr int kBatchCount = 5, kBatchStride = 6;
inline constexpr int kMaxWorkspace = 1, kReductionSchemes = 3, kAlignmentA = 5, kAlignmentB = 6,
                     kAlignmentC = 7, kAlignmentD = 8, kImplementations = 12;
// cublasLtReductionScheme_t: sums in parts, which are kept in the type that is summed in, and added
// up afterwards.
inline constexpr uint32_t kReductionOfSums = 2;
// cublasLtNumericalImplFlags_t: those of tensor cores.
inline constexpr uint64_t kTensorCores = 0xfe;

}  // namespace hologram::libraries::cublaslt
