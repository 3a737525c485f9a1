// What is used of the C interface of BLAS, and of what its vendors add: how many threads work,
// which version it is. A test compares these declarations with OpenBLAS's own.
#pragma once

#include <cstdint>

namespace hologram::libraries::cblas {

inline constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

// d = alpha op(a) op(b) + beta d. Int: sizes of 32 bits, or of 64 where a build has these.
template <class T, class Int = int>
using Gemm = void(int order, int transpose_a, int transpose_b, Int m, Int n, Int k, T alpha,
                  const T* a, Int lda, const T* b, Int ldb, T beta, T* d, Int ldd);

// OpenBLAS
using GetConfig = char*();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
using GetNumThreads = int();
using SetNumThreads = void(int count);  // of the whole process

// MKL
using GetVersionString = void(char* text, int size);
using SetNumThreadsLocal = int(int count);  // of the calling thread; gives what it was

// BLIS
using GetVersion = const char*();
using GetIntSize = int64_t();  // bits of a size

}  // namespace hologram::libraries::cblas
