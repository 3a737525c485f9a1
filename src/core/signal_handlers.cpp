#include "core/signal_handlers.hpp"

namespace hologram::core {
namespace {

constexpr int kSignals = 32;  // what follows are those of the C library and of real time

bool same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_flags == b.sa_flags &&
         ((a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                         : a.sa_handler == b.sa_handler);
}

}  // namespace

KeepSignalHandlers::KeepSignalHandlers() : before_(kSignals) {
  for (int i = 1; i < kSignals; i++) sigaction(i, nullptr, &before_[static_cast<size_t>(i)]);
}

KeepSignalHandlers::~KeepSignalHandlers() {
  for (int i = 1; i < kSignals; i++) {
    const struct sigaction& before = before_[static_cast<size_t>(i)];
    struct sigaction now;
    if (sigaction(i, nullptr, &now) == 0 && !same(before, now)) sigaction(i, &before, nullptr);
  }
}

}  // namespace hologram::core
