#include "backends/cuda/memory.hpp"

#include <algorithm>

#include "core/messages.hpp"

namespace hologram::backends::cuda {

using core::Text;

Memory::Memory(Gpu& gpu, uint64_t bytes) : gpu_(gpu), bytes_(bytes) {
  gpu.require_usable();
  const Gpu::Current current(gpu);
  const Status status =
      Driver::instance()->allocate(&address_, std::max<size_t>(bytes, sizeof(uint32_t)));
  if (status == kOutOfMemory)
    throw core::error(Text::OutOfMemory, gpu.name(), bytes, std::string());
  gpu.check(status, "allocating " + std::to_string(bytes) + " bytes");
}

Memory::~Memory() {
  gpu_.if_usable([this](const DriverFunctions& driver) { driver.release(address_); });
}

}  // namespace hologram::backends::cuda
