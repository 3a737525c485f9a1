// A vector whose first N elements need no memory of their own.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace hologram {

// As std::vector, but that moving one moves the elements, and that a swap or a move invalidates
// references to them. Converts from and to std::vector.
template <class T, size_t N>
class InlineVector {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>);

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  InlineVector() noexcept : size_(0) {}  // a default one would write zeros to its place
  explicit InlineVector(size_t count) : InlineVector() { resize(count); }
  InlineVector(size_t count, const T& value) : InlineVector() { resize(count, value); }
  InlineVector(std::initializer_list<T> values) : InlineVector() {
    append(values.begin(), values.end());
  }
  template <std::input_iterator I>
  InlineVector(I first, I last) : InlineVector() {
    append(first, last);
  }
  template <class Allocator>
  InlineVector(const std::vector<T, Allocator>& values) : InlineVector() {
    append(values.begin(), values.end());
  }
  InlineVector(const InlineVector& other) : InlineVector() { copy(other); }
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(const InlineVector& other) {
    if (this == &other) return *this;
    if constexpr (kPlain) {
      if (other.size_ <= N) {
        copy_plain(other);
        return *this;
      }
    }
    InlineVector made(other);
    reset();
    take(made);
    return *this;
  }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    reset();
    take(other);
    return *this;
  }
  ~InlineVector() { reset(); }

  template <class Allocator>
  operator std::vector<T, Allocator>() const {
    return {begin(), end()};
  }

  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T& front() noexcept { return data_[0]; }
  const T& front() const noexcept { return data_[0]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }

  iterator begin() noexcept { return data_; }
  iterator end() noexcept { return data_ + size_; }
  const_iterator begin() const noexcept { return data_; }
  const_iterator end() const noexcept { return data_ + size_; }
  const_iterator cbegin() const noexcept { return begin(); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  void reserve(size_t count) {
    if (count > capacity_) grow(count);
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_)
      return grown(T(std::forward<Args>(args)...));  // it may be of an element
    return *std::construct_at(data_ + size_++, std::forward<Args>(args)...);
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  void pop_back() noexcept { std::destroy_at(data_ + --size_); }
  void clear() noexcept {
    std::destroy_n(data_, size_);
    size_ = 0;
  }
  // The same, and gives memory of its own back.
  void reset() noexcept {
    clear();
    if (is_local()) return;
    std::allocator<T>().deallocate(data_, capacity_);
    data_ = local();
    capacity_ = N;
  }
  void resize(size_t count) {
    shrink(count);
    reserve(count);
    while (size_ < count) std::construct_at(data_ + size_++);
  }
  void resize(size_t count, const T& value) {
    shrink(count);
    while (size_ < count) push_back(value);
  }
  template <std::input_iterator I>
  void assign(I first, I last) {
    clear();
    append(first, last);
  }
  void assign(size_t count, const T& value) {
    InlineVector made(count, value);
    *this = std::move(made);
  }
  template <std::input_iterator I>
  iterator insert(const_iterator where, I first, I last) {
    const auto at = where - begin(), old = end() - begin();
    append(first, last);
    std::rotate(begin() + at, begin() + old, end());
    return begin() + at;
  }
  iterator insert(const_iterator where, T value) {
    const auto at = where - begin();
    push_back(std::move(value));
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  iterator erase(const_iterator first, const_iterator last) noexcept {
    T* const to = begin() + (first - begin());
    if (first == last) return to;
    T* const rest = std::move(begin() + (last - begin()), end(), to);
    shrink(static_cast<size_t>(rest - begin()));
    return to;
  }
  iterator erase(const_iterator where) noexcept { return erase(where, where + 1); }
  void swap(InlineVector& other) noexcept { std::swap(*this, other); }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    if (a.size_ != b.size_) return false;
    for (uint32_t i = 0; i < a.size_; i++)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }
  friend auto operator<=>(const InlineVector& a,
                          const InlineVector& b) requires std::three_way_comparable<T> {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  // Few, of words: they are copied and compared one by one, as they were written. A wider load
  // of what was just written waits until it is in memory.
  static constexpr bool kPlain = std::is_trivially_copyable_v<T> && sizeof(T[N]) <= 64;
  struct Place {
    alignas(T) std::byte bytes[sizeof(T[N])];
  };

  T* local() noexcept { return reinterpret_cast<T*>(place_.bytes); }
  bool is_local() const noexcept { return data_ == reinterpret_cast<const T*>(place_.bytes); }

  template <class I>
  void append(I first, I last) {
    if constexpr (std::forward_iterator<I>)
      reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  void shrink(size_t count) noexcept {
    while (size_ > count) pop_back();
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 does not see what `count` says
#endif
  // At most N. Not in a loop, which compilers replace by a call.
  void copy_plain(const InlineVector& other) noexcept {
    const T* const from = other.data_;
    T* const to = data_;
    const uint32_t count = other.size_;
    [&]<uint32_t... I>(std::integer_sequence<uint32_t, I...>) {
      static_cast<void>(((I < count && (to[I] = from[I], true)) && ...));
    }
    (std::make_integer_sequence<uint32_t, N>());
    size_ = count;
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  void copy(const InlineVector& other) {
    if constexpr (kPlain) {
      if (other.size_ <= N) return copy_plain(other);
    }
    append(other.begin(), other.end());
  }
  // Of an empty one without memory of its own.
  void take(InlineVector& other) noexcept {
    if (!other.is_local()) {
      data_ = std::exchange(other.data_, other.local());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
      return;
    }
    if constexpr (kPlain) {
      copy_plain(other);
    } else {
      std::uninitialized_move_n(other.data_, other.size_, data_);
      size_ = other.size_;
    }
    other.clear();
  }
  T& grown(T&& made) {
    grow(size_t{size_} + 1);
    return *std::construct_at(data_ + size_++, std::move(made));
  }
  void grow(size_t least) {
    const size_t count = std::max(least, 2 * size_t{capacity_});
    T* bigger = std::allocator<T>().allocate(count);
    std::uninitialized_move_n(data_, size_, bigger);
    std::destroy_n(data_, size_);
    if (!is_local()) std::allocator<T>().deallocate(data_, capacity_);
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(count);
  }

  T* data_ = local();
  uint32_t size_, capacity_ = N;
  Place place_;
};

}  // namespace hologram
