// Values that ought to be 0, and streams that look at them later: where nobody can wait for the
// device in the midst of work, as in a web page, and where a captured calculation should not.
#pragma once

#include <functional>

#include "hologram/error.hpp"
#include "hologram/hal/stream.hpp"

namespace hologram::hal {

class DeferredChecks {
 public:
  virtual ~DeferredChecks() = default;
  // A later Stream::wait throws the error, or a replay, unless the u32 there turns out to be 0.
  virtual void require_zero(Binding word, std::function<Error()> error) = 0;
  virtual bool can_wait() const = 0;
};

// Throws the error unless the u32 there is 0: now, or later if that is asked for, where the stream
// can, or if it cannot wait.
inline void require_zero(Stream& stream, Binding word, std::function<Error()> error,
                         bool later = false) {
  if (auto* const checks = dynamic_cast<DeferredChecks*>(&stream);
      checks != nullptr && (later || !checks->can_wait()))
    return checks->require_zero(word, std::move(error));
  uint32_t value = 0;
  HostBuffer host(reinterpret_cast<std::byte*>(&value), sizeof value);
  stream.copy({&host, 0, sizeof value}, {word.buffer, word.offset, sizeof value});
  stream.wait(stream.submit(), {});
  if (value != 0) throw error();
}

}  // namespace hologram::hal
