// Messages to objects of Objective-C from plain C++: its runtime is a library like any other, and a
// message is a call of one function of it, by the very type of the method that answers.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

namespace hologram::backends::metal {

struct Object;  // of any class
struct Class;
struct String;
struct Array;
struct ErrorObject;
struct Block;
struct SelectorName;
using Selector = const SelectorName*;

// BOOL.
#if defined(__APPLE__) && !defined(__aarch64__)
using Bool = signed char;
#else
using Bool = bool;
#endif

// The functions of the runtime that are used.
struct Runtime {
  void (*send)() = nullptr;  // objc_msgSend, which is called by the type of each method
  Selector (*selector)(const char* name) = nullptr;
  Class* (*lookup)(const char* name) = nullptr;
  void* (*push)() = nullptr;
  void (*pop)(void* pool) = nullptr;
};

template <class Signature>
class Message;
template <class R, class Self, class... A>
class Message<R(Self*, A...)> {
  // Larger results come by another function on x86-64.
  static_assert(std::is_void_v<R> || std::is_pointer_v<R> || std::is_arithmetic_v<R>);

 public:
  using Type = R(Self*, A...);
  constexpr explicit Message(const char* name) : name_(name) {}
  void resolve(const Runtime& runtime) {
    send_ = reinterpret_cast<R (*)(Self*, Selector, A...)>(runtime.send);
    selector_ = runtime.selector(name_);
  }
  R operator()(Self* self, A... arguments) const { return send_(self, selector_, arguments...); }
  const char* name() const { return name_; }
  Selector selector() const { return selector_; }

 private:
  const char* name_;
  R (*send_)(Self*, Selector, A...) = nullptr;
  Selector selector_ = nullptr;
};

// Every thread that sends messages has one meanwhile: what is autoreleased goes
// with it.
class Pool {
 public:
  Pool();
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  void* const pool_;
};

// An object is released once, but no longer when the process is ending: the driver may be gone.
bool is_ending();
void release(Object* object);
template <class T>
struct Release {
  void operator()(T* object) const { release(reinterpret_cast<Object*>(object)); }
};
template <class T>
using Owned = std::unique_ptr<T, Release<T>>;

// Another one of the class.
Object* make(Class* of);
template <class T>
Owned<T> make(Class* of) {
  return Owned<T>(reinterpret_cast<T*>(make(of)));
}
// What a message with "new" in its name gives is the caller's to release.
template <class T>
Owned<T> own(T* object) {
  return Owned<T>(object);
}
// Anything else is shared, and may go with the pool.
Object* retain(Object* object);
template <class T>
Owned<T> share(T* object) {
  return Owned<T>(reinterpret_cast<T*>(retain(reinterpret_cast<Object*>(object))));
}

std::string string_of(String* text);
String* string_from(const std::string& text);  // goes with the pool
// What an error says; "it does not say why" of none.
std::string string_of(ErrorObject* error);

}  // namespace hologram::backends::metal
