// How kernels are run where the hardware is free to choose.
#pragma once

#include <cstdint>
#include <string>

namespace hologram::emulated {

enum class Order { Forward, Reverse, Random };

struct Settings {
  // Lanes that stay together: one wave runs until it waits for others, then the next.
  unsigned wave = 32;
  // In which blocks follow each other, waves in a block, and lanes in a wave.
  Order order = Order::Forward;
  uint64_t seed = 1;  // of random orders

  // PREFIX_WAVE, PREFIX_ORDER (forward, reverse, random) and PREFIX_SEED.
  static Settings from_environment(const std::string& prefix);
};

}  // namespace hologram::emulated
