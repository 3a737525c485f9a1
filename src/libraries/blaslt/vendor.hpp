// What is not the same in cuBLASLt and hipBLASLt: a row for each.
#pragma once

#include <span>
#include <utility>

#include "libraries/blaslt/api.hpp"

namespace hologram::libraries::blaslt {

struct Vendor {
  const char* name;      // "cuBLASLt"
  const char* variable;  // of the environment, that says where it is
  const char* remedy;    // what to do where it is not; empty: nothing that is not known
  const char* prefix;    // of what it exports
  const char* status;    // and of the names of statuses
  std::span<const std::pair<Status, const char*>> statuses;
  Status alloc_failed, invalid_value, not_supported;
  int compute_f32, compute_tf32, compute_f64, compute_i32;  // cublasComputeType_t
  int32_t plain, transposed;                                // cublasOperation_t
  int transpose_a, transpose_b, epilogue, bias_pointer;     // attributes of an operation
  int batch_count, batch_stride;                            // attributes of a layout
  size_t algorithm_bytes;
  // Bytes that addresses of operands have to be multiples of; 0: any will do, as each product says
  // what its own are.
  uint32_t alignment;
  // Whether products say what they want, alignments, orders of sums and tensor cores, and
  // algorithms can be asked whether they are for another operation.
  bool chooses;
  // Whether kernels keep notes in memory of the handle, so that a stream needs one of its own, and
  // calls keep notes in the operation, so that it takes one at a time.
  bool keeps_notes;
};

inline constexpr std::pair<Status, const char*> kOfCublas[] = {{kNotInitialized, "NOT_INITIALIZED"},
                                                               {3, "ALLOC_FAILED"},
                                                               {7, "INVALID_VALUE"},
                                                               {8, "ARCH_MISMATCH"},
                                                               {11, "MAPPING_ERROR"},
                                                               {13, "EXECUTION_FAILED"},
                                                               {14, "INTERNAL_ERROR"},
                                                               {15, "NOT_SUPPORTED"},
                                                               {16, "LICENSE_ERROR"}};
inline constexpr std::pair<Status, const char*> kOfHipblas[] = {
    {kNotInitialized, "NOT_INITIALIZED"},
    {2, "ALLOC_FAILED"},
    {3, "INVALID_VALUE"},
    {4, "MAPPING_ERROR"},
    {5, "EXECUTION_FAILED"},
    {6, "INTERNAL_ERROR"},
    {7, "NOT_SUPPORTED"},
    {8, "ARCH_MISMATCH"},
    {9, "HANDLE_IS_NULLPTR"},
    {10, "INVALID_ENUM"},
    {11, "UNKNOWN"}};

inline constexpr Vendor kCublasLt = {.name = "cuBLASLt",
                                     .variable = "HOLOGRAM_CUBLASLT_LIBRARY",
                                     .remedy = "",
                                     .prefix = "cublasLt",
                                     .status = "CUBLAS_STATUS_",
                                     .statuses = kOfCublas,
                                     .alloc_failed = 3,
                                     .invalid_value = 7,
                                     .not_supported = 15,
                                     .compute_f32 = 68,
                                     .compute_tf32 = 77,
                                     .compute_f64 = 70,
                                     .compute_i32 = 72,
                                     .plain = 0,
                                     .transposed = 1,
                                     .transpose_a = 3,
                                     .transpose_b = 4,
                                     .epilogue = 7,
                                     .bias_pointer = 8,
                                     .batch_count = 5,
                                     .batch_stride = 6,
                                     .algorithm_bytes = 64,
                                     .alignment = 0,
                                     .chooses = true,
                                     .keeps_notes = false};
// 16 bytes are what a lane loads at most: the library says nothing of addresses, and is not told of
// them before it has proposed an algorithm.
inline constexpr Vendor kHipblasLt = {.name = "hipBLASLt",
                                      .variable = "HOLOGRAM_HIPBLASLT_LIBRARY",
                                      .remedy = "it is ROCm's package hipblaslt, and ",
                                      .prefix = "hipblasLt",
                                      .status = "HIPBLAS_STATUS_",
                                      .statuses = kOfHipblas,
                                      .alloc_failed = 2,
                                      .invalid_value = 3,
                                      .not_supported = 7,
                                      .compute_f32 = 2,
                                      .compute_tf32 = 6,
                                      .compute_f64 = 7,
                                      .compute_i32 = 9,
                                      .plain = 111,
                                      .transposed = 112,
                                      .transpose_a = 0,
                                      .transpose_b = 1,
                                      .epilogue = 2,
                                      .bias_pointer = 3,
                                      .batch_count = 0,
                                      .batch_stride = 1,
                                      .algorithm_bytes = 24,
                                      .alignment = 16,
                                      .chooses = false,
                                      .keeps_notes = true};

}  // namespace hologram::libraries::blaslt
