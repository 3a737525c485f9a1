// WebGPU of a web page. Its answers come when no call of hologram is under way, so that nothing can
// be waited for: work is started, and what has to be known of it comes by and by.
//
// - Reading a tensor starts a copy, whose bytes JavaScript takes when they are there.
// - Other work that needs values of the device throws NotYet, and is done again from its beginning
//   when they are there: an Attempt gives what was brought before to whoever asks in the same
//   order.
// - Errors of what was started come with the next value that is read.
#pragma once

#include <vector>

#include "hologram/hal/buffer.hpp"

namespace hologram::backends::webgpu {

struct NotYet {};

// What attempts at some work have asked the device for, in their order.
class Values {
 public:
  Values() = default;
  ~Values();
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

 private:
  friend class Session;
  friend class Attempt;
  struct Value {
    uint32_t number = 0;  // under which it comes; 0: it is here
    std::vector<std::byte> bytes;
  };
  std::vector<Value> values_;
  size_t next_ = 0;
};

// While there is one, values that are needed are taken from there, or asked for and kept there for
// the next attempt. One may be within another.
class Attempt {
 public:
  explicit Attempt(Values& values);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

 private:
  Values* const before_;
};

// Starts to bring memory of a device to the page, under a number by which JavaScript finds it.
uint32_t bring(const hal::Binding& from);

}  // namespace hologram::backends::webgpu
