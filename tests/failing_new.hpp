// Replaces operator new of the test's executable by one that can be made to fail. Include once.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace hologram {

// Of the allocations of this thread to come, the n-th (1: the next) fails, once. They are counted
// until `stop`.
class FailingNew {
 public:
  static void fail(int64_t nth) {
    asked_ = 0;
    nth_ = nth;
    on_ = true;
  }
  static void stop() { on_ = false; }
  static int64_t asked() { return asked_; }

  static void* allocate(std::size_t bytes, std::size_t alignment) {
    if (on_ && ++asked_ == nth_) return nullptr;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    return std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes);
  }
  static void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
    if (void* p = allocate(bytes, alignment)) return p;
    throw std::bad_alloc();
  }

 private:
  static inline thread_local bool on_ = false;
  static inline thread_local int64_t asked_ = 0, nth_ = 0;
};

}  // namespace hologram

// NOLINTBEGIN(misc-definitions-in-headers): one executable, one inclusion
void* operator new(std::size_t n) {
  return hologram::FailingNew::allocate_or_throw(n, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, std::align_val_t a) {
  return hologram::FailingNew::allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) { return operator new(n, a); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return hologram::FailingNew::allocate(n, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept { return operator new(n, t); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
// NOLINTEND(misc-definitions-in-headers)
