// Compilers of GPU code that work without a GPU take what is printed for them.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "dialects/dialect.hpp"
#include "dialects/host_device.hpp"
#include "dialects/instruction_programs.hpp"
#include "dialects/runtime_compiler.hpp"
#include "dialects/test_programs.hpp"

namespace hologram::dialects {
namespace {

TEST(CudaCompiles, ForEachArchitecture) {
  std::string reason, report;
  RuntimeCompiler* compiler = RuntimeCompiler::get(Language::Cuda, reason);
  if (compiler == nullptr) GTEST_SKIP() << reason;
  for (const std::string_view architecture : {"sm_75", "sm_80", "sm_90"}) {
    for (const DType from : kTypes)
      EXPECT_EQ(compiler->compile(print(pure_instructions(from, true).program, Language::Cuda, {}),
                                  architecture, report),
                "");
    EXPECT_EQ(compiler->compile(
                  print(conversions_of_storage(DType::F32).program, Language::Cuda, {.f16 = true}),
                  architecture, report),
              "");
    for_random_programs(2, [&](uint64_t seed, const oracle::RandomCase& c) {
      const Printed printed = print(Program::from(c.module), Language::Cuda, {.f16 = true});
      ASSERT_EQ(compiler->compile(printed, architecture, report), "") << seed;
      EXPECT_NE(report.find(" 0 bytes spill stores"), std::string::npos) << report << printed.text;
    });
  }
}

// What `body` gives, in a process of its own: hipRTC's LLVM and PoCL's do not get along in one.
template <class Body>
std::string in_child(const Body& body) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = body();
    const bool written =
        write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> part = {};
  for (ssize_t n; (n = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : text + "the compiler's process came to a bad end";
}

TEST(HipCompiles, ByHipRtc) {
  if (dlopen("libpocl.so.2", RTLD_NOW | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "PoCL is loaded";
  const std::string said = in_child([]() -> std::string {
    std::string reason, report, wrong;
    RuntimeCompiler* compiler = RuntimeCompiler::get(Language::Hip, reason);
    if (compiler == nullptr) return "skip: " + reason;
    for (const DType from : kTypes)
      wrong += compiler->compile(print(pure_instructions(from, true).program, Language::Hip, {}),
                                 "gfx90a", report);
    wrong += compiler->compile(print(conversions_of_storage(DType::F32).program, Language::Hip,
                                     {.f16 = true, .lanes_a_thread = 8}),
                               "gfx1030", report);
    for_random_programs(2, [&](uint64_t, const oracle::RandomCase& c) {
      const Printed printed = print(Program::from(c.module), Language::Hip, {.stop = Stop::Flag});
      wrong += compiler->compile(printed, "gfx906", report);
    });
    return wrong;
  });
  if (said.starts_with("skip: ")) GTEST_SKIP() << said;
  EXPECT_EQ(said, "");
}

TEST(HipCompiles, ForGfx90a) {
  if (const std::string reason = why_not(Language::Hip); !reason.empty()) GTEST_SKIP() << reason;
  for (const DType from : kTypes)
    EXPECT_EQ(compile_for_amd(print(pure_instructions(from, true).program, Language::Hip, {})), "");
  for_random_programs(4, [&](uint64_t seed, const oracle::RandomCase& c) {
    ASSERT_EQ(compile_for_amd(print(Program::from(c.module), Language::Hip,
                                    {.f16 = true, .stop = Stop::Flag, .lanes_a_thread = 8})),
              "")
        << seed;
  });
}

TEST(OpenClCompiles, WithAnAmdTarget) {
  if (const std::string reason = why_not(Language::Hip); !reason.empty()) GTEST_SKIP() << reason;
  const Program program = conversions_of_storage(DType::F32).program;
  EXPECT_EQ(compile_opencl_by_clang(print(program, Language::OpenCl, {.f16 = true})), "");
}

}  // namespace
}  // namespace hologram::dialects
