// How a test steers the rocBLAS of fake_rocblas.cpp. Opened by path, as hologram opens it.
#pragma once

namespace hologram {

struct FakeRocBlas {
  // Calls of the function of that name fail with the status: `count` of them, after `skip` more.
  // Null ends all failures.
  void (*fail)(const char* name, int skip, int count, int status);
  int (*calls)(const char* name);  // so far
  int (*handles)();
  const char* (*wrong)();  // what a call did that the real library does not take; empty: nothing
};

}  // namespace hologram
