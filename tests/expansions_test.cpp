// The transcendental functions: special values, error bounds on a stratified sample, and the same
// bits from every instruction set. tests/accuracy.cpp measures the errors over all inputs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "function_oracle.hpp"
#include "interp/targets.hpp"
#include "program/expansions/evaluate.hpp"

namespace hologram::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
T call(Op op, T a, T b = 0) {
  const auto result = program::evaluate_function(op, dtype_of<T>, std::bit_cast<Bits<T>>(a),
                                                 std::bit_cast<Bits<T>>(b));
  return std::bit_cast<T>(static_cast<Bits<T>>(result.value()));
}

// Equal bits, or both NaN.
template <class T>
bool same(T a, T b) {
  return std::bit_cast<Bits<T>>(a) == std::bit_cast<Bits<T>>(b) || (std::isnan(a) && std::isnan(b));
}

bool has_operands(const Function& f, int n) { return (f.wide2 != nullptr) == (n == 2); }

// Every exponent with evenly spread mantissas and both signs, the edges of every binade, and the
// neighbourhood of the places where an expansion changes its path.
template <class T>
std::vector<T> stratified(int mantissas) {
  using B = Bits<T>;
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  constexpr int kExponents = 1 << (8 * sizeof(T) - 1 - kMantissa);
  std::vector<T> out;
  for (int e = 0; e < kExponents; ++e)
    for (int m = 0; m < mantissas; ++m) {
      B fraction = static_cast<B>(uint64_t{0x9e3779b97f4a7c15} * (e * mantissas + m + 1)) >>
                   (8 * sizeof(T) - kMantissa);
      if (m == 0) fraction = 0;
      if (m == 1) fraction = (B{1} << kMantissa) - 1;
      const B bits = (static_cast<B>(e) << kMantissa) | fraction;
      out.push_back(std::bit_cast<T>(bits));
      out.push_back(-out.back());
    }
  for (const double edge :
       {0.0,    0.25,    0.35,    0.5,     0.55,   0.6931, 0.7071, 0.7854, 0.8,    1.0,
        1.4142, 1.5708,  2.0,     3.1416,  3.95,   5.95,   9.0,    10.0,   22.0,   87.0,
        88.72,  89.0,    89.416,  103.97,  104.0,  126.0,  127.0,  128.0,  149.0,  150.0,
        708.0,  709.78,  710.0,   710.476, 744.44, 745.13, 746.0,  1022.0, 1024.0, 1074.0,
        1075.0, 65536.0, 65600.0, 1e5,     6.7e7,  1e8,    1e9})
    for (int step = -20; step <= 20; ++step) {
      const B near = std::bit_cast<B>(static_cast<T>(edge));
      const T value = std::bit_cast<T>(static_cast<B>(step < 0 && near == 0 ? 0 : near + step));
      out.push_back(value);
      out.push_back(-value);
    }
  while (out.size() % interp::kGroup != 0) out.push_back(1);
  return out;
}

// Pairs for the functions of two operands: the sample against a shuffled copy, and what makes pow
// neither overflow nor vanish.
template <class T>
void pairs(std::vector<T>& a, std::vector<T>& b) {
  a = stratified<T>(sizeof(T) == 4 ? 64 : 16);
  const size_t n = a.size();
  b.resize(n);
  for (size_t i = 0; i < n; ++i) {
    b[i] = a[(i * 7919 + 13) % n];
    const double range = sizeof(T) == 4 ? 150 : 1076;
    const double angle = std::sin(static_cast<double>(i));
    if (i % 3 == 1)
      b[i] = static_cast<T>(range * angle / std::log2(std::fabs(static_cast<double>(a[i]))));
    if (i % 3 == 2) b[i] = static_cast<T>(a[i] * static_cast<T>(4 * angle));
    if (i % 30 == 0) b[i] = static_cast<T>(static_cast<int>(i / 30 % 41) - 20);
  }
}

template <class T>
std::vector<T> run(const interp::Target& target, Op op, const std::vector<T>& a,
                   const std::vector<T>& b) {
  const interp::KernelTable& table = interp::kernel_table(target);
  const interp::Kernel kernel = table.at(op, dtype_of<T>);
  std::vector<T> out(a.size());
  const interp::Operand in[2] = {
      {reinterpret_cast<const std::byte*>(a.data()), interp::kGroup * sizeof(T)},
      {reinterpret_cast<const std::byte*>(b.data()), interp::kGroup * sizeof(T)}};
  kernel(reinterpret_cast<std::byte*>(out.data()), in, a.size() / interp::kGroup);
  return out;
}

template <class T>
void check_sample(const Function& f) {
  SCOPED_TRACE(std::string(f.name) + (sizeof(T) == 4 ? " f32" : " f64"));
  std::vector<T> a, b;
  if (has_operands(f, 2)) {
    pairs<T>(a, b);
  } else {
    a = stratified<T>(sizeof(T) == 4 ? 200 : 24);
    b = a;
  }
  std::vector<T> expected(a.size());
  int wrong = 0;
  for (size_t i = 0; i < a.size() && wrong < 5; ++i) {
    expected[i] = call(f.op, a[i], b[i]);
    double error, bound;
    if constexpr (sizeof(T) == 4) {
      error = ulp_error(expected[i], f.wide != nullptr ? f.wide(a[i]) : f.wide2(a[i], b[i]));
      bound = f.bound32;
    } else {
      error = ulp_error(expected[i], f.widest != nullptr ? f.widest(a[i]) : f.widest2(a[i], b[i]));
      bound = f.bound64;
    }
    if (!(error <= bound)) {
      ++wrong;
      ADD_FAILURE() << f.name << "(" << a[i] << ", " << b[i] << ") is off by " << error << " ULP";
    }
  }
  for (const interp::Target& target : interp::supported_targets()) {
    const std::vector<T> got = run(target, f.op, a, b);
    wrong = 0;
    for (size_t i = 0; i < a.size() && wrong < 5; ++i)
      if (!same(got[i], expected[i])) {
        ++wrong;
        ADD_FAILURE() << target.name << ": " << f.name << "(" << a[i] << ", " << b[i] << ") is "
                      << got[i] << ", on the host " << expected[i];
      }
  }
}

class Functions : public testing::TestWithParam<Function> {};

TEST_P(Functions, F32IsAccurateAndTheSameEverywhere) { check_sample<float>(GetParam()); }
TEST_P(Functions, F64IsAccurateAndTheSameEverywhere) { check_sample<double>(GetParam()); }

TEST_P(Functions, UniformOperandsHaveAStepOfZero) {
  const Function& f = GetParam();
  for (const interp::Target& target : interp::supported_targets()) {
    const interp::KernelTable& table = interp::kernel_table(target);
    const std::vector<float> a(interp::kGroup, 0.75f), b(interp::kGroup, 1.5f);
    std::vector<float> out(3 * interp::kGroup, -1.f);
    const interp::Operand in[2] = {{reinterpret_cast<const std::byte*>(a.data()), 0},
                                   {reinterpret_cast<const std::byte*>(b.data()), 0}};
    table.at(f.op, DType::F32)(reinterpret_cast<std::byte*>(out.data()), in, 3);
    for (const float value : out) EXPECT_EQ(value, call(f.op, 0.75f, 1.5f)) << target.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- Special values (C99, Annex F) --------------------------------------------------------------

struct Special {
  Op op;
  double a, b, expected;
};

constexpr Special kSpecials[] = {
    {Op::Exp, 0., 0, 1},
    {Op::Exp, -0., 0, 1},
    {Op::Exp, kInf, 0, kInf},
    {Op::Exp, -kInf, 0, 0},
    {Op::Exp, kNaN, 0, kNaN},
    {Op::Exp2, 0., 0, 1},
    {Op::Exp2, -0., 0, 1},
    {Op::Exp2, kInf, 0, kInf},
    {Op::Exp2, -kInf, 0, 0},
    {Op::Exp2, kNaN, 0, kNaN},
    {Op::Exp2, 10, 0, 1024},
    {Op::Exp2, -3, 0, .125},
    {Op::Expm1, 0., 0, 0.},
    {Op::Expm1, -0., 0, -0.},
    {Op::Expm1, kInf, 0, kInf},
    {Op::Expm1, -kInf, 0, -1},
    {Op::Expm1, kNaN, 0, kNaN},
    {Op::Log, 0., 0, -kInf},
    {Op::Log, -0., 0, -kInf},
    {Op::Log, 1, 0, 0.},
    {Op::Log, -1, 0, kNaN},
    {Op::Log, kInf, 0, kInf},
    {Op::Log, -kInf, 0, kNaN},
    {Op::Log, kNaN, 0, kNaN},
    {Op::Log2, 0., 0, -kInf},
    {Op::Log2, -0., 0, -kInf},
    {Op::Log2, 1, 0, 0.},
    {Op::Log2, 8, 0, 3},
    {Op::Log2, 0.25, 0, -2},
    {Op::Log2, -1, 0, kNaN},
    {Op::Log2, kInf, 0, kInf},
    {Op::Log2, kNaN, 0, kNaN},
    {Op::Log10, 0., 0, -kInf},
    {Op::Log10, -0., 0, -kInf},
    {Op::Log10, 1, 0, 0.},
    {Op::Log10, -1, 0, kNaN},
    {Op::Log10, kInf, 0, kInf},
    {Op::Log10, kNaN, 0, kNaN},
    {Op::Log1p, 0., 0, 0.},
    {Op::Log1p, -0., 0, -0.},
    {Op::Log1p, -1, 0, -kInf},
    {Op::Log1p, -2, 0, kNaN},
    {Op::Log1p, kInf, 0, kInf},
    {Op::Log1p, -kInf, 0, kNaN},
    {Op::Log1p, kNaN, 0, kNaN},
    {Op::Sin, 0., 0, 0.},
    {Op::Sin, -0., 0, -0.},
    {Op::Sin, kInf, 0, kNaN},
    {Op::Sin, -kInf, 0, kNaN},
    {Op::Sin, kNaN, 0, kNaN},
    {Op::Cos, 0., 0, 1},
    {Op::Cos, -0., 0, 1},
    {Op::Cos, kInf, 0, kNaN},
    {Op::Cos, -kInf, 0, kNaN},
    {Op::Cos, kNaN, 0, kNaN},
    {Op::Tan, 0., 0, 0.},
    {Op::Tan, -0., 0, -0.},
    {Op::Tan, kInf, 0, kNaN},
    {Op::Tan, -kInf, 0, kNaN},
    {Op::Tan, kNaN, 0, kNaN},
    {Op::Asin, 0., 0, 0.},
    {Op::Asin, -0., 0, -0.},
    {Op::Asin, 1.5, 0, kNaN},
    {Op::Asin, -kInf, 0, kNaN},
    {Op::Asin, kNaN, 0, kNaN},
    {Op::Asin, 1, 0, kPi / 2},
    {Op::Asin, -1, 0, -kPi / 2},
    {Op::Acos, 1, 0, 0.},
    {Op::Acos, -1, 0, kPi},
    {Op::Acos, 1.5, 0, kNaN},
    {Op::Acos, -2, 0, kNaN},
    {Op::Acos, kInf, 0, kNaN},
    {Op::Acos, kNaN, 0, kNaN},
    {Op::Acos, 0, 0, kPi / 2},
    {Op::Atan, 0., 0, 0.},
    {Op::Atan, -0., 0, -0.},
    {Op::Atan, kInf, 0, kPi / 2},
    {Op::Atan, -kInf, 0, -kPi / 2},
    {Op::Atan, kNaN, 0, kNaN},
    {Op::Sinh, 0., 0, 0.},
    {Op::Sinh, -0., 0, -0.},
    {Op::Sinh, kInf, 0, kInf},
    {Op::Sinh, -kInf, 0, -kInf},
    {Op::Sinh, kNaN, 0, kNaN},
    {Op::Cosh, 0., 0, 1},
    {Op::Cosh, -0., 0, 1},
    {Op::Cosh, kInf, 0, kInf},
    {Op::Cosh, -kInf, 0, kInf},
    {Op::Cosh, kNaN, 0, kNaN},
    {Op::Tanh, 0., 0, 0.},
    {Op::Tanh, -0., 0, -0.},
    {Op::Tanh, kInf, 0, 1},
    {Op::Tanh, -kInf, 0, -1},
    {Op::Tanh, kNaN, 0, kNaN},
    {Op::Sigmoid, 0., 0, .5},
    {Op::Sigmoid, -0., 0, .5},
    {Op::Sigmoid, kInf, 0, 1},
    {Op::Sigmoid, -kInf, 0, 0.},
    {Op::Sigmoid, kNaN, 0, kNaN},
    {Op::Erf, 0., 0, 0.},
    {Op::Erf, -0., 0, -0.},
    {Op::Erf, kInf, 0, 1},
    {Op::Erf, -kInf, 0, -1},
    {Op::Erf, kNaN, 0, kNaN},
    {Op::Rsqrt, 0., 0, kInf},
    {Op::Rsqrt, -0., 0, -kInf},
    {Op::Rsqrt, kInf, 0, 0.},
    {Op::Rsqrt, -1, 0, kNaN},
    {Op::Rsqrt, kNaN, 0, kNaN},
    {Op::Rsqrt, 4, 0, .5},
    {Op::Atan2, 0., -0., kPi},
    {Op::Atan2, -0., -0., -kPi},
    {Op::Atan2, 0., 0., 0.},
    {Op::Atan2, -0., 0., -0.},
    {Op::Atan2, 0., -1, kPi},
    {Op::Atan2, -0., -1, -kPi},
    {Op::Atan2, 0., 1, 0.},
    {Op::Atan2, -0., 1, -0.},
    {Op::Atan2, -1, 0., -kPi / 2},
    {Op::Atan2, -1, -0., -kPi / 2},
    {Op::Atan2, 1, 0., kPi / 2},
    {Op::Atan2, 1, -0., kPi / 2},
    {Op::Atan2, 1, -kInf, kPi},
    {Op::Atan2, -1, -kInf, -kPi},
    {Op::Atan2, 1, kInf, 0.},
    {Op::Atan2, -1, kInf, -0.},
    {Op::Atan2, kInf, 1, kPi / 2},
    {Op::Atan2, -kInf, -1, -kPi / 2},
    {Op::Atan2, kInf, -kInf, 3 * kPi / 4},
    {Op::Atan2, -kInf, -kInf, -3 * kPi / 4},
    {Op::Atan2, kInf, kInf, kPi / 4},
    {Op::Atan2, -kInf, kInf, -kPi / 4},
    {Op::Atan2, kNaN, 1, kNaN},
    {Op::Atan2, 1, kNaN, kNaN},
    {Op::Atan2, kNaN, kInf, kNaN},
    {Op::Atan2, kNaN, 0, kNaN},
    {Op::Pow, 0., -3, kInf},
    {Op::Pow, -0., -3, -kInf},
    {Op::Pow, 0., -2, kInf},
    {Op::Pow, -0., -2, kInf},
    {Op::Pow, -0., -2.5, kInf},
    {Op::Pow, 0., -kInf, kInf},
    {Op::Pow, -0., -kInf, kInf},
    {Op::Pow, 0., 3, 0.},
    {Op::Pow, -0., 3, -0.},
    {Op::Pow, 0., 2, 0.},
    {Op::Pow, -0., 2, 0.},
    {Op::Pow, -0., .5, 0.},
    {Op::Pow, -1, kInf, 1},
    {Op::Pow, -1, -kInf, 1},
    {Op::Pow, 1, kNaN, 1},
    {Op::Pow, 1, kInf, 1},
    {Op::Pow, 1, -1e30, 1},
    {Op::Pow, kNaN, 0., 1},
    {Op::Pow, kNaN, -0., 1},
    {Op::Pow, kInf, 0., 1},
    {Op::Pow, 0., 0., 1},
    {Op::Pow, -2, .5, kNaN},
    {Op::Pow, .5, -kInf, kInf},
    {Op::Pow, -.5, -kInf, kInf},
    {Op::Pow, 2, -kInf, 0.},
    {Op::Pow, -2, -kInf, 0.},
    {Op::Pow, .5, kInf, 0.},
    {Op::Pow, -.5, kInf, 0.},
    {Op::Pow, 2, kInf, kInf},
    {Op::Pow, -2, kInf, kInf},
    {Op::Pow, -kInf, -3, -0.},
    {Op::Pow, -kInf, -2, 0.},
    {Op::Pow, -kInf, -.5, 0.},
    {Op::Pow, -kInf, 3, -kInf},
    {Op::Pow, -kInf, 2, kInf},
    {Op::Pow, -kInf, .5, kInf},
    {Op::Pow, kInf, -1, 0.},
    {Op::Pow, kInf, .5, kInf},
    {Op::Pow, kInf, kInf, kInf},
    {Op::Pow, kInf, -kInf, 0.},
    {Op::Pow, kNaN, 1, kNaN},
    {Op::Pow, 2, kNaN, kNaN},
    {Op::Pow, -2, 3, -8},
    {Op::Pow, -2, 2, 4},
    {Op::Pow, 2, 10, 1024},
    {Op::Pow, 2, -1, .5},
    {Op::Pow, -3, 1, -3},
    {Op::Pow, 1e30, 1e30, kInf},
    {Op::Pow, 1e30, -1e30, 0.},
    {Op::Pow, -1e30, 1e30, kInf},
    {Op::Pow, 1e-30, 1e30, 0.},
};

template <class T>
void check_special(const Special& s) {
  const T a = static_cast<T>(s.a), b = static_cast<T>(s.b), expected = static_cast<T>(s.expected);
  const T host = call(s.op, a, b);
  // A multiple of pi may differ in its last bit.
  const bool exact =
      std::isnan(expected) || std::fmod(s.expected * 1024, 1) == 0 || std::isinf(expected);
  const auto good = [&](T got) {
    if (exact) return same(got, expected);
    return std::fabs(got - expected) <= std::numeric_limits<T>::epsilon() * 4;
  };
  EXPECT_TRUE(good(host)) << s.a << ", " << s.b << ": " << host << ", should be " << expected;
  const std::vector<T> va(interp::kGroup, a), vb(interp::kGroup, b);
  for (const interp::Target& target : interp::supported_targets())
    EXPECT_TRUE(same(run(target, s.op, va, vb)[interp::kGroup - 1], host)) << target.name;
}

TEST(Expansions, SpecialValuesAreThoseOfAnnexF) {
  for (const Special& s : kSpecials) {
    SCOPED_TRACE(std::string(program::info(s.op).name));
    check_special<float>(s);
    check_special<double>(s);
  }
}

// Products half-way between two floats plus very little, and denormal results: where rounding twice
// goes wrong.
TEST(Targets, FusedMultiplyAddRoundsOnce) {
  std::vector<float> a, b, c;
  for (int i = 0; i < 4096; ++i) {
    const float sign = i % 2 == 0 ? 1.f : -1.f;
    const int shift = i % 3 == 2 ? -160 : 0;  // the result is denormal
    a.push_back(std::ldexp(4097.f + 2 * static_cast<float>(i % 61), shift / 2));
    b.push_back(std::ldexp(4097.f + 2 * static_cast<float>(i % 127), shift / 2));
    c.push_back(i % 5 == 0 ? 0 : std::ldexp(sign, shift / 8 - i % 128));
  }
  for (const interp::Target& target : interp::supported_targets()) {
    std::vector<float> out(a.size());
    const interp::Operand in[3] = {{reinterpret_cast<const std::byte*>(a.data()), 64},
                                   {reinterpret_cast<const std::byte*>(b.data()), 64},
                                   {reinterpret_cast<const std::byte*>(c.data()), 64}};
    interp::kernel_table(target).at(Op::Fma, DType::F32)(reinterpret_cast<std::byte*>(out.data()),
                                                         in, a.size() / interp::kGroup);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(same(out[i], std::fma(a[i], b[i], c[i])))
          << target.name << ": " << a[i] << " * " << b[i] << " + " << c[i];
  }
}

TEST(Expansions, OtherInstructionsAndTypesAreRefused) {
  EXPECT_FALSE(program::evaluate_function(Op::Add, DType::F32, 0, 0));
  EXPECT_FALSE(program::evaluate_function(Op::Exp, DType::I32, 0, 0));
}

TEST(Targets, AreFoundByName) {
  ASSERT_FALSE(interp::supported_targets().empty());
  for (const interp::Target& t : interp::supported_targets()) {
    ASSERT_TRUE(interp::find_target(t.name));
    EXPECT_EQ(interp::find_target(t.name)->hwy, t.hwy);
  }
  EXPECT_FALSE(interp::find_target("mmx"));
}

}  // namespace
}  // namespace hologram::test
