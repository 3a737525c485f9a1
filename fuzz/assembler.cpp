// Text that is not a program gives an InvalidProgram with a place. What assembles is the same after
// a round through to_text; what verifies is so too after optimising.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "../tests/canonical.hpp"
#include "hologram/error.hpp"
#include "program/ir.hpp"

namespace hologram::program {
namespace {

constexpr size_t kMostInstructions = 5000;  // beyond, the round would take long

void fail(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

void check_round(const Module& m) {
  const std::string text = to_text(m);
  try {
    const Module again = assemble(text, "again");
    if (canonical(again) != canonical(m)) fail("another program came back", text);
    if (to_text(again) != text) fail("the text changes", text + to_text(again));
  } catch (const Error& error) {
    fail(error.what(), text);
  }
}

void check(std::string_view text) {
  Module m;
  try {
    m = assemble(text, "fuzz");
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (error.kind() != ErrorKind::InvalidProgram || !what.starts_with("fuzz:"))
      fail(error.what(), std::string(text));
    return;
  }
  if (m.body.insts.size() + m.host.insts.size() > kMostInstructions) return;
  check_round(m);
  try {
    const Program program = Program::from(m);
    check_round(program.optimized());
    Program::from(program.optimized());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::InvalidProgram) fail(error.what(), std::string(text));
  }
}

}  // namespace
}  // namespace hologram::program

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hologram::program::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
