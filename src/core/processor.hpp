// Who made this processor: what is announced to it, and how far ahead, depends on it.
#pragma once

namespace hologram::core {

inline bool is_amd() {
#if defined(__x86_64__)
  static const bool made_by_amd = __builtin_cpu_is("amd") > 0;
  return made_by_amd;
#else
  return false;
#endif
}

}  // namespace hologram::core
