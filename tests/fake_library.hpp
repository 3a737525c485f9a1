// What the emulated libraries of NVIDIA and AMD have in common: calls are counted and can be made
// to fail, and numbers of their types are read and written.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "core/half.hpp"
#include "fake_cuda.hpp"
#include "hologram/dtype.hpp"

namespace hologram::fake {

struct Calls {
  struct Failure {
    int skip, count, status;
  };
  std::recursive_mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::string wrong;  // what a call did that the real library does not take

  // What every call begins with: 0, or the status that it is to give.
  int enter(const char* name) {
    calls[name]++;
    const auto found = failures.find(name);
    if (found == failures.end() || found->second.skip-- > 0) return 0;
    return found->second.count-- > 0 ? found->second.status : 0;
  }
  void fail(const char* name, int skip, int count, int status) {
    const std::lock_guard lock(mutex);
    if (name == nullptr) failures.clear();
    else failures[name] = {skip, count, status};
  }
  int count(const char* name) {
    const std::lock_guard lock(mutex);
    return calls[name];
  }
  int refuse(const std::string& what, int status) {
    if (wrong.empty()) wrong = what;
    return status;
  }
};

#ifdef EMULATES_HIP
inline constexpr char kDriver[] = "fake_hip";
#else
inline constexpr char kDriver[] = "fake_cuda";
#endif
inline const FakeCuda& driver() {
  static const FakeCuda driver = [] {
    FakeCuda control{};
    if (void* library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD))
      reinterpret_cast<void (*)(FakeCuda*)>(dlsym(library, kDriver))(&control);
    return control;
  }();
  return driver;
}
// Whether the emulated driver has a context for this thread. With HIP a device is always current.
inline bool has_context() {
#ifdef EMULATES_HIP
  return true;
#else
  return driver().depth != nullptr && driver().depth() > 0;
#endif
}
// Does the work when the stream comes to it, or whenever the graph is launched that the stream is
// captured for.
inline void do_on(void* stream, const std::function<void()>& work) {
  if (driver().put == nullptr) work();
  else driver().put(stream, work);
}

inline size_t element_size(DType type) {
  switch (type) {
    case DType::F64: return 8;
    case DType::F32:
    case DType::I32: return 4;
    case DType::F16:
    case DType::BF16: return 2;
    default: return 1;
  }
}

inline double load(DType type, const std::byte* p) {
  const auto read = [&](auto value) {
    std::memcpy(&value, p, sizeof value);
    return value;
  };
  switch (type) {
    case DType::F64: return read(double{});
    case DType::F32: return static_cast<double>(read(float{}));
    case DType::F16: return static_cast<double>(core::f16_to_f32(read(uint16_t{})));
    case DType::BF16: return static_cast<double>(core::bf16_to_f32(read(uint16_t{})));
    case DType::I32: return read(int32_t{});
    default: return read(int8_t{});
  }
}

inline void store(DType type, std::byte* p, double value) {
  const auto write = [&](auto v) { std::memcpy(p, &v, sizeof v); };
  switch (type) {
    case DType::F64: return write(value);
    case DType::F32: return write(static_cast<float>(value));
    case DType::F16: return write(core::f32_to_f16(static_cast<float>(value)));
    case DType::BF16: return write(core::f32_to_bf16(static_cast<float>(value)));
    default: return write(static_cast<int32_t>(value));
  }
}

inline double rounded_to_tf32(double value) {
  auto f = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof bits);
  bits = (bits + 0x1000) & ~0x1fffu;
  std::memcpy(&f, &bits, sizeof f);
  return static_cast<double>(f);
}

}  // namespace hologram::fake
