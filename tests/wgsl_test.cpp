// Printed WGSL: what it is refused for, and what it computes on a WebGPU device, if there is one:
// scripts/software-webgpu fetches one in software.
//
// WGSL lets devices flush what is denormal, round division and the like in ways of their own, and
// take NaN and infinity for impossible. Integers are compared to the bit all the same, floats
// within kUlps, and NaN and infinity must come out where they should, as they do on devices in
// software. On a device that flushes, what has denormal operands or results is passed over, and so
// are whole programs, whose results hang on too many of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "dialects/cases.hpp"
#include "dialects/dialect.hpp"
#include "dialects/instruction_programs.hpp"
#include "dialects/test_programs.hpp"
#include "dialects/webgpu.hpp"
#include "hologram/error.hpp"
#include "jit_programs.hpp"

namespace hologram::dialects {
namespace {

constexpr int64_t kUlps = 4, kProgramUlps = 1 << 12;

// The smallest normal number among them: it may have come by rounding.
bool is_denormal(uint32_t bits) {
  const uint32_t magnitude = bits & INT32_MAX;
  return magnitude != 0 && magnitude <= 0x00800000;
}

template <int64_t ulps>
bool close(DType type, uint64_t got, uint64_t want) {
  if (oracle::same(type, got, want)) return true;
  if (type != DType::F32) return false;
  const auto ordered = [](uint64_t bits) {
    const auto magnitude = static_cast<int64_t>(bits & INT32_MAX);
    return magnitude == static_cast<int64_t>(bits) ? magnitude : -magnitude;
  };
  const auto is_finite = [](uint64_t bits) { return (bits & 0x7f800000) != 0x7f800000; };
  return is_finite(got) && is_finite(want) && std::abs(ordered(got) - ordered(want)) <= ulps;
}

std::string refusal(const Program& program, const Options& options = {}) {
  try {
    print(program, Language::Wgsl, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::UnsupportedOperation);
    return e.what();
  }
  return {};
}

TEST(WgslText, RefusesWhatWebGpuLacks) {
  const auto parse = [](const char* text) { return Program::parse(text); };
  EXPECT_EQ(refusal(parse("program p(out y: f64[n]) lanes(n) { y[global_id.x] = 1.0 }")),
            "program 'p' computes with f64, which WGSL does not have");
  const Program large = parse("program p(out y: f32[n]) workgroup(512) lanes(n) { y[0] = 1.0 }");
  EXPECT_EQ(refusal(large),
            "program 'p' takes 512 lanes a workgroup, and this WebGPU device gives 256");
  EXPECT_EQ(refusal(large, {.webgpu = {.lanes = 512}}), "");
  const Program shares = parse(
      "program p(out y: f32[n]) lanes(n) { shared t: f32[4000]; t[lane_id.x] = 1.0; barrier()\n"
      "  y[global_id.x] = group_reduce_add(t[255 - lane_id.x]) }");
  EXPECT_EQ(
      refusal(shares),
      "program 'p' takes 17024 bytes of workgroup memory, and this WebGPU device gives 16384");
  EXPECT_EQ(refusal(shares, {.webgpu = {.shared_bytes = 32768}}), "");
  EXPECT_EQ(refusal(pure_instructions(DType::F32, false).program),
            "program 'p' takes 12 storage buffers, and this WebGPU device gives 8");
  const Program endless = parse("program p(out y: i32[n]) lanes(n) { loop { y[0] = 1 } }");
  EXPECT_NE(refusal(endless, {.stop = Stop::Flag}), "");
  EXPECT_EQ(refusal(endless, {.stop = Stop::Budget}), "");
}

// What a launch goes by.
TEST(WgslText, ArgumentsHaveTheirPlaces) {
  const Printed printed =
      print(Program::parse("program p(in x: u8[n], out y: i64[m], flag: bool, by: i64, a: f32)\n"
                           "    workgroup(8, 8) lanes(n, 3) {\n"
                           "  i = global_id.y * n + global_id.x\n"
                           "  loop { if i > 5 { break } }\n"
                           "  y[i] = select(flag, i64(x[i]) * by, i64(a / inf)) }"),
            Language::Wgsl, {.stop = Stop::Budget});
  using Kind = Argument::Kind;
  struct Row {
    Kind kind;
    uint32_t slot;
    DType type;
    uint32_t place;
    bool read_only = false;
  };
  constexpr Row kRows[] = {
      {Kind::Buffer, 0, DType::U8, 0, true}, {Kind::Buffer, 1, DType::I64, 1},
      {Kind::Stop, 0, DType::U32, 2},        {Kind::Length, 0, DType::U32, 0},
      {Kind::Length, 1, DType::U32, 4},      {Kind::Scalar, 0, DType::I32, 8},
      {Kind::Scalar, 2, DType::U32, 12},     {Kind::Scalar, 3, DType::I64, 16},
      {Kind::Scalar, 4, DType::F32, 24},     {Kind::Groups, 0, DType::U32, 28},
      {Kind::Groups, 1, DType::U32, 32},     {Kind::FirstGroup, 0, DType::U32, 36},
      {Kind::EndGroup, 0, DType::U32, 40},   {Kind::Budget, 0, DType::U32, 44},
      {Kind::Zero, 0, DType::U32, 48},
  };
  ASSERT_EQ(printed.arguments.size(), std::size(kRows)) << printed.text;
  for (size_t i = 0; i < std::size(kRows); i++) {
    const Argument& a = printed.arguments[i];
    EXPECT_EQ(a.kind, kRows[i].kind) << i;
    EXPECT_EQ(a.slot, kRows[i].slot) << i;
    EXPECT_EQ(a.type, kRows[i].type) << i;
    EXPECT_EQ(a.place, kRows[i].place) << i;
    EXPECT_EQ(a.read_only, kRows[i].read_only) << i;
  }
  EXPECT_EQ(printed.block_binding, 3u);
  EXPECT_EQ(printed.block_bytes, 64u);
  EXPECT_EQ(printed.lanes, 64u);
  EXPECT_EQ(printed.groups, 1u);
}

class Wgsl : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    device_ = WebGpu::get(reason);
    if (device_ == nullptr) GTEST_SKIP() << reason;
  }

  Options options(Stop stop = Stop::None) const {
    return {.stop = stop, .webgpu = device_->gives()};
  }

  // Without its limits: nothing is launched.
  void compile(const Program& program, std::string_view name) {
    if (refusal(program, kPlenty).empty()) {
      EXPECT_EQ(device_->compile(print(program, Language::Wgsl, kPlenty)), "") << name;
      compiled_++;
    }
  }

  void check(const InstructionProgram& c, uint32_t lanes = 1) {
    Options how = options();
    how.lanes_a_thread = lanes;
    const Printed printed = print(c.program, Language::Wgsl, how);
    ASSERT_TRUE(printed.multiples.empty());
    RunRequest request = request_for(printed, c.program.buffers(), c.buffers);
    request.grid = {c.groups, 1, 1};
    std::vector<Memory> got = c.buffers;
    ASSERT_EQ(device_->run(request, got), "") << c.name;
    if (device_->flushes()) pass_over_denormals(c, got);
    EXPECT_EQ(difference(c, got, close<kUlps>), "") << printed.text;
  }

  // With several lanes a thread, if these numbers allow it.
  Printed print_for(const Program& program, Options options, const std::vector<uint64_t>& scalars) {
    Printed printed = print(program, Language::Wgsl, options);
    for (const uint32_t slot : printed.multiples)
      if (scalars[slot] % printed.lanes_a_thread != 0) {
        options.lanes_a_thread = 1;
        return print(program, Language::Wgsl, options);
      }
    several_lanes_ += printed.lanes_a_thread > 1;
    return printed;
  }

  // The launch of a whole program.
  void check(const oracle::RandomCase& c, const Options& options, std::string_view name,
             uint64_t blocks = 0) {
    const Program program = Program::from(c.module);
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(c.module, c.grid, c.scalars, want);
    const Printed printed = print_for(program, options, c.scalars);
    RunRequest request = request_for(printed, c.module.buffers, c.buffers);
    request.grid = c.grid;
    request.scalars = c.scalars;
    request.blocks = blocks;
    request.budget = 1'000'000;
    uint32_t ran_out = 0;
    ASSERT_EQ(device_->run(request, got, &ran_out), "") << name;
    EXPECT_EQ(ran_out, 0u);
    ASSERT_EQ(first_difference(c, want, got, close<kProgramUlps>), "") << name << "\n"
                                                                       << printed.text;
    compiled_++;
  }

  static void pass_over_denormals(const InstructionProgram& c, std::vector<Memory>& got) {
    const auto f32 = [&](size_t b) { return c.program.buffers()[b].type == DType::F32; };
    const auto denormal = [](const Memory& memory, size_t element) {
      uint32_t bits = 0;
      std::memcpy(&bits, &memory[element * 4], sizeof bits);
      return is_denormal(bits);
    };
    const size_t elements = c.groups * 64;
    for (size_t b = 0; b < got.size(); b++) {
      const size_t size = size_of(c.program.buffers()[b].type);
      for (size_t e = 0; e * size < got[b].size(); e++) {
        bool over = f32(b) && denormal(c.expected[b], e);
        for (size_t operand = 0; operand < 3; operand++)
          over = over || (f32(operand) && denormal(c.buffers[operand], e % elements));
        if (over) std::memcpy(&got[b][e * size], &c.expected[b][e * size], size);
      }
    }
  }

  static constexpr Options kPlenty = {
      .stop = Stop::Budget,
      .webgpu = {.lanes = 1024, .shared_bytes = 1 << 16, .storage_buffers = 99}};
  WebGpu* device_ = nullptr;
  size_t compiled_ = 0, several_lanes_ = 0;
};

TEST_F(Wgsl, CompilesWhateverThereIs) {
  for (const DType type : kTypes) {
    compile(pure_instructions(type, false).program, "instructions");
    compile(conversions_of_storage(type).program, "elements");
  }
  for (const InstructionProgram& c : functions(DType::F32)) compile(c.program, c.name);
  for (const jit::Text& text : jit::kTexts) compile(Program::parse(text.text), text.name);
  for (const char* text : kSharedRows) compile(Program::parse(text), text);
  for (const auto& file :
       std::filesystem::directory_iterator(HOLOGRAM_SOURCE_DIR "/examples/atlas")) {
    std::ifstream in(file.path());
    compile(Program::parse(std::string(std::istreambuf_iterator<char>(in), {})),
            file.path().string());
  }
  for_random_programs(20, [&](uint64_t seed, const oracle::RandomCase& c) {
    compile(Program::from(c.module), std::to_string(seed));
  });
  EXPECT_GT(compiled_, 90u);
}

TEST_F(Wgsl, EveryPureInstruction) {
  for (const DType from : kTypes)
    if (from != DType::F64)
      for (const InstructionProgram& c : pure_instructions_by_result(from, false)) check(c);
}

TEST_F(Wgsl, EveryTypeOfElements) {
  for (size_t t = 1; t < kDTypeCount; t++)
    if (const auto type = static_cast<DType>(t);
        type != DType::F64 && compute_type(type) != DType::None)
      check(conversions_from_storage(type));
}

// Threads that do several neighbouring lanes, and store whole words.
TEST_F(Wgsl, LanesOfAThread) {
  for (size_t t = 1; t < kDTypeCount; t++)
    if (const auto type = static_cast<DType>(t);
        type != DType::F64 && compute_type(type) != DType::None)
      check(conversions_from_storage(type), 4);
  if (device_->flushes()) GTEST_SKIP() << "the device flushes what is denormal";
  uint64_t number = 0;
  const auto run = [&](const char* text) {
    const Program program = Program::parse(text);
    for (const uint64_t odd : {0, 3}) {  // whole words, and a part of one
      Options how = options(number % 2 == 0 ? Stop::Budget : Stop::None);
      how.lanes_a_thread = 4;
      check(case_of(program, 200 * number + odd), how, text, number % 3);
      number++;
    }
  };
  for (const char* text : kNeighbours) run(text);
  EXPECT_GT(several_lanes_, std::size(kNeighbours));
  for (size_t k = 0; k < std::size(jit::kTexts); k += thorough() ? 1 : 5)
    if (refusal(Program::parse(jit::kTexts[k].text), options()).empty())
      run(jit::kTexts[k].text.data());
}

// Quotients and roots of devices whose own are only nearly right.
TEST_F(Wgsl, QuotientsAndRootsMadeExact) {
  const Program program = Program::parse(
      "program p(in x: f32[n], in y: f32[n], out q: f32[n], out r: f32[n]) lanes(n) {\n"
      "  i = global_id.x; if i < n { q[i] = x[i] / y[i]; r[i] = sqrt(x[i]) } }");
  Options how = options();
  how.webgpu.divides = false;
  const Printed printed = print(program, Language::Wgsl, how);
  ASSERT_NE(printed.text.find("div_f32("), std::string::npos);
  constexpr size_t kMany = 1 << 16;
  std::vector<float> x(kMany), y(kMany), q(kMany), r(kMany);
  uint64_t state = 1;
  for (size_t i = 0; i < kMany; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(state >> 33));
    y[i] = std::bit_cast<float>(static_cast<uint32_t>(state >> 7));
    // Near ties and the ends of binades.
    const auto few = static_cast<uint32_t>(i % 64);
    if (i % 4 == 0) x[i] = std::bit_cast<float>(0x3f800000u + few - 32);
    if (i % 8 == 0) y[i] = std::bit_cast<float>(0x3fffffffu - few);
    // The reciprocals of large numbers are denormal.
    if (i % 16 == 3) x[i] = i % 32 == 3 ? INFINITY : -INFINITY;
    if (i % 32 == 3) y[i] = std::ldexp(y[i], 100);
  }
  std::vector<Memory> buffers;
  for (const auto* values : {&x, &y, &q, &r}) {
    buffers.emplace_back(kMany * sizeof(float));
    std::memcpy(buffers.back().data(), values->data(), kMany * sizeof(float));
  }
  RunRequest request = request_for(printed, program.buffers(), buffers);
  request.grid = {kMany / 256, 1, 1};
  request.scalars = {kMany};
  ASSERT_EQ(device_->run(request, buffers), "");
  const auto expect = [&](size_t buffer, size_t i, float want) {
    float have = 0;
    std::memcpy(&have, &buffers[buffer][i * sizeof have], sizeof have);
    if (std::isnan(want) ? std::isnan(have) : have == want) return true;
    const auto small = [](float v) { return std::fabs(v) < 0x1.01p-126F; };
    return device_->flushes() && (small(want) || small(x[i]) || (buffer == 2 && small(y[i])));
  };
  for (size_t i = 0; i < kMany; i++) {
    ASSERT_TRUE(expect(2, i, x[i] / y[i])) << x[i] << " / " << y[i];
    ASSERT_TRUE(expect(3, i, std::sqrt(x[i]))) << "root of " << x[i];
  }
}

// Devices whose compilers make one fma of a product and a sum.
TEST_F(Wgsl, ProductsThatNoSumIsMadeOneWith) {
  if (device_->flushes()) GTEST_SKIP() << "the device flushes what is denormal";
  Options how = options();
  how.webgpu.fused = how.webgpu.contracts = true;
  const Program program = Program::parse(
      "program p(in x: f32[n], out y: f32[n, 4]) lanes(n) {\n"
      "  i = global_id.x; v = x[i]; w = x[n - 1 - i]\n"
      "  y[i, 0] = v * w; y[i, 1] = v * w + v; y[i, 2] = w - v * v; y[i, 3] = v * 0.0 }");
  ASSERT_NE(print(program, Language::Wgsl, how).text.find("mul_f32("), std::string::npos);
  const Program sums = Program::parse(
      "program p(in x: f32[n], out y: f32[n]) lanes(n) {\n"
      "  i = global_id.x; w = -(x[i] + x[i]); h = w + 1.5707964\n"
      "  y[i] = h + ((w - (h - 1.5707964)) - x[n - 1 - i]) }");
  for (uint64_t seed = 0; seed < 3; seed++) check(case_of(sums, seed), how, "sums");
  for (uint64_t seed = 0; seed < 3; seed++) check(case_of(program, seed), how, "products");
}

// Workgroup arrays that are read and written by quads, and some that look like it.
TEST_F(Wgsl, WorkgroupArraysOfQuads) {
  constexpr std::string_view kText =
      "program p(in x: f32[n], out y: f32[n]) workgroup(16) lanes(n) {{\n"
      "  shared t: f32[64]\n  i = global_id.x; l = lane_id.x * 4; v = x[i]; s = {}\n"
      "  {}\n  barrier()\n"
      "  y[i] = t[s] + t[s + 1] * 2.0 + t[s + 2] * 4.0 + t[s + 3] * 8.0 }}";
  constexpr std::string_view kStores =
      "t[l] = v; t[l + 1] = v + 1.0; t[l + 3] = v + 3.0; t[l + 2] = v + 2.0";
  struct Row {
    std::string_view start, stores;
    bool fours;
  };
  const Row kRows[] = {
      {"60 - l", kStores, true},
      {"(15 - lane_id.x) * 4", kStores, true},
      {"lane_id.x", kStores, false},  // not at multiples of four
      {"60 - l",
       "t[l] = v; t[l + 1] = v; t[l + 2] = v; if v < 0.0 { t[l + 3] = v } else { t[l + 3] = 1.0 }",
       false},
      {"60 - l", "t[l] = v; t[l + 1] = t[l]; t[l + 2] = v; t[l + 3] = v", false},
  };
  for (const Row& row : kRows) {
    const Program program = Program::parse(fmt::format(kText, row.start, row.stores));
    const bool fours =
        print(program, Language::Wgsl, options()).text.find("array<vec4<f32>, 16>") !=
        std::string::npos;
    EXPECT_EQ(fours, row.fours) << row.start << "; " << row.stores;
    if (!device_->flushes()) check(case_of(program, 128), options(), row.start);
  }
  // A sum of 2^60 parts.
  std::string doubled = "s0 = l; ";
  for (int k = 0; k < 60; k++) doubled += fmt::format("s{} = s{} + s{}; ", k + 1, k, k);
  const Program program = Program::parse(fmt::format(kText, "60 - l", doubled + "t[s60 % 64] = v"));
  EXPECT_EQ(print(program, Language::Wgsl, options()).text.find("vec4"), std::string::npos);
}

// A program that reduces once is not printed with subgroups, which would keep its lanes together.
TEST_F(Wgsl, FeaturesAreEnabledWhereTheyAreUsed) {
  constexpr std::string_view kText =
      "program {}(in x: f16[n], out y: f32[]) workgroup(256) lanes(n) {{\n"
      "  v = x[global_id.x]; a = group_reduce_add(v); {}\n"
      "  if lane_id.x == 0 {{ y[group_id.x] = a + b }}}}";
  const auto text = [&](std::string_view name, std::string_view more, bool features) {
    Options how;
    how.webgpu.halves = features;
    how.webgpu.subgroup = features ? 32 : 0;
    return print(Program::parse(fmt::format(kText, name, more)), Language::Wgsl, how).text;
  };
  const auto has = [](const auto& text, auto part) { return text.find(part) != std::string::npos; };
  const std::string twice = text("twice", "b = group_reduce_max(v)", true);
  EXPECT_TRUE(has(twice, "enable f16;\nenable subgroups;\n"));
  EXPECT_TRUE(has(twice, "subgroupShuffleDown("));
  const std::string once = text("subgroup", "b = v", true);
  EXPECT_TRUE(has(once, "enable f16;\n"));
  EXPECT_FALSE(has(once, "enable subgroups;"));
  EXPECT_FALSE(has(text("twice", "b = group_reduce_max(v)", false), "enable"));
}

TEST_F(Wgsl, Functions) {
  const auto all = functions(DType::F32);
  for (size_t i = 0; i < all.size(); i += thorough() ? 1 : 7) check(all[i]);
}

TEST_F(Wgsl, RandomPrograms) {
  if (device_->flushes()) GTEST_SKIP() << "the device flushes what is denormal";
  for_random_programs(8, [&](uint64_t seed, const oracle::RandomCase& c) {
    Options how = options(seed % 2 == 0 ? Stop::Budget : Stop::None);
    how.lanes_a_thread = 4;
    if (refusal(Program::from(c.module), how).empty())
      check(c, how, std::to_string(seed), seed % 3);  // few blocks do all groups
  });
  EXPECT_GT(compiled_, 0u);
}

TEST_F(Wgsl, ProgramsOfTheCompiler) {
  if (device_->flushes()) GTEST_SKIP() << "the device flushes what is denormal";
  uint64_t number = 0;
  for (const jit::Text& text : jit::kTexts) {
    const Program program = Program::parse(text.text);
    if (number++ % (thorough() ? 1 : 4) == 0 && refusal(program, options()).empty())
      check(case_of(program, number), options(), text.name);
  }
  EXPECT_GT(compiled_, 5u);
}

TEST_F(Wgsl, SharedRows) {
  if (device_->flushes()) GTEST_SKIP() << "the device flushes what is denormal";
  for (uint64_t k = 0; k < std::size(kSharedRows); k++) {
    const Program program = Program::parse(kSharedRows[k]);
    if (refusal(program, options()).empty()) check(case_of(program, 64 * k), options(), "rows");
  }
  EXPECT_GT(compiled_, 1u);
}

TEST_F(Wgsl, GroupOperations) {
  if (device_->flushes()) GTEST_SKIP() << "the device flushes what is denormal";
  constexpr const char* kOperations[] = {
      "f32 reduce_add", "f32 reduce_min", "f32 scan_add",   "f32 scan_mul",  "f32 uniform",
      "i32 reduce_mul", "i32 scan_max",   "u32 reduce_xor", "u64 reduce_or", "u64 reduce_max",
      "u64 scan_add",   "i64 reduce_min", "i64 uniform",    "bool uniform"};
  for (const int lanes : {1, 16, 256}) {
    if (!thorough() && lanes == 1) continue;
    for (const std::string operation : kOperations) {
      if (!thorough() && (lanes == 16) != (operation[0] == 'u')) continue;
      const size_t space = operation.find(' ');
      const std::string type = operation.substr(0, space);
      const Program program = Program::parse(
          fmt::format("program p(in x: {0}[n], out y: {0}[n]) workgroup({1}) lanes(n) {{\n"
                      "  i = global_id.x; y[i] = group_{2}(x[i]) }}",
                      type, lanes, operation.substr(space + 1)));
      check(case_of(program, static_cast<uint64_t>(lanes)), options(), operation, 2);
    }
  }
}

TEST_F(Wgsl, EndlessLoopsAreStopped) {
  for (const char* text : kEndless) {
    const Program program = Program::parse(text);
    const Printed printed = print(program, Language::Wgsl, options(Stop::Budget));
    std::vector<Memory> buffers = {Memory(4 * 32)};
    RunRequest request = request_for(printed, program.buffers(), buffers);
    request.scalars = {32};
    request.budget = 5000;
    uint32_t ran_out = 0;
    ASSERT_EQ(device_->run(request, buffers, &ran_out), "") << text;
    EXPECT_EQ(ran_out, 1u) << text;
  }
}

// NaN that compilers can see coming, constant indices outside, names that WGSL does not allow.
TEST_F(Wgsl, WhatCompilersKnowBeforehand) {
  check(case_of(Program::parse(
                    "program p(in x: f32[n], out y: f32[n, 8]) lanes(n) {\n"
                    "  i = global_id.x; v = min(x[i], bits_f32(0xffc00000u32))\n"
                    "  y[i, 0] = trunc(v); y[i, 1] = floor(v); y[i, 2] = ceil(v)\n"
                    "  y[i, 3] = round(v); y[i, 4] = f32(i32(v)); y[i, 5] = v + 3.4028234e38\n"
                    "  y[i, 6] = exp(v); y[i, 7] = select(v != v, -inf, inf) }"),
                5),
        options(), "NaN");
  check(case_of(Program::parse("program p(in x: f32[n], out y: f32[n, 4]) lanes(n) {\n"
                               "  i = global_id.x; v = x[i]; c = -18.0; w = v * nan\n"
                               "  y[i, 0] = select(v < c, c, v); y[i, 1] = select(v > c, v, c)\n"
                               "  y[i, 2] = select(w < c, c, w); y[i, 3] = select(c < w, w, c) }"),
                5),
        options(), "extrema that are none");
  check(case_of(Program::parse("program p(in __: i32[n], out u__: i32[n]) workgroup(8) lanes(n) {\n"
                               "  shared __t: i32[8]; __i = global_id.x; var __v = 1\n"
                               "  __t[9] = 1; __t[lane_id.x] = __[__i] + __[-1]; barrier()\n"
                               "  __v += __t[8] + __t[-1] + __t[7]; u__[-3] = 1; u__[__i] = __v }"),
                5),
        options(), "names");
  if (device_->flushes()) return;  // x / x is 0 / 0 there of what is denormal
  check(
      case_of(
          Program::parse(
              "program p(in x: f32[n], out y: f32[n, 8]) lanes(n) {\n"
              "  i = global_id.x; v = x[i]\n"
              "  y[i, 0] = v * 0.0; y[i, 1] = v - v; y[i, 2] = v / v; y[i, 3] = fma(v, 0.0, 1.0)\n"
              "  y[i, 4] = (v + 1.0) - v; y[i, 5] = (x[i] + 8388608.0) - 8388608.0\n"
              "  y[i, 6] = fma(-0.0, v, v); y[i, 7] = select(!(v < 1.0), 1.0, 2.0) }"),
          6),
      options(), "what is not so of floats");
}

}  // namespace
}  // namespace hologram::dialects
