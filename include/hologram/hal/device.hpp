// A device: memory, programs, streams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "hologram/device.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/launch.hpp"
#include "hologram/hal/library.hpp"
#include "hologram/hal/stream.hpp"
#include "hologram/program.hpp"

namespace hologram::hal {

// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual std::optional<Refusal> refuses(const program::Program& program) const = 0;
  // Memory for a slab of the pool, aligned to 256 bytes at least. OutOfMemory if there is none.
  virtual std::unique_ptr<Buffer> allocate(uint64_t bytes) = 0;
  // Whether a program may write to one part of a buffer and be given another. Where it may not, the
  // pool cuts nothing up: each of its blocks is a buffer.
  virtual bool suballocates() const { return true; }
  // Whether launches that use different memory may run at the same time. Then the pool lets small
  // blocks rest before it gives them to others.
  virtual bool overlaps_launches() const { return false; }
  // Host memory as a buffer without a copy, where the device can; null where it cannot.
  virtual std::unique_ptr<Buffer> adopt(std::byte* memory, uint64_t bytes) = 0;
  // Memory of the host that this device copies from and to by itself, at the speed of its link;
  // null where no memory is better than any other. OutOfMemory if there is none.
  virtual std::shared_ptr<std::byte> host_memory(uint64_t) { return nullptr; }
  // Memory of this device that somebody else has; `release` is called with it when the buffer goes
  // and no work uses it. It is not called for a refusal.
  virtual Expected<std::unique_ptr<Buffer>> borrow(void*, uint64_t, std::function<void(void*)>) {
    return Refusal{"the device has no pointers that others could give it"};
  }
  virtual std::shared_ptr<Executable> compile(const program::Program& program,
                                              const CompileOptions& options) = 0;
  // Whether programs that need to be ready later only are compiled side by side.
  virtual bool compiles_async() const { return false; }
  virtual std::unique_ptr<Stream> stream() = 0;
  // Whether work may still go on when the call that asked for it has returned.
  virtual bool asynchronous() const { return false; }
  virtual bool has_timestamps() const { return false; }  // whether Stream::times tells something
  // Whether its streams copy to memory of the other.
  virtual bool copies_to(const Device&) const { return false; }
  virtual bool lists() const { return false; }       // whether its streams make CommandLists
  virtual LibraryOps* library() { return nullptr; }  // null: it has none
};

}  // namespace hologram::hal
