// The text of a program assembles to the same program.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "canonical.hpp"
#include "hologram/builder.hpp"
#include "hologram/error.hpp"
#include "oracle/random_program.hpp"
#include "program/ir.hpp"

namespace hologram::program {
namespace {

void expect_round_trip(const Module& m) {
  const std::string text = to_text(m);
  try {
    const Module again = assemble(text, "again");
    const auto want = canonical(m), got = canonical(again);
    const auto [a, b] = std::mismatch(want.begin(), want.end(), got.begin(), got.end());
    if (a != want.end() || b != got.end())
      ADD_FAILURE() << "wanted " << (a == want.end() ? "the end" : *a) << "\ngot "
                    << (b == got.end() ? "the end" : *b) << '\n'
                    << text;
    EXPECT_EQ(to_text(again), text);
  } catch (const Error& error) {
    FAIL() << error.what() << "\n" << error.remedy() << "\n" << text;
  }
}

TEST(Disassembler, RandomPrograms) {
  for (uint64_t seed = 0; seed < 200 && !testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE(seed);
    oracle::Choices choices(seed);
    const Module m = oracle::random_case(choices).module;
    expect_round_trip(m);
    expect_round_trip(Program::from(m).optimized());
  }
}

Module with_values(const std::function<void(Builder&, Buf, Value)>& body) {
  Builder b("p", {64});
  const Buf x = b.buffer("x", DType::F32, Access::InOut);
  const Value a = b.scalar("a", DType::F32);
  body(b, x, a);
  return b.finish_unverified();
}

std::string statements_of(const Module& m) {
  const std::string text = to_text(m);
  const size_t from = text.find("{\n") + 2;
  return text.substr(from, text.rfind("}\n") - from);
}

TEST(Disassembler, NestsWhereTheOrderStays) {
  const std::string statements =
      "  v0 = global_id.x\n"
      "  v1 = x[v0]\n"
      "  v2 = x[v0 + 1]\n"
      "  x[v0] = v2 - v1\n"  // read in the other order
      "  x[v0 + 2] = -(a + 2.0) * x[v0] + (a - (a - 1.0)) - a * 2.0\n";
  const Module m = assemble("program p(inout x: f32[], a: f32) {" + statements + "}", "text");
  EXPECT_EQ(statements_of(m), statements);
}

TEST(Disassembler, ReadsOfVariablesStayBeforeWhatChangesThem) {
  const Module m = with_values([](Builder& b, Buf x, Value a) {
    const Var s = b.var(a, "s");
    const Value before = b.get(s);
    b.set(s, a * 2);
    b.store(x, b.global_id(0), before);
  });
  expect_round_trip(m);
  EXPECT_EQ(statements_of(m),
            "  var s: f32 = a\n"
            "  v0 = s\n"
            "  s = a * 2.0\n"
            "  x[global_id.x] = v0\n");
}

TEST(Disassembler, NumbersReadBackAsTheSameBits) {
  const Module m = with_values([](Builder& b, Buf x, Value) {
    const auto f32 = [&](uint32_t bits) {
      b.store(x, b.global_id(0), b.constant_bits(DType::F32, bits));
      b.emit(Op::Neg, {b.constant_bits(DType::F32, bits)});
    };
    // Small and large ones, and neighbours of ties that rounding twice gets wrong.
    for (const uint32_t bits : {0x00000001u, 0x007fffffu, 0x00800000u, 0x3dcccccdu, 0x7f7fffffu,
                                0x80000000u, 0xff800000u, 0x7fc00000u, 0x4b800001u, 0x15ae43fdu})
      f32(bits);
    uint32_t random = 1;
    for (int i = 0; i < 2000; i++) f32((random = random * 1664525u + 1013904223u) & 0xff7fffffu);
    for (const uint64_t bits : {1ull, 0x3fb999999999999aull, 0x7fefffffffffffffull,
                                0xfff0000000000000ull, 0x8000000000000000ull})
      b.emit(Op::Neg, {b.constant_bits(DType::F64, bits)});
    b.emit(Op::Neg, {b.constant_bits(DType::I32, 0x80000000)});
    b.emit(Op::Neg, {b.constant_bits(DType::I64, 0x8000000000000000)});
    b.emit(Op::Neg, {b.constant_bits(DType::U64, 0xffffffffffffffff)});
    b.emit(Op::Not, {b.constant_bits(DType::Bool, 1)});
  });
  expect_round_trip(m);
}

TEST(Disassembler, WhileAndElseIfComeBack) {
  const std::string text =
      "program p(inout x: f32[], a: f32)\n"
      "    workgroup(256) {\n"
      "  var s: f32 = a\n"
      "  while s < 9.0 {\n"
      "    s = s * 2.0\n"
      "    if s == 4.0 {\n"
      "      continue\n"
      "    } else if s == 5.0 {\n"
      "      break\n"
      "    } else if s == 6.0 {\n"
      "    } else {\n"
      "      v0 = x[0]\n"
      "      if v0 > 1.0 {\n"
      "        x[2] = v0\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "  loop {\n"
      "    if s > 1.0 {\n"
      "      return\n"
      "    }\n"
      "  }\n"
      "  for i0 in 0..3 step 2 {\n"
      "    x[i0] = f32(i0)\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(to_text(assemble(text, "text")), text);
}

TEST(Disassembler, DeclarationsKeepTheirOrder) {
  const std::string text =
      "program p(in x: f32[n, 3], a: f64 = 0.1, inout y: u8[m, n], atomic z: i32[], b: bool = "
      "true,\n"
      "    c: i64 = -9007199254740993)\n"
      "    workgroup(8, 8, 2) index(i64) lanes(n, m / 2) {\n"
      "  shared s: f32[64]\n"
      "  shared t: atomic u32[4]\n"
      "  require n <= 4\n"
      "}\n";
  EXPECT_EQ(to_text(assemble(text, "text")), text);
}

TEST(Disassembler, HostValuesUsedTwiceHaveNames) {
  Builder b("p");
  const Buf x = b.buffer("x", DType::F32, Access::In, {{"n", 0}});
  b.begin_host();
  Value v = b.dimension("n");
  for (int i = 0; i < 60; i++) v = v * v;  // as a tree this is larger than any memory
  b.require(v < b.length(x), "");
  b.lanes(1, v);
  b.end_host();
  const Module m = b.finish_unverified();
  const std::string text = to_text(m);
  EXPECT_NE(text.find("host v1 = v0 * v0\n"), std::string::npos);
  EXPECT_NE(text.find("lanes(1, v59)\n"), std::string::npos);
  EXPECT_EQ(to_text(assemble(text, "again")), text);
}

// Names of the text never meet those that the writer makes up.
TEST(Disassembler, MadeUpNamesAreNew) {
  const std::string text =
      "program v1(in v0: f32[i0], out v2: f32[])\n"
      "    workgroup(256) {\n"
      "  v3 = v0[0]\n"
      "  v2[0] = v3 * v3\n"
      "  for i1 in 0..i0 {\n"
      "    v2[i1] = 1.0\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(to_text(assemble(text, "text")),
            "program v1(in v0: f32[i0], out v2: f32[])\n"
            "    workgroup(256) {\n"
            "  v1 = v0[0]\n" +
                text.substr(text.find("  v2[0]")).replace(10, 7, "v1 * v1"));
}

// An expression is as long as a reader can take in; a deep one does not become a long line.
TEST(Disassembler, LongExpressionsAreCut) {
  std::string sum = "a";
  for (int i = 0; i < 3000; i++) sum += " + " + std::to_string(i) + ".0f32 * a";
  const Module m = assemble("program p(a: f32, out y: f32[]) { y[0] = " + sum + " }", "t");
  expect_round_trip(m);
  std::istringstream lines(to_text(m));
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 120u);
}

TEST(Disassembler, Examples) {
  const std::filesystem::path folder = std::filesystem::path(HOLOGRAM_SOURCE_DIR) / "examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "there are no examples";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".atlas") continue;
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const Module m = assemble(text.str(), entry.path().filename().string());
    expect_round_trip(m);
    expect_round_trip(Program::from(m).optimized());
  }
}

}  // namespace
}  // namespace hologram::program
