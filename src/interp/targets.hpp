// The vector instruction sets the interpreter is compiled for, and the kernels of each.
//
// A file of kernels is compiled once for every instruction set. Its shape is:
//
//   #include "interp/targets.hpp"            // first: it says which sets are compiled
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "interp/kernels_arithmetic.cpp"
//   #include <hwy/foreach_target.h>          // includes this file again for each set
//   #include "interp/vector-inl.hpp"
//   HWY_BEFORE_NAMESPACE();
//   namespace hologram::interp::HWY_NAMESPACE {
//   void fill_arithmetic(KernelTable& table) { … }
//   }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace hologram::interp {
//   HOLOGRAM_EXPORT_FILL(fill_arithmetic)    // defines fill_arithmetic(target, table)
//   }
//   #endif
//
// and it has one row in the list of targets.cpp.
#pragma once

// SSSE3 and the variants of AVX-512 and SVE would add compile time and nothing else; vectors whose
// size is not known when compiling (SVE, RVV) cannot be members of a value type.
#ifdef HWY_TARGETS
#error "Include interp/targets.hpp before any header of Highway"
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#include <hwy/detect_targets.h>

#include <optional>
#include <span>
#include <string_view>

#include "interp/kernels.hpp"

namespace hologram::interp {

// "avx512", "avx2", "sse4", "neon", "wasm" or "scalar", of which a build has those of its processor
// architecture.
struct Target {
  std::string_view name;
  int64_t hwy;  // Highway's bit for it
};

// What this build has and this processor can run, best first; never empty.
std::span<const Target> supported_targets();

// The supported target of that name.
std::optional<Target> find_target(std::string_view name);

// The kernels of a supported target. Built at the first call; lives as long as the process.
const KernelTable& kernel_table(const Target& target);

// One compiled instance of a fill function.
struct TargetFill {
  int64_t hwy;
  void (*fill)(KernelTable&);  // null if not compiled in this build
};

}  // namespace hologram::interp

// Defines `void FILL(int64_t hwy, KernelTable&)`, which calls the instance of FILL compiled for
// that target. To be used in namespace hologram::interp.
#define HOLOGRAM_EXPORT_FILL(FILL)                                                           \
  void FILL(int64_t hwy, KernelTable& table) {                                               \
    static constexpr TargetFill kFills[] = {                                                 \
        {HWY_AVX3, HWY_CHOOSE_AVX3(FILL)}, {HWY_AVX2, HWY_CHOOSE_AVX2(FILL)},                \
        {HWY_SSE4, HWY_CHOOSE_SSE4(FILL)}, {HWY_NEON, HWY_CHOOSE_NEON(FILL)},                \
        {HWY_WASM, HWY_CHOOSE_WASM(FILL)}, {HWY_STATIC_TARGET, &HWY_STATIC_DISPATCH(FILL)}}; \
    for (const TargetFill& f : kFills)                                                       \
      if (f.hwy == hwy && f.fill != nullptr) return f.fill(table);                           \
  }
