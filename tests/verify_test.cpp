// Which programs are right: each rule of the verifier, from both sides.
#include <gtest/gtest.h>

#include "hologram/builder.hpp"
#include "hologram/error.hpp"
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

TEST(Verify, RefusesUndefinedValue) {
  Builder b("p");
  auto y = b.buffer("y", DType::I32, Access::Out);
  Value inner;
  b.if_(b.global_id(0) < 5, [&] { inner = b.global_id(0) + 1; });
  b.store(y, b.global_id(0), inner);
  EXPECT_NE(fault_in(b.finish_unverified()).find("not defined there"), std::string::npos);
}

}  // namespace
}  // namespace hologram::program
