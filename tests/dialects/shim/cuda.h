// What printed CUDA and HIP take from their compilers, for a compiler of C++: see host_device.hpp.
#pragma once

extern "C" {
float floorf(float), ceilf(float), truncf(float), rintf(float), sqrtf(float), fabsf(float);
double floor(double), ceil(double), trunc(double), rint(double), sqrt(double), fabs(double);
float fmaf(float, float, float), copysignf(float, float);
double fma(double, double, double), copysign(double, double);
}

#define __device__
#define __global__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(lanes)
#define __shared__ static

struct Place {
  unsigned x;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
static Place threadIdx, blockIdx, gridDim;
extern "C" {
void (*wait_for_all)();
void (*wait_for_warp)();
unsigned long long handed_over[1024];
void set_place(unsigned thread, unsigned block, unsigned blocks) {
  threadIdx.x = thread;
  blockIdx.x = block;
  gridDim.x = blocks;
}
}
inline void __syncthreads() { wait_for_all(); }

// The value of another of 32 lanes that come by together.
template <class T>
inline T handed_by(unsigned other, T v) {
  __builtin_memcpy(&handed_over[threadIdx.x], &v, sizeof v);
  wait_for_warp();
  __builtin_memcpy(&v, &handed_over[other], sizeof v);
  wait_for_warp();
  return v;
}
// Of the lane d further, or d before; beyond the 32 a lane's own.
template <class T>
inline T __shfl_down_sync(unsigned, T v, unsigned d) {
  return handed_by(threadIdx.x % 32 + d < 32 ? threadIdx.x + d : threadIdx.x, v);
}
template <class T>
inline T __shfl_up_sync(unsigned, T v, unsigned d) {
  return handed_by(threadIdx.x % 32 >= d ? threadIdx.x - d : threadIdx.x, v);
}

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
