// What files are compiled with that are written for some instructions of a processor.
#pragma once

#include "libraries/blocks/layout.hpp"

#define HOLOGRAM_LANES __attribute__((always_inline)) inline
#define HOLOGRAM_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define HOLOGRAM_UNROLL HOLOGRAM_PRAGMA(clang loop unroll(full))
#define HOLOGRAM_LANES_BEGIN(instructions) \
  HOLOGRAM_PRAGMA(clang attribute push(__attribute__((target(instructions))), apply_to = function))
#define HOLOGRAM_LANES_END HOLOGRAM_PRAGMA(clang attribute pop)
#else
#define HOLOGRAM_UNROLL HOLOGRAM_PRAGMA(GCC unroll 8)
#define HOLOGRAM_LANES_BEGIN(instructions) \
  HOLOGRAM_PRAGMA(GCC push_options) HOLOGRAM_PRAGMA(GCC target(instructions))
#define HOLOGRAM_LANES_END HOLOGRAM_PRAGMA(GCC pop_options)
#endif
