// The only file that names the backends. A new one is a folder and a line here; those from outside
// the tree come by register_backend.
#include "backends/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "backends/cpu/cpu.hpp"
#include "backends/null/null.hpp"
#include "backends/webgpu/webgpu.hpp"
#include "core/messages.hpp"
#include "hologram/backend.hpp"
#ifndef __EMSCRIPTEN__
#include "backends/cuda/cuda.hpp"
#include "backends/metal/metal.hpp"
#include "backends/opencl/opencl.hpp"
#include "backends/rocm/rocm.hpp"
#endif

namespace hologram {
namespace backends {
namespace {

// Values of BackendType that are given to backends from outside.
constexpr uint8_t kFirst = 64, kMost = 128;

struct Registered {
  std::string name;
  std::unique_ptr<hal::Backend> backend;
};

// Never destroyed, nor are its elements moved: executors may be made while static objects go.
struct Outside {
  std::mutex
      making;  // one at a time; the list may be looked at meanwhile, as by a backend that is made
  std::mutex mutex;  // of the list
  std::deque<Registered> list;
};
thread_local bool t_makes = false;  // a backend, on this thread
Outside& outside() {
  static auto* const instance = new Outside;
  return *instance;
}

BackendType type_at(size_t i) { return static_cast<BackendType>(kFirst + i); }

std::span<const Entry> of_this_build() {
#ifdef __EMSCRIPTEN__
  static constexpr const char* kNoDrivers = "web pages cannot open drivers";
  static const Entry entries[] = {
      {BackendType::Cuda, nullptr, kNoDrivers, true},
      {BackendType::Rocm, nullptr, kNoDrivers, true},
      {BackendType::Metal, nullptr, kNoDrivers, true},
      {BackendType::OpenCl, nullptr, kNoDrivers, true},
      {BackendType::WebGpu, &webgpu::backend(), nullptr, true},
      {BackendType::Cpu, &cpu::backend(), nullptr, true},
      {BackendType::Null, &null::backend(), nullptr, false},
  };
#else
  static const Entry entries[] = {
      {BackendType::Cuda, &cuda::backend(), nullptr, true},
      {BackendType::Rocm, &rocm::backend(), nullptr, true},
      {BackendType::Metal, &metal::backend(), nullptr, true},
      {BackendType::OpenCl, &opencl::backend(), nullptr, true},
      {BackendType::WebGpu, &webgpu::backend(), nullptr, true},
      {BackendType::Cpu, &cpu::backend(), nullptr, true},
      {BackendType::Null, &null::backend(), nullptr, false},
  };
#endif
  return entries;
}

bool is_good_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

std::vector<Entry> all() {
  const std::span<const Entry> built = of_this_build();
  std::vector<Entry> entries(built.begin(), built.end());
  Outside& others = outside();
  const std::lock_guard lock(others.mutex);
  for (size_t i = 0; i < others.list.size(); i++)
    entries.push_back({type_at(i), others.list[i].backend.get(), nullptr, false});
  return entries;
}

std::string_view registered_name(BackendType type) {
  Outside& others = outside();
  const std::lock_guard lock(others.mutex);
  const auto number = static_cast<uint8_t>(type);
  if (number < kFirst || static_cast<size_t>(number - kFirst) >= others.list.size()) return {};
  return others.list[number - kFirst].name;
}

std::optional<BackendType> registered_type(std::string_view name) {
  Outside& others = outside();
  const std::lock_guard lock(others.mutex);
  for (size_t i = 0; i < others.list.size(); i++)
    if (others.list[i].name == name) return type_at(i);
  return std::nullopt;
}

}  // namespace backends

BackendType register_backend(
    const std::string& name,
    const std::function<std::unique_ptr<hal::Backend>(BackendType type)>& make,
    uint32_t interface) {
  using core::Text;
  if (interface != kBackendInterface)
    throw core::error(Text::BackendInterface, name, interface, kBackendInterface);
  if (!backends::is_good_name(name) || name == "gpu" || parse_backend(name))
    throw core::error(Text::BackendName, name);
  if (backends::t_makes)
    throw core::error(Text::BackendRefused, name, "another is being made by the same thread");
  backends::Outside& others = backends::outside();
  const std::lock_guard alone(others.making);
  const size_t count = [&] {
    const std::lock_guard lock(others.mutex);
    for (const backends::Registered& known : others.list)  // another thread's
      if (known.name == name) throw core::error(Text::BackendName, name);
    return others.list.size();
  }();
  if (count == backends::kMost)
    throw core::error(Text::BackendRefused, name,
                      fmt::format("the process has {} already", backends::kMost));
  const BackendType type = backends::type_at(count);
  std::unique_ptr<hal::Backend> backend;
  {
    struct Making {
      Making() { backends::t_makes = true; }
      ~Making() { backends::t_makes = false; }
      Making(const Making&) = delete;
      Making& operator=(const Making&) = delete;
    } const making;
    backend = make(type);
  }
  if (backend == nullptr) throw core::error(Text::BackendRefused, name, "nothing was made");
  if (backend->type() != type)
    throw core::error(Text::BackendRefused, name,
                      "its type() is not the type that it was made with");
  const std::lock_guard lock(others.mutex);
  others.list.push_back({name, std::move(backend)});
  return type;
}

}  // namespace hologram
