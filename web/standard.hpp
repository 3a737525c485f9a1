// What LLVM 14 and its C++20 library lack, which Emscripten of Debian 12 brings; the build for the
// web includes it in front of every source.
#pragma once

#include <atomic>
#include <compare>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <version>

// Where generated code and the unwinder tell each other what is caught. The unwinder has one in
// each thread; clang 14 makes it one for all, which throwing threads would take from each other,
// unless the name is known already. The linker makes this and the unwinder's the same variable.
extern "C" {
struct hologram_landing_pad {
  int index;
  char* table;
  int selector;
};
__attribute__((weak, visibility("hidden"))) __thread hologram_landing_pad __wasm_lpad_context;
}

namespace std {

#ifndef __cpp_lib_bit_cast
template <class To, class From>
requires(sizeof(To) == sizeof(From) && is_trivially_copyable_v<To> &&
         is_trivially_copyable_v<From>) constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
#endif

#ifndef __cpp_lib_three_way_comparison
template <class T>
concept three_way_comparable = requires(const T& a, const T& b) {
  a <=> b;
};

template <class I, class J>
constexpr auto lexicographical_compare_three_way(I a, I a_end, J b, J b_end)
    -> decltype(*a <=> *b) {
  for (; a != a_end && b != b_end; ++a, ++b)
    if (const auto order = *a <=> *b; order != 0) return order;
  return a != a_end   ? strong_ordering::greater
         : b != b_end ? strong_ordering::less
                      : strong_ordering::equal;
}
#endif

#ifndef __cpp_lib_atomic_ref
// As much of it as integers need.
template <class T>
class atomic_ref {
 public:
  explicit atomic_ref(T& object) : object_(&object) {}
  T load(memory_order) const noexcept { return __atomic_load_n(object_, __ATOMIC_SEQ_CST); }
  void store(T value, memory_order) const noexcept {
    __atomic_store_n(object_, value, __ATOMIC_SEQ_CST);
  }
  T exchange(T value, memory_order) const noexcept {
    return __atomic_exchange_n(object_, value, __ATOMIC_SEQ_CST);
  }
  bool compare_exchange_weak(T& expected, T desired, memory_order) const noexcept {
    return __atomic_compare_exchange_n(object_, &expected, desired, true, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
  }
  T fetch_add(T v, memory_order) const noexcept {
    return __atomic_fetch_add(object_, v, __ATOMIC_SEQ_CST);
  }
  T fetch_and(T v, memory_order) const noexcept {
    return __atomic_fetch_and(object_, v, __ATOMIC_SEQ_CST);
  }
  T fetch_or(T v, memory_order) const noexcept {
    return __atomic_fetch_or(object_, v, __ATOMIC_SEQ_CST);
  }
  T fetch_xor(T v, memory_order) const noexcept {
    return __atomic_fetch_xor(object_, v, __ATOMIC_SEQ_CST);
  }

 private:
  T* object_;
};
#endif

#ifndef __cpp_lib_smart_ptr_for_overwrite
template <class T>
requires(is_unbounded_array_v<T>) unique_ptr<T> make_unique_for_overwrite(size_t count) {
  return unique_ptr<T>(new remove_extent_t<T>[count]);
}
#endif

}  // namespace std
