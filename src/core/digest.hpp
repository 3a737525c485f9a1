// Whether memory holds what it held: 128 bits of its contents, as fast as it is read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/parallel.hpp"

namespace hologram::core {

// Not for what somebody may want to be mistaken for something else: Sha256 is.
struct Digest128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Digest128&, const Digest128&) = default;
};

// The same for any number of threads.
Digest128 digest(std::span<const std::byte> bytes, Threads& threads);

}  // namespace hologram::core
