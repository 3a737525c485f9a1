// What is used of rocBLAS, the same since ROCm 3. Tests compare these declarations with AMD's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::libraries::rocblas {

using Status = int;                        // rocblas_status
using Handle = struct RocBlasHandle*;      // rocblas_handle
using NativeStream = struct HipStreamOf*;  // hipStream_t

// ROW(member, exported name behind "rocblas_", parameters); every function returns a Status.
#define HOLOGRAM_ROCBLAS(ROW)                                                                      \
  ROW(create, create_handle, (Handle * handle))                                                    \
  ROW(destroy, destroy_handle, (Handle handle))                                                    \
  ROW(set_stream, set_stream, (Handle handle, NativeStream stream))                                \
  ROW(version, get_version_string, (char* text, size_t bytes))                                     \
  ROW(multiply, gemm_strided_batched_ex,                                                           \
      (Handle handle, int transpose_a, int transpose_b, int32_t m, int32_t n, int32_t k,           \
       const void* alpha, const void* a, int a_type, int32_t lda, int64_t stride_a, const void* b, \
       int b_type, int32_t ldb, int64_t stride_b, const void* beta, const void* c, int c_type,     \
       int32_t ldc, int64_t stride_c, void* d, int d_type, int32_t ldd, int64_t stride_d,          \
       int32_t batch, int compute_type, int algorithm, int32_t solution, uint32_t flags))

// Likewise, of versions whose sums may be added up as they come unless they are told otherwise.
#define HOLOGRAM_ROCBLAS_ATOMICS(ROW) ROW(set_atomics, set_atomics_mode, (Handle handle, int mode))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(member, name, parameters) Status(*member) parameters = nullptr;
struct Functions {
  HOLOGRAM_ROCBLAS(HOLOGRAM_MEMBER)
  HOLOGRAM_ROCBLAS_ATOMICS(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

// rocblas_status
inline constexpr Status kSuccess = 0, kNotImplemented = 2, kMemoryError = 5, kPerfDegraded = 7;
// rocblas_operation
inline constexpr int kPlain = 111, kTransposed = 112;
// rocblas_datatype
inline constexpr int kF16 = 150, kF32 = 151, kF64 = 152, kBF16 = 168;
// rocblas_atomics_mode: sums are added up in one order, so that each run has the same bits.
inline constexpr int kNoAtomics = 0;
// rocblas_gemm_algo
inline constexpr int kStandard = 0;

}  // namespace hologram::libraries::rocblas
