// Of a file that is compiled once for every instruction set (interp/targets.hpp).
#pragma once

// Defines `signature`: what `function` returns where it is compiled for the best vector
// instructions of this processor. After HWY_ONCE.
#define HOLOGRAM_SIMD_DISPATCH(pointer, signature, function)    \
  HWY_EXPORT(function);                                         \
  pointer signature {                                           \
    static const auto best = [] {                               \
      if constexpr ((HWY_TARGETS) != HWY_STATIC_TARGET)         \
        hwy::GetChosenTarget().Update(hwy::SupportedTargets()); \
      return HWY_DYNAMIC_DISPATCH(function)();                  \
    }();                                                        \
    return best;                                                \
  }
