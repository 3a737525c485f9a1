// The evaluator of constants and host code, at the edges that the instruction table names; and what
// else is said of a whole program: its needs, cost and hash.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "hologram/builder.hpp"
#include "program/ir.hpp"
#include "program/typing.hpp"

namespace hologram::program {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint64_t bits(int32_t v) { return static_cast<uint32_t>(v); }
uint64_t bits(uint32_t v) { return v; }
uint64_t bits(int64_t v) { return static_cast<uint64_t>(v); }
uint64_t bits(uint64_t v) { return v; }
uint64_t bits(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t bits(double v) { return std::bit_cast<uint64_t>(v); }

// The result in the type of the operands.
template <class T>
T value(Op op, T a, T b = {}, T c = {}) {
  const uint64_t out = evaluate(op, dtype_of<T>, dtype_of<T>, {bits(a), bits(b), bits(c)}).value();
  if constexpr (std::is_same_v<T, float>) return std::bit_cast<float>(static_cast<uint32_t>(out));
  else if constexpr (std::is_same_v<T, double>) return std::bit_cast<double>(out);
  else return static_cast<T>(out);
}

template <class To, class From>
To cast(From v) {
  const uint64_t out = evaluate(Op::Cast, dtype_of<To>, dtype_of<From>, {bits(v), 0, 0}).value();
  if constexpr (std::is_same_v<To, float>) return std::bit_cast<float>(static_cast<uint32_t>(out));
  else return static_cast<To>(out);
}

TEST(Evaluate, IntegersWrap) {
  EXPECT_EQ(value<int32_t>(Op::Add, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(value<int64_t>(Op::Mul, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(value<int32_t>(Op::Neg, INT32_MIN), INT32_MIN);
  EXPECT_EQ(value<int32_t>(Op::Abs, INT32_MIN), INT32_MIN);
  EXPECT_EQ(value<uint32_t>(Op::Sub, 0u, 1u), UINT32_MAX);
  EXPECT_EQ(value<int32_t>(Op::Fma, 1 << 20, 1 << 20, 7), 7);
}

TEST(Evaluate, DivisionIsTotal) {
  EXPECT_EQ(value<int32_t>(Op::Div, 7, 0), 0);
  EXPECT_EQ(value<int32_t>(Op::Rem, 7, 0), 0);
  EXPECT_EQ(value<int32_t>(Op::Div, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(value<int64_t>(Op::Rem, INT64_MIN, int64_t{-1}), 0);
  EXPECT_EQ(value<int32_t>(Op::Div, -7, 2), -3);
  EXPECT_EQ(value<int32_t>(Op::Rem, -7, 2), -1);
  EXPECT_EQ(value<uint64_t>(Op::Div, UINT64_MAX, uint64_t{2}), UINT64_MAX / 2);
}

TEST(Evaluate, ShiftsCountModuloTheWidth) {
  EXPECT_EQ(value<int32_t>(Op::Shl, 1, 33), 2);
  EXPECT_EQ(value<int32_t>(Op::Shr, -8, 1), -4);
  EXPECT_EQ(value<uint32_t>(Op::Shr, 0x80000000u, 31u), 1u);
  // The count of a 64-bit shift is 32 bits wide; -1 is 63.
  EXPECT_EQ(evaluate(Op::Shl, DType::U64, DType::U64, {1, UINT32_MAX, 0}), uint64_t{1} << 63);
}

TEST(Evaluate, HighHalvesAndBits) {
  EXPECT_EQ(value<uint32_t>(Op::MulHi, UINT32_MAX, UINT32_MAX), UINT32_MAX - 1);
  EXPECT_EQ(value<int32_t>(Op::MulHi, INT32_MIN, INT32_MIN), 1 << 30);
  EXPECT_EQ(value<uint64_t>(Op::MulHi, UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(value<int64_t>(Op::MulHi, int64_t{-1}, int64_t{1}), -1);
  EXPECT_EQ(value<int32_t>(Op::Clz, 0), 32);
  EXPECT_EQ(value<uint64_t>(Op::Clz, uint64_t{1}), 63u);
  EXPECT_EQ(value<int32_t>(Op::PopCount, -1), 32);
  EXPECT_EQ(value<int32_t>(Op::Wrap8, 200), -56);
  EXPECT_EQ(value<uint32_t>(Op::Wrap16, 70000u), 4464u);
}

TEST(Evaluate, MinimumAndMaximum) {
  EXPECT_TRUE(std::isnan(value<float>(Op::Min, kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(value<float>(Op::Max, 1.0f, kNan)));
  EXPECT_TRUE(std::signbit(value<float>(Op::Min, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(value<float>(Op::Max, -0.0f, 0.0f)));
  EXPECT_EQ(value<double>(Op::Max, -2.0, -1.0), -1.0);
  EXPECT_EQ(value<uint32_t>(Op::Min, 1u, UINT32_MAX), 1u);
}

TEST(Evaluate, FloatsKeepTheirSigns) {
  EXPECT_TRUE(std::signbit(value<float>(Op::Sign, -0.0f)));
  EXPECT_TRUE(std::isnan(value<float>(Op::Sign, kNan)));
  EXPECT_EQ(value<float>(Op::Round, 2.5f), 2.0f);
  EXPECT_TRUE(std::signbit(value<float>(Op::Round, -0.4f)));
  EXPECT_EQ(value<float>(Op::CopySign, 3.0f, -0.0f), -3.0f);
  EXPECT_EQ(value<float>(Op::Fma, 1 + 0x1p-12f, 1 + 0x1p-12f, -1 - 0x1p-11f), 0x1p-24f);
  EXPECT_TRUE(std::isinf(value<float>(Op::RoundF16, 65520.0f)));
  EXPECT_EQ(value<float>(Op::RoundBF16, 1 + 0x1p-8f), 1.0f);
}

TEST(Evaluate, ConversionsSaturate) {
  EXPECT_EQ((cast<int32_t>(kNan)), 0);
  EXPECT_EQ((cast<int32_t>(kInf)), INT32_MAX);
  EXPECT_EQ((cast<int32_t>(-1e20)), INT32_MIN);
  EXPECT_EQ((cast<int32_t>(-2147483648.5)), INT32_MIN);
  EXPECT_EQ((cast<int32_t>(2147483647.5)), INT32_MAX);
  EXPECT_EQ((cast<uint32_t>(-1.5f)), 0u);
  EXPECT_EQ((cast<uint64_t>(kInf)), UINT64_MAX);
  EXPECT_EQ((cast<uint64_t>(0x1p63f)), uint64_t{1} << 63);
  EXPECT_EQ((cast<int64_t>(-1.9)), -1);
  EXPECT_EQ((cast<uint64_t>(int32_t{-1})), UINT64_MAX);
  EXPECT_EQ((cast<float>(uint64_t{0x8000008000000001u})), 0x1.000002p63f);
  EXPECT_EQ(evaluate(Op::Cast, DType::Bool, DType::F32, {bits(kNan), 0, 0}), 1u);
  EXPECT_EQ(evaluate(Op::Cast, DType::Bool, DType::F32, {bits(-0.0f), 0, 0}), 0u);
}

TEST(Evaluate, ComparisonsWithNan) {
  const auto compare = [](Op op, float a, float b) {
    return evaluate(op, DType::Bool, DType::F32, {bits(a), bits(b), 0}).value() != 0;
  };
  EXPECT_FALSE(compare(Op::Eq, kNan, kNan));
  EXPECT_TRUE(compare(Op::Ne, kNan, kNan));
  EXPECT_FALSE(compare(Op::Ge, kNan, 0.0f));
  EXPECT_TRUE(compare(Op::Eq, 0.0f, -0.0f));
}

TEST(Evaluate, IsEmptyWhereThereIsNoOperation) {
  EXPECT_FALSE(evaluate(Op::Load, DType::F32, DType::F32, {}));
  EXPECT_FALSE(evaluate(Op::Rem, DType::F32, DType::F32, {}));
  EXPECT_FALSE(evaluate(Op::Lt, DType::Bool, DType::Bool, {}));
  EXPECT_FALSE(evaluate(Op::Exp, DType::I32, DType::I32, {}));
  EXPECT_FALSE(evaluate(static_cast<Op>(255), DType::I32, DType::I32, {}));
}

TEST(Evaluate, HostCode) {
  Builder b("p");
  auto x = b.buffer("x", DType::F32, Access::In);
  const Value unused = b.scalar("s", DType::I32);
  static_cast<void>(unused);
  b.begin_host();
  b.require(b.length(x) > b.dimension("s"), "len(x) > s");
  b.lanes(0, (b.length(x) + 3) / 4);
  b.end_host();
  const Module module = b.finish_unverified();
  const auto results = [&](uint64_t scalar, uint64_t length) {
    const auto values = evaluate_host(module, std::vector{scalar}, std::vector{length});
    std::vector<uint64_t> out;
    for (const Inst& inst : module.host.insts)
      if (inst.op == Op::Require || inst.op == Op::Lanes) out.push_back(values[inst.args[0]]);
    return out;
  };
  EXPECT_EQ(results(9, 10), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(results(10, 10), (std::vector<uint64_t>{0, 3}));
  EXPECT_EQ(results(bits(-1), 0), (std::vector<uint64_t>{1, 0}));
}

struct Names {
  const char *program, *buffer, *scalar, *text;
};

Program example(const Names& names, double factor, double otherwise, uint32_t line) {
  Builder b(names.program, {64});
  b.set_line(line);
  auto x = b.buffer(names.buffer, DType::F16, Access::InOut);
  const Value s = b.scalar(names.scalar, DType::F32, otherwise);
  b.begin_host();
  b.require(b.length(x) > 0, names.text);
  b.end_host();
  b.for_(b.constant(DType::I32, int64_t{0}), b.constant(DType::I32, int64_t{10}), 3,
         [&](Value i) { b.store(x, i, b.load(x, i) * factor + s); });
  return b.finish();
}

TEST(Evaluate, HashIsOfWhatAProgramDoes) {
  const Names names = {"p", "x", "s", "text"};
  const Hash128 hash = example(names, 2, 1, 0).hash();
  EXPECT_EQ(hash, example({"q", "y", "t", "other"}, 2, 5, 9).hash());
  EXPECT_FALSE(hash == example(names, 3, 1, 0).hash());
}

TEST(Evaluate, NeedsAndCost) {
  const Program program = example({"p", "x", "s", "text"}, 2, 1, 0);
  const Needs& needs = program.needs();
  EXPECT_EQ(needs.buffers, 1u);
  EXPECT_EQ(needs.lanes, 64u);
  EXPECT_TRUE(needs.storage.has(DType::F16));
  EXPECT_TRUE(needs.compute.has(DType::F32));
  EXPECT_FALSE(needs.compute.has(DType::F64));
  EXPECT_FALSE(needs.cooperative);
  const Cost cost = program.cost();
  EXPECT_EQ(cost.bytes_read, 4 * 2);
  EXPECT_EQ(cost.bytes_written, 4 * 2);
  EXPECT_EQ(cost.flops, 4 * 2);
  EXPECT_FALSE(cost.has_unknown_loops);
}

}  // namespace
}  // namespace hologram::program
