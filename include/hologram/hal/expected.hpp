// An answer, or the reason why there is none.
#pragma once

#include <string>
#include <variant>

namespace hologram::hal {

// Why something is not done: a short clause, as in "No CUDA-capable device found".
struct Refusal {
  std::string reason;
  // Of a library: it does such work, and what kept it from doing so is missing or went wrong.
  bool is_fallback = false;
};

template <class T>
using Expected = std::variant<T, Refusal>;

}  // namespace hologram::hal
