// Memory of things of one size that come and go together, more of them than an allocator has at
// hand: each thread keeps that of some. Sanitizers are to see who uses what is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace hologram::core {

template <class T>
class SpareMemory {
 public:
  static void* take() {
    OfThread& own = own_;
    if (own.spare == nullptr) return ::operator new(sizeof(T));
    own.count--;
    return std::exchange(own.spare, own.spare->next);
  }
  static void give(void* memory) noexcept {
    OfThread& own = own_;
    if (own.count == kMost || own.ending) return ::operator delete(memory);
    if (!std::exchange(own.kept, true)) ends_.begun = true;  // it ends with the thread
    own.count++;
    own.spare = new (memory) Spare{own.spare};
  }

 private:
#ifdef HOLOGRAM_SANITIZED
  static constexpr uint32_t kMost = 0;
#else
  static constexpr uint32_t kMost = 64;
#endif
  struct Spare {
    Spare* next;
  };
  static_assert(sizeof(T) >= sizeof(Spare) && alignof(T) <= alignof(std::max_align_t));

  // Without a destructor, so that things may go after it, and reading it costs little.
  struct OfThread {
    bool kept = false;  // some memory, so far
    bool ending = false;
    uint32_t count = 0;
    Spare* spare = nullptr;
  };
  struct Ends {
    bool begun = false;
    ~Ends() {
      own_.ending = true;
      while (own_.spare != nullptr) ::operator delete(std::exchange(own_.spare, own_.spare->next));
      own_.count = 0;
    }
  };
#if defined(__linux__)
  // Few bytes, which a library that is opened late finds room for: no call for each access.
  [[gnu::tls_model("initial-exec")]]
#endif
  static inline constinit thread_local OfThread own_;
  static inline thread_local Ends ends_;
};

// For std::allocate_shared.
template <class T>
struct SpareAllocator {
  using value_type = T;
  SpareAllocator() = default;
  template <class U>
  SpareAllocator(const SpareAllocator<U>&) {}
  T* allocate(size_t) { return static_cast<T*>(SpareMemory<T>::take()); }
  void deallocate(T* memory, size_t) noexcept { SpareMemory<T>::give(memory); }
  friend bool operator==(const SpareAllocator&, const SpareAllocator&) { return true; }
};

}  // namespace hologram::core
