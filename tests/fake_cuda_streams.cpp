// Streams of the emulated CUDA driver: what is put on them, and events.
#include <cstring>
#include <memory>

#include "fake_cuda_world.hpp"

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
using namespace hologram;
using namespace hologram::fake;
using Kind = emulated::Streams::Kind;
using Ticket = emulated::Streams::Ticket;

namespace {

// A kernel ends, too, when the word of the host that it looks at is made 1.
bool busy(World& w) {
  if (w.running == FakeCuda::Obedient && has_raised_word(w)) w.running = FakeCuda::Never;
  return w.running != FakeCuda::Never;
}

void move(Address to, Address from, size_t bytes) {
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

// Whether all of these bytes are the driver's, as they must be on a device.
bool known(const World& w, Address address, size_t bytes) {
  return around(w, address, bytes) != nullptr;
}

}  // namespace

int fake::start(World& w, Function function, unsigned blocks, unsigned threads, NativeStream stream,
                void** parameters) {
  if (!is_stream(stream) || find(function, "module") == nullptr) return 400;
  if (uint64_t{blocks} * threads > kMostThreads) return 1;
  const KernelRun kernel = kernel_of(function, blocks, threads, parameters);
  if (!taken_down(stream, {.kernel = kernel}))
    w.streams.put(stream, Kind::Kernel, [&w, kernel] { run(w, kernel); });
  return 0;
}

int fake::copy_peer(World& w, Address to, Context to_context, Address from, Context from_context,
                    size_t bytes, NativeStream stream) {
  const auto *target = around(w, to, bytes), *source = around(w, from, bytes);
  if (!is_stream(stream) || target == nullptr || source == nullptr) return 400;
  if (target->second.context != to_context || source->second.context != from_context) return 201;
  w.streams.put(stream, Kind::Any, [=] { move(to, from, bytes); });
  return 0;
}

extern "C" {

// Memory that the driver does not know is read before the call returns.
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, NativeStream stream) {
  ENTER;
  if (!is_stream(stream)) return 400;
  if (!known(w, to, bytes)) return 1;
  const auto source = reinterpret_cast<Address>(from);
  if (known(w, source, bytes)) {
    w.streams.put(stream, Kind::Any, [=] { move(to, source, bytes); });
  } else {
    const auto* bytes_of = static_cast<const std::byte*>(from);
    const auto copy = std::make_shared<std::vector<std::byte>>(bytes_of, bytes_of + bytes);
    w.streams.put(stream, Kind::Any,
                  [=] { std::memcpy(reinterpret_cast<void*>(to), copy->data(), copy->size()); });
  }
  uint32_t word = 0;
  if (bytes == sizeof word) std::memcpy(&word, from, bytes);
  if (w.running == FakeCuda::Obedient && word == 1) w.running = FakeCuda::Never;
  return 0;
}
// Such memory is written before the call returns.
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, NativeStream stream) {
  Ticket ticket = 0;
  bool wait = false;
  {
    ENTER;
    if (!is_stream(stream)) return 400;
    if (!known(w, from, bytes)) return 1;
    const auto target = reinterpret_cast<Address>(to);
    wait = !known(w, target, bytes);
    ticket = w.streams.put(stream, Kind::Any, [=] { move(target, from, bytes); });
  }
  if (wait) world().streams.wait(ticket);
  return 0;
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, NativeStream stream) {
  ENTER;
  if (!is_stream(stream)) return 400;
  const auto copy = [=] { move(to, from, bytes); };
  if (taken_down(stream, {.call = copy})) return 0;
  if (!known(w, to, bytes) || !known(w, from, bytes)) return 1;
  w.streams.put(stream, Kind::Any, copy);
  return 0;
}
int cuMemsetD32Async(Address where, unsigned pattern, size_t count, NativeStream stream) {
  ENTER;
  if (!is_stream(stream)) return 400;
  put(stream, [where, pattern, count] {
    for (size_t i = 0; i < count; i++)
      std::memcpy(reinterpret_cast<std::byte*>(where) + 4 * i, &pattern, 4);
  });
  return 0;
}
int cuLaunchKernel(Function function, unsigned grid_x, unsigned, unsigned, unsigned block_x,
                   unsigned, unsigned, unsigned, NativeStream stream, void** parameters, void**) {
  ENTER;
  return start(w, function, grid_x, block_x, stream, parameters);
}
int cuStreamCreate(NativeStream* stream, unsigned flags) {
  ENTER;
  return make(stream, "stream", flags);
}
// What is on it is done all the same.
int cuStreamDestroy_v2(NativeStream stream) {
  ENTER;
  return destroy(stream, "stream");
}
int cuStreamSynchronize(NativeStream stream) {
  {
    ENTER;
    if (busy(w)) return 999;  // a test would wait for ever
  }
  emulated::Streams& streams = world().streams;
  streams.wait(streams.last(stream));
  return world().lost;
}
int cuEventCreate(Event* event, unsigned flags) {
  ENTER;
  return make(event, "event", flags);
}
int cuEventDestroy_v2(Event event) {
  ENTER;
  return destroy(event, "event");
}
int cuEventRecord(Event event, NativeStream stream) {
  ENTER;
  if (find(event, "event") == nullptr || !is_stream(stream)) return 400;
  const Ticket ticket = w.streams.put(stream, Kind::Any, [&w, event] {
    const std::lock_guard guard(w.mutex);
    if (Object* recorded = find(event, "event")) recorded->recorded = w.clock;
  });
  find(event, "event")->ticket = ticket;
  return 0;
}
int cuEventQuery(Event event) {
  ENTER;
  const Object* found = find(event, "event");
  if (found == nullptr) return 400;
  if (busy(w) || !w.streams.done(found->ticket)) return kNotReady;
  return w.lost;
}
int cuEventSynchronize(Event event) {
  Ticket ticket = 0;
  {
    ENTER;
    const Object* found = find(event, "event");
    if (found == nullptr) return 400;
    if (busy(w)) return 999;  // a test would wait for ever
    ticket = found->ticket;
  }
  world().streams.wait(ticket);
  return world().lost;
}
int cuEventElapsedTime(float* milliseconds, Event from, Event to) {
  ENTER;
  const Object *a = find(from, "event"), *b = find(to, "event");
  for (const Object* event : {a, b}) {
    if (event == nullptr || (event->flags & kNoTiming) != 0) return 400;
    if (busy(w) || !w.streams.done(event->ticket)) return kNotReady;
    if (event->recorded < 0) return 400;
  }
  *milliseconds = static_cast<float>(b->recorded - a->recorded);
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
