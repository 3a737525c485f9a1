// What is used of cuBLASLt, the same in its versions 11 to 13, and of hipBLASLt, the same from 0.6
// on: one interface, with other names and numbers, which are in vendor.hpp. Tests compare these
// declarations with the vendors' own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::libraries::blaslt {

using Status = int;                           // cublasStatus_t, hipblasStatus_t
using Handle = struct HandleOf*;              // cublasLtHandle_t; hipBLASLt's is a void*
using Operation = struct OperationHandle*;    // cublasLtMatmulDesc_t
using Layout = struct LayoutHandle*;          // cublasLtMatrixLayout_t
using Preference = struct PreferenceHandle*;  // cublasLtMatmulPreference_t
using NativeStream = struct NativeStreamOf*;  // cudaStream_t, hipStream_t, which are the driver's

struct Algorithm {  // cublasLtMatmulAlgo_t; hipBLASLt's is shorter, and only its bytes are used
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t: the algorithm, as long as the vendor has it, and then this.
struct Candidate;
struct BehindAlgorithm {
  size_t workspace = 0;
  Status state = 0;
  float waves = 0;
  int reserved[4] = {};
};

// ROW(member, exported name behind the vendor's prefix, parameters); every function returns a
// Status.
#define HOLOGRAM_BLASLT(ROW)                                                                      \
  ROW(create, Create, (Handle * handle))                                                          \
  ROW(destroy, Destroy, (Handle handle))                                                          \
  ROW(operation_create, MatmulDescCreate, (Operation * operation, int compute, int scale))        \
  ROW(operation_destroy, MatmulDescDestroy, (Operation operation))                                \
  ROW(operation_set, MatmulDescSetAttribute,                                                      \
      (Operation operation, int attribute, const void* value, size_t bytes))                      \
  ROW(layout_create, MatrixLayoutCreate,                                                          \
      (Layout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))              \
  ROW(layout_destroy, MatrixLayoutDestroy, (Layout layout))                                       \
  ROW(layout_set, MatrixLayoutSetAttribute,                                                       \
      (Layout layout, int attribute, const void* value, size_t bytes))                            \
  ROW(preference_create, MatmulPreferenceCreate, (Preference * preference))                       \
  ROW(preference_destroy, MatmulPreferenceDestroy, (Preference preference))                       \
  ROW(preference_set, MatmulPreferenceSetAttribute,                                               \
      (Preference preference, int attribute, const void* value, size_t bytes))                    \
  ROW(candidates, MatmulAlgoGetHeuristic,                                                         \
      (Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d,                \
       Preference preference, int most, Candidate* found, int* count))                            \
  ROW(multiply, Matmul,                                                                           \
      (Handle handle, Operation operation, const void* alpha, const void* a, Layout layout_a,     \
       const void* b, Layout layout_b, const void* beta, const void* c, Layout layout_c, void* d, \
       Layout layout_d, const Algorithm* algorithm, void* workspace, size_t bytes,                \
       NativeStream stream))
// Likewise, of cuBLASLt alone.
#define HOLOGRAM_CUBLASLT(ROW)                                                     \
  ROW(property, GetProperty, (int which, int* value))                              \
  ROW(check, MatmulAlgoCheck,                                                      \
      (Handle handle, Operation operation, Layout a, Layout b, Layout c, Layout d, \
       const Algorithm* algorithm, Candidate* found))
// Likewise, of hipBLASLt alone.
#define HOLOGRAM_HIPBLASLT(ROW) ROW(version, GetVersion, (Handle handle, int* version))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(member, name, parameters) Status(*member) parameters = nullptr;
struct Functions {
  HOLOGRAM_BLASLT(HOLOGRAM_MEMBER)
  HOLOGRAM_CUBLASLT(HOLOGRAM_MEMBER)
  HOLOGRAM_HIPBLASLT(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

// What has the same number in both. cublasStatus_t and hipblasStatus_t:
inline constexpr Status kSuccess = 0, kNotInitialized = 1;
// libraryPropertyType: what `property` tells.
inline constexpr int kMajor = 0, kMinor = 1, kPatch = 2;
// cudaDataType, hipDataType.
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kI8 = 3, kI32 = 10, kBF16 = 14;
// cublasLtEpilogue_t: sums as they are, or one or both of these.
inline constexpr uint32_t kNoEpilogue = 1, kRelu = 2, kBias = 4;
// Attributes of a preference. hipBLASLt has the first alone.
inline constexpr int kMaxWorkspace = 1, kReductionSchemes = 3, kAlignmentA = 5, kAlignmentB = 6,
                     kAlignmentC = 7, kAlignmentD = 8, kImplementations = 12;
// cublasLtReductionScheme_t: sums in parts, which are kept in the type that is summed in, and added
// up afterwards.
inline constexpr uint32_t kReductionOfSums = 2;
// cublasLtNumericalImplFlags_t: those of tensor cores.
inline constexpr uint64_t kTensorCores = 0xfe;

}  // namespace hologram::libraries::blaslt
