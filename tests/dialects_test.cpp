// Printed programs: what they say, that compilers take them, and that they compute what the
// interpreter computes, to the bit.
#include <gtest/gtest.h>

#include <cstring>

#include "dialects/dialect.hpp"
#include "dialects/nvrtc.hpp"
#include "dialects/opencl.hpp"
#include "oracle/random_program.hpp"
#include "oracle/scalar_model.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {
namespace {

std::string first_difference(const oracle::RandomCase& c, const std::vector<oracle::Memory>& want,
                             const std::vector<oracle::Memory>& got) {
  for (size_t b = 0; b < want.size(); b++) {
    const program::BufferParam& buffer = c.module.buffers[b];
    const size_t size = size_of(buffer.type);
    for (size_t i = 0; i + size <= want[b].size(); i += size) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, &got[b][i], size);
      std::memcpy(&y, &want[b][i], size);
      if (oracle::same(buffer.type, x, y)) continue;
      char text[120];
      std::snprintf(text, sizeof text, ": %s[%zu] is %#llx, not %#llx", buffer.name.c_str(),
                    i / size, static_cast<unsigned long long>(x),
                    static_cast<unsigned long long>(y));
      return text;
    }
  }
  return {};
}

TEST(OpenClRuns, RandomPrograms) {
  std::string reason;
  OpenCl* device = OpenCl::get(reason);
  if (device == nullptr) GTEST_SKIP() << reason;
  const char* count = std::getenv("HOLOGRAM_TEST_PROGRAMS");
  const char* first = std::getenv("HOLOGRAM_TEST_FIRST");
  const uint64_t from = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  for (uint64_t seed = from;
       seed < from + (count == nullptr ? 10 : std::strtoull(count, nullptr, 10)); seed++) {
    oracle::Choices choices(seed);
    const oracle::RandomCase c = oracle::random_case(choices);
    const Program program = Program::from(c.module);
    std::vector<oracle::Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed = print(program, Language::OpenCl, {.f64 = device->has_f64()});
    RunRequest request;
    request.printed = &printed;
    request.grid = c.grid;
    request.scalars = c.scalars;
    for (size_t b = 0; b < c.buffers.size(); b++)
      request.lengths.push_back(c.buffers[b].size() / size_of(c.module.buffers[b].type));
    ASSERT_EQ(device->run(request, got), "") << seed;
    ASSERT_EQ(first_difference(c, want, got), "") << seed << program.text() << printed.text;
  }
}

TEST(CudaCompiles, RandomPrograms) {
  std::string reason;
  Nvrtc* compiler = Nvrtc::get(reason);
  if (compiler == nullptr) GTEST_SKIP() << reason;
  const char* count = std::getenv("HOLOGRAM_TEST_PROGRAMS");
  const char* first = std::getenv("HOLOGRAM_TEST_FIRST");
  const uint64_t from = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  for (uint64_t seed = from;
       seed < from + (count == nullptr ? 10 : std::strtoull(count, nullptr, 10)); seed++) {
    oracle::Choices choices(seed);
    const oracle::RandomCase c = oracle::random_case(choices);
    const Program program = Program::from(c.module);
    std::string report;
    ASSERT_EQ(
        compiler->compile(print(program, Language::Cuda, {.f16 = seed % 2 == 0}), "sm_80", report),
        "");
    std::printf("%s\n", report.c_str());
  }
}

}  // namespace
}  // namespace hologram::dialects
