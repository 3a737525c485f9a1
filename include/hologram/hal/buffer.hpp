// Memory, and parts of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hologram/export.hpp"

namespace hologram::hal {

class Buffer {
 public:
  virtual ~Buffer() = default;  // work under way may still use the memory: it stays until then
  virtual uint64_t size() const = 0;  // bytes
  virtual std::byte* host() = 0;      // null unless the host can reach it
  // Bytes that the address of its beginning is a multiple of, up to 256.
  virtual uint32_t alignment() const { return 256; }
  // Where it begins, for work of others: an address of the device, or of the host. Null where the
  // device's memory has none.
  virtual void* native() { return host(); }
  // Until all that was put on the device is done, work of others with it. Does not throw.
  virtual void wait_for_everybody() {}
};

// Memory of the host as an end of a copy.
class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return data_; }
  uint32_t alignment() const override { return 1; }

 private:
  std::byte* data_;
  uint64_t bytes_;
};

// A part of a buffer given to a program. `size` is exact: the length of the buffer parameter is
// size / element size. `offset` is a multiple of DeviceInfo::binding_alignment.
struct Binding {
  Buffer* buffer = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Bytes that the address of a binding is a multiple of, as far as is known.
inline uint32_t alignment_of(const Binding& where) {
  if (where.buffer->host() != nullptr) return 1;  // it may be anybody's
  const uint64_t least = where.offset | where.buffer->alignment();
  return static_cast<uint32_t>(least & (~least + 1));
}

// Memory that a command uses and that each replay gives anew: place `number` of its table.
class Slot final : public Buffer {
 public:
  Slot(uint32_t number, uint64_t bytes) : number_(number), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return nullptr; }
  uint32_t number() const { return number_; }

 private:
  const uint32_t number_;
  const uint64_t bytes_;
};

}  // namespace hologram::hal
