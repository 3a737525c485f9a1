// Marks what the shared library exports; everything else is hidden.
#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "hologram needs C++20: compile with -std=c++20, or target_compile_features(… cxx_std_20)."
#endif

#if defined(_WIN32)
#define HOLOGRAM_API
#else
#define HOLOGRAM_API __attribute__((visibility("default")))
#endif
