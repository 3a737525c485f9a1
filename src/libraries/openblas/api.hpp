// What is used of OpenBLAS's C interface, with 32-bit sizes. A test compares these declarations
// with the library's own.
#pragma once

namespace hologram::libraries::openblas {

inline constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

// d = alpha op(a) op(b) + beta d.
template <class T>
using Gemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                  const T* a, int lda, const T* b, int ldb, T beta, T* d, int ldd);

using GetConfig = char*();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
using GetNumThreads = int();
using SetNumThreads = void(int count);  // of the whole process

}  // namespace hologram::libraries::openblas
