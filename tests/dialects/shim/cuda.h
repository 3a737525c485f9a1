// What printed CUDA and HIP take from their compilers, for a compiler of C++ and the executor of
// tests/emulated.
#pragma once

#include "../../emulated/kernel_abi.hpp"

// Exported, and the same for all kernels of a library.
extern "C" {
hologram::emulated::Runtime emulated_runtime;

float floorf(float), ceilf(float), truncf(float), rintf(float), sqrtf(float), fabsf(float);
double floor(double), ceil(double), trunc(double), rint(double), sqrt(double), fabs(double);
float fmaf(float, float, float), copysignf(float, float);
double fma(double, double, double), copysign(double, double);
}

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// In a section of the kernel's own, which the executor fills before each block.
#define __shared__ static __attribute__((section(EMULATED_SHARED)))

#if defined(__clang__) && __clang_major__ < 15 && defined(__x86_64__)
#define _Float16 __fp16  // it has the other one for AVX512-FP16 alone
#endif

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
#define threadIdx emulated_runtime.thread
#define blockIdx emulated_runtime.block
#define gridDim emulated_runtime.blocks

inline void __syncthreads(unsigned line = __builtin_LINE()) {
  emulated_runtime.wait_for_block(line);
}

// Of 32 columns of lanes, whatever the wave: the text says so.
template <class T>
inline T handed_by(unsigned source, T v, unsigned lanes) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &v, sizeof v);
  bits = emulated_runtime.exchange(bits, source, threadIdx.x / 32 * 32, lanes);
  __builtin_memcpy(&v, &bits, sizeof v);
  return v;
}
// Of the lane d further, or d before; beyond the 32 a lane's own.
template <class T>
inline T __shfl_down_sync(unsigned lanes, T v, unsigned d) {
  return handed_by(threadIdx.x % 32 + d < 32 ? threadIdx.x + d : threadIdx.x, v, lanes);
}
template <class T>
inline T __shfl_up_sync(unsigned lanes, T v, unsigned d) {
  return handed_by(threadIdx.x % 32 >= d ? threadIdx.x - d : threadIdx.x, v, lanes);
}
inline void __syncwarp(unsigned lanes = 0xffffffffu) { handed_by(threadIdx.x, 0, lanes); }

template <class To, class From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }
inline long long __double_as_longlong(double x) { return same_bits<long long>(x); }
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}

// One thread at a time runs, so that a change is always one step.
template <class T, class Change>
inline T changed(T* where, Change change) {
  const T old = *where;
  *where = change(old);
  return old;
}
#define ATOMIC(name, expression)                              \
  template <class T>                                          \
  inline T name(T* where, T v) {                              \
    return changed(where, [v](T old) { return expression; }); \
  }
ATOMIC(atomicAdd, static_cast<T>(static_cast<unsigned>(old) + static_cast<unsigned>(v)))
ATOMIC(atomicMin, v < old ? v : old)
ATOMIC(atomicMax, old < v ? v : old)
ATOMIC(atomicAnd, old& v)
ATOMIC(atomicOr, old | v)
ATOMIC(atomicXor, old ^ v)
ATOMIC(atomicExch, (static_cast<void>(old), v))
#undef ATOMIC

// A kernel as the executor calls it: arguments by where they are, each copied by its own type.
template <unsigned... I>
struct Indices {};
template <unsigned N, unsigned... I>
struct FirstIndices : FirstIndices<N - 1, N - 1, I...> {};
template <unsigned... I>
struct FirstIndices<0, I...> {
  using Type = Indices<I...>;
};
template <class... A, unsigned... I>
inline void call_kernel(void (*kernel)(A...), void** arguments, Indices<I...>) {
  kernel(*static_cast<A*>(arguments[I])...);
}
template <class... A>
inline void call_kernel(void (*kernel)(A...), void** arguments) {
  call_kernel(kernel, arguments, typename FirstIndices<sizeof...(A)>::Type());
}
template <class... A>
struct KernelSizes {
  static constexpr unsigned count = sizeof...(A);
  unsigned bytes[sizeof...(A)];
};
template <class... A>
constexpr KernelSizes<A...> sizes_of(void (*)(A...)) {
  return {{sizeof(A)...}};
}

// Exports the kernel as `entry`; `start` and `stop` are the linker's names for the ends of the section
// of its workgroup memory.
#define EMULATED_KERNEL(entry, name, function, start, stop, waits)                             \
  extern "C" {                                                                                 \
  extern char start[] __attribute__((weak, visibility("hidden")));                             \
  extern char stop[] __attribute__((weak, visibility("hidden")));                              \
  static void entry##_call(void** arguments) { call_kernel(&function, arguments); }            \
  static constexpr auto entry##_sizes = sizes_of(&function);                                   \
  extern const hologram::emulated::KernelEntry entry;                                          \
  const hologram::emulated::KernelEntry entry = {name,  entry##_call, entry##_sizes.count,      \
                                                 entry##_sizes.bytes, start, stop, waits};     \
  }
