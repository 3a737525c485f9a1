// What hipRTC has before the text begins, as far as printed programs use it, for clang alone.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(lanes) __attribute__((amdgpu_flat_work_group_size(1, lanes)))

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct ThreadNumber {
  __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); }
};
struct BlockNumber {
  __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); }
};
struct BlockCount {
  __device__ operator unsigned() const {
    return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x();
  }
};
template <class Number>
struct Place {
  Number x;
};
static __device__ const Place<ThreadNumber> threadIdx = {};
static __device__ const Place<BlockNumber> blockIdx = {};
static __device__ const Place<BlockCount> gridDim = {};

static __device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define AS(To, From, name)                      \
  static __device__ inline To name(From from) { \
    To to;                                      \
    __builtin_memcpy(&to, &from, sizeof to);    \
    return to;                                  \
  }
AS(float, unsigned, __uint_as_float)
AS(unsigned, float, __float_as_uint)
AS(double, long long, __longlong_as_double)
AS(long long, double, __double_as_longlong)
#undef AS

#define FUNCTIONS(type, f)                                                         \
  static __device__ inline type floor##f(type x) { return __builtin_floor##f(x); } \
  static __device__ inline type ceil##f(type x) { return __builtin_ceil##f(x); }   \
  static __device__ inline type trunc##f(type x) { return __builtin_trunc##f(x); } \
  static __device__ inline type rint##f(type x) { return __builtin_rint##f(x); }   \
  static __device__ inline type sqrt##f(type x) { return __builtin_sqrt##f(x); }   \
  static __device__ inline type fabs##f(type x) { return __builtin_fabs##f(x); }   \
  static __device__ inline type copysign##f(type a, type b) {                      \
    return __builtin_copysign##f(a, b);                                            \
  }                                                                                \
  static __device__ inline type fma##f(type a, type b, type c) { return __builtin_fma##f(a, b, c); }
FUNCTIONS(float, f)
FUNCTIONS(double, )
#undef FUNCTIONS

static __device__ inline int __popc(unsigned x) { return __builtin_popcount(x); }
static __device__ inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static __device__ inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
static __device__ inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
static __device__ inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static __device__ inline long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}

#define ATOMIC(name, builtin)                      \
  template <class T>                               \
  static __device__ inline T name(T* where, T v) { \
    return builtin(where, v, __ATOMIC_RELAXED);    \
  }
ATOMIC(atomicAdd, __atomic_fetch_add)
ATOMIC(atomicMin, __atomic_fetch_min)
ATOMIC(atomicMax, __atomic_fetch_max)
ATOMIC(atomicAnd, __atomic_fetch_and)
ATOMIC(atomicOr, __atomic_fetch_or)
ATOMIC(atomicXor, __atomic_fetch_xor)
ATOMIC(atomicExch, __atomic_exchange_n)
#undef ATOMIC
