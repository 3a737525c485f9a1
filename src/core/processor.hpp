// Who made this processor: what is announced to it, and how far ahead, depends on it.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hologram::core {

// Where __builtin_prefetch announces lines to; the first cache is 3.
inline constexpr int kToSecondCache = 2;

inline bool is_amd() {
#if defined(__x86_64__)
  static const bool made_by_amd = __builtin_cpu_is("amd") > 0;
  return made_by_amd;
#else
  return false;
#endif
}

// Of AMD's processors with AVX-512 those before Zen 5, which share its family, 25, with Zen 3.
inline bool is_zen4() {
#if defined(__x86_64__)
  static const bool has_family = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!is_amd() || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
    const unsigned family = (eax >> 8 & 15) + (eax >> 20 & 255);
    return family == 25 && __builtin_cpu_supports("avx512f") > 0;
  }();
  return has_family;
#else
  return false;
#endif
}

// Sums of products of four bytes.
inline bool has_avx512_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") > 0;
#else
  return false;
#endif
}

}  // namespace hologram::core
