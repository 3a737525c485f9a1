// What is used of oneDNN's C interface, the same in its versions 2 and 3. A test compares these
// declarations with the library's own.
#pragma once

#include <cstdint>

namespace hologram::libraries::onednn {

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

// Version::cpu_runtime: how the library runs loops.
inline constexpr unsigned kSequential = 1, kOpenMp = 2, kThreadPool = 8;

using GetVersion = const Version*();

// Row-major d = alpha op(a) op(b) + beta d, op by 'N' or 'T'. 0 if all went well.
using Sgemm = int(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha,
                  const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* d,
                  int64_t ldd);

// The same with offsets that are taken from a and b and added to d: offset_d 'F' adds the one
// number *od.
template <class A>
using Igemm = int(char transpose_a, char transpose_b, char offset_d, int64_t m, int64_t n,
                  int64_t k, float alpha, const A* a, int64_t lda, A oa, const int8_t* b,
                  int64_t ldb, int8_t ob, float beta, int32_t* d, int64_t ldd, const int32_t* od);

// Of the OpenMP runtime that the library came with; both concern the calling thread alone.
using OmpGetMaxThreads = int();
using OmpSetNumThreads = void(int count);

}  // namespace hologram::libraries::onednn
