// Printed programs: what they say, and that they compute what the interpreter computes, to the bit.
// What needs a compiler or device that is not here is skipped with the reason.
//
// HOLOGRAM_TEST_KERNELS=100 sets how many random programs each test runs, HOLOGRAM_TEST_FIRST=7
// the seed of the first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "dialects/cases.hpp"
#include "dialects/dialect.hpp"
#include "dialects/host_device.hpp"
#include "dialects/instruction_programs.hpp"
#include "dialects/opencl.hpp"
#include "dialects/runtime_compiler.hpp"
#include "dialects/test_programs.hpp"
#include "hologram/error.hpp"
#include "jit_programs.hpp"
#include "oracle/random_program.hpp"
#include "oracle/random_values.hpp"
#include "oracle/scalar_model.hpp"
#include "program/ir.hpp"
#include "share.hpp"

namespace hologram::dialects {
namespace {

// Empty where the language has f64 or the program does without.
bool lacks(Language language, const Program& program) {
  try {
    print(program, language, {});
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::UnsupportedOperation);
    return true;
  }
  return false;
}

// The text of each language on what runs it here: OpenCL on its device, the others on the host.
class Computes : public ::testing::TestWithParam<Language> {
 protected:
  void SetUp() override {
    std::string reason;
    if (GetParam() == Language::OpenCl) device_ = OpenCl::get(reason);
    else reason = why_not(GetParam());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }

  std::string run(const RunRequest& request, std::vector<Memory>& buffers,
                  uint32_t* ran_out = nullptr) {
    if (device_ != nullptr) return device_->run(request, buffers, ran_out);
    return run_on_host(GetParam(), request, buffers, ran_out);
  }

  void check(const InstructionProgram& c, const Options& options = {}) {
    const Printed printed = print(c.program, GetParam(), options);
    RunRequest request = request_for(printed, c.program.buffers(), c.buffers);
    request.grid = {c.groups, 1, 1};
    std::vector<Memory> got = c.buffers;
    ASSERT_EQ(run(request, got), "") << c.name;
    EXPECT_EQ(difference(c, got), "") << printed.text;
  }

  // Whether what runs the text here has the language's own conversion; PTX needs a GPU. Processors
  // with AVX2 have it.
  bool converts_f16() const {
#if defined(__x86_64__)
    const bool processor = __builtin_cpu_supports("avx2");
#else
    const bool processor = false;
#endif
    return GetParam() == Language::OpenCl || (GetParam() == Language::Metal && processor);
  }

  // Threads with several lanes choose between two versions of a kernel, each with its barriers.
  // PoCL, which is the device here, loses its way (and memory) where barriers stand under a
  // condition, also under one that all lanes share; the backend gives software devices one lane a
  // thread as well.
  uint32_t lanes_a_group_thread(uint32_t lanes) const {
    return GetParam() == Language::OpenCl ? 1 : lanes;
  }

  OpenCl* device_ = nullptr;
};

// WGSL has a test of its own.
INSTANTIATE_TEST_SUITE_P(Dialects, Computes,
                         ::testing::Values(Language::Cuda, Language::OpenCl, Language::Hip,
                                           Language::Metal),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Computes, EveryPureInstruction) {
  tests::Share share;
  for (const DType from : kTypes) {
    if (!share.next()) continue;
    if (GetParam() == Language::Metal && from == DType::F64) continue;
    check(pure_instructions(from, GetParam() != Language::Metal));
  }
}

TEST_P(Computes, EveryTypeOfElements) {
  tests::Share share;
  for (const DType compute : kTypes) {
    if (!share.next()) continue;
    const InstructionProgram c = conversions_of_storage(compute);
    if (lacks(GetParam(), c.program)) continue;
    check(c);
    check(c, {.f16 = converts_f16(), .lanes_a_thread = 16});
  }
}

TEST_P(Computes, RandomPrograms) {
  for_random_programs(6, [&](uint64_t seed, const oracle::RandomCase& c) {
    const Program program = Program::from(c.module);
    if (lacks(GetParam(), program)) return;
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed =
        print(program, GetParam(),
              {.lanes_a_thread = seed % 2 == 0 ? 16u : 1u,
               .lanes_a_group_thread = lanes_a_group_thread(seed % 3 + 1 == 2 ? 2u : 4u)});
    RunRequest request = request_for(printed, c.module.buffers, c.buffers);
    request.grid = c.grid;
    request.scalars = c.scalars;
    request.blocks = seed % 3;  // few blocks do all groups
    request.offset = seed % 4;
    ASSERT_EQ(run(request, got), "") << seed;
    ASSERT_EQ(first_difference(c, want, got), "") << seed << "\n" << program.text() << printed.text;
  });
}

// Stops that do not happen change nothing.
TEST_P(Computes, RandomProgramsThatCouldBeStopped) {
  for_random_programs(4, [&](uint64_t seed, const oracle::RandomCase& c) {
    const Program program = Program::from(c.module);
    if (lacks(GetParam(), program)) return;
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed =
        print(program, GetParam(), {.stop = seed % 2 == 0 ? Stop::Flag : Stop::Budget});
    RunRequest request = request_for(printed, c.module.buffers, c.buffers);
    request.grid = c.grid;
    request.scalars = c.scalars;
    request.budget = 1'000'000;
    uint32_t ran_out = 0;
    ASSERT_EQ(run(request, got, &ran_out), "") << seed;
    EXPECT_EQ(ran_out, 0u);
    ASSERT_EQ(first_difference(c, want, got), "") << seed << "\n" << program.text() << printed.text;
  });
}

// Loops that never end, alone and between barriers, where all lanes have to come by.
TEST_P(Computes, EndlessLoopsAreStopped) {
  for (const char* text : kEndless) {
    const Program program = Program::parse(text);
    for (const Stop stop : {Stop::Flag, Stop::Budget}) {
      const Printed printed = print(program, GetParam(), {.stop = stop});
      std::vector<Memory> buffers = {Memory(4 * 32)};
      RunRequest request = request_for(printed, program.buffers(), buffers);
      request.scalars = {32};
      request.stop = true;
      request.budget = 5000;
      uint32_t ran_out = 0;
      if (stop == Stop::Budget) request.stop = false;
      ASSERT_EQ(run(request, buffers, &ran_out), "") << text;
      EXPECT_EQ(ran_out, 1u) << text;
    }
  }
}

// NaN that their compilers can see coming: through functions of theirs that round, too.
TEST_P(Computes, NansKnownWhenCompiling) {
  const Program program = Program::parse(
      "program p(in x: f32[n], out y: f32[n, 8]) lanes(n) {\n"
      "  i = global_id.x; v = min(x[i], bits_f32(0xffc00000u32))\n"
      "  y[i, 0] = trunc(v); y[i, 1] = floor(v); y[i, 2] = ceil(v); y[i, 3] = round(v)\n"
      "  y[i, 4] = f32(i32(v)); y[i, 5] = f32(u64(v)); y[i, 6] = exp(v); y[i, 7] = sin(v) }");
  oracle::RandomCase c;
  c.module = program.source();
  c.buffers = {Memory(4 * 16), Memory(4 * 16 * 8)};
  c.scalars = {16};
  std::vector<Memory> want = c.buffers, got = c.buffers;
  oracle::run_naively(c.module, c.grid, c.scalars, want);
  const Printed printed = print(program, GetParam(), {});
  RunRequest request = request_for(printed, c.module.buffers, c.buffers);
  request.scalars = c.scalars;
  ASSERT_EQ(run(request, got), "");
  EXPECT_EQ(first_difference(c, want, got), "") << printed.text;
}

TEST_P(Computes, LanesSideBySide) {
  size_t number = 0, together = 0;
  // Some of them; all where more was asked for.
  const size_t step = thorough() ? 1 : 6;
  tests::Share share;
  for (const jit::Text& text : jit::kTexts) {
    const Program program = Program::parse(text.text);
    if (number++ % step != 0 || lacks(GetParam(), program) || !share.next()) continue;
    const oracle::RandomCase c = case_of(program, number);
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed = print(
        program, GetParam(), {.stop = Stop::Flag, .lanes_a_thread = number % 2 == 0 ? 16u : 4u});
    together += printed.groups > 1 ? 1 : 0;
    RunRequest request = request_for(printed, c.module.buffers, c.buffers);
    request.grid = c.grid;
    request.scalars = c.scalars;
    request.offset = number % 5 == 0 ? 1 : 0;
    ASSERT_EQ(run(request, got), "") << text.name;
    ASSERT_EQ(first_difference(c, want, got), "") << text.name << "\n" << printed.text;
  }
  if (GetParam() != Language::Metal && share.all()) {
    EXPECT_GT(together, number / step / 2);
  }
}

// Compilers are asked to write out loops of few rounds, known beforehand, that read memory.
TEST(Dialects, ShortLoopsThatReadAreWrittenOut) {
  const Program program = Program::parse(
      "program loops(in x: f32[n], out y: f32[n]) lanes(n) {\n"
      "  i = global_id.x\n  var s = 0.0\n"
      "  for k in 0..16 { s = s + x[i + k] }\n"  // this one
      "  for k in 0..16 { s = s + f32(k) }\n"    // reads nothing
      "  for k in 0..n { s = s + x[k] }\n"       // for as long as the array
      "  for k in 0..1000 { s = s + x[k] }\n"    // for too long
      "  for k in 0..4 { for j in 0..i { s = s + x[j + k] } }\n"
      "  if i < n { y[i] = s }\n}");
  for (const Language language : {Language::Cuda, Language::OpenCl, Language::Hip, Language::Metal})
    for (const bool unroll : {false, true}) {
      const std::string text = print(program, language, {.unroll = unroll}).text;
      const size_t first = text.find("#pragma unroll");
      EXPECT_EQ(first != std::string::npos, unroll) << text;
      if (unroll) {
        EXPECT_EQ(text.find("#pragma unroll", first + 1), std::string::npos) << text;
      }
    }
}

// What is cheap to make of elements is made again behind each reduction that uses it, on CUDA.
TEST(Dialects, DifferencesAreMadeAgainBehindReductions) {
  const Program program = Program::parse(
      "program norm(in x: f32[n], out y: f32[n]) workgroup(64) {\n"
      "  i = lane_id.x\n  e = x[i]\n  m = group_reduce_add(e) / 64.0\n  d = e - m\n"
      "  v = group_reduce_add(d * d) / 64.0\n  w = group_reduce_max(d)\n"
      "  y[i] = d * v + w\n}");
  for (const Language language : {Language::Cuda, Language::OpenCl, Language::Hip, Language::Metal})
    for (const uint32_t lanes : {1u, 2u}) {
      const std::string text = print(program, language, {.lanes_a_group_thread = lanes}).text;
      const bool remade = text.find("anew(v") != std::string::npos;
      EXPECT_EQ(remade, language == Language::Cuda) << text;
      const size_t last = text.find("group_reduce_max_f32(group_values32, lane, v");
      const std::string of_last = text.substr(last, text.find("\n}", last) - last);
      EXPECT_EQ(of_last.find(" - v") != std::string::npos, remade) << of_last;
    }
}

// Where lanes reduce before they write: a kernel that may be stopped, or writes in between, waits.
TEST(Dialects, KernelsThatWriteLateCanStartEarly) {
  const auto waits = [](const char* body, Stop stop = Stop::None,
                        Language language = Language::Cuda) {
    const Program program = Program::parse(
        fmt::format("program p(in x: f32[n], out y: f32[n]) workgroup(64) {{\n{}}}\n", body));
    const Printed printed = print(program, language, {.stop = stop});
    const bool told =
        std::any_of(printed.arguments.begin(), printed.arguments.end(),
                    [](const Argument& a) { return a.kind == Argument::Kind::Early; });
    size_t count = 0;
    for (size_t at = 0; (at = printed.text.find("griddepcontrol.wait", at)) != std::string::npos;
         at++)
      count++;
    EXPECT_EQ(told, printed.text.find("if (early == 0u) asm") != std::string::npos);
    return std::pair(told, count);
  };
  const char* const sum =
      "  var s: f32 = 0.0\n  for i in 0..16 { s = s + x[i * 64 + lane_id.x] }\n"
      "  all = group_reduce_add(s)\n  if lane_id.x < 1 { y[group_id.x] = all }\n";
  const char* const in_a_loop =
      "  all = group_reduce_add(x[lane_id.x])\n"
      "  for i in 0..16 { y[i * 64 + lane_id.x] = all }\n";
  const char* const endless =
      "  var s: f32 = 0.0\n  while s < 1.0 { s = s + x[lane_id.x] }\n"
      "  all = group_reduce_add(s)\n  if lane_id.x < 1 { y[group_id.x] = all }\n";
  EXPECT_EQ(waits(sum), std::pair(true, size_t{3}))
      << "at the beginning, before a store, at the end";
  EXPECT_EQ(waits(in_a_loop), std::pair(false, size_t{1}));
  EXPECT_EQ(waits("  y[lane_id.x] = x[lane_id.x]\n"), std::pair(false, size_t{1}));
  EXPECT_EQ(waits(endless), std::pair(true, size_t{3}));
  EXPECT_EQ(waits(endless, Stop::Flag), std::pair(false, size_t{1}));
  for (const Language other : {Language::OpenCl, Language::Hip, Language::Metal, Language::Wgsl})
    EXPECT_EQ(waits(sum, Stop::None, other), std::pair(false, size_t{0})) << name_of(other);
}

TEST_P(Computes, SharedRows) {
  for (uint64_t seed = 0; seed < 2 * std::size(kSharedRows); seed++) {
    const Program program = Program::parse(kSharedRows[seed / 2]);
    oracle::RandomCase c = case_of(program, 64 * seed + (seed % 4 == 1 ? 1 : 0));
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed =
        print(program, GetParam(),
              {.f16 = converts_f16(),
               .lanes_a_group_thread = lanes_a_group_thread(seed % 2 == 0 ? 2u : 4u),
               .unroll = true});
    if (GetParam() != Language::Metal && GetParam() != Language::OpenCl) {
      EXPECT_LT(printed.lanes, program.needs().lanes);
    }
    RunRequest request = request_for(printed, c.module.buffers, c.buffers);
    request.grid = c.grid;
    request.scalars = c.scalars;
    request.offset = seed % 3;
    ASSERT_EQ(run(request, got), "") << printed.text;
    ASSERT_EQ(first_difference(c, want, got), "") << printed.text;
  }
}

// Reductions and scans of every type in workgroups that are smaller, as large and larger than what
// hands values over without memory.
TEST_P(Computes, GroupOperations) {
  for (const int lanes : {1, 16, 32, 64, 512}) {
    if (!thorough() && lanes != (GetParam() == Language::OpenCl ? 64 : 512) &&
        (GetParam() != Language::Cuda || lanes != 32))
      continue;
    std::string parameters, body = "  i = global_id.x\n";
    const auto add = [&](const char* type, std::initializer_list<const char*> operations) {
      parameters += fmt::format("in x_{0}: {0}[n], ", type);
      body += fmt::format("  v_{0} = x_{0}[i]\n", type);
      for (const char* operation : operations) {
        parameters += fmt::format("out {0}_{1}: {1}[n], ", operation, type);
        body += fmt::format("  {0}_{1}[i] = group_{0}(v_{1})\n", operation, type);
      }
    };
    add("f32", {"reduce_add", "reduce_min", "reduce_max", "scan_add", "scan_mul", "uniform"});
    add("i32", {"reduce_add", "reduce_mul", "reduce_xor", "scan_max"});
    add("u64", {"reduce_or", "reduce_max", "scan_add"});
    add("i64", {"reduce_min"});
    add("bool", {"uniform"});
    if (GetParam() != Language::Metal) add("f64", {"reduce_add", "reduce_max", "scan_add"});
    parameters.resize(parameters.size() - 2);
    const Program program = Program::parse(
        fmt::format("program p({}) workgroup({}) lanes(n) {{\n{}}}", parameters, lanes, body));
    const oracle::RandomCase c = case_of(program, static_cast<uint64_t>(lanes));
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed = print(program, GetParam(), {});
    RunRequest request = request_for(printed, c.module.buffers, c.buffers);
    request.grid = c.grid;
    request.blocks = 2;
    ASSERT_EQ(run(request, got), "") << lanes;
    ASSERT_EQ(first_difference(c, want, got), "") << lanes << "\n" << printed.text;
    std::string reason, report;
    if (GetParam() != Language::Cuda) continue;
    if (RuntimeCompiler* compiler = RuntimeCompiler::get(Language::Cuda, reason)) {
      EXPECT_EQ(compiler->compile(printed, "sm_90", report), "");
      EXPECT_NE(report.find(" 0 bytes stack frame"), std::string::npos) << report;
    }
  }
}

// Functions are printed as the arithmetic that they expand to, so that one language is enough.
using ComputesFunctions = Computes;
INSTANTIATE_TEST_SUITE_P(Dialects, ComputesFunctions, ::testing::Values(Language::OpenCl),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(ComputesFunctions, OfF32) {
  const auto all = functions(DType::F32);
  for (size_t i = 0; i < all.size(); i += thorough() ? 1 : 3) check(all[i]);
}

TEST_P(ComputesFunctions, OfF64) {
  const auto all = functions(DType::F64);
  for (size_t i = 1; i < all.size(); i += thorough() ? 1 : 4) check(all[i]);
}

}  // namespace
}  // namespace hologram::dialects
