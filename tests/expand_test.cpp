// Programs whose functions are replaced by arithmetic compute the same bits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/parallel.hpp"
#include "function_oracle.hpp"
#include "hologram/builder.hpp"
#include "interp/interpreter.hpp"
#include "interp/targets.hpp"
#include "program/expansions/expand.hpp"

namespace hologram::test {
namespace {

using program::Module;

// out[i] = f(a[i], b[i])
Module function_program(const Function& f, DType type) {
  program::Builder b("f", {64});
  const auto x = b.buffer("x", type, program::Access::In);
  const auto y = b.buffer("y", type, program::Access::In);
  const auto out = b.buffer("out", type, program::Access::Out);
  const auto i = b.global_id(0);
  b.if_(i < b.length(out), [&] {
    const auto vx = b.load(x, i), vy = b.load(y, i);
    b.store(out, i, f.wide2 != nullptr ? b.emit(f.op, {vx, vy}) : b.emit(f.op, {vx}));
  });
  return b.finish_unverified();
}

template <class T>
std::vector<T> run(const Module& module, std::vector<T> a, std::vector<T> b) {
  std::vector<T> out(a.size());
  const interp::BoundBuffer buffers[] = {{reinterpret_cast<std::byte*>(a.data()), a.size()},
                                         {reinterpret_cast<std::byte*>(b.data()), b.size()},
                                         {reinterpret_cast<std::byte*>(out.data()), out.size()}};
  const auto code =
      interp::lower(module, interp::kernel_table(interp::supported_targets().front()));
  interp::Launch launch;
  launch.buffers = buffers;
  launch.grid = {static_cast<uint32_t>((a.size() + 63) / 64), 1, 1};
  core::Threads threads(1);
  EXPECT_EQ(interp::execute(code, launch, threads), interp::Outcome::Done);
  return out;
}

// Ordinary numbers, and bit patterns of every kind: denormal, huge, infinite, NaN.
template <class T>
std::vector<T> inputs(uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> out = {T(0), T(-0.0), T(1), T(-1), T(INFINITY), T(-INFINITY), T(NAN), T(0.5)};
  uint64_t state = seed;
  while (out.size() < 4096) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t mixed = state ^ (state >> 29);
    out.push_back(std::bit_cast<T>(static_cast<Bits>(mixed >> (64 - 8 * sizeof(T)))));
    out.push_back(static_cast<T>(static_cast<double>(mixed >> 11) * 0x1p-48 - 16));
  }
  return out;
}

template <class T>
void check(const Function& f) {
  const Module module = function_program(f, dtype_of<T>);
  Module expanded = program::expand_functions(module);
  for (const auto& inst : expanded.body.insts)
    ASSERT_NE(program::info(inst.op).category, program::Category::Function);
  program::verify(expanded);
  Module optimized = expanded;
  program::optimize(optimized);
  const std::vector<T> a = inputs<T>(1), b = inputs<T>(2);
  const std::vector<T> expected = run(module, a, b);
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  for (const Module* m : {&expanded, &optimized}) {
    const std::vector<T> got = run(*m, a, b);
    int wrong = 0;
    for (size_t i = 0; i < a.size() && wrong < 5; ++i)
      if (std::bit_cast<Bits>(got[i]) != std::bit_cast<Bits>(expected[i]) &&
          !(std::isnan(got[i]) && std::isnan(expected[i]))) {
        ++wrong;
        ADD_FAILURE() << f.name << "(" << a[i] << ", " << b[i] << ") expands to " << got[i]
                      << " instead of " << expected[i];
      }
  }
}

class Expand : public testing::TestWithParam<Function> {};

TEST_P(Expand, F32KeepsEveryBit) { check<float>(GetParam()); }
TEST_P(Expand, F64KeepsEveryBit) { check<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, Expand, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

// A function inside nested blocks, whose operands and result are used across them.
TEST(ExpandModule, KeepsTheRestOfTheProgram) {
  program::Builder b("f", {64});
  const auto x = b.buffer("x", DType::F32, program::Access::In);
  b.buffer("y", DType::F32, program::Access::In);
  const auto out = b.buffer("out", DType::F32, program::Access::Out);
  const auto i = b.global_id(0);
  const auto v = b.load(x, i);
  const auto total = b.var(b.constant(DType::F32, 0.0), "rare1");  // a name that might be taken
  b.for_(b.constant(DType::I32, int64_t{0}), b.constant(DType::I32, int64_t{3}), 1, [&](auto) {
    b.if_(v > 0.0, [&] { b.set(total, b.get(total) + b.emit(Op::Exp, {b.emit(Op::Sin, {v})})); });
  });
  b.if_(i < b.length(out), [&] { b.store(out, i, b.get(total)); });
  const Module module = b.finish_unverified();
  const Module expanded = program::expand_functions(module);
  program::verify(expanded);
  const auto a = inputs<float>(3);
  const auto expected = run(module, a, a), got = run(expanded, a, a);
  for (size_t k = 0; k < a.size(); ++k)
    EXPECT_TRUE(got[k] == expected[k] || (std::isnan(got[k]) && std::isnan(expected[k]))) << a[k];
}

}  // namespace
}  // namespace hologram::test
