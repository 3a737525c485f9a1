// What the compiler refuses and why, the memory of its code, how long-running code is stopped, and
// when a program is compiled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "backends/cpu/cpu.hpp"
#include "hologram/hologram.hpp"
#include "jit_launch.hpp"

namespace hologram::jit {
namespace {

class JitCompile : public testing::Test {
  void SetUp() override {
    if (instruction_sets().empty()) GTEST_SKIP() << "no instruction set here has a compiler";
  }
};

struct Refusing {
  std::string_view reason, text;
};

constexpr Refusing kRefusing[] = {
    {"its lanes share memory",
     "program p(in x: f32[n], out y: f32[n]) workgroup(64) lanes(n) { shared t: f32[64]\n"
     "  t[lane_id.x] = x[global_id.x]\n  barrier()\n  y[global_id.x] = t[63 - lane_id.x] }"},
    {"it has atomic operations",
     "program p(in x: i32[n], atomic y: i32[n]) lanes(n) { i = global_id.x\n"
     "  r = group_reduce_add(x[i])\n  if lane_id.x < 1 { atomic_add(y[group_id.x], r) } }"},
    {"it has a scan or a broadcast over the workgroup",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  y[i] = group_scan_add(x[i]) }"},
    {"it has a scan or a broadcast over the workgroup",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
     "  y[i] = group_uniform(x[i]) }"},
    {"its workgroups have several axes",
     "program p(in x: f32[n], out y: f32[n]) workgroup(16, 16) lanes(n, 16) {\n"
     "  i = global_id.x\n  r = group_reduce_add(x[i])\n  if global_id.y < 1 { y[i] = r } }"},
    {"it combines the lanes of a workgroup inside control flow",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  if h > 2 { s = group_reduce_add(x[i]) }\n  y[i] = s }"},
    {"it combines the lanes of a workgroup inside control flow",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  while s < f32(h) { s = s + 1.0 + abs(group_reduce_min(x[i])) }\n  y[i] = s }"},
    {"its lanes keep variables across operations of the workgroup",
     "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = x[i]\n"
     "  for j in 0..3 { s += x[i + j] }\n  r = group_reduce_add(s)\n  s += r\n  y[i] = s }"},
    {"its lanes keep variables across operations of the workgroup",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = x[i]\n"
     "  for j in 0..h { if group_reduce_add(x[i + j]) > 1.0 { s = s * 2.0 } }\n  y[i] = s }"},
    {"it combines the lanes of a workgroup inside control flow",
     "program p(in x: f32[n], out y: f32[n], h: i32) lanes(n) { i = global_id.x\n  var s = 0.0\n"
     "  for j in 0..h { for k in 0..2 { s = s + group_reduce_add(x[i + k]) } }\n  y[i] = s }"},
    {"its lanes keep values across operations of the workgroup",
     "program p(inout x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  a = x[i]\n"
     "  r = group_reduce_add(a)\n  y[i] = a - r }"},
    {"its workgroups are no whole number of vectors",
     "program p(in x: f32[n], out y: f32[n]) workgroup(6) lanes(n) { i = global_id.x\n"
     "  y[i] = x[i] + f32(lane_id.x) }"},
};

TEST_F(JitCompile, RefusesWhatIsTooLong) {
  std::string text =
      "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = x[i]\n";
  for (int k = 0; k < 4000; k++) text += "  s = s * s + x[i + " + std::to_string(k) + "]\n";
  const Program program = Program::parse(text + "  y[i] = s }");
  for (const Both& both : instruction_sets())
    EXPECT_EQ(refusal(program, both.target), "it is too long");
}

TEST_F(JitCompile, RefusesByName) {
  for (const Refusing& r : kRefusing)
    for (const Both& both : instruction_sets()) {
      const Program program = Program::parse(r.text);
      EXPECT_EQ(refusal(program, both.target), r.reason) << r.text;
      // What is refused is interpreted.
      for (const int64_t n : {5, 100, 1000}) {
        const Sizes sizes{.dims = {{"n", n}}, .scalars = {{"h", 3}}, .flat = n};
        EXPECT_EQ(difference(program, sizes, both), "") << r.text;
      }
    }
}

// AVX2 has instructions for none of these.
TEST_F(JitCompile, CombinesLanesOf64Bits) {
  for (const char* const type : {"i64", "u64"})
    for (const char* const op : {"mul", "min", "max"}) {
      const Program program =
          Program::parse(fmt::format("program p(in x: {}[n], out y: {}[n]) lanes(n) {{\n"
                                     "  y[global_id.x] = group_reduce_{}(x[global_id.x]) }}",
                                     type, type, op));
      for (const Both& both : instruction_sets()) {
        EXPECT_EQ(refusal(program, both.target), "");
        for (const int64_t n : {5, 100, 1000}) {
          const Sizes sizes{.dims = {{"n", n}}, .scalars = {}, .flat = n};
          EXPECT_EQ(difference(program, sizes, both), "") << op << " of " << type;
        }
      }
    }
}

TEST_F(JitCompile, RefusesWhereThereIsNoCompiler) {
  const Program product = Program::parse(
      "program p(in x: i64[n], out y: i64[n]) lanes(n) {\n"
      "  y[global_id.x] = group_reduce_mul(x[global_id.x]) }");
  const interp::Target target = instruction_sets().front().target;
  const auto none = compile(product.optimized(), interp::kernel_table(target), Isa::None);
  EXPECT_EQ(std::get<std::string>(none), "its instruction set has no compiler");
  EXPECT_EQ(isa_of("sse4"), Isa::None);
  EXPECT_EQ(isa_of("scalar"), Isa::None);
}

// ---- Memory -------------------------------------------------------------------------------------

struct Mapped {
  uint64_t code = 0;  // bytes that may be executed and are of no file
  size_t both = 0;    // mappings that may be written and executed
};

Mapped mapped() {
  Mapped m;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t from = 0, to = 0;
    char rights[8] = {}, file[8] = {};
    const int fields =
        std::sscanf(line.c_str(), "%lx-%lx %7s %*s %*s %*s %7s", &from, &to, rights, file);
    if (rights[2] != 'x') continue;
    m.both += rights[1] == 'w';
    if (fields < 4) m.code += to - from;
  }
  return m;
}

TEST_F(JitCompile, CodeIsNeverWritableAndGoesWithItsProgram) {
  const Program program = Program::parse(
      "program p(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n"
      "  y[i] = exp(x[i]) }");
  for (const Both& both : instruction_sets()) {
    const Mapped before = mapped();
    std::vector<std::shared_ptr<const Compiled>> kept;
    kept.reserve(10);
    for (int i = 0; i < 10; i++)
      kept.push_back(std::get<0>(compile(program.optimized(), interp::kernel_table(both.target),
                                         isa_of(both.target.name))));
    const Mapped during = mapped();
    EXPECT_GE(during.code, before.code + 10 * 4096);
    EXPECT_EQ(during.both, 0u);
    kept.clear();
    EXPECT_EQ(mapped().code, before.code);
  }
}

TEST_F(JitCompile, AnExecutorGivesItsCodeBack) {
  const Program program =
      Program::parse("program p(out y: f32[n]) lanes(n) { y[global_id.x] = f32(global_id.x) }");
  const Mapped before = mapped();
  {
    const Executor executor = executor_for(instruction_sets().front().target.name, Jit::Always);
    executor.run(program, {{"y", Array(DType::F32, {10})}});
    EXPECT_GT(mapped().code, before.code);
    EXPECT_EQ(mapped().both, 0u);
  }
  EXPECT_EQ(mapped().code, before.code);
}

// ---- Stopping -----------------------------------------------------------------------------------

// Each would take years.
struct Endless {
  std::string_view kind, text;
};
constexpr Endless kEndless[] = {
    {"in a loop",
     "program endless(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = x[i]\n"
     "  for j in 0..2000000000 { for k in 0..2000000000 { s = s * 0.5 + x[i] } }\n  y[i] = s }"},
    {"around one without rounds",
     "program endless(in x: f32[n], out y: f32[n], none: i32 = 0) lanes(n) { i = global_id.x\n"
     "  var s = x[i]\n  for h in 0..2000000000 { for j in 0..2000000000 { s += 1.0\n"
     "    for k in 0..none { s = s * 0.5 } } }\n  y[i] = s }"},
    {"under a mask, along the lanes",
     "program endless(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x\n  var s = x[i]\n"
     "  if (i & 3) == 1 { for h in 0..2000000000 { for j in i..i + 2000000000 { s += x[j] } } }\n"
     "  y[i] = s }"},
    {"before a reduction",
     "program endless(in x: f32[n], out y: f32[n]) workgroup(64) lanes(n) { i = global_id.x\n"
     "  var s = x[i]\n"
     "  for j in 0..2000000000 { for k in 0..2000000000 { s = s * 0.5 + x[i] } }\n"
     "  y[i] = group_reduce_add(s) }"},
    {"without a loop",
     "program endless(in x: f32[n], out y: f32[n]) index(i64) lanes(4000000000000000) {\n"
     "  i = global_id.x\n  y[i] = sin(x[i]) }"},
};

const Program& doubled() {
  static const Program program = Program::parse(
      "program doubled(in x: f32[n], out y: f32[n]) lanes(n) {\n"
      "  y[global_id.x] = 2.0 * x[global_id.x] }");
  return program;
}

void expect_works(const Executor& executor) {
  const auto out = executor.run(doubled(), {{"x", Array::from(std::vector{1.0f, 2.5f}, {2})}});
  const auto y = out.at("y").as<float>();
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector{2.0f, 5.0f}));
}

TEST_F(JitCompile, ATimeOutEndsLoops) {
  for (const Both& both : instruction_sets()) {
    const Executor executor = executor_for(both.target.name, Jit::Always, 200);
    for (const auto& [kind, text] : kEndless) {
      const Program program = Program::parse(text);
      ASSERT_EQ(refusal(program, both.target), "") << kind;
      try {
        executor.run(program, {{"x", Array(DType::F32, {100})}});
        ADD_FAILURE() << "it ended: " << kind;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Timeout) << e.what();
      }
      expect_works(executor);
    }
  }
}

TEST_F(JitCompile, CancellingEndsLoops) {
  for (const Both& both : instruction_sets())
    for (const auto& [kind, text] : kEndless) {
      Progress progress;
      RunOptions options;
      options.progress = &progress;
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        progress.cancel = true;
      });
      try {
        both.compiled.run(Program::parse(text), {{"x", Array(DType::F32, {100})}}, options);
        ADD_FAILURE() << "it ended: " << kind;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::Cancelled) << e.what();
      }
      other.join();
      expect_works(both.compiled);
    }
}

TEST_F(JitCompile, ProgressCountsEveryLane) {
  for (const Both& both : instruction_sets()) {
    Progress progress;
    RunOptions options;
    options.progress = &progress;
    both.compiled.run(doubled(), {{"x", Array(DType::F32, {100000})}}, options);
    EXPECT_EQ(progress.done, progress.total);
  }
}

// ---- When ---------------------------------------------------------------------------------------

// What the device says of a program before and after launches of so many elements.
struct Notes {
  std::string before, after;
};

Notes notes_of(std::string_view target, Jit when, int64_t elements, int launches,
               const Program& program = doubled(), bool check = false) {
  BackendConfig config;
  config.cpu_target = target;
  config.jit = when;
  config.num_threads = 1;
  const auto device =
      std::get<std::shared_ptr<hal::Device>>(backends::cpu::backend().open(0, config));
  const auto executable = device->compile(program, {.check = check});
  Notes notes{executable->note(), {}};
  std::vector<float> x(static_cast<size_t>(elements)), y = x;
  const auto bytes = static_cast<uint64_t>(elements) * 4;
  const auto in = device->adopt(reinterpret_cast<std::byte*>(x.data()), bytes);
  const auto out = device->adopt(reinterpret_cast<std::byte*>(y.data()), bytes);
  const hal::Binding bindings[] = {{in.get(), 0, bytes}, {out.get(), 0, bytes}};
  const uint64_t scalars[] = {static_cast<uint64_t>(elements)};
  const auto stream = device->stream();
  for (int i = 0; i < launches; i++) {
    stream->launch({.executable = executable.get(),
                    .grid = {(static_cast<uint64_t>(elements) + 255) / 256, 1, 1},
                    .bindings = bindings,
                    .scalars = scalars,
                    .deadline = {}});
    stream->wait(stream->submit(), {});
  }
  notes.after = executable->note();
  return notes;
}

std::string spelled(std::string_view target) {
  return target == "avx2" ? "AVX2" : target == "avx512" ? "AVX-512" : "NEON";
}

TEST_F(JitCompile, IsDoneWhenAProgramHasEarnedIt) {
  for (const Both& both : instruction_sets()) {
    const std::string_view target = both.target.name;
    const std::string name = spelled(target);
    Notes once = notes_of(target, Jit::On, 1, 1);
    // Where the machine is busy, or emulated and new to this code, one lane may take so long.
    for (int again = 0; again < 5 && once.after != once.before; again++)
      once = notes_of(target, Jit::On, 1, 1);
    EXPECT_TRUE(once.before.starts_with("interpreted until")) << once.before;
    EXPECT_NE(once.before.find(name), std::string::npos) << once.before;
    EXPECT_EQ(once.after, once.before);
    // Much work at once, and little work often.
    for (const Notes& often :
         {notes_of(target, Jit::On, 4'000'000, 1), notes_of(target, Jit::On, 1000, 20'000)})
      EXPECT_TRUE(often.after.starts_with("compiled: " + name)) << often.after;
    const Notes always = notes_of(target, Jit::Always, 1, 0);
    EXPECT_TRUE(always.before.starts_with("compiled: " + name)) << always.before;
    const Notes never = notes_of(target, Jit::Off, 4'000'000, 1);
    EXPECT_EQ(never.after, "interpreted: the compiler is switched off");
    const Notes checked = notes_of(target, Jit::Always, 10, 1, doubled(), true);
    EXPECT_EQ(checked.after, "interpreted: every access is checked");
    const Program shares = Program::parse(kRefusing[0].text);
    EXPECT_EQ(notes_of(target, Jit::Always, 64, 1, shares).after,
              "interpreted: its lanes share memory");
    EXPECT_EQ(notes_of(target, Jit::On, 64, 0, shares).before,
              "interpreted: its lanes share memory");
  }
  for (const interp::Target& target : interp::supported_targets()) {
    if (isa_of(target.name) != Isa::None) continue;
    EXPECT_EQ(notes_of(target.name, Jit::Always, 1, 1).after,
              "interpreted: its instruction set has no compiler");
  }
}

TEST_F(JitCompile, ExplainTellsIt) {
  const std::string_view target = instruction_sets().front().target.name;
  const auto told = [&](Jit when) {
    const Tensor x =
        Tensor::from_vector(std::vector<float>(1000, 1.0f), {1000}, executor_for(target, when));
    return explain(x * 2.0f + 1.0f);
  };
  EXPECT_NE(told(Jit::Always).find("\n   compiled: " + spelled(target)), std::string::npos);
  EXPECT_NE(told(Jit::On).find("\n   interpreted until it has run for"), std::string::npos);
  EXPECT_NE(told(Jit::Off).find("\n   interpreted: the compiler is switched off"),
            std::string::npos);
  EXPECT_EQ(executor_for(target, Jit::Always).device().driver,
            "interpreter and compiler, " + std::string(target));
  EXPECT_EQ(executor_for(target, Jit::Off).device().driver, "interpreter, " + std::string(target));
}

}  // namespace
}  // namespace hologram::jit
