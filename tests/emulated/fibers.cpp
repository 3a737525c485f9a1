#include "fibers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#if !defined(__x86_64__)
#include <ucontext.h>

#include <cstdint>
#endif

namespace hologram::emulated {
namespace {

constexpr size_t kStack = size_t{256} << 10;  // unoptimised kernels keep all they have in memory
const size_t kGuard = static_cast<size_t>(sysconf(_SC_PAGESIZE));  // below each stack

}  // namespace

#if defined(__x86_64__)
// What a function call preserves, and no more: swapcontext would ask the kernel for the signal
// mask.
asm(R"(
  .text
  .hidden hologram_switch_stack
  .globl hologram_switch_stack
  .type hologram_switch_stack, @function
hologram_switch_stack:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
  .size hologram_switch_stack, .-hologram_switch_stack
)");
extern "C" void hologram_switch_stack(void** from, void* to);

namespace {

constexpr size_t kSaved = 6;  // registers

void* context_of(std::byte* top, void (*body)()) {
  auto** words = reinterpret_cast<void**>(top);
  *--words = nullptr;  // where body would return to
  *--words = reinterpret_cast<void*>(body);
  for (size_t i = 0; i < kSaved; i++) *--words = nullptr;
  return words;
}
void switch_to(void*& from, void* to) { hologram_switch_stack(&from, to); }
void release(void*) {}

}  // namespace
#else
namespace {

void* context_of(std::byte* top, void (*body)()) {
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = top - (kStack - kGuard);
  context->uc_stack.ss_size = kStack - kGuard;
  context->uc_link = nullptr;
  makecontext(context, body, 0);
  return context;
}
void switch_to(void*& from, void* to) {
  if (from == nullptr) from = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(from), static_cast<ucontext_t*>(to));
}
void release(void* context) { delete static_cast<ucontext_t*>(context); }

}  // namespace
#endif

Fibers::~Fibers() {
  for (void* context : contexts_) release(context);
  release(host_);
  if (stacks_ != nullptr) munmap(stacks_, capacity_ * kStack);
}

bool Fibers::reserve(size_t count) {
  if (count <= capacity_) return true;
  if (stacks_ != nullptr) munmap(stacks_, capacity_ * kStack);
  stacks_ = nullptr;
  capacity_ = 0;
  void* memory = mmap(nullptr, count * kStack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  stacks_ = static_cast<std::byte*>(memory);
  capacity_ = count;
  for (size_t i = 0; i < count; i++) mprotect(stacks_ + i * kStack, kGuard, PROT_NONE);
  return true;
}

bool Fibers::begin(size_t count, void (*body)()) {
  if (!reserve(count)) return false;
  for (void* context : contexts_) release(context);
  contexts_.resize(count);
  for (size_t i = 0; i < count; i++) contexts_[i] = context_of(stacks_ + (i + 1) * kStack, body);
  return true;
}

void Fibers::resume(size_t fiber) {
  running_ = fiber;
  switch_to(host_, contexts_[fiber]);
}

void Fibers::suspend() { switch_to(contexts_[running_], host_); }

}  // namespace hologram::emulated
