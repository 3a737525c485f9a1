// Who holds the lock of a context.
#pragma once

#include <mutex>
#include <utility>

#include "core/log.hpp"
#include "engine/context.hpp"

namespace hologram::graph {

// The lock of a context as long as works may run.
class Context::Locked {
 public:
  explicit Locked(Context& context) : context_(context), lock_(context.mutex()) {}
  ~Locked() {
    if (context_.pending_log_.empty()) return;
    const auto said = std::exchange(context_.pending_log_, {});
    lock_.unlock();
    for (const auto& [level, message] : said) core::log(level, message);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  Context& context_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace hologram::graph
