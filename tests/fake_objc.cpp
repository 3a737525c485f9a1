#include "fake_objc.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace hologram::fake {
namespace {

thread_local std::vector<std::vector<Thing*>> t_pools;

void* give_nothing() { return nullptr; }

}  // namespace

Objc& Objc::instance() {
  static auto* const instance = new Objc;
  return *instance;
}

// FAKE_METAL_FAIL: selectors of which all messages fail, with a comma between them.
Objc::Objc() {
  using metal::Messages;
  for (const char* name : {"+NSString", "+MTLCompileOptions", "+MTLComputePipelineDescriptor"})
    answers(name);
  answer(&Messages::retain, "NSObject", "retain", [](metal::Object* self, Selector) {
    instance().retain(as<Thing>(self));
    return self;
  });
  answer(&Messages::release, "NSObject", "release",
         [](metal::Object* self, Selector) { instance().release(as<Thing>(self)); });
  answer(&Messages::init, "NSObject", "init", [](metal::Object* self, Selector) { return self; });
  answer(&Messages::responds, "NSObject",
         "respondsToSelector:", [](metal::Object* self, Selector, Selector which) -> metal::Bool {
           return instance().responds(as<Thing>(self), reinterpret_cast<const char*>(which)) &&
                  !instance().fails("respondsToSelector:");
         });
  answer(&Messages::string, "+NSString", "stringWithCString:encoding:",
         [](metal::Class*, Selector, const char* text, metal::UInt encoding) {
           if (encoding != metal::kUtf8) instance().fault("a string in another encoding");
           Objc& objc = instance();
           return as_named<metal::String>(objc.hand_out(objc.make<Text>(text)));
         });
  answer(&Messages::utf8, "NSString", "UTF8String",
         [](metal::String* self, Selector) { return as<Text>(self)->text.c_str(); });
  answer(&Messages::description, "NSError", "localizedDescription",
         [](metal::ErrorObject* self, Selector) {
           Objc& objc = instance();
           return as_named<metal::String>(objc.hand_out(objc.make<Text>(as<Trouble>(self)->text)));
         });
  answer(&Messages::code, "NSError", "code",
         [](metal::ErrorObject* self, Selector) { return as<Trouble>(self)->code; });
  if (const char* asked = std::getenv("FAKE_METAL_FAIL")) {
    std::istringstream list(asked);
    for (std::string name; std::getline(list, name, ',');) fail(name.c_str(), 0, 1 << 30, 1);
  }
}

void Objc::fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  std::fprintf(stderr, "emulated Metal: %s\n", what.c_str());
  faults_ += what + '\n';
}

Thing* Objc::class_of(const char* name) {
  const auto found = classes_.find(std::string("+") + name);
  return found == classes_.end() ? nullptr : found->second.get();
}

Selector Objc::selector(const char* name) {
  const std::lock_guard lock(mutex_);
  return reinterpret_cast<Selector>(selectors_.emplace(name).first->c_str());
}

bool Objc::responds(const Thing* self, const std::string& selector) const {
  return methods_.count({self->of, selector}) != 0 || methods_.count({"NSObject", selector}) != 0;
}

Objc::Method Objc::find(Thing* self, Selector selector) {
  const std::string name = reinterpret_cast<const char*>(selector);
  const std::lock_guard lock(mutex_);
  sent_[name]++;
  const auto nothing = reinterpret_cast<Method>(&give_nothing);
  if (classes_.count(self->of) == 0 && live_.count(self) == 0) {
    fault("-[" + std::string(self->of) + " " + name + "]: the object is gone");
    return nothing;
  }
  for (const std::string of : {self->of, "NSObject"})
    if (const auto found = methods_.find({of, name}); found != methods_.end()) return found->second;
  fault("-[" + std::string(self->of) + " " + name + "]: unrecognized selector");
  return nothing;
}

void Objc::enroll(Thing* thing) {
  const std::lock_guard lock(mutex_);
  live_.insert(thing);
}

void Objc::retain(Thing* thing) { thing->count++; }

void Objc::release(Thing* thing) {
  if (--thing->count > 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (live_.erase(thing) == 0) return fault(std::string(thing->of) + " is released too often");
  }
  thing->go();
  const std::lock_guard lock(mutex_);
  shells_.push_back(thing);
  if (shells_.size() <= kMostShells) return;
  delete shells_.front();
  shells_.pop_front();
}

void Objc::put_into_pool(Thing* thing) {
  if (t_pools.empty()) return fault(std::string(thing->of) + " is handed out without a pool");
  t_pools.back().push_back(thing);
}

void* Objc::push() {
  t_pools.emplace_back();
  return reinterpret_cast<void*>(t_pools.size());  // NOLINT(performance-no-int-to-ptr)
}

void Objc::pop(void* pool) {
  if (reinterpret_cast<uintptr_t>(pool) != t_pools.size()) return fault("another pool is the last");
  const std::vector<Thing*> things = std::move(t_pools.back());
  t_pools.pop_back();
  for (Thing* thing : things) release(thing);
}

int Objc::pools() const { return static_cast<int>(t_pools.size()); }

void Objc::fail(const char* selector, int skip, int count, int code) {
  const std::lock_guard lock(mutex_);
  if (selector == nullptr) failures_.clear();
  else failures_[selector] = {skip, count, code};
}

bool Objc::fails(const char* selector, int* code) {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(selector);
  if (found == failures_.end() || found->second.skip-- > 0 || found->second.count-- <= 0)
    return false;
  if (code != nullptr) *code = found->second.code;
  return true;
}

int Objc::sent(const std::string& selector) {
  const std::lock_guard lock(mutex_);
  return sent_[selector];
}

int Objc::live(const char* of) {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const Thing* thing : live_)
    count +=
        of == nullptr ? std::strcmp(thing->of, "MTLDevice") != 0 : std::strcmp(thing->of, of) == 0;
  return count;
}

}  // namespace hologram::fake

using hologram::fake::Objc;
using hologram::fake::Thing;

// NOLINTBEGIN(readability-identifier-naming): the runtime's own names.
extern "C" {

void* fake_method(Thing* self, hologram::fake::Selector selector) {
  return reinterpret_cast<void*>(Objc::instance().find(self, selector));
}
hologram::fake::Selector sel_registerName(const char* name) {
  return Objc::instance().selector(name);
}
void* objc_getClass(const char* name) { return Objc::instance().class_of(name); }
void* objc_autoreleasePoolPush() { return Objc::instance().push(); }
void objc_autoreleasePoolPop(void* pool) { Objc::instance().pop(pool); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

// Whatever the message is called with goes on to the method; one to nobody gives 0.
#if defined(__x86_64__)
asm(R"(
  .text
  .globl objc_msgSend
  .type objc_msgSend, @function
objc_msgSend:
  testq %rdi, %rdi
  jz 1f
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $64, %rsp
  movsd %xmm0, (%rsp)
  movsd %xmm1, 8(%rsp)
  movsd %xmm2, 16(%rsp)
  movsd %xmm3, 24(%rsp)
  movsd %xmm4, 32(%rsp)
  movsd %xmm5, 40(%rsp)
  movsd %xmm6, 48(%rsp)
  movsd %xmm7, 56(%rsp)
  call fake_method@PLT
  movsd (%rsp), %xmm0
  movsd 8(%rsp), %xmm1
  movsd 16(%rsp), %xmm2
  movsd 24(%rsp), %xmm3
  movsd 32(%rsp), %xmm4
  movsd 40(%rsp), %xmm5
  movsd 48(%rsp), %xmm6
  movsd 56(%rsp), %xmm7
  addq $64, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmp *%rax
1:
  xorl %eax, %eax
  xorps %xmm0, %xmm0
  ret
  .size objc_msgSend, .-objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl objc_msgSend
  .type objc_msgSend, %function
objc_msgSend:
  cbz x0, 1f
  stp x29, x30, [sp, #-160]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp d0, d1, [sp, #96]
  stp d2, d3, [sp, #112]
  stp d4, d5, [sp, #128]
  stp d6, d7, [sp, #144]
  bl fake_method
  mov x16, x0
  ldp d6, d7, [sp, #144]
  ldp d4, d5, [sp, #128]
  ldp d2, d3, [sp, #112]
  ldp d0, d1, [sp, #96]
  ldr x8, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #160
  br x16
1:
  movi d0, #0
  ret
  .size objc_msgSend, .-objc_msgSend
)");
#endif
