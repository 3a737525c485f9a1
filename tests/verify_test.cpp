// Which programs are right: each rule of the verifier, from both sides.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "hologram/builder.hpp"
#include "hologram/error.hpp"
#include "oracle/random_program.hpp"
#include "program/ir.hpp"
#include "program/verify.hpp"

namespace hologram::program {
namespace {

// What the verifier says of the module; empty if it is right.
std::string fault_in(const Module& module) {
  const auto fault = find_fault(module, Mention::NoLines);
  return fault ? fault->error.what() : "";
}

TEST(Verify, AcceptsSaxpy) {
  Builder b("saxpy", {256});
  auto x = b.buffer("x", DType::F32, Access::In);
  auto y = b.buffer("y", DType::F32, Access::InOut);
  auto a = b.scalar("a", DType::F32);
  b.begin_host();
  b.require(b.length(y) <= b.length(x), "len(y) <= len(x)");
  b.lanes(0, b.length(y));
  b.end_host();
  auto i = b.global_id(0);
  b.if_(i < b.length(y), [&] { b.store(y, i, fma(a, b.load(x, i), b.load(y, i))); });
  const Program saxpy = b.finish();
  EXPECT_EQ(saxpy.name(), "saxpy");
  EXPECT_EQ(saxpy.needs().buffers, 2u);
  EXPECT_EQ(saxpy.cost().bytes_read, 8);
  const auto host =
      evaluate_host(saxpy.source(), std::vector<uint64_t>{0}, std::vector<uint64_t>{100, 99});
  EXPECT_EQ(host.size(), saxpy.source().host.values.size());
}

TEST(Verify, NamesLineAndCulprit) {
  Builder b("p");
  auto x = b.buffer("x", DType::F32, Access::In);
  b.set_line(7);
  b.store(x, b.global_id(0), b.constant(DType::F32, 1.0));
  try {
    b.finish();
    FAIL() << "a store to an input passed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "program 'p', line 7 writes 'x', which is declared in");
    EXPECT_EQ(error.kind(), ErrorKind::InvalidProgram);
  }
}

using Write = std::function<void(Builder&)>;

std::string fault_of(const Write& write, std::initializer_list<uint32_t> workgroup = {64},
                     DType index = DType::I32) {
  Builder b("p", workgroup, index);
  write(b);
  return fault_in(b.finish_unverified());
}

// A module changed by hand after the builder made it.
std::string fault_after(const Write& write, const std::function<void(Module&)>& change) {
  Builder b("p", {64});
  write(b);
  Module module = b.finish_unverified();
  EXPECT_EQ(fault_in(module), "");
  change(module);
  return fault_in(module);
}

Value number(Builder& b, int64_t n, DType type = DType::I32) { return b.constant(type, n); }

Inst& first(Module& module, Op op) {
  return *std::find_if(module.body.insts.begin(), module.body.insts.end(),
                       [op](const Inst& inst) { return inst.op == op; });
}

#define EXPECT_FAULT(fault, part) EXPECT_NE((fault).find(part), std::string::npos) << (fault)

TEST(Verify, ValuesAreDefinedBeforeAndAround) {
  EXPECT_FAULT(fault_of([](Builder& b) {
                 auto y = b.buffer("y", DType::I32, Access::Out);
                 Value inner;
                 b.if_(b.global_id(0) < 5, [&] { inner = b.global_id(0) + 1; });
                 b.store(y, b.global_id(0), inner);
               }),
               "not defined there");
  EXPECT_FAULT(fault_of([](Builder& b) {
                 auto y = b.buffer("y", DType::I32, Access::Out);
                 Value then;
                 b.if_(
                     b.global_id(0) < 5, [&] { then = b.global_id(0) + 1; },
                     [&] { b.store(y, b.global_id(0), then); });
               }),
               "not defined there");
  EXPECT_FAULT(fault_of([](Builder& b) {
                 Value counter;
                 b.for_(number(b, 0), number(b, 3), 1, [&](Value i) { counter = i; });
                 b.var(counter);
               }),
               "not defined there");
  const Write sum = [](Builder& b) { b.var(b.global_id(0) + 1); };
  EXPECT_FAULT(fault_after(sum, [](Module& m) { first(m, Op::Add).args[0] = 77; }), "not defined");
  EXPECT_FAULT(fault_after(sum, [](Module& m) { first(m, Op::Add).id = 0; }), "numbered");
  EXPECT_FAULT(fault_after(sum, [](Module& m) { first(m, Op::Add).args[1] = kNone; }), "operands");
  EXPECT_FAULT(fault_after(sum, [](Module& m) { first(m, Op::Add).type = DType::F32; }), "type");
  EXPECT_FAULT(fault_after(sum, [](Module& m) { first(m, Op::Const).imm = uint64_t{1} << 40; }),
               "more bits");
}

TEST(Verify, BlocksAreNested) {
  const Write both = [](Builder& b) {
    b.if_(
        b.global_id(0) < 5, [] {}, [] {});
  };
  EXPECT_FAULT(fault_after(both, [](Module& m) { m.body.insts.pop_back(); }), "not closed");
  EXPECT_FAULT(fault_after(both, [](Module& m) { m.body.insts.push_back({.op = Op::End}); }),
               "end without");
  EXPECT_FAULT(fault_after(both, [](Module& m) { m.body.insts.push_back({.op = Op::Else}); }),
               "else without");
  EXPECT_FAULT(fault_after(both, [](Module& m) { first(m, Op::End).op = Op::Else; }), "else");
  EXPECT_FAULT(fault_of([](Builder& b) { b.break_(); }), "outside of any loop");
  EXPECT_FAULT(fault_of([](Builder& b) { b.if_(b.global_id(0) < 5, [&] { b.continue_(); }); }),
               "outside of any loop");
  const auto nested = [](uint32_t depth) {
    return fault_of([depth](Builder& b) {
      std::function<void(uint32_t)> nest = [&](uint32_t left) {
        if (left > 0) b.loop([&] { nest(left - 1); });
        else b.return_();
      };
      nest(depth);
    });
  };
  EXPECT_EQ(nested(kMaxNesting), "");
  EXPECT_FAULT(nested(kMaxNesting + 1), "nested");
}

TEST(Verify, AccessModes) {
  const auto fault = [](Access access, int use) {
    return fault_of([&](Builder& b) {
      auto x = b.buffer("x", DType::U32, access);
      const Value i = b.global_id(0), one = number(b, 1, DType::U32);
      if (use == 0) b.load(x, i);
      if (use == 1) b.store(x, i, one);
      if (use == 2) b.atomic(Combine::Exchange, x, i, one);
    });
  };
  const char* texts[4][3] = {{"", "declared in", "not atomic"},
                             {"declared out", "", "not atomic"},
                             {"", "", "not atomic"},
                             {"which is atomic", "which is atomic", ""}};
  for (int access = 0; access < 4; access++)
    for (int use = 0; use < 3; use++) {
      const std::string text = fault(static_cast<Access>(access), use);
      if (texts[access][use][0] == 0) EXPECT_EQ(text, "");
      else EXPECT_FAULT(text, texts[access][use]);
    }
  EXPECT_FAULT(fault_of([](Builder& b) { b.buffer("x", DType::F32, Access::Atomic); }), "f32");
  EXPECT_FAULT(fault_of([](Builder& b) {
                 auto x = b.buffer("x", DType::U32, Access::Atomic);
                 b.atomic(Combine::Mul, x, b.global_id(0), number(b, 1, DType::U32));
               }),
               "cannot combine");
  EXPECT_FAULT(fault_of([](Builder& b) {
                 auto x = b.buffer("x", DType::F32, Access::In);
                 b.load(x, number(b, 0, DType::U32));
               }),
               "the index");
}

TEST(Verify, WorkgroupsAndTheirArrays) {
  const Write nothing = [](Builder&) {};
  EXPECT_EQ(fault_of(nothing, {32, 32}), "");
  EXPECT_FAULT(fault_of(nothing, {32, 33}), "workgroup of 32 x 33 x 1");
  EXPECT_FAULT(fault_of(nothing, {0}), "workgroup of 0");
  EXPECT_FAULT(fault_of(nothing, {1 << 16, 1 << 16}), "workgroup of");
  EXPECT_FAULT(fault_of(nothing, {64}, DType::U32), "index type");
  const auto shared = [](DType type, uint32_t count, bool atomic) {
    return fault_of([=](Builder& b) { b.shared("t", type, count, atomic); });
  };
  EXPECT_EQ(shared(DType::F32, 8192, false), "");
  EXPECT_FAULT(shared(DType::F32, 8193, false), "32768 bytes");
  EXPECT_FAULT(shared(DType::F64, UINT32_MAX, false), "32768 bytes");
  EXPECT_FAULT(shared(DType::U8, 16, false), "type it cannot have");
  EXPECT_FAULT(shared(DType::F32, 16, true), "atomic");
  EXPECT_FAULT(shared(DType::F32, 0, false), "no elements");
}

TEST(Verify, GroupOperations) {
  const auto reduce = [](Combine combine, DType type, std::initializer_list<uint32_t> workgroup) {
    return fault_of([=](Builder& b) { b.group_reduce(combine, b.constant(type, int64_t{1})); },
                    workgroup);
  };
  EXPECT_EQ(reduce(Combine::Mul, DType::F32, {64}), "");
  EXPECT_EQ(reduce(Combine::Xor, DType::U64, {64}), "");
  EXPECT_FAULT(reduce(Combine::Add, DType::F32, {48}), "48 lanes");
  EXPECT_FAULT(reduce(Combine::And, DType::F32, {64}), "cannot combine");
  EXPECT_FAULT(reduce(Combine::Add, DType::Bool, {64}), "cannot combine");
  EXPECT_FAULT(reduce(Combine::Exchange, DType::I32, {64}), "cannot combine");
}

TEST(Verify, BarriersNeedUniformFlow) {
  const auto barrier_if = [](const std::function<Value(Builder&, Buf)>& condition) {
    return fault_of([&](Builder& b) {
      const auto x = b.buffer("x", DType::I32, Access::In);
      b.if_(condition(b, x), [&] { b.barrier(); });
    });
  };
  EXPECT_EQ(barrier_if([](Builder& b, Buf x) { return b.group_id(0) < b.length(x); }), "");
  EXPECT_FAULT(barrier_if([](Builder& b, Buf) { return b.lane_id(0) < 5; }), "not all lanes");
  // Elements that nobody writes, at the same index for all lanes, are the same.
  EXPECT_EQ(barrier_if([](Builder& b, Buf x) { return b.load(x, b.group_id(0)) < 5; }), "");
  EXPECT_FAULT(barrier_if([](Builder& b, Buf x) { return b.load(x, b.lane_id(0)) < 5; }),
               "not all lanes");
  EXPECT_FAULT(barrier_if([](Builder& b, Buf) {
                 const auto y = b.buffer("y", DType::I32, Access::InOut);
                 return b.load(y, b.group_id(0)) < 5;
               }),
               "not all lanes");
  EXPECT_EQ(
      barrier_if([](Builder& b, Buf x) { return b.group_uniform(b.load(x, b.group_id(0))) < 5; }),
      "");
  EXPECT_EQ(barrier_if([](Builder& b, Buf x) {
              return b.group_reduce(Combine::Add, b.load(x, b.global_id(0))) < 5;
            }),
            "");

  // A variable set to different values, or by some lanes only.
  const auto variable = [](bool lanes_differ, bool by_some) {
    return fault_of([=](Builder& b) {
      const auto v = b.var(number(b, 0));
      const auto set = [&] { b.set(v, lanes_differ ? b.lane_id(0) : b.group_id(0)); };
      if (by_some) b.if_(b.lane_id(0) < 3, set);
      else set();
      b.if_(b.get(v) < 5, [&] { b.barrier(); });
    });
  };
  EXPECT_EQ(variable(false, false), "");
  EXPECT_FAULT(variable(true, false), "not all lanes");
  EXPECT_FAULT(variable(false, true), "not all lanes");

  // Loops: rounds that differ, and ways out that some lanes take.
  const auto loop = [](bool bound_differs, int way_out, bool barrier_after) {
    return fault_of([=](Builder& b) {
      b.for_(number(b, 0), bound_differs ? b.lane_id(0) : b.group_id(0), 1, [&](Value) {
        if (!barrier_after) b.barrier();
        b.if_(b.lane_id(0) < 5, [&] {
          if (way_out == 1) b.break_();
          if (way_out == 2) b.continue_();
          if (way_out == 3) b.return_();
        });
      });
      if (barrier_after) b.barrier();
    });
  };
  EXPECT_EQ(loop(false, 0, false), "");
  EXPECT_FAULT(loop(true, 0, false), "not all lanes");
  for (const int way_out : {1, 2, 3}) EXPECT_FAULT(loop(false, way_out, false), "not all lanes");
  EXPECT_EQ(loop(true, 1, true), "");
  EXPECT_EQ(loop(false, 2, true), "");
  EXPECT_FAULT(loop(false, 3, true), "not all lanes");
}

TEST(Verify, HostClauses) {
  const auto host = [](const Write& write) {
    return fault_of([&](Builder& b) {
      b.buffer("x", DType::F32, Access::In);
      b.begin_host();
      write(b);
      b.end_host();
    });
  };
  EXPECT_EQ(host([](Builder& b) { b.require(b.length({0}) > 3, "len(x) > 3"); }), "");
  EXPECT_FAULT(host([](Builder& b) { b.require(b.global_id(0) > 3, "?"); }), "host clause");
  EXPECT_FAULT(host([](Builder& b) { b.require(b.length({0}), "?"); }), "the condition");
  EXPECT_FAULT(host([](Builder& b) { b.lanes(3, b.length({0})); }), "axis");
  // Its number is that of another value there.
  EXPECT_THROW(fault_of([](Builder& b) {
                 const Buf x = b.buffer("x", DType::F32, Access::In);
                 const Value n = b.scalar("n", DType::I32);
                 b.begin_host();
                 b.require(b.length(x) >= n, "len(x) >= n");
               }),
               Error);
  EXPECT_FAULT(host([](Builder& b) {
                 b.lanes(1, b.length({0}));
                 b.lanes(1, b.length({0}));
               }),
               "given twice");
  EXPECT_FAULT(fault_of([](Builder& b) { b.lanes(0, b.group_id(0)); }), "stands in the body");
}

TEST(Verify, Names) {
  const auto names = [](const char* buffer, const char* scalar) {
    return fault_of([=](Builder& b) {
      b.buffer(buffer, DType::F32, Access::In, {{"n"}});
      b.scalar(scalar, DType::F32);
    });
  };
  EXPECT_EQ(names("x_1", "y"), "");
  EXPECT_FAULT(names("x", "x"), "given twice");
  EXPECT_FAULT(names("x", "n"), "given twice");
  EXPECT_FAULT(names("1x", "y"), "not a name");
  EXPECT_FAULT(names("x y", "y"), "not a name");
  EXPECT_FAULT(names("", "y"), "not a name");
  EXPECT_FAULT(fault_of([](Builder& b) { b.scalar("h", DType::F16); }), "type");
}

TEST(Verify, Loops) {
  const auto loop = [](DType type, uint64_t step) {
    return fault_of([=](Builder& b) {
      b.for_(b.constant(type, int64_t{0}), b.constant(type, int64_t{1}), step, [](Value) {});
    });
  };
  EXPECT_EQ(loop(DType::U64, UINT64_MAX), "");
  EXPECT_EQ(loop(DType::I32, INT32_MAX), "");
  EXPECT_FAULT(loop(DType::I32, 0), "not a step");
  EXPECT_FAULT(loop(DType::I32, uint64_t{INT32_MAX} + 1), "not a step");
  EXPECT_FAULT(loop(DType::F32, 1), "f32");
}

// Damage of every kind gives an Error or a module that all passes can work on.
TEST(Verify, DamagedModulesDoNoHarm) {
  size_t refused = 0, accepted = 0;
  for (uint64_t seed = 1; seed <= 40; seed++) {
    oracle::Choices choices(seed);
    const Module module = oracle::random_case(choices).module;
    for (int round = 0; round < 60; round++) {
      Module damaged = module;
      for (uint32_t n = 1 + choices.below(2); n > 0; n--) {
        auto& insts = (choices.percent(10) ? damaged.host : damaged.body).insts;
        if (insts.empty()) continue;
        const uint32_t at = choices.below(static_cast<uint32_t>(insts.size()));
        Inst& inst = insts[at];
        const auto random = [&]() -> uint32_t {
          return choices.percent(50)   ? choices.below(64)
                 : choices.percent(50) ? kNone
                                       : static_cast<uint32_t>(choices.bits());
        };
        switch (choices.below(11)) {
          case 0: inst.op = static_cast<Op>(choices.below(256)); break;
          case 1: inst.type = static_cast<DType>(choices.below(256)); break;
          case 2: inst.from = static_cast<DType>(choices.below(20)); break;
          case 3: inst.aux = static_cast<uint8_t>(choices.below(256)); break;
          case 4: inst.id = random(); break;
          case 5: inst.slot = random(); break;
          case 6: inst.args[choices.below(3)] = random(); break;
          case 7: inst.imm = choices.bits(); break;
          case 8: insts.erase(insts.begin() + at); break;
          case 9: std::swap(inst, insts[choices.below(static_cast<uint32_t>(insts.size()))]); break;
          default:
            if (choices.percent(50) && !damaged.body.values.empty()) damaged.body.values.pop_back();
            else if (!damaged.variables.empty()) damaged.variables.pop_back();
        }
      }
      if (find_fault(damaged, Mention::Lines)) {
        refused++;
        continue;
      }
      accepted++;
      const Program program = Program::from(damaged);
      EXPECT_EQ(fault_in(program.optimized()), "") << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(accepted, 100u);
}

}  // namespace
}  // namespace hologram::program
