// The threads of one block, each a fiber.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "fibers.hpp"
#include "kernel_abi.hpp"
#include "settings.hpp"

namespace hologram::emulated {

struct Kernel {
  const KernelEntry* entry = nullptr;
  Runtime* runtime = nullptr;  // of its library
};

// Runs blocks one after the other, of any kernels. One of them at a time runs in a process.
class Block {
 public:
  void set(const Settings& settings);

  // Runs all threads to their ends. What they did wrong; empty: nothing.
  std::string run(const Kernel& kernel, void** arguments, unsigned threads, unsigned block,
                  unsigned blocks);
  // 0, 1, … in the order of the settings.
  void put_in_order(std::vector<unsigned>& numbers);

 private:
  enum class State : uint8_t { Ready, AtBarrier, InExchange, Done };
  struct Thread {
    State state;
    unsigned line;  // of the barrier
    // Of an exchange.
    unsigned source, first;
    uint64_t lanes, bits;
  };

  static void body();
  static void wait_for_block(unsigned line);
  static unsigned long long exchange(unsigned long long bits, unsigned source, unsigned first,
                                     unsigned long long lanes);

  void run_one_by_one();
  std::string run_together();
  void run_wave(unsigned first, unsigned end);
  bool end_exchanges(unsigned first, unsigned end);
  bool end_exchange(unsigned thread);
  bool all_at_a_barrier() const;
  std::string stuck() const;
  void suspend(State state);

  Settings settings_;
  std::mt19937_64 random_;
  Fibers fibers_;
  std::vector<Thread> threads_;
  std::vector<unsigned> waves_, lanes_;  // in the order in which they run
  unsigned running_ = 0;
  Kernel kernel_;
  void** arguments_ = nullptr;
};

}  // namespace hologram::emulated
