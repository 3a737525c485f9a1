#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace hologram::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kPeriod = std::chrono::milliseconds(100);
constexpr int kWidth = 30;
constexpr const char* kClearLine = "\r\x1b[K";

std::string repeated(const char* text, int count) {
  std::string all;
  for (int i = 0; i < count; i++) all += text;
  return all;
}

}  // namespace

ProgressBar::ProgressBar(std::string label, std::function<double()> fraction)
    : label_(std::move(label)), fraction_(std::move(fraction)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { draw_until_done(); });
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ProgressBar::draw_until_done() {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, kPatience, [this] { return done_; })) return;
  do {
    const double fraction = std::min(1.0, fraction_());
    draw(fraction, std::chrono::duration<double>(Clock::now() - start).count());
  } while (!changed_.wait_for(lock, kPeriod, [this] { return done_; }));
  fmt::print(stderr, "{}", kClearLine);
  std::fflush(stderr);
}

void ProgressBar::draw(double fraction, double seconds) const {
  std::string line = fmt::format("{}{} ", kClearLine, label_);
  if (fraction >= 0) {
    const int full = static_cast<int>(fraction * kWidth);
    line += fmt::format("{}{} {:3.0f}%", repeated("━", full), repeated("─", kWidth - full),
                        fraction * 100);
    // A guess from the first hundredth would be wild.
    if (fraction > 0.01)
      line += fmt::format(", {:.0f} s left", seconds / fraction * (1 - fraction));
  } else {
    line += fmt::format("… {:.0f} s", seconds);
  }
  fmt::print(stderr, "{}", line);
  std::fflush(stderr);
}

}  // namespace hologram::tool
