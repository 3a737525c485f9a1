// Work in order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hologram/hal/buffer.hpp"
#include "hologram/hal/command_list.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/launch.hpp"
#include "hologram/hal/library.hpp"

namespace hologram::hal {

// A moment on a stream's timeline.
struct Point {
  uint64_t value = 0;
};

enum class State : uint8_t { Pending, Done, Failed };

// Work in order; one caller at a time. Failures of the work itself surface in wait.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void launch(const Launch& launch) = 0;
  // `plan` is of this device and outlives the work; `bindings` are its operands, as operations.hpp
  // says.
  virtual void call(const LibraryPlan& plan, std::span<const Binding> bindings,
                    Binding workspace) = 0;
  // Between distinct buffers, either of which may be the host's: host memory that is read may be
  // used again when this returns, host memory that is written is complete after wait.
  virtual void copy(Binding to, Binding from) = 0;
  virtual void fill(Binding where, uint32_t pattern) = 0;
  // A refusal where it is as well to do one command after the other.
  virtual Expected<std::unique_ptr<CommandList>> list(std::span<const Command>) {
    return Refusal{"the device takes one launch at a time"};
  }
  // Of a list that this stream made: `table` has a binding for each slot, of the slot's size, at a
  // multiple of 256 if a plan uses it.
  virtual void replay(CommandList&, std::span<const Binding>) {}
  // Of launches that were timed and are done, each once, in order; waits for `all` of them.
  virtual std::vector<Timing> times(bool) { return {}; }
  // Nothing that belongs together follows: a device that begins with its work at a submission only
  // may begin with what there is.
  virtual void start() {}
  virtual Point submit() = 0;
  // The one blocking call. Throws what went wrong in the work before `point`; where devices work by
  // themselves (Device::asynchronous), again at every later call.
  virtual State wait(Point point, Deadline deadline) = 0;
};

}  // namespace hologram::hal
