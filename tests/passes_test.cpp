// Optimised programs do what the programs as written do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "hologram/builder.hpp"
#include "oracle/random_program.hpp"
#include "oracle/scalar_model.hpp"
#include "program/passes/passes.hpp"
#include "program/verify.hpp"

namespace hologram::program {
namespace {

using oracle::Memory;

// The first buffer in which the two differ; empty if none does.
std::string difference(const Module& module, const std::vector<Memory>& want,
                       const std::vector<Memory>& got) {
  for (size_t b = 0; b < want.size(); b++) {
    const DType type = module.buffers[b].type;
    const size_t size = size_of(type);
    for (size_t at = 0; at < want[b].size(); at += size) {
      uint64_t x = 0, y = 0;
      std::memcpy(&x, &want[b][at], size);
      std::memcpy(&y, &got[b][at], size);
      if (!oracle::same(type, x, y))
        return module.buffers[b].name + "[" + std::to_string(at / size) + "]";
    }
  }
  return {};
}

size_t count_of(const Module& module, Op op) {
  return std::count_if(module.body.insts.begin(), module.body.insts.end(),
                       [op](const Inst& inst) { return inst.op == op; });
}

TEST(Passes, RandomProgramsComputeTheSame) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    oracle::Choices choices(seed);
    const oracle::RandomCase c = oracle::random_case(choices);
    const Program program = Program::from(c.module);
    ASSERT_NO_THROW(verify(program.optimized())) << "seed " << seed;
    std::vector<Memory> want = c.buffers, got = c.buffers;
    oracle::run_naively(program.source(), c.grid, c.scalars, want);
    oracle::run_naively(program.optimized(), c.grid, c.scalars, got);
    ASSERT_EQ(difference(c.module, want, got), "") << "seed " << seed;
  }
}

// Optimising what is optimised changes nothing but what a round of its own makes possible.
TEST(Passes, OptimisedProgramsAreSettled) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    oracle::Choices choices(seed);
    const Program once = Program::from(oracle::random_case(choices).module);
    const Program twice = Program::from(once.optimized());
    EXPECT_LE(twice.optimized().body.insts.size(), once.optimized().body.insts.size());
  }
}

// A program whose one store takes what `write` makes of x[i].
Module small(const std::function<Value(Builder&, Value)>& write, DType type) {
  Builder b("small");
  auto x = b.buffer("x", type, Access::In);
  auto y = b.buffer("y", DType::I32, Access::Out);
  const Value i = b.global_id(0);
  const Value v = write(b, b.load(x, i));
  b.store(y, i, v.type() == DType::I32 ? v : b.emit(Op::Cast, {v}, DType::I32));
  Module module = b.finish_unverified();
  verify(module);
  optimize(module);
  verify(module);
  return module;
}

TEST(Passes, FoldsExactIdentitiesOnly) {
  const auto left = [](DType type, Op op, const auto& write) {
    return count_of(small([&](Builder&, Value x) { return write(x); }, type), op);
  };
  EXPECT_EQ(left(DType::I32, Op::Add, [](Value x) { return x + 0; }), 0u);
  EXPECT_EQ(left(DType::I32, Op::Add, [](Value x) { return (x + 1) + 2; }), 1u);
  EXPECT_EQ(left(DType::I32, Op::Mul, [](Value x) { return x * 0; }), 0u);
  EXPECT_EQ(left(DType::I32, Op::Not, [](Value x) { return !(x < 5); }), 0u);
  EXPECT_EQ(left(DType::F32, Op::Add, [](Value x) { return x + 0.0; }), 1u);
  EXPECT_EQ(left(DType::F32, Op::Add, [](Value x) { return x + -0.0; }), 0u);
  EXPECT_EQ(left(DType::F32, Op::Sub, [](Value x) { return x - 0.0; }), 0u);
  EXPECT_EQ(left(DType::F32, Op::Sub, [](Value x) { return x - x; }), 1u);
  EXPECT_EQ(left(DType::F32, Op::Mul, [](Value x) { return x * 1.0; }), 0u);
  EXPECT_EQ(left(DType::F32, Op::Mul, [](Value x) { return x * 0.0; }), 1u);
  EXPECT_EQ(left(DType::F32, Op::Div, [](Value x) { return x / 8.0; }), 0u);
  EXPECT_EQ(left(DType::F32, Op::Div, [](Value x) { return x / 3.0; }), 1u);
  EXPECT_EQ(left(DType::F32, Op::Not, [](Value x) { return !(x < 5.0); }), 1u);
}

TEST(Passes, WrapsIntegersOnlyWhereThatCanBeTold) {
  const auto left = [](DType from, DType to, const std::function<Value(Builder&, Value)>& write) {
    Builder b("wraps");
    auto x = b.buffer("x", from, Access::In);
    auto y = b.buffer("y", to, Access::Out);
    const Value i = b.global_id(0);
    b.store(y, i, write(b, b.load(x, i)));
    Module module = b.finish_unverified();
    verify(module);
    optimize(module);
    verify(module);
    return count_of(module, Op::Wrap8) + count_of(module, Op::Wrap16);
  };
  const auto wrap8 = [](Builder& b, Value v) { return b.emit(Op::Wrap8, {v}, v.type()); };
  const auto wrap16 = [](Builder& b, Value v) { return b.emit(Op::Wrap16, {v}, v.type()); };
  const auto more = [&](Builder& b, Value x) { return wrap8(b, x + 1); };
  // A store of as many bits does it, or of fewer.
  EXPECT_EQ(left(DType::I8, DType::I8, more), 0u);
  EXPECT_EQ(left(DType::I8, DType::I16, more), 1u);
  EXPECT_EQ(left(DType::I32, DType::I8, [&](Builder& b, Value x) { return wrap16(b, x); }), 0u);
  // So it does behind what makes low bits of low bits, and not behind anything else.
  EXPECT_EQ(left(DType::I8, DType::I8, [&](Builder& b, Value x) { return more(b, x) * 3 - x; }),
            0u);
  EXPECT_EQ(left(DType::I8, DType::I8, [&](Builder& b, Value x) { return more(b, x) >> 1; }), 1u);
  EXPECT_EQ(left(DType::I8, DType::I8, [&](Builder& b, Value x) { return more(b, x) / 3; }), 1u);
  EXPECT_EQ(left(DType::I8, DType::I8, [&](Builder& b, Value x) { return min(more(b, x), 3); }),
            1u);
  EXPECT_EQ(left(DType::I8, DType::F32,
                 [&](Builder& b, Value x) { return b.emit(Op::Cast, {more(b, x)}, DType::F32); }),
            1u);
  // What has been wrapped is looked at twice.
  EXPECT_EQ(left(DType::I8, DType::I8,
                 [&](Builder& b, Value x) {
                   const Value y = more(b, x);
                   return select(y < 5, y, x);
                 }),
            1u);
  // Numbers that are small enough, of the sign that the wrap gives them.
  EXPECT_EQ(left(DType::I8, DType::I32,
                 [&](Builder& b, Value x) { return wrap8(b, min(max(x, -5), 100)); }),
            0u);
  EXPECT_EQ(left(DType::I8, DType::I32, [&](Builder& b, Value x) { return wrap8(b, max(x, 128)); }),
            1u);
  EXPECT_EQ(left(DType::U8, DType::I32,
                 [&](Builder& b, Value x) { return wrap8(b, b.emit(Op::Cast, {x}, DType::I32)); }),
            1u);
  EXPECT_EQ(
      left(DType::I32, DType::I32, [&](Builder& b, Value x) { return wrap16(b, wrap8(b, x)); }),
      1u);
}

TEST(Passes, SharesLoadsUntilTheMemoryIsWritten) {
  const auto loads = [](Access access, bool write) {
    Builder b("p");
    auto x = b.buffer("x", DType::F32, access);
    auto y = b.buffer("y", DType::F32, Access::Out);
    const Value i = b.global_id(0);
    const Value first = b.load(x, i);
    if (write) b.store(x, i, first * 2);
    b.store(y, i, first + b.load(x, i));
    Module module = b.finish_unverified();
    optimize(module);
    return count_of(module, Op::Load);
  };
  EXPECT_EQ(loads(Access::In, false), 1u);
  EXPECT_EQ(loads(Access::InOut, false), 1u);
  EXPECT_EQ(loads(Access::InOut, true), 2u);
}

TEST(Passes, RemovesWhatNeverRuns) {
  Builder b("p");
  auto y = b.buffer("y", DType::I32, Access::Out);
  const Value i = b.global_id(0);
  const auto counter = b.var(i);
  b.if_(
      b.constant(DType::Bool, int64_t{0}), [&] { b.store(y, i, i); },
      [&] { b.store(y, i, i + 1); });
  b.for_(b.constant(DType::I32, int64_t{5}), b.constant(DType::I32, int64_t{5}), 1,
         [&](Value k) { b.store(y, k, k); });
  b.for_(b.constant(DType::I32, int64_t{0}), i, 1,
         [&](Value k) { b.set(counter, b.get(counter) + k); });
  b.return_();
  b.store(y, i, i * 7);
  Module module = b.finish_unverified();
  optimize(module);
  EXPECT_EQ(count_of(module, Op::If), 0u);
  EXPECT_EQ(count_of(module, Op::For), 0u);
  EXPECT_EQ(count_of(module, Op::Set), 0u);
  EXPECT_EQ(count_of(module, Op::Store), 1u);
  EXPECT_TRUE(module.variables.empty());
}

// Of a variable that is set several times, the last one before somebody looks counts.
TEST(Passes, LeavesOutWhatIsOverwritten) {
  Builder b("p");
  auto x = b.buffer("x", DType::I32, Access::In);
  auto y = b.buffer("y", DType::I32, Access::Out);
  const Value i = b.global_id(0);
  const auto one = b.var(i), two = b.var(i);
  b.for_(b.constant(DType::I32, int64_t{0}), i, 1, [&](Value k) {
    b.set(one, b.get(one) + b.load(x, k));
    b.set(two, k);
    b.set(one, b.get(one) * 3);
    b.set(two, b.get(two) + b.get(one));  // what it was before is known
    b.if_(k < 5, [&] { b.set(one, k); });
    b.set(one, b.get(one) - 1);
  });
  b.store(y, i, b.get(one) + b.get(two));
  Module module = b.finish_unverified();
  optimize(module);
  EXPECT_EQ(count_of(module, Op::Set), 4u);
  verify(module);
}

TEST(Passes, HoistsWhatALoopDoesNotChange) {
  Builder b("p");
  auto x = b.buffer("x", DType::F32, Access::In);
  auto y = b.buffer("y", DType::F32, Access::Out);
  const Value i = b.global_id(0);
  b.for_(b.constant(DType::I32, int64_t{0}), b.length(x), 1, [&](Value k) {
    b.store(y, k, b.emit(Op::Exp, {b.load(x, i)}) * b.emit(Op::Cast, {k}, DType::F32));
  });
  Module module = b.finish_unverified();
  optimize(module);
  const auto at = [&](Op op) {
    return std::find_if(module.body.insts.begin(), module.body.insts.end(),
                        [op](const Inst& inst) { return inst.op == op; });
  };
  EXPECT_LT(at(Op::Load), at(Op::For));
  EXPECT_LT(at(Op::Exp), at(Op::For));
  EXPECT_GT(at(Op::Cast), at(Op::For));
}

TEST(Passes, TakesHundredThousandInstructions) {
  Builder b("long");
  auto x = b.buffer("x", DType::F32, Access::In);
  auto y = b.buffer("y", DType::F32, Access::Out);
  const Value i = b.global_id(0);
  const auto sum = b.var(b.constant(DType::F32, 0.0));
  b.if_(i < b.length(y), [&] {
    b.for_(b.constant(DType::I32, int64_t{0}), b.length(x), 1, [&](Value k) {
      for (int n = 0; n < 11'000; n++) {
        const Value v = b.load(x, k + i * n);
        b.set(sum, fma(v, b.get(sum), b.get(sum)));
        b.if_(v < n, [&] { b.set(sum, b.get(sum) * 2); });
      }
    });
    b.store(y, i, b.get(sum));
  });
  Module module = b.finish_unverified();
  ASSERT_GT(module.body.insts.size(), 100'000u);
  // A pass whose time grows with the square of the length would not end within the test's limit.
  const Program program = Program::from(std::move(module));
  EXPECT_GT(program.optimized().body.insts.size(), 50'000u);
}

}  // namespace
}  // namespace hologram::program
