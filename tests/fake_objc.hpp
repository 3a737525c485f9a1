// An Objective-C runtime of its own: classes, selectors, objects that are counted, pools. It notes
// what programs do wrong and goes on.
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/metal/api.hpp"

namespace hologram::fake {

namespace metal = backends::metal;
using metal::Selector;

// An object of some class. What is released stays for a while as a shell, so that messages to it
// are found out.
struct Thing {
  explicit Thing(const char* of) : of(of) {}
  virtual ~Thing() = default;
  Thing(const Thing&) = delete;
  Thing& operator=(const Thing&) = delete;
  virtual void go() {}   // when the last has let go
  const char* const of;  // the class; that of a class itself begins with +
  std::atomic<long> count = 1;
};

class Objc {
 public:
  static Objc& instance();

  void fault(const std::string& what);
  const std::string& faults() const { return faults_; }
  void forgive() { faults_.clear(); }

  using Method = void (*)();
  // By the type that the backend sends it with: another one does not compile.
  template <class R, class Self, class... A>
  void answer(metal::Message<R(Self*, A...)> metal::Messages::*, const char* of,
              const char* selector, std::type_identity_t<R (*)(Self*, Selector, A...)> method) {
    methods_[{of, selector}] = reinterpret_cast<Method>(method);
  }
  void answers(const char* of) { classes_.emplace(of, std::make_unique<Thing>(of)); }
  Thing* class_of(const char* name);
  Selector selector(const char* name);
  // What answers; a method that gives nothing where nobody does.
  Method find(Thing* self, Selector selector);
  bool responds(const Thing* self, const std::string& selector) const;

  template <class T, class... A>
  T* make(A&&... arguments) {
    auto* const made = new T(std::forward<A>(arguments)...);
    enroll(made);
    return made;
  }
  void retain(Thing* thing);
  void release(Thing* thing);
  // To be released with the pool of this thread.
  template <class T>
  T* hand_out(T* thing) {
    put_into_pool(thing);
    return thing;
  }
  void* push();
  void pop(void* pool);
  int pools() const;

  // So many messages of a selector fail, after others.
  void fail(const char* selector, int skip, int count, int code);
  // Whether this one does; `code` then is what was asked for.
  bool fails(const char* selector, int* code = nullptr);
  int sent(const std::string& selector);
  int live(const char* of);

 private:
  struct Failure {
    int skip, count, code;
  };
  static constexpr size_t kMostShells = 10000;
  Objc();
  void enroll(Thing* thing);
  void put_into_pool(Thing* thing);

  std::recursive_mutex mutex_;
  std::string faults_;
  std::map<std::pair<std::string, std::string>, Method> methods_;
  std::map<std::string, std::unique_ptr<Thing>> classes_;
  std::set<std::string> selectors_;
  std::map<std::string, int> sent_;
  std::map<std::string, Failure> failures_;
  std::set<Thing*> live_;
  std::deque<Thing*> shells_;
};

// Keeps an object, as command buffers do.
template <class T>
std::shared_ptr<T> held(T* thing) {
  Objc::instance().retain(thing);
  return {thing, [](T* kept) { Objc::instance().release(kept); }};
}

struct Text final : Thing {  // an NSString
  explicit Text(std::string text) : Thing("NSString"), text(std::move(text)) {}
  const std::string text;
};
struct Trouble final : Thing {  // an NSError
  Trouble(metal::Int code, std::string text)
      : Thing("NSError"), code(code), text(std::move(text)) {}
  const metal::Int code;
  const std::string text;
};

// An object as the backend knows it, and back.
template <class T, class Named>
T* as(const Named* object) {
  return static_cast<T*>(reinterpret_cast<Thing*>(const_cast<Named*>(object)));
}
template <class Named>
Named* as_named(Thing* thing) {
  return reinterpret_cast<Named*>(thing);
}

}  // namespace hologram::fake
