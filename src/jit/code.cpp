#include "jit/code.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "jit/analysis.hpp"

// What AsmJit takes for stderr within the shared library (CMakeLists.txt says why); only its debug
// builds print.
[[gnu::visibility("hidden")]] FILE* no_stream __asm__("__wrap_stderr") = nullptr;

namespace hologram::jit {

namespace {

void check(asmjit::Error error) {
  if (error != asmjit::kErrorOk)
    throw Refused{std::string("its code cannot be placed: ") +
                  asmjit::DebugUtils::errorAsString(error)};
}

size_t flattened(asmjit::CodeHolder& holder) {
  check(holder.flatten());
  check(holder.resolveUnresolvedLinks());
  return holder.codeSize();
}

}  // namespace

Code::Code(asmjit::CodeHolder& holder) : bytes_(flattened(holder)) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (bytes_ + page - 1) / page * page;
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Refused{"there is no memory for its code"};
  memory_ = memory;
  try {
    check(holder.relocateToBase(reinterpret_cast<uint64_t>(memory_)));
    check(holder.copyFlattenedData(memory_, mapped_, asmjit::CopySectionFlags::kPadSectionBuffer));
    // Some processors do not see by themselves that instructions have changed.
    auto* const begin = static_cast<char*>(memory_);
    __builtin___clear_cache(begin, begin + mapped_);
    if (mprotect(memory_, mapped_, PROT_READ | PROT_EXEC) != 0)
      throw Refused{"this system does not let its code be executed"};
  } catch (...) {
    munmap(memory_, mapped_);
    throw;
  }
}

Code::~Code() { munmap(memory_, mapped_); }

}  // namespace hologram::jit
