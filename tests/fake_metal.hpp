// How a test steers the emulated Metal of fake_metal.cpp. Opened by path, as hologram opens it.
#pragma once

#include <cstdint>

#include "emulated/settings.hpp"

namespace hologram {

namespace fake {
struct MetalExecution : emulated::Settings {
  bool beside = true;  // command buffers run beside the host, as late as they may
};
}  // namespace fake

struct FakeMetal {
  // Messages of that selector fail, as they may: with nil, NO, or an error where there is a place
  // for one; a command buffer that is committed ends in an error of that code. `count` of them,
  // after `skip` more. Null ends all failures.
  void (*fail)(const char* selector, int skip, int count, int code);
  int (*sent)(const char* selector);  // so far
  // What is there of a class ("MTLBuffer", …); null: of all but devices.
  int (*live)(const char* class_name);
  uint64_t (*allocated)();  // bytes of all buffers
  // What was done wrong so far, a line each: messages that nobody understands, objects released
  // too often, no pool, encoders that are not ended, places and sizes out of range.
  const char* (*faults)();
  void (*forgive)();                // forgets these
  int (*pools)();                   // that the calling thread has
  int (*launches)();                // so far
  const char* (*options)();         // of the last compilation: "mathMode=0 …"
  void (*hang)(bool on);            // kernels to come run until this is called with false
  void (*limit)(unsigned threads);  // that a threadgroup of pipelines to come may have
  // Null: kernels are recorded only.
  void (*execute)(const fake::MetalExecution* how);
};

}  // namespace hologram
