// What each construct of the text means, mostly by comparison with the builder or with a longer way
// to write the same.
#include <gtest/gtest.h>

#include "canonical.hpp"
#include "hologram/builder.hpp"
#include "program/ir.hpp"

namespace hologram::program {
namespace {

constexpr std::string_view kHead =
    "program p(in x: f32[n], inout y: f32[h, w], in u: u8[], in d: f64[], inout k: i32[],\n"
    "          atomic bins: u32[], a: f32, b: f64 = 2, c: i32 = -7, e: u32, t: bool = true) {\n"
    "i = global_id.x\n";

Module in_program(std::string_view statements) {
  return assemble(std::string(kHead) + std::string(statements) + "\n}\n", "test");
}

void expect_same(std::string_view a, std::string_view b) {
  EXPECT_EQ(canonical(in_program(a)), canonical(in_program(b))) << a << "\n---\n" << b;
}

std::vector<Op> ops_of(const Module& m) {
  std::vector<Op> ops;
  for (const Inst& inst : m.body.insts)
    if (inst.op != Op::Scalar && inst.op != Op::Const && inst.op != Op::Length)
      ops.push_back(inst.op);
  return ops;
}

// The bits and type of the constants, in order.
std::vector<std::string> constants_of(std::string_view statements) {
  std::vector<std::string> out;
  for (const Inst& inst : in_program(statements).body.insts)
    if (inst.op == Op::Const) out.push_back(canonical_constant(inst));
  return out;
}
using Strings = std::vector<std::string>;

TEST(Assembler, ReadsSaxpyAsTheBuilderWritesIt) {
  const Module text = assemble(R"(
program saxpy(in x: f32[], inout y: f32[], a: f32) workgroup(128) lanes(len(y)) {
  require len(y) <= len(x)
  i = global_id.x
  if i < len(y) { y[i] = fma(a, x[i], y[i]) }
})",
                               "saxpy");
  Builder b("saxpy", {128});
  const Buf x = b.buffer("x", DType::F32, Access::In);
  const Buf y = b.buffer("y", DType::F32, Access::InOut);
  const Value a = b.scalar("a", DType::F32);
  b.begin_host();
  b.lanes(0, b.length(y));
  b.require(b.length(y) <= b.length(x), "");
  b.end_host();
  const Value i = b.global_id(0);
  b.if_(i < b.length(y), [&] {
    const Value from = b.load(x, i);
    b.store(y, i, fma(a, from, b.load(y, i)));
  });
  EXPECT_EQ(canonical(text), canonical(b.finish_unverified()));
  EXPECT_EQ(text.require_texts, Strings{"len(y) <= len(x)"});
}

TEST(Assembler, ParametersAndClauses) {
  const Module m = assemble(R"(
const R = 2 * 3 + 1
program p(
    a: f32,
    in x: bf16[n, 4, R],
    out y: u8[m, n],
    flip: bool = true,
    low: i64 = -9007199254740993)
    index(i64)
    workgroup(8, R + 1, 2)
    lanes(n, m * 2)
{
}
)",
                            "test");
  EXPECT_EQ(m.index, DType::I64);
  EXPECT_EQ(m.workgroup, (std::array<uint32_t, 3>{8, 8, 2}));
  EXPECT_EQ(canonical(m), (Strings{
                              "p [8, 8, 2] i64",
                              "buffer x bf16 in n/0 /4 /7 ",
                              "buffer y u8 out m/0 n/0 ",
                              "scalar a f32 false none",
                              "scalar n i64 true none",
                              "scalar m i64 true none",
                              "scalar flip bool false bool 1",
                              "scalar low i64 false i64 ffdfffffffffffff",
                              "host code",
                              "lanes i64 none aux 0 slot -1 imm 0 [scalar 1]",
                              "lanes i64 none aux 1 slot -1 imm 0 [%0]",
                              "%0 = mul i64 i64 aux 0 slot -1 imm 0 [scalar 2, i64 2]",
                              "code",
                          }));
  EXPECT_EQ(assemble("program p() { }", "test").workgroup, (std::array<uint32_t, 3>{256, 1, 1}));
}

TEST(Assembler, NumbersTakeTheTypeBesideThem) {
  EXPECT_EQ(constants_of("v = a * 2"), Strings{"f32 40000000"});
  EXPECT_EQ(constants_of("v = 2 * b"), Strings{"f64 4000000000000000"});
  EXPECT_EQ(constants_of("v = 0.1 + b"), Strings{"f64 3fb999999999999a"});
  EXPECT_EQ(constants_of("v = e | 0xffffffff"), Strings{"u32 ffffffff"});
  EXPECT_EQ(constants_of("v = 2"), Strings{"i32 2"});
  EXPECT_EQ(constants_of("v = 2.0"), Strings{"f32 40000000"});
  EXPECT_EQ(constants_of("var v: u64 = 18446744073709551615"), Strings{"u64 ffffffffffffffff"});
  EXPECT_EQ(constants_of("var v: f64 = i > 2 ? 1 : 0"),
            (Strings{"i32 2", "f64 3ff0000000000000", "f64 0"}));
  EXPECT_EQ(constants_of("v = b * (t ? 1 : 0)"), (Strings{"f64 3ff0000000000000", "f64 0"}));
  EXPECT_EQ(constants_of("v = fma(a, 2, -1)"), (Strings{"f32 40000000", "f32 bf800000"}));
  EXPECT_EQ(constants_of("y[0] = 1"), (Strings{"i32 0", "f32 3f800000"}));
  EXPECT_EQ(constants_of("v = exp(2)"), Strings{"f32 40000000"});
  EXPECT_EQ(constants_of("v = c << 3"), Strings{"i32 3"});
}

TEST(Assembler, LiteralsWithTypes) {
  EXPECT_EQ(constants_of("v = 3u32"), Strings{"u32 3"});
  EXPECT_EQ(constants_of("v = 0x10i64"), Strings{"i64 10"});
  EXPECT_EQ(constants_of("v = -2147483648i32"), Strings{"i32 80000000"});
  EXPECT_EQ(constants_of("v = 0.1f64"), Strings{"f64 3fb999999999999a"});
  EXPECT_EQ(constants_of("v = 1f32"), Strings{"f32 3f800000"});
  EXPECT_EQ(constants_of("v = -1.5e-3f32"), Strings{"f32 bac49ba6"});
  EXPECT_EQ(constants_of("v = f64(0.1)"), Strings{"f64 3fb999999999999a"});
  EXPECT_EQ(constants_of("v = f32(-inf)"), Strings{"f32 ff800000"});
  EXPECT_EQ(constants_of("v = f64(nan)"), Strings{"f64 nan"});
  EXPECT_EQ(constants_of("v = u32(-1)"), Strings{"u32 ffffffff"});
  EXPECT_EQ(constants_of("v = i32(2.9)"), Strings{"i32 2"});
  EXPECT_EQ(constants_of("v = i32(-1e30)"), Strings{"i32 80000000"});
  EXPECT_EQ(constants_of("v = u32(nan)"), Strings{"u32 0"});
  EXPECT_EQ(constants_of("v = bool(2)"), Strings{"bool 1"});
  EXPECT_EQ(constants_of("v = bits_f32(0x7f800000)"), Strings{"u32 7f800000"});
  // With a type a number is a value: nothing is computed before the program runs.
  EXPECT_EQ(constants_of("v = 1.0f32 + 2.0f32"), (Strings{"f32 3f800000", "f32 40000000"}));
}

TEST(Assembler, ComputesWithNumbers) {
  EXPECT_EQ(constants_of("v = 7 / 2 + -7 % 4 * 10"), Strings{"i32 ffffffe5"});
  EXPECT_EQ(constants_of("v = 7 / 2.0"), Strings{"f32 40600000"});
  EXPECT_EQ(constants_of("v = 1 << 4 | 3 & 2 ^ 1"), Strings{"i32 13"});
  EXPECT_EQ(constants_of("v = ~5 >> 1"), Strings{"i32 fffffffd"});
  EXPECT_EQ(constants_of("v = 2 > 1 && !(1.5 == 2)"), Strings{"bool 1"});
  EXPECT_EQ(constants_of("v = true ? min(3, 2) : abs(-4)"), Strings{"i32 2"});
  EXPECT_EQ(constants_of("const K = 1 - 2.5\nv = K * K"), Strings{"f32 40100000"});
}

TEST(Assembler, PrecedenceIsThatOfC) {
  expect_same("v = c + c * c - c / c % c", "v = (c + (c * c)) - ((c / c) % c)");
  expect_same("v = c << 1 + 2 < c == t", "v = ((c << (1 + 2)) < c) == t");
  expect_same("v = t & c == c ? 1.0 : a", "v = (t & (c == c)) ? 1.0 : a");
}

TEST(Assembler, Operators) {
  expect_same("v = c - c - c", "v = sub(sub(c, c), c)");
  expect_same("v = c << e >> e", "v = shr(shl(c, e), e)");
  expect_same("v = t || t && t", "v = or(t, and(t, t))");
  expect_same("v = c | c ^ c & c", "v = or(c, xor(c, and(c, c)))");
  expect_same("v = a < a == t", "v = eq(lt(a, a), t)");
  expect_same("v = -a * -2.0", "v = mul(neg(a), -2.0)");
  expect_same("v = !t; r = ~c", "v = not(t); r = not(c)");
  expect_same("v = t ? a : t ? 1 : 2", "v = select(t, a, select(t, 1.0f32, 2.0f32))");
  expect_same("v = clamp(a, 0, 1)", "v = min(max(a, 0), 1)");
  expect_same("v = -f32(f32(a))", "v = -a");  // already that type
}

TEST(Assembler, EveryPureInstructionIsAFunction) {
  for (const OpInfo& row : all_ops()) {
    if (!is_pure(row.op) || row.op == Op::Cast || row.op == Op::Bitcast) continue;
    const bool integers = row.typing == Typing::Integer || row.typing == Typing::IntegerBool ||
                          row.typing == Typing::Int32 || row.typing == Typing::Shift ||
                          row.typing == Typing::Bytes;
    std::string text = "v = " + std::string(row.name) + "(";
    for (size_t i = 0; i < row.arity; i++)
      text += std::string(i == 0 ? "" : ", ") + (row.op == Op::Select && i == 0 ? "t"
                                                 : integers                     ? "c"
                                                                                : "a");
    EXPECT_EQ(ops_of(in_program(text + ")")).back(), row.op) << text;
  }
}

TEST(Assembler, MemoryIsIndexedFlatOrByDimensions) {
  expect_same("v = y[i, 3]",
              "f = i * w + 3; in = i >= 0 & i < h & 3 < w; v = y[select(in, f, -1)]");
  expect_same("y[c, 0] = a", "f = c * w; in = c >= 0 & c < h & 0 < w; y[select(in, f, -1)] = a");
  expect_same("shared s: i32[4, 8]; v = s[2, 7]", "shared s: i32[32]; v = s[2i32 * 8 + 7]");
  expect_same("v = f32(u[i] + 1) * x[len(x) - 1]", "v = mul(f32(add(u[i], 1)), x[sub(len(x), 1)])");
}

TEST(Assembler, CompoundAssignment) {
  expect_same("var s = a; s += 2; s *= s", "var s = a; s = s + 2; s = s * s");
  expect_same("k[i * 2] <<= 1", "j = i * 2; k[j] = k[j] << 1");
  expect_same("k[i] |= c; k[i] &= c; k[i] ^= c; k[i] %= c; k[i] >>= c; k[i] -= c; k[i] /= c",
              "k[i] = k[i] | c; k[i] = k[i] & c; k[i] = k[i] ^ c; k[i] = k[i] % c;"
              "k[i] = k[i] >> c; k[i] = k[i] - c; k[i] = k[i] / c");
}

TEST(Assembler, StatementsGoOnOverLineEnds) {
  expect_same("v = a +\n  a *\n\n  // and\n a\nr = max(a,\n a)", "v = a + a * a; r = max(a, a)");
  expect_same("if t {\n}\n\nelse if t\n{\n}\nelse\n{\n}", "if t { } else if t { } else { }");
}

TEST(Assembler, FunctionsAreInlined) {
  const auto with = [](std::string_view statements) {
    return canonical(assemble("fn twice(x: f32, n: i32) -> f32 { const Q = 2\n return x * Q }\n" +
                                  std::string(kHead) + std::string(statements) +
                                  "\n}\nfn both(p: f32) -> (f32, bool) { var j = twice(p, 1)\n"
                                  "if j > 3 { j = 3 }\n return j, p < 0 }",
                              "test"));
  };
  EXPECT_EQ(with("v = twice(a + 1, 5)"), with("v = (a + 1) * 2"));
  EXPECT_EQ(with("v = twice(1, 5)"), with("v = 1.0f32 * 2"));
  EXPECT_EQ(with("v, q = both(a)\nvar j_2 = v"),
            with("var j = a * 2; if j > 3 { j = 3 }; r = j; q = a < 0; var j_2 = r"));
}

TEST(Assembler, LoopsAndBranches) {
  EXPECT_EQ(ops_of(in_program("for j in c..9 step 3 { if j == 4 { continue }; break }\n"
                              "while t { }\nloop { return }")),
            (std::vector<Op>{Op::GlobalId, Op::For, Op::Eq, Op::If, Op::Continue, Op::End,
                             Op::Break, Op::End, Op::Loop, Op::Not, Op::If, Op::Break, Op::End,
                             Op::End, Op::Loop, Op::Return, Op::End}));
  expect_same("unroll for q in 1..6 step 2 { k[q] = c * q }",
              "k[1] = c * 1; k[3] = c * 3; k[5] = c * 5");
  expect_same("unroll for q in 3..3 { nothing(at, all) }", "");
  const Module m =
      assemble("program p(inout x: i64[]) index(i64) { for j in 0..4 { x[j] = j } }", "test");
  EXPECT_EQ(m.body.insts[2].type, DType::I64);
}

TEST(Assembler, WorkgroupAndAtomics) {
  const Module m = in_program(R"(
    shared tile: f32[4, 8]
    shared counts: atomic u32[64]
    tile[i] = 3
    barrier()
    old = atomic_add(counts[i], 1)
    atomic_exchange(bins[i], old)
    v = group_reduce_max(tile[i])
    s = group_scan_xor(c)
    z = group_uniform(t))");
  ASSERT_EQ(m.shared.size(), 2u);
  EXPECT_EQ(m.shared[0].count, 32u);
  EXPECT_TRUE(m.shared[1].atomic);
  EXPECT_EQ(ops_of(m), (std::vector<Op>{Op::GlobalId, Op::SharedStore, Op::Barrier,
                                        Op::SharedAtomic, Op::Atomic, Op::SharedLoad,
                                        Op::GroupReduce, Op::GroupScan, Op::GroupUniform}));
  EXPECT_EQ(m.body.insts.back().type, DType::Bool);
}

TEST(Assembler, HostCode) {
  const Module m = assemble(R"(
fn half(n: i32) -> i32 { return n / 2 }
program p(in x: f32[n], q: i32) lanes(half(n)) {
  host most = max(n, q)
  require most < 4 * half(most)   // as written
}
)",
                            "test");
  EXPECT_EQ(m.require_texts, Strings{"most < 4 * half(most)"});
  EXPECT_EQ(canonical(m.host), (Strings{
                                   "%0 = div i32 i32 aux 0 slot -1 imm 0 [scalar 0, i32 2]",
                                   "lanes i32 none aux 0 slot -1 imm 0 [%0]",
                                   "%1 = max i32 i32 aux 0 slot -1 imm 0 [scalar 0, scalar 1]",
                                   "%2 = div i32 i32 aux 0 slot -1 imm 0 [%1, i32 2]",
                                   "%3 = mul i32 i32 aux 0 slot -1 imm 0 [i32 4, %2]",
                                   "%4 = lt bool i32 aux 0 slot -1 imm 0 [%1, %3]",
                                   "require none none aux 0 slot -1 imm 0 [%4]",
                               }));
}

TEST(Assembler, InstructionsKnowTheirLine) {
  const Module m = assemble("program p(out x: f32[]) {\n\n  i = global_id.x\n  x[i] =\n 2\n}", "t");
  EXPECT_EQ(m.body.insts[0].line, 3u);
  EXPECT_EQ(m.body.insts.back().line, 4u);
}

TEST(Assembler, VariablesOfOneNameAreToldApart) {
  const Module m = in_program("if t { var s = 1 }; if t { var s = a }; var s_2 = t");
  ASSERT_EQ(m.variables.size(), 3u);
  EXPECT_EQ(m.variables[0].name, "s");
  EXPECT_EQ(m.variables[1].name, "s_2");
  EXPECT_EQ(m.variables[2].name, "s_2_2");
}

}  // namespace
}  // namespace hologram::program
