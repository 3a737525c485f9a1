// Memory of a GPU.
#pragma once

#include <functional>

#include "backends/driver/gpu.hpp"

namespace hologram::backends::driver {

class Memory final : public hal::Buffer {
 public:
  Memory(Gpu& gpu, uint64_t bytes);  // OutOfMemory
  // Somebody else's, given back when the device is done with it.
  Memory(Gpu& gpu, Address address, uint64_t bytes, std::function<void(void*)> release);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return nullptr; }
  uint32_t alignment() const override {
    const Address least = address_ | 256;
    return static_cast<uint32_t>(least & (~least + 1));
  }
  void* native() override {
    return reinterpret_cast<void*>(address_);  // NOLINT(performance-no-int-to-ptr)
  }
  void wait_for_everybody() override { is_idle(); }
  Address address() const { return address_; }
  Gpu& gpu() const { return gpu_; }

 private:
  // Waits for all work in the context; false if that cannot be had.
  bool is_idle();

  Gpu& gpu_;
  const uint64_t bytes_;
  Address address_ = 0;
  const bool borrowed_ = false;
  const std::function<void(void*)> release_;
};

// Such memory, or what is not right with it.
hal::Expected<std::unique_ptr<hal::Buffer>> borrow(Gpu& gpu, void* memory, uint64_t bytes,
                                                   std::function<void(void*)> release);

// Page-locked memory of the host. OutOfMemory.
std::shared_ptr<std::byte> host_memory(Gpu& gpu, uint64_t bytes);

inline Address address_of(const hal::Binding& binding) {
  return static_cast<const Memory&>(*binding.buffer).address() + binding.offset;
}

}  // namespace hologram::backends::driver
