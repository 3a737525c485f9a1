// The minimum that the devices of a class promise.
#pragma once

#include <span>

#include "hologram/device.hpp"

namespace hologram::conformance {

struct Minimum {
  BackendType backend;
  std::span<const DType> dtypes;  // every operation that takes one is there
};

std::span<const Minimum> minima();

}  // namespace hologram::conformance
