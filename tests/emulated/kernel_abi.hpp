// What a kernel that was compiled for the processor and the executor know of each other. Compiled
// with every kernel, so that nothing is included here.
#pragma once

namespace hologram::emulated {

// What a running kernel asks of the executor; each library of kernels has one, which the executor
// fills in before a thread goes on.
struct Runtime {
  struct Index {
    unsigned x;
  };
  Index thread, block, blocks;
  unsigned wave;  // lanes of a wave
  // Until all threads of the block are at the barrier of that line.
  void (*wait_for_block)(unsigned line);
  // Until all of these lanes, counted from thread `first`, hand something over; gives what thread
  // `source` did, or a poison if that one takes no part.
  unsigned long long (*exchange)(unsigned long long bits, unsigned source, unsigned first,
                                 unsigned long long lanes);
};

// What is exported of a kernel.
struct KernelEntry {
  const char* name;
  void (*call)(void** arguments);  // where each argument is
  unsigned arguments;
  const unsigned* sizes;      // of each, bytes
  char *shared, *shared_end;  // workgroup memory; null: there is none
  bool waits;                 // its threads wait for each other
};

}  // namespace hologram::emulated
