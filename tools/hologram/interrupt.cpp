#include "interrupt.hpp"

#include <csignal>

#include "hologram/error.hpp"

namespace hologram::tool {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

// What a signal handler may touch.
std::atomic<Progress*> running{nullptr};
std::atomic<int> came{0};
static_assert(std::atomic<Progress*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void handle(int number) {
  came = number;
  if (Progress* progress = running) progress->cancel = true;
}

}  // namespace

Interrupt::Interrupt(Progress& progress) {
  running = &progress;
  for (const int number : kSignals) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    // What was started to ignore a signal, as by nohup, keeps ignoring it.
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

Interrupt::~Interrupt() { running = nullptr; }

int Interrupt::signal() { return came; }

void Interrupt::check() {
  if (came != 0)
    throw Error(ErrorKind::Cancelled, "interrupted", "No output was written; run it again.");
}

}  // namespace hologram::tool
