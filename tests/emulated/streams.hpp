// Work of a device's streams, beside the host: in order within each, in any order between them, and
// as late as the device may be, so that whoever forgets to wait is found out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>

namespace hologram::emulated {

// Thread-safe. Its threads live as long as the process, and so must it.
class Streams {
 public:
  using Stream = const void*;
  using Ticket = uint64_t;          // of a piece of work; 0: of what is done already
  enum class Kind { Any, Kernel };  // of kernels one runs at a time

  // At once, by whoever brings it (the default), or beside the host. `seed` chooses among streams.
  void run_at_once();
  void run_beside(uint64_t seed);

  Ticket put(Stream stream, Kind kind, std::function<void()> work);
  // Whether it is done. Who asks wants it done: it is not put off any longer.
  bool done(Ticket ticket);
  void wait(Ticket ticket);
  Ticket last(Stream stream);
  void wait_for_all();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPutOff{1};
  static constexpr unsigned kThreads = 2;  // one may be in a kernel that does not end

  struct Item {
    Ticket ticket;
    Kind kind;
    std::function<void()> work;
    Clock::time_point due;
  };
  struct Queue {
    std::deque<Item> items;
    bool running = false;
  };

  void serve();
  using Queues = std::map<Stream, Queue>;
  Queues::iterator choose(Clock::time_point& next);
  void hurry(Ticket ticket);

  std::mutex mutex_;
  std::condition_variable more_, less_;
  Queues queues_;
  std::map<Ticket, Stream> pending_;
  std::mt19937_64 random_;
  Ticket next_ = 1;
  bool beside_ = false, kernel_runs_ = false;
  unsigned threads_ = 0;
};

}  // namespace hologram::emulated
