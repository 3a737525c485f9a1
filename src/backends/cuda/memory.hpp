// Memory of a GPU.
#pragma once

#include "backends/cuda/gpu.hpp"

namespace hologram::backends::cuda {

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
  Address address() const { return address_; }
  Gpu& gpu() const { return gpu_; }

 private:
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

}  // namespace hologram::backends::cuda
