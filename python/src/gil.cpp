// Python's lock (the GIL), and deferred releases that need it.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "binding.hpp"

namespace hologram::python {
namespace {

// None of these is ever destroyed: threads of the library may outlive static objects.
struct Shutdown {
  std::atomic<bool> begun{false};
  std::atomic<int> coming_back{0};
};
std::thread::id main_thread;
thread_local bool may_release_now = false;

Shutdown& shutdown() {
  static auto* one = new Shutdown;
  return *one;
}

struct Waiting {
  struct Item {
    void (*release)(void*);
    void* data;
  };
  std::mutex mutex;
  std::vector<Item> items;
};
Waiting& waiting() {
  static auto* one = new Waiting;
  return *one;
}

// Called by Python between two instructions of its main thread.
int release_in_between(void*) {
  release_waiting();
  return 0;
}

// At the end of the process: from now on nobody comes back from WithoutGil, and whoever is on the
// way has arrived.
void end() {
  shutdown().begun = true;
  const WithoutGil released;
  while (shutdown().coming_back > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

WithoutGil::~WithoutGil() {
  Shutdown& state = shutdown();
  state.coming_back++;
  if (state.begun && std::this_thread::get_id() != main_thread) {
    state.coming_back--;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  PyEval_RestoreThread(state_);
  state.coming_back--;
}

void release_waiting() {
  std::vector<Waiting::Item> items;
  {
    const std::lock_guard lock(waiting().mutex);
    items.swap(waiting().items);
  }
  for (const auto& [release, data] : items) release(data);
}

ReleasingNow::ReleasingNow() {
  release_waiting();
  may_release_now = true;
}
ReleasingNow::~ReleasingNow() { may_release_now = false; }

void release_later(void (*release)(void*), void* data) {
  if (may_release_now) return release(data);
  if (shutdown().begun) return;  // the memory goes with the process
  bool first;
  {
    const std::lock_guard lock(waiting().mutex);
    first = waiting().items.empty();
    waiting().items.push_back({release, data});
  }
  // If Python's own list is full it is told the next time: a later call of ours looks, too.
  if (first) Py_AddPendingCall(release_in_between, nullptr);
}

void register_gil(nb::module_& m) {
  main_thread = std::this_thread::get_id();
  m.def("_end", end, "Called once, at the end of the process.");
  m.def("_release_waiting", release_waiting, "Lets go of arrays that nobody reads.");
}

}  // namespace hologram::python
