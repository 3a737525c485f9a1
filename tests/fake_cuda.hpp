// How a test steers the emulated CUDA driver of fake_cuda.cpp. Opened by path, as hologram opens
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "emulated/settings.hpp"

namespace hologram {

namespace fake {
struct Ran {  // a kernel
  unsigned blocks, threads;
  uint64_t arguments[2];  // the first two
  uint64_t marked;        // where it writes 1; 0: nowhere
};
struct Execution : emulated::Settings {
  bool beside = true;  // work is done beside the host, late and in any order between streams
};
}  // namespace fake

struct FakeCuda {
  // Calls of the function of that name, a driver's or NVRTC's, fail with the status: `count` of
  // them, after `skip` more. Null ends all failures.
  void (*fail)(const char* name, int skip, int count, int status);
  int (*calls)(const char* name);  // so far
  // How launches to come behave. A kernel that hangs ends when it is told to stop (Obedient), or
  // when `hang` is called again (Stubborn).
  enum Hang { Never, Obedient, Stubborn };
  void (*hang)(Hang how);
  uint64_t (*allocated)();  // bytes of device memory, but for words that streams have
  // Whether all of these bytes lie in one allocation of device memory.
  bool (*holds)(const void* start, size_t bytes);
  // What was made and not yet given back: "memory" and "host memory" (allocations), "stream",
  // "event", "module", "graph", "ready graph"; null for all of them.
  int (*live)(const char* kind);
  int (*depth)();                // contexts that the calling thread has pushed
  fake::Ran (*ran)(int before);  // the last kernel, or so many before it
  int (*kernels)();              // that ran so far, also those of graphs
  void (*copy)(size_t bytes);    // kernels to come copy so many from argument 0 to argument 1
  // Kernels that are launched, or become nodes, from now on write 1 to the word that this argument
  // points to when they run; a number below 0: none does.
  void (*mark)(int argument);
  // Of libraries: the work is done when the stream comes to it, or, where the stream is being
  // captured, whenever the graph is launched.
  void (*put)(void* stream, std::function<void()> work);
  uint64_t (*loaded)();             // what the newest module was compiled from
  const char* (*options)();         // of the last compilation, separated by spaces
  void* (*new_context)(int index);  // of the application's, on the device of that index
  // Kernels to come are compiled for the processor and executed; null: they are recorded only.
  void (*execute)(const fake::Execution* how);
};

}  // namespace hologram
