// Which accesses are proved to lie inside; and that none is which does not.
//
// HOLOGRAM_TEST_PROGRAMS=n tries so many programs with extreme numbers.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "hologram/builder.hpp"
#include "oracle/random_program.hpp"
#include "program/ir.hpp"
#include "program/verify.hpp"

namespace hologram::program {
namespace {

using oracle::Choices;
using oracle::Memory;

struct Count {
  size_t proved = 0, all = 0, selects = 0, ifs = 0;
};

Count count(const Module& module) {
  Count c;
  for (const Inst& inst : module.body.insts) {
    const bool access = info(inst.op).category == Category::Memory && inst.op != Op::Var &&
                        inst.op != Op::Get && inst.op != Op::Set;
    c.all += access;
    c.proved += access && inst.proved;
    c.selects += inst.op == Op::Select;
    c.ifs += inst.op == Op::If;
  }
  return c;
}

using Body = std::function<void(Builder&)>;

Count count_of(const Body& body, DType index = DType::I32) {
  Builder b("p", {16, 16}, index);
  body(b);
  return count(b.finish().optimized());
}

void expect_proved(const Body& body) {
  for (const DType index : {DType::I32, DType::I64}) {
    const Count c = count_of(body, index);
    EXPECT_EQ(c.proved, c.all) << "index " << name_of(index);
    EXPECT_GT(c.all, 0u);
    EXPECT_EQ(c.selects, 0u);
  }
}

void expect_not_proved(const Body& body) {
  const Count c = count_of(body);
  EXPECT_EQ(c.proved, 0u);
  EXPECT_GT(c.all, 0u);
}

// An access by several indices, as the text form writes it.
Value flat_or_none(Builder& b, const std::vector<Value>& index, const std::vector<Value>& dims) {
  Value flat = index[0];
  Value ok = (index[0] >= 0) & (index[0] < dims[0]);
  for (size_t k = 1; k < index.size(); k++) {
    flat = flat * dims[k] + index[k];
    ok = ok & (index[k] >= 0) & (index[k] < dims[k]);
  }
  return select(ok, flat, b.constant(b.index_type(), int64_t{-1}));
}

TEST(Bounds, GuardOfALength) {
  expect_proved([](Builder& b) {
    auto x = b.buffer("x", DType::F32, Access::In);
    auto y = b.buffer("y", DType::F32, Access::InOut);
    b.begin_host();
    b.require(b.length(y) <= b.length(x), "len(y) <= len(x)");
    b.end_host();
    const Value i = b.global_id(0);
    b.if_(i < b.length(y), [&] { b.store(y, i, b.load(x, i) + b.load(y, i)); });
  });
  expect_proved([](Builder& b) {
    auto y = b.buffer("y", DType::F32, Access::Out);
    const Value i = b.global_id(0);
    b.if_(i >= b.length(y), [&] { b.return_(); });
    b.store(y, i, b.constant(DType::F32, 1.0));
  });
}

TEST(Bounds, SeveralDimensions) {
  expect_proved([](Builder& b) {
    auto src = b.buffer("src", DType::F32, Access::In, {{"h"}, {"w"}, {"c"}});
    auto dst = b.buffer("dst", DType::F32, Access::Out, {{"h"}, {"w"}, {"c"}});
    const Value h = b.dimension("h"), w = b.dimension("w"), c = b.dimension("c");
    const Value x = b.global_id(0), y = b.global_id(1);
    const Value zero = b.constant(b.index_type(), int64_t{0});
    b.if_((x < w) & (y < h), [&] {
      b.for_(zero, c, 1, [&](Value k) {
        const Value at = flat_or_none(b, {y, x, k}, {h, w, c});
        const Value left = max(x - 3, 0), below = min(y + 2, h - 1);
        const Value other = flat_or_none(b, {max(below, 0), left, k}, {h, w, c});
        b.store(dst, at, b.load(src, at) + b.load(src, other));
      });
    });
  });
}

TEST(Bounds, FlatIndexTakenApart) {
  expect_proved([](Builder& b) {
    auto src = b.buffer("src", DType::F32, Access::In, {{"h"}, {"w"}, {"", 3}});
    auto row = b.buffer("row", DType::F32, Access::In, {{"w"}});
    auto dst = b.buffer("dst", DType::F32, Access::Out, {{"h"}, {"w"}, {"", 3}});
    const Value i = b.global_id(0);
    b.if_(i < b.length(dst), [&] {
      const Value k = i % 3, t = i / 3;
      const Value x = t % b.dimension("w"), y = t / b.dimension("w");
      const Value at = flat_or_none(
          b, {y, x, k},
          {b.dimension("h"), b.dimension("w"), b.constant(b.index_type(), int64_t{3})});
      b.store(dst, i, b.load(src, at) + b.load(row, x));
    });
  });
}

TEST(Bounds, WorkgroupArrays) {
  expect_proved([](Builder& b) {
    auto tile = b.shared("tile", DType::F32, 16 * 17);
    auto bins = b.shared("bins", DType::U32, 256, true);
    auto x = b.buffer("x", DType::U8, Access::In);
    const Value at = b.lane_id(1) * 17 + b.lane_id(0);
    b.store(tile, at, b.constant(DType::F32, 0.0));
    const Value i = b.global_id(0);
    b.if_(i < b.length(x), [&] {
      const Value pixel = b.cast(b.load(x, i), b.index_type());
      b.atomic(Combine::Add, bins, pixel, b.constant(DType::U32, int64_t{1}));
    });
  });
}

TEST(Bounds, OverflowIsNoProof) {
  // s + 1 < len holds where s + 1 wraps to the smallest number.
  expect_not_proved([](Builder& b) {
    auto x = b.buffer("x", DType::F32, Access::InOut);
    const Value s = b.scalar("s", DType::I32) + 1;
    b.if_(s < b.length(x), [&] { b.store(x, s, b.load(x, s)); });
  });
  // The same with s below the length is none beyond it.
  expect_not_proved([](Builder& b) {
    auto x = b.buffer("x", DType::F32, Access::InOut);
    const Value i = b.global_id(0);
    b.if_(i < b.length(x), [&] { b.store(x, i + 1, b.load(x, i - 1)); });
  });
  // h * w computed by the program may wrap; only that of a declared shape is checked.
  expect_not_proved([](Builder& b) {
    auto x = b.buffer("x", DType::F32, Access::InOut);
    const Value h = b.scalar("h", DType::I32), w = b.scalar("w", DType::I32);
    b.begin_host();
    b.end_host();
    const Value i = b.global_id(0), j = b.global_id(1);
    b.if_((i < w) & (j < h) & (h * w <= b.length(x)),
          [&] { b.store(x, j * w + i, b.constant(DType::F32, 0.0)); });
  });
  // An index of another row.
  expect_not_proved([](Builder& b) {
    auto x = b.buffer("x", DType::F32, Access::InOut, {{"h"}, {"w"}});
    const Value i = b.global_id(0), j = b.global_id(1);
    b.if_((i < b.dimension("h")) & (j < b.dimension("w")),
          [&] { b.store(x, j * b.dimension("w") + i, b.constant(DType::F32, 0.0)); });
  });
}

TEST(Bounds, FactsEndWithTheirBlock) {
  expect_not_proved([](Builder& b) {
    auto x = b.buffer("x", DType::F32, Access::Out);
    const Value i = b.global_id(0), one = b.constant(DType::F32, 1.0);
    const auto v = b.var(one);
    b.if_(
        i < b.length(x), [&] { b.set(v, one * 2); }, [&] { b.store(x, i, one); });
    b.store(x, i, b.get(v));
  });
}

// The module with every access that is said to be proved checked: a lane that misses writes to a
// last buffer, u32[1].
Module checked(const Module& module) {
  Module out = module;
  out.buffers.push_back({"missed", DType::U32, Access::Out, {}});
  const auto slot = static_cast<uint32_t>(out.buffers.size() - 1);
  out.body.insts.clear();
  const auto emit = [&](Inst inst) {
    inst.id = static_cast<uint32_t>(out.body.values.size());
    out.body.values.push_back(inst.type);
    out.body.insts.push_back(inst);
    return inst.id;
  };
  for (const Inst& inst : module.body.insts) {
    if (inst.proved) {
      const bool shared = inst.op >= Op::SharedLoad && inst.op != Op::Atomic;
      const uint32_t zero = emit({.op = Op::Const, .type = module.index});
      const uint32_t length =
          shared
              ? emit({.op = Op::Const, .type = module.index, .imm = module.shared[inst.slot].count})
              : emit({.op = Op::Length, .type = module.index, .slot = inst.slot});
      const uint32_t one = emit({.op = Op::Const, .type = DType::U32, .imm = 1});
      const auto compare = [&](Op op, uint32_t limit) {
        return emit({.op = op,
                     .type = DType::Bool,
                     .from = module.index,
                     .args = {inst.args[0], limit, kNone}});
      };
      const uint32_t low = compare(Op::Lt, zero), high = compare(Op::Ge, length);
      const uint32_t bad = emit(
          {.op = Op::Or, .type = DType::Bool, .from = DType::Bool, .args = {low, high, kNone}});
      out.body.insts.push_back({.op = Op::If, .args = {bad, kNone, kNone}});
      out.body.insts.push_back(
          {.op = Op::Store, .type = DType::U32, .slot = slot, .args = {zero, one, kNone}});
      out.body.insts.push_back({.op = Op::End});
    }
    out.body.insts.push_back(inst);
  }
  return out;
}

bool misses(const Program& program, const std::array<uint64_t, 3>& grid,
            std::span<const uint64_t> scalars, std::vector<Memory> buffers) {
  const Module module = checked(program.optimized());
  verify(module);
  buffers.emplace_back(4, 0);
  oracle::run_naively(module, grid, scalars, buffers);
  return buffers.back()[0] != 0;
}

TEST(Bounds, HoldInRandomPrograms) {
  size_t proved = 0, all = 0;
  for (uint64_t seed = 1; seed <= 200; seed++) {
    Choices choices(seed);
    const oracle::RandomCase c = oracle::random_case(choices);
    const Program program = Program::from(c.module);
    const Count counted = count(program.optimized());
    proved += counted.proved;
    all += counted.all;
    ASSERT_FALSE(misses(program, c.grid, c.scalars, c.buffers)) << "seed " << seed;
  }
  std::printf("%zu of %zu accesses proved\n", proved, all);
}

// Programs of one lane that compute indices in every way from scalars that are small or extreme,
// and use them behind conditions that happen to be there.
class IndexProgram {
 public:
  IndexProgram(Choices& choices, DType index) : c_(choices), b_("p", {1}, index), index_(index) {
    flat_ = b_.buffer("flat", DType::F32, Access::InOut);
    plane_ = b_.buffer("plane", DType::F32, Access::InOut, {{"h"}, {"w"}});
    shared_ = b_.shared("shared", DType::F32, 5);
    for (const char* name : {"a", "b", "c"}) values_.push_back(b_.scalar(name, index));
    values_.push_back(b_.dimension("h"));
    values_.push_back(b_.dimension("w"));
    values_.push_back(b_.length(flat_));
    values_.push_back(b_.length(plane_));
    b_.begin_host();
    if (c_.percent(50)) b_.require(b_.length(flat_) <= b_.length(plane_), "lengths");
    b_.end_host();
    block(0);
  }

  Program finish() { return b_.finish(); }

 private:
  Value any() { return values_[c_.below(static_cast<uint32_t>(values_.size()))]; }
  Value number() {
    return b_.constant(index_, static_cast<int64_t>(c_.below(6)) - (c_.percent(20) ? 4 : 0));
  }
  Value operand() { return c_.percent(30) ? number() : any(); }

  Value expression() {
    static constexpr Op kOps[] = {Op::Add, Op::Add, Op::Add, Op::Sub, Op::Sub,  Op::Mul,   Op::Mul,
                                  Op::Min, Op::Max, Op::Div, Op::Rem, Op::And,  Op::Or,    Op::Abs,
                                  Op::Neg, Op::Shl, Op::Shr, Op::Fma, Op::Cast, Op::Select};
    const Op op = c_.of(kOps);
    switch (op) {
      case Op::Abs:
      case Op::Neg: return b_.emit(op, {any()});
      case Op::Shl:
      case Op::Shr: return b_.emit(op, {any(), b_.constant(DType::U32, int64_t{c_.below(5)})});
      case Op::Fma: return fma(any(), operand(), operand());
      case Op::Select: return select(condition(), any(), operand());
      case Op::Cast: {
        static constexpr DType kTypes[] = {DType::I32, DType::U32, DType::I64, DType::U64};
        const DType type = c_.of(kTypes);
        const Value there = b_.cast(any(), type);
        const Value sum = b_.emit(c_.percent(50) ? Op::Add : Op::Sub,
                                  {there, b_.constant(type, int64_t{c_.below(3)})});
        return b_.cast(c_.percent(50) ? there : sum, index_);
      }
      default: return b_.emit(op, {any(), operand()});
    }
  }

  Value condition(int depth = 2) {
    if (depth > 0 && c_.percent(40)) {
      const Value a = condition(depth - 1), b = condition(depth - 1);
      return c_.percent(70) ? a & b : a | b;
    }
    static constexpr Op kOps[] = {Op::Lt, Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Ne};
    const Value result = b_.emit(c_.of(kOps), {any(), operand()});
    return c_.percent(20) ? !result : result;
  }

  void access(Value at) {
    const Value one = b_.constant(DType::F32, 1.0);
    switch (c_.below(4)) {
      case 0: return b_.store(flat_, at, one);
      case 1: return b_.store(shared_, at, one);
      case 2: return b_.store(plane_, at, one);
      default: {
        const Value w = b_.dimension("w"), y = any(), x = any();
        b_.if_((y >= 0) & (y < b_.dimension("h")) & (x >= 0) & (c_.percent(80) ? x < w : x <= w),
               [&] { b_.store(plane_, y * w + x, one); });
      }
    }
  }

  void block(int depth) {
    const size_t scope = values_.size();
    for (uint32_t n = 2 + c_.below(4); n > 0; n--) {
      if (c_.percent(60)) values_.push_back(expression());
      if (c_.percent(25)) {
        const Value v = any(), length = c_.percent(50) ? b_.length(flat_) : b_.length(plane_);
        b_.if_((v >= 0) & (v < length), [&] { access(v); });
      }
      access(any());
      if (depth == 3) continue;
      switch (c_.below(4)) {
        case 0:
          b_.if_(
              condition(), [&] { block(depth + 1); }, [&] { block(depth + 1); });
          break;
        case 1: {
          const Value begin = operand();
          b_.for_(begin, min(operand(), begin + 4), 1 + c_.below(3), [&](Value i) {
            values_.push_back(i);
            const Value done = condition();
            b_.if_(done, [&] { b_.break_(); });
            block(depth + 1);
            values_.pop_back();
          });
          break;
        }
        case 2:
          if (c_.percent(30)) b_.if_(condition(), [&] { b_.return_(); });
          break;
        default: break;
      }
    }
    values_.resize(scope);
  }

  Choices& c_;
  Builder b_;
  DType index_;
  Buf flat_{}, plane_{};
  Shared shared_{};
  std::vector<Value> values_;
};

TEST(Bounds, HoldForExtremeNumbers) {
  size_t proved = 0, all = 0;
  const char* programs = std::getenv("HOLOGRAM_TEST_PROGRAMS");
  const uint64_t last = programs == nullptr ? 150 : std::strtoull(programs, nullptr, 10);
  for (uint64_t seed = 1; seed <= last; seed++) {
    Choices choices(seed);
    const DType index = choices.percent(50) ? DType::I32 : DType::I64;
    const Program program = IndexProgram(choices, index).finish();
    const Count counted = count(program.optimized());
    proved += counted.proved;
    all += counted.all;
    const auto number = [&]() -> uint64_t {
      static constexpr int64_t kSmall[] = {0, 1, 2, 3, 4, 5, 6, -1, -2, -3};
      const int64_t extreme = index == DType::I32 ? INT32_MAX : INT64_MAX;
      const int64_t n = choices.percent(70) ? choices.of(kSmall)
                                            : extreme - static_cast<int64_t>(choices.below(4));
      const uint64_t bits = static_cast<uint64_t>(choices.percent(20) ? ~n : n);
      return index == DType::I32 ? static_cast<uint32_t>(bits) : bits;
    };
    for (int launch = 0; launch < 20; launch++) {
      const uint64_t h = choices.below(4), w = choices.below(4);
      const uint64_t length = choices.below(static_cast<uint32_t>(h * w) + 1);
      // In the order of the scalars: dimensions come with their buffer.
      const std::vector<uint64_t> scalars = {h, w, number(), number(), number()};
      const std::vector<Memory> buffers = {Memory(4 * length), Memory(4 * h * w)};
      ASSERT_FALSE(misses(program, {1, 1, 1}, scalars, buffers)) << "seed " << seed;
    }
  }
  std::printf("%zu of %zu accesses proved\n", proved, all);
}

}  // namespace
}  // namespace hologram::program
