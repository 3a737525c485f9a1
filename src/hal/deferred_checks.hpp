// Values that ought to be 0, and what a stream can do about them whose device nobody can wait for
// in the midst of work: in a web page.
#pragma once

#include <functional>

#include "hologram/error.hpp"
#include "hologram/hal/stream.hpp"

namespace hologram::hal {

class DeferredChecks {
 public:
  virtual ~DeferredChecks() = default;
  // A later Stream::wait throws the error, unless the u32 there turns out to be 0.
  virtual void require_zero(Binding word, std::function<Error()> error) = 0;
};

// Throws the error unless the u32 there is 0: now, or later where the stream defers them.
inline void require_zero(Stream& stream, Binding word, std::function<Error()> error) {
  if (auto* const checks = dynamic_cast<DeferredChecks*>(&stream))
    return checks->require_zero(word, std::move(error));
  uint32_t value = 0;
  HostBuffer host(reinterpret_cast<std::byte*>(&value), sizeof value);
  stream.copy({&host, 0, sizeof value}, {word.buffer, word.offset, sizeof value});
  stream.wait(stream.submit(), {});
  if (value != 0) throw error();
}

}  // namespace hologram::hal
