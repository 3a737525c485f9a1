// How a test steers the emulated CUDA driver of fake_cuda.cpp. Opened by path, as hologram opens
// it.
#pragma once

#include <cstdint>

namespace hologram {

struct FakeCuda {
  // Calls of the function of that name, a driver's or NVRTC's, fail with the status: `count` of
  // them, after `skip` more. Null ends all failures.
  void (*fail)(const char* name, int skip, int count, int status);
  int (*calls)(const char* name);  // so far
  // How launches to come behave. A kernel that hangs ends when it is told to stop (Obedient), or
  // when `hang` is called again (Stubborn).
  enum Hang { Never, Obedient, Stubborn };
  void (*hang)(Hang how);
  uint64_t (*allocated)();  // bytes of device memory
  int (*depth)();           // contexts that the calling thread has pushed
  // Of the last launch: blocks, threads, and the value of an argument.
  unsigned (*blocks)();
  unsigned (*threads)();
  uint64_t (*argument)(int index);
  const char* (*options)();  // of the last compilation, separated by spaces
};

}  // namespace hologram
