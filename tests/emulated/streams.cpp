#include "streams.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace hologram::emulated {

void Streams::run_at_once() {
  wait_for_all();
  const std::lock_guard lock(mutex_);
  beside_ = false;
}

void Streams::run_beside(uint64_t seed) {
  const std::lock_guard lock(mutex_);
  random_.seed(seed);
  beside_ = true;
  for (; threads_ < kThreads; threads_++) std::thread([this] { serve(); }).detach();
}

Streams::Ticket Streams::put(Stream stream, Kind kind, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (beside_) {
      const Ticket ticket = next_++;
      queues_[stream].items.push_back({ticket, kind, std::move(work), Clock::now() + kPutOff});
      pending_[ticket] = stream;
      more_.notify_one();
      return ticket;
    }
  }
  work();
  return 0;
}

// That and what is before it on its stream.
void Streams::hurry(Ticket ticket) {
  const auto found = pending_.find(ticket);
  if (found == pending_.end()) return;
  for (Item& item : queues_[found->second].items)
    if (item.ticket <= ticket) item.due = {};
  more_.notify_all();
}

bool Streams::done(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  hurry(ticket);
  return pending_.count(ticket) == 0;
}

void Streams::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  hurry(ticket);
  less_.wait(lock, [&] { return pending_.count(ticket) == 0; });
}

Streams::Ticket Streams::last(Stream stream) {
  const std::lock_guard lock(mutex_);
  Ticket last = 0;
  for (const auto& [ticket, of] : pending_)
    if (of == stream) last = ticket;
  return last;
}

void Streams::wait_for_all() {
  std::unique_lock lock(mutex_);
  const Ticket last = next_;
  for (auto& [stream, queue] : queues_)
    for (Item& item : queue.items) item.due = {};
  more_.notify_all();
  less_.wait(lock, [&] { return pending_.empty() || pending_.begin()->first >= last; });
}

// A stream whose first piece of work may begin, and else when one will be due.
Streams::Queues::iterator Streams::choose(Clock::time_point& next) {
  const Clock::time_point now = Clock::now();
  std::vector<Queues::iterator> ready;
  for (auto at = queues_.begin(); at != queues_.end(); ++at) {
    const Queue& queue = at->second;
    if (queue.running || queue.items.empty()) continue;
    const Item& first = queue.items.front();
    if (first.kind == Kind::Kernel && kernel_runs_) continue;
    if (first.due <= now) ready.push_back(at);
    else next = std::min(next, first.due);
  }
  return ready.empty() ? queues_.end() : ready[random_() % ready.size()];
}

void Streams::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    Clock::time_point next = Clock::time_point::max();
    const auto chosen = choose(next);
    if (chosen == queues_.end()) {
      if (next == Clock::time_point::max()) more_.wait(lock);
      else more_.wait_until(lock, next);
      continue;
    }
    Queue& queue = chosen->second;
    Item item = std::move(queue.items.front());
    queue.items.pop_front();
    const bool kernel = item.kind == Kind::Kernel;
    queue.running = true;
    kernel_runs_ = kernel_runs_ || kernel;
    lock.unlock();
    item.work();
    item.work = nullptr;
    lock.lock();
    queue.running = false;
    if (queue.items.empty()) queues_.erase(chosen);
    if (kernel) kernel_runs_ = false;
    pending_.erase(item.ticket);
    // Whoever serves waits for no more than what has become possible.
    if (kernel) more_.notify_one();
    less_.notify_all();
  }
}

}  // namespace hologram::emulated
