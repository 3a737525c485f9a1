#include "core/log.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace hologram {
namespace {

struct Sink {
  std::mutex mutex;
  std::shared_ptr<const LogCallback> callback;
  std::optional<LogLevel> told;                // by set_log_callback
  LogLevel configured = LogLevel::Warning;     // by set_log_level
  std::atomic<LogLevel> level{LogLevel::Off};  // what holds

  void settle() { level = callback ? told.value_or(configured) : LogLevel::Off; }
};

// Never destroyed: messages may come from threads that outlive static destruction.
Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

}  // namespace

void set_log_callback(LogCallback callback, std::optional<LogLevel> level) {
  Sink& s = sink();
  const std::lock_guard lock(s.mutex);
  s.callback = callback ? std::make_shared<const LogCallback>(std::move(callback)) : nullptr;
  s.told = level;
  s.settle();
}

namespace core {

void set_log_level(LogLevel level) {
  Sink& s = sink();
  const std::lock_guard lock(s.mutex);
  s.configured = level;
  s.settle();
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::Off && level <= sink().level.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  std::shared_ptr<const LogCallback> callback;
  {
    Sink& s = sink();
    const std::lock_guard lock(s.mutex);
    callback = s.callback;
  }
  if (callback) (*callback)(level, message);
}

}  // namespace core
}  // namespace hologram
