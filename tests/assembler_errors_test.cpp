// Every error of the text: where it points, what it says, what it tells the writer to do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/messages.hpp"
#include "hologram/error.hpp"
#include "program/ir.hpp"
#include "program/text/assembler.hpp"

namespace hologram::program {
namespace {

struct Case {
  std::string text;  // the culprit starts at «
  std::string says;
  std::string advises;
};

Error error_of(const std::string& text) {
  try {
    assemble(text, "file.atlas");
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "assembles: " << text.substr(0, 400);
  return {ErrorKind::Internal, "", ""};
}

void expect_error(Case c) {
  const size_t mark = c.text.find("«");
  ASSERT_NE(mark, std::string::npos) << c.text;
  c.text.erase(mark, std::string("«").size());
  const size_t line_start = c.text.rfind('\n', mark - 1) + 1;
  const auto line = 1 + std::count(c.text.begin(), c.text.begin() + static_cast<long>(mark), '\n');
  const std::string place =
      "file.atlas:" + std::to_string(line) + ":" + std::to_string(mark - line_start + 1) + ": ";
  const Error error = error_of(c.text);
  const std::string what = error.what();
  EXPECT_EQ(error.kind(), ErrorKind::InvalidProgram) << c.text;
  EXPECT_EQ(what.substr(0, place.size()), place) << what << '\n' << c.text;
  EXPECT_NE(what.find(c.says), std::string::npos) << what << '\n' << c.text;
  EXPECT_NE(error.remedy().find(c.advises), std::string::npos) << what << '\n'
                                                               << error.remedy() << '\n'
                                                               << c.text;
  // The line and a caret in the column follow; long lines and bad characters are another test.
  const std::string source = c.text.substr(line_start, c.text.find('\n', line_start) - line_start);
  if (source.size() > 100 || source.find('\x01') != std::string::npos) return;
  EXPECT_NE(what.find(" | " + source + "\n"), std::string::npos) << what;
  EXPECT_EQ(what.rfind("| " + std::string(mark - line_start, ' ') + "^"), what.rfind("| ")) << what;
}

std::string in_program(const std::string& statements) {
  return "fn f(x: f32) -> f32 { return x }\n"
         "fn g(x: f32) -> (f32, f32) { return x, x }\n"
         "program p(in x: f32[n, m], out y: f32[], atomic bins: u32[], in z: f64[], a: f32, "
         "count: i32, flag: bool) {\n"
         "  i = global_id.x\n  var s = 0.0\n  shared tile: f32[8, 8]\n  " +
         statements + "\n}\n";
}

TEST(AssemblerErrors, Lexical) {
  expect_error({in_program("v = a «$ 2"), "'$'", "//"});
  expect_error({in_program("v = a + «\x01"), "0x01", "Remove"});
  expect_error({in_program("v = «12abc"), "'12abc' is not a number", "3u32"});
  expect_error({in_program("v = «1e"), "not a number", "1e-3"});
  expect_error({in_program("v = «99999999999999999999"), "not a number", "12"});
  expect_error({in_program("v = «3u8"), "not a number", "3u32"});
  expect_error({"program p() «{\n x = 2\n", "`{` is never closed", "`}`"});
  expect_error({"program p«(in x: f32[]\n", "`(` is never closed", "`)`"});
  expect_error({"program p() { }\n«}", "closes nothing", "`{`"});
  expect_error({"program p() { x = max(2, 3«} }", "`(` of line 1", "`)` first"});
  expect_error({in_program("«" + std::string(200, 'q') + " = 2"), "128 characters", "shorter"});
}

TEST(AssemblerErrors, Declarations) {
  expect_error({"fn f() -> f32 { return 1 }\n«", "no program", "program name"});
  expect_error({"program a() { }\nprogram «b() { }", "second program beside 'a'", "one program"});
  expect_error({"«kernel a() { }", "expected `program`, `fn` or `const`, found 'kernel'", "one"});
  expect_error({"program «if() { }", "'if' is a word", "another name"});
  expect_error({"program p«: f32 { }", "expected `(`", "program name"});
}

TEST(AssemblerErrors, Clauses) {
  expect_error({"program p() workgroup(«1025) { }", "cannot be 1025", "1 to 1024"});
  expect_error({"program p() workgroup(«0) { }", "cannot be 0", "1 to 1024"});
  expect_error({"program p() workgroup(«2.5) { }", "cannot be 2.5", "whole number"});
  expect_error({"program p() «workgroup(32, 33) { }", "1056 lanes", "1024"});
  expect_error({"program p() workgroup(1, 1, 1, «1) { }", "three axes", "z at most"});
  expect_error({"program p() lanes(1, 1, 1, «1) { }", "three axes", "z at most"});
  expect_error({"program p() index(i32) «index(i64) { }", "index is given twice", "one of them"});
  expect_error({"program p() index(«u32) { }", "cannot be u32", "index(i64)"});
  expect_error({"program p() «work(3) { }", "'work' is not a clause", "workgroup"});
  expect_error({"program p() workgroup «8 { }", "expected `(`", "workgroup(256)"});
  expect_error({"program p(a: f32) lanes(«a) { }", "f32 where i32", "i32(a)"});
  expect_error({"program p() lanes(«global_id.x) { }", "not known to the host", "len(x)"});
}

TEST(AssemblerErrors, Parameters) {
  expect_error({"program p(in x: «f23[]) { }", "'f23' is not a type", "f32"});
  expect_error({"program p(«x: f32[]) { }", "no access", "in x: f32[…]"});
  expect_error({"program p(in «x: f32) { }", "scalar 'x' has an access", "in x: f32[]"});
  expect_error({"program p(«mut x: f32[]) { }", "'mut'", "inout"});
  expect_error({"program p(x: «u8) { }", "u8 is a type of buffers", "u32"});
  expect_error({"program p(atomic x: «f32[]) { }", "atomic instructions on f32", "u32"});
  expect_error(
      {"program p(in x: f32[], out «x: f32[]) { }", "declared already, on line 1", "name"});
  expect_error({"program p(n: i32, in x: f32[«n]) { }", "scalar parameter and a dim", "Leave"});
  expect_error({"program p(in x: f32[n], «n: i32) { }", "declared already", "another"});
  expect_error({"program p(in x: f32[«-1]) { }", "cannot be -1", "from 0"});
  expect_error({"program p(in x: f32[1,1,1,1,1,1,1,1,«1]) { }", "8 dimensions", "Merge"});
  expect_error({"program p(x: i32 = «2.5) { }", "2.5 stands where a whole", "whole number"});
  expect_error({"program p(x: u32 = «-1) { }", "-1 is not a value of type u32", "hold"});
  expect_error({"program p(x: f32, y: f32 = «x) { }", "must be known", "const"});
  expect_error({"program p(«x f32) { }", "'x' does not say", "in, out"});
}

TEST(AssemblerErrors, Functions) {
  expect_error({"fn «exp(x: f32) -> f32 { return x }\nprogram p() { }", "instruction", "another"});
  expect_error({"fn f(x: f32) «{ return x }\nprogram p() { }", "`->`", "fn name"});
  expect_error({"fn f(x: f32) -> f32 { y = x\n«}\nprogram p() { }", "without a return", "last"});
  expect_error({"fn f(x: f32) -> f32 { return x\n«y = x }\nprogram p() { }", "before its end",
                "last statement"});
  expect_error({"fn f(x: f32) -> f32 { if x > 0 { «return 1 }\nreturn x }\nprogram p() { }",
                "before its end", "select"});
  expect_error({"fn f(x: f32) -> f32 { «return x, x }\nprogram p() { }",
                "returns 1 values, here are 2", "->"});
  expect_error(
      {"fn f(x: f32) -> f32 { return g(x) }\nfn g(x: f32) -> f32 { return «f(x) }\n"
       "program p() { }",
       "'f' calls itself", "loop"});
  expect_error({"fn f(x: f32) -> f32 { return «f(x) }\nprogram p(a: f32) { v = f(a) }",
                "'f' calls itself", "loop"});
  expect_error({"fn f(x: f32, «x: f32) -> f32 { return x }\nprogram p() { }", "declared already",
                "another"});
  expect_error(
      {"fn f(x: f32) -> f32 { return x }\nfn «f(x: f32) -> f32 { return x }\n"
       "program p() { }",
       "declared already, on line 1", "another"});
  expect_error({"fn f(x: f32) -> f32 { return «y }\nprogram p(y: f32) { }", "nothing is named 'y'",
                "parameter"});
  expect_error({in_program("v = «f(a, a)"), "f takes 1 arguments, not 2", "Give it 1"});
  expect_error({in_program("v = f(«count)"), "i32 where f32", "f32(count)"});
  expect_error({in_program("v = «g(a)"), "gives 2 results", "a, b = g"});
  expect_error({in_program("«v, w, q = g(a)"), "2 results, here are 3", "each result"});
  expect_error({in_program("v, w = «a"), "expected a call", "one name"});
}

TEST(AssemblerErrors, Names) {
  expect_error({in_program("v = «cuont + 1"), "nothing is named 'cuont'", "Did you mean 'count'"});
  expect_error({in_program("v = «qqqqq"), "nothing is named 'qqqqq'", "qqqqq = …"});
  expect_error({in_program("v = «epx(a)"), "no function is named 'epx'", "Did you mean 'exp'"});
  expect_error({in_program("v = «qqqqq(a)"), "no function is named 'qqqqq'", "docs/atlas.md"});
  expect_error({in_program("v = «a(2)"), "'a' is a value", "operator"});
  expect_error({in_program("v = «exp + 1"), "'exp' is a function", "exp(…)"});
  expect_error({in_program("«a = 2"), "parameter", "var x = a"});
  expect_error({in_program("«i = 2"), "'i' is fixed on line 4", "var i = …"});
  expect_error({in_program("«i += 2"), "'i' is fixed on line 4", "var i = …"});
  expect_error({in_program("«q += 2"), "nothing is named 'q'", "q = …"});
  expect_error({in_program("«tile = 2"), "'tile' is memory", "tile[i] = …"});
  expect_error({in_program("var «s = 2"), "'s' is declared already, on line 5", "another"});
  expect_error({in_program("«true = 2"), "'true' is a word", "another"});
  expect_error({in_program("«q: f32 = 2"), "no type", "var q"});
  expect_error({in_program("v = global_id«"), "`.x`", "global_id.x"});
  expect_error({in_program("v = global_id.«w"), "`x`, `y` or `z`", "axis"});
  expect_error({in_program("v = «if"), "expected a value, found 'if'", "word"});
}

TEST(AssemblerErrors, Types) {
  expect_error({in_program("v = a «* count"), "f32 and i32", "f32(count)"});
  expect_error({in_program("v = z[i] «+ a"), "f64 and f32", "f64(a)"});
  expect_error({in_program("v = count * «0.5"), "0.5 stands where a whole", "f32(x)"});
  expect_error({in_program("v = a «% 2"), "`%` is not defined for f32", "i32"});
  expect_error({in_program("v = «exp(count)"), "`exp` is not defined for i32, only for f32, f64",
                "f32(count)"});
  expect_error({in_program("if «count { }"), "i32 where a bool", "count != 0"});
  expect_error({in_program("v = «count && flag"), "i32 where a bool", "count != 0"});
  expect_error({in_program("v = flag «+ flag"), "not defined for bool", "(flag)"});
  expect_error({in_program("v = «!count"), "`!` is not defined for i32", "x == 0"});
  expect_error({in_program("v = «~flag"), "`~` is not defined for bool", "`!`"});
  expect_error({in_program("v = «+a"), "no `+`", "out"});
  expect_error({in_program("if «1 { }"), "the number 1", "true or false"});
  expect_error({in_program("v = a + «true"), "true stands where a number", "select"});
  expect_error(
      {in_program("v = count + «3000000000"), "3000000000 is not a value of type i32", ""});
  expect_error({in_program("s = «count"), "i32 where f32", "f32(count)"});
  expect_error({in_program("v = flag «? a : count"), "f32 and i32", "f32(count)"});
  expect_error({in_program("v = «u8(a)"), "u8 is a type of buffers", "u32"});
  expect_error({in_program("v = bits_f64(«a)"), "4 and 8 bytes", "f64(x)"});
  expect_error({in_program("v = «max(a)"), "max takes 2 arguments, not 1", "2"});
  expect_error({in_program("v = 3 «/ 0"), "divided by 0", "divisor"});
  expect_error({in_program("v = 1 «<< 64"), "shifted by 64", "63"});
  expect_error({in_program("v = 18446744073709551615 «+ 1"), "64 bits", "smaller"});
}

TEST(AssemblerErrors, Memory) {
  expect_error({in_program("v = «x[i, i, i]"), "2 dimensions but 3 indices", "2 indices"});
  expect_error({in_program("«y[i, i] = 1"), "without dimensions but has 2", "y: f32[h, w]"});
  expect_error({in_program("v = «x"), "'x' is memory", "len(x)"});
  expect_error({in_program("v = «a[2]"), "not a buffer", "x: f32[n]"});
  expect_error({in_program("v = x[«a]"), "f32 where i32", "i32(a)"});
  expect_error({in_program("v = «y[i]"), "'y' is read", "inout y"});
  expect_error({in_program("«y[i] += 1"), "'y' is read", "inout y"});
  expect_error({in_program("«x[i] = 1"), "'x' is written", "out x"});
  expect_error({in_program("v = «bins[i]"), "atomic", "atomic_add(bins[i], 0)"});
  expect_error({in_program("v = atomic_add(«tile[i], 1)"), "not atomic", "shared tile: atomic"});
  expect_error({in_program("v = «atomic_mul(bins[i], 1)"), "no 'atomic_mul'", "exchange"});
  expect_error({in_program("v = atomic_add(«i, 1)"), "an element x[i]", "atomic_add(x[i]"});
  expect_error({in_program("v = len(«tile)"), "which 'tile' is not", "buffer"});
  expect_error({in_program("shared t: «u8[4]"), "u8 is a type of buffers", "u32"});
  expect_error({in_program("shared t: «bool[4]"), "bool", "u32"});
  expect_error({in_program("shared t: f32[«0]"), "cannot be 0", "from 1"});
  expect_error({in_program("shared t: f32[«n]"), "must be known", "const"});
  expect_error({in_program("shared t: f32[«]"), "no size", "t: f32[16, 16]"});
  expect_error({in_program("shared «t: f32[65536, 65536]"), "too large", "smaller"});
  expect_error({in_program("shared t: atomic «f32[4]"), "atomic instructions on f32", "u32"});
}

TEST(AssemblerErrors, Statements) {
  expect_error({in_program("v = 1 «w = 2"), "end of the statement", "`;`"});
  expect_error({in_program("«+ a"), "expected a statement, found '+'", "operator"});
  expect_error({in_program("«v a"), "nothing is named 'v'", "v = …"});
  expect_error({in_program("if flag «v = 1"), "expected `{`", "braces"});
  expect_error({in_program("«else { }"), "belongs to no if", "closing brace"});
  expect_error({in_program("«break"), "`break` stands outside a loop", "while"});
  expect_error({in_program("for q in 0..3 { unroll for k in 0..2 { «continue } }"),
                "outside a loop", "unrolled"});
  expect_error({in_program("for q «= 0..3 { }"), "expected `in`", "0..n"});
  expect_error({in_program("for q in 0«, 3 { }"), "expected `..`", "0..n"});
  expect_error({in_program("for q in «a..3.0 { }"), "count in f32", "integers"});
  expect_error({in_program("for q in 0..9 step «0 { }"), "cannot be 0", "from 1"});
  expect_error({in_program("for q in 0..9 step «count { }"), "must be known", "const"});
  expect_error({in_program("for q in count«..9u32 { }"), "i32 and u32", "u32(count)"});
  expect_error({in_program("unroll for k in 0..«n { }"), "must be known", "const"});
  expect_error({in_program("var q«"), "first value", "var s = 0.0"});
  expect_error({in_program("return «a"), "returns no value", "out"});
  expect_error({in_program("«exp(a)"), "value of exp(a) is not used", "v = exp(a)"});
  expect_error({in_program("«atomic_add(bins[0], 1) + 1"), "not used", "v = "});
  expect_error({in_program("v = «barrier()"), "no value", "statement"});
  expect_error({in_program("v = «group_reduce_exchange(a)"), "no 'group_reduce_exchange'", "mul"});
  expect_error({in_program("v = group_scan_xor(«a)"), "not defined for f32", "integers"});
  expect_error({in_program("if flag { «require n > 2 }"), "inside a block", "start"});
  expect_error({in_program("require n > «i"), "'i' is not known to the host", "len(x)"});
  expect_error({in_program("require «s > 2"), "'s' cannot run on the host", "scalars"});
  expect_error({in_program("require «x[0] > 2"), "'x' cannot run on the host", "scalars"});
  expect_error({in_program("host half = n / 2\n  v = «half"), "a value of the host", "again"});
  expect_error({in_program("const K = «count"), "must be known", "const"});
}

std::string repeated(std::string_view part, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; i++) text += part;
  return text;
}

// Text that would take the stack or the memory is refused, in little time.
TEST(AssemblerErrors, Limits) {
  const auto says = [](const std::string& text, std::string_view part) {
    const std::string what = error_of(text).what();
    EXPECT_NE(what.find(part), std::string::npos) << what.substr(0, 400);
    EXPECT_LT(what.size(), 1000u);
  };
  constexpr size_t kMany = 50000;
  says("program p() { v = " + repeated("(", kMany) + "1" + repeated(")", kMany) + " }", "levels");
  says("program p(a: f32) { v = " + repeated("-", kMany) + "a }", "levels");
  says("program p(a: f32) { v = " + repeated("abs(", kMany) + "a" + repeated(")", kMany) + " }",
       "levels");
  says("program p(a: bool) { v = " + repeated("a ? a : ", kMany) + "a }", "levels");
  says("program p() { " + repeated("loop { ", kMany) + repeated("}", kMany) + " }", "levels");
  says("program p(a: bool) { if a { } " + repeated("else if a { } ", kMany) + " }", "levels");
  says("program p() { unroll for i in 0..1000000000 { } }", "steps");
  says("program p() { " + repeated("unroll for i", 1) +
           " in 0..2000 { unroll for j in 0..2000 "
           "{ var s = 1.0f32 } } }",
       "instructions");
  std::string doubling = "fn twice0(x: f32) -> f32 { return x + x }\n";
  for (int i = 1; i < 60; i++) {
    doubling += fmt::format("fn twice{0}(x: f32) -> f32 {{ return twice{1}(x) * twice{1}(x) }}\n",
                            i, i - 1);
  }
  says(doubling + "program p(a: f32) { v = twice59(a) }", "more than");
  says(std::string(kMaxTextBytes + 1, ' '), "bytes");
  EXPECT_NO_THROW(assemble("program p(a: f32) { v = " + repeated("a + ", kMany) + "a }", "t"));
}

TEST(AssemblerErrors, LongLinesAreCutAndTabsKept) {
  const std::string what =
      error_of("program p() { v = " + repeated("1 + ", 1000) + "\xc3\xa4 }").what();
  EXPECT_LT(what.size(), 400u);
  const std::string tabbed = error_of("program p() {\n\tv = qq\n}").what();
  EXPECT_NE(tabbed.find("| \tv = qq\n      | \t    ^~"), std::string::npos) << tabbed;
}

}  // namespace
}  // namespace hologram::program
