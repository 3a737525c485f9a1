// The WebGPU of this machine: the library, its adapters, and how what it promises is waited for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/webgpu/api.hpp"
#include "hologram/hal/launch.hpp"

namespace hologram::backends::webgpu {

#ifdef __EMSCRIPTEN__
inline constexpr bool kInPage = true;  // where nobody waits for a device: browser.hpp
#else
inline constexpr bool kInPage = false;
#endif

// Finds the functions: those of a library, or of the page. Why there are none; empty if there are.
std::string load(Api& api, std::string& name);

// An adapter. There are no lists of them: the same question gives it again.
struct Found {
  DeviceInfo info;
  Power power = Power::Undefined;
  bool fallback = false;
};

// Opened when it is first asked for, and never closed. Adapters in software come after all others.
class Driver {
 public:
  static const Driver& instance();  // from where the system or HOLOGRAM_WEBGPU_LIBRARY says

  const Api& api() const { return api_; }
  const std::vector<Found>& adapters() const { return adapters_; }
  const std::string& reason() const { return reason_; }  // why there are none
  const std::string& library() const { return library_; }

 private:
  Driver();
  void find_adapters();

  Api api_;
  std::vector<Found> adapters_;
  std::string library_, reason_;
};

// Objects are let go once, but no longer when the process is ending: the driver may be gone then.
bool is_ending();
template <class T>
struct Release {
  void (*release)(T*) = nullptr;
  void operator()(T* object) const {
    if (object != nullptr && !is_ending()) release(object);
  }
};
template <class T>
using Owned = std::unique_ptr<T, Release<T>>;
template <class T>
Owned<T> own(T* object, void (*release)(T*)) {
  return {object, {release}};
}

inline StringView text(std::string_view text) { return {text.data(), text.size()}; }
std::string string_of(StringView text);

// What a callback brings. It comes once, if need be after nobody waits for it any more.
struct Answer {
  bool there = false;
  Status status = Status::Success;
  ErrorType error = ErrorType::None;
  void* object = nullptr;
  std::string message;

  bool good() const { return there && status == Status::Success; }
};
using Awaited = std::shared_ptr<Answer>;
Callback<AdapterFound> on_adapter(const Awaited& answer);
Callback<DeviceMade> on_device(const Awaited& answer);
Callback<PipelineMade> on_pipeline(const Awaited& answer);
Callback<Done> on_done(const Awaited& answer);
Callback<ScopeEnded> on_scope(const Awaited& answer);

// The adapter, and what there is to say of it; null, with the reason, if there is none.
Owned<Adapter> request(const Api& api, Instance* instance, Power power, bool fallback,
                       std::string& reason);
std::string describe(const Api& api, Adapter* adapter, DeviceInfo& info);

// Lets callbacks come until `ready`, in ever longer steps: false if the deadline came first.
template <class Ready>
bool wait_for(const Api& api, Instance* instance, const hal::Deadline& deadline, Ready ready) {
  using namespace std::chrono;
  const auto start = hal::Clock::now();
  for (;;) {
    api.wgpuInstanceProcessEvents(instance);
    if (ready()) return true;
    const auto now = hal::Clock::now();
    if (deadline && now > *deadline) return false;
    if (now - start > microseconds(50))
      std::this_thread::sleep_for(std::min<nanoseconds>((now - start) / 8, milliseconds(1)));
  }
}

}  // namespace hologram::backends::webgpu
