// A progress bar on the terminal.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace hologram::tool {

// Shows on the standard error how far a piece of work is, if that is a terminal and the work lasts
// longer than half a second; a thread draws it. Gone without a trace when destroyed.
class ProgressBar {
 public:
  // `fraction`, 0 to 1, is called on the drawing thread; below 0 where it is not known.
  ProgressBar(std::string label, std::function<double()> fraction);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  void draw_until_done();
  void draw(double fraction, double seconds) const;

  std::string label_;
  std::function<double()> fraction_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace hologram::tool
