// How a test steers the emulated WebGPU of fake_webgpu.cpp. Opened by path, as hologram opens it.
#pragma once

namespace hologram {

struct FakeWebGpu {
  // Calls of the function of that name fail as the real one would: `count` of them, after `skip`
  // more. Null ends all failures.
  void (*fail)(const char* name, int skip, int count);
  int (*calls)(const char* name);  // so far
  void (*lose)(const char* why);   // the device
  int (*live)();                   // buffers
  int (*most_made)();              // pipelines that were made side by side
  void (*work)(int looks);         // is done when so many looks were taken for it
  // What a call did that the real library does not take; empty if nothing.
  const char* (*wrong)();
};

}  // namespace hologram
