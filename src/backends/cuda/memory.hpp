// Memory of a GPU.
#pragma once

#include "backends/cuda/gpu.hpp"

namespace hologram::backends::cuda {

class Memory final : public hal::Buffer {
 public:
  Memory(Gpu& gpu, uint64_t bytes);  // OutOfMemory
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return nullptr; }
  Address address() const { return address_; }

 private:
  Gpu& gpu_;
  const uint64_t bytes_;
  Address address_ = 0;
};

inline Address address_of(const hal::Binding& binding) {
  return static_cast<const Memory&>(*binding.buffer).address() + binding.offset;
}

}  // namespace hologram::backends::cuda
