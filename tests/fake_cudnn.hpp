// How a test steers the cuDNN of fake_cudnn.cpp. Opened by path, as hologram opens it.
#pragma once

#include <cstddef>

namespace hologram {

struct FakeCudnn {
  // Calls of the function of that name fail with the status: `count` of them, after `skip` more.
  // Null ends all failures.
  void (*fail)(const char* name, int skip, int count, int status);
  int (*calls)(const char* name);  // so far
  int (*alive)();                  // descriptors
  const char* (*wrong)();    // what a call did that the real library does not take; empty: nothing
  void (*forgive)();         // forgets it
  void (*refuse)(bool all);  // it has no engine for anything
  void (*version)(int major, int cuda);  // what it says of itself; 9, for CUDA 12, unless set
  const char* (*reason)();  // why it has no engine for the graph that was asked about last, or ""
  int (*engine)();          // the number of the last that ran, in its table; -1: none yet
};

}  // namespace hologram
