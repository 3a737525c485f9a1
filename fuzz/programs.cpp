// The bytes decide about a random program, as the seed does in tests/program_fuzz_test.cpp; its
// meaning must be the same to the naive and the real interpreter.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "oracle/differential.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hologram::oracle;
  Choices choices(std::span<const uint8_t>(data, size));
  const RandomCase c = random_case(choices);
  const std::string text = differences(c, {.one_target = true});
  if (text.empty()) return 0;
  const RandomCase small = minimised(c, {.one_target = true});
  std::fprintf(stderr, "%s\n%s", text.c_str(), to_text(small.module).c_str());
  std::abort();
}
