// What an error says, for tests.
#pragma once

#include <functional>
#include <string>

#include "hologram/error.hpp"

namespace hologram {

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.remedy();
  }
  return "nothing was thrown";
}

}  // namespace hologram
