#include "backends/driver/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"

namespace hologram::backends::driver {

using core::Text;

Memory::Memory(Gpu& gpu, uint64_t bytes) : gpu_(gpu), bytes_(bytes) {
  gpu.require_usable();
  const Gpu::Current current(gpu);
  const Status status =
      gpu.driver()->allocate(&address_, std::max<size_t>(bytes, sizeof(uint32_t)));
  if (status == kOutOfMemory)
    throw core::error(Text::OutOfMemory, gpu.name(), bytes, std::string());
  gpu.check(status, "allocating " + std::to_string(bytes) + " bytes");
}

Memory::Memory(Gpu& gpu, Address address, uint64_t bytes, std::function<void(void*)> release)
    : gpu_(gpu), bytes_(bytes), address_(address), borrowed_(true), release_(std::move(release)) {}

Memory::~Memory() {
  if (borrowed_) {
    if (release_ == nullptr) return;
    // Memory that work may still read is nobody's. That of others is not ours to wait for.
    if (gpu_.is_at_rest() || is_idle()) release_(native());
    return;
  }
  gpu_.if_usable([this](const DriverFunctions& driver) { driver.release(address_); });
}

bool Memory::is_idle() {
  bool done = gpu_.is_lost();
  const uint64_t works = gpu_.works();
  gpu_.if_usable([&](const DriverFunctions& driver) {
    done = driver.context_synchronize() == kSuccess || gpu_.is_lost();
  });
  if (done) gpu_.set_done(works);
  return done;
}

hal::Expected<std::unique_ptr<hal::Buffer>> borrow(Gpu& gpu, void* memory, uint64_t bytes,
                                                   std::function<void(void*)> release) {
  constexpr Address kAlignment = 16;
  const auto address = static_cast<Address>(reinterpret_cast<uintptr_t>(memory));
  if (bytes > 0) {
    gpu.require_usable();
    const Gpu::Current current(gpu);
    int which[] = {kMemoryType, kDeviceOrdinal, kRangeStart, kRangeSize};
    unsigned type = 0;
    int device = -1;
    Address start = 0;
    size_t size = 0;
    void* values[] = {&type, &device, &start, &size};
    gpu.check(gpu.driver()->pointer_attributes(4, which, values, address), "looking at a pointer");
    if (type != kDeviceMemory) return hal::Refusal{"it is not memory of a device"};
    if (device != gpu.index())
      return hal::Refusal{fmt::format("it is memory of device {}", device)};
    if (size > 0 && address + bytes > start + size)
      return hal::Refusal{fmt::format("{} bytes are needed, and its allocation ends after {}",
                                      bytes, start + size - address)};
    if (address % kAlignment != 0)
      return hal::Refusal{fmt::format("it is not aligned to {} bytes", kAlignment)};
  }
  return std::make_unique<Memory>(gpu, address, bytes, std::move(release));
}

std::shared_ptr<std::byte> host_memory(Gpu& gpu, uint64_t bytes) {
  gpu.require_usable();
  const Gpu::Current current(gpu);
  void* memory = nullptr;
  const Status status = gpu.driver()->allocate_host(&memory, bytes, kPortable);
  if (status == kOutOfMemory)
    throw core::error(Text::OutOfMemory, gpu.name(), bytes, " of page-locked memory of the host");
  gpu.check(status, "locking " + std::to_string(bytes) + " bytes of the host's memory");
  return {static_cast<std::byte*>(memory), [&gpu](std::byte* taken) {
            gpu.if_usable([&](const DriverFunctions& driver) { driver.release_host(taken); });
          }};
}

}  // namespace hologram::backends::driver
