// Every program of the library runs, and computes what a plain loop in wider types does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "core/half.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/program_library.hpp"

namespace hologram::program {
namespace {

using Real = long double;
using Whole = __int128;

// a * b + c, whose low bits are right also where a product of u64 does not fit.
Whole multiplied(Whole a, Whole b, Whole c) {
  using Bits = unsigned __int128;
  return static_cast<Whole>(static_cast<Bits>(a) * static_cast<Bits>(b) + static_cast<Bits>(c));
}

constexpr size_t kCount = 1003;
constexpr int kLow = 1, kHigh = 3, kValue = 1;  // what clamp and fill are given

// Of floats: the result, how many units of the last place it may differ, and whether those are the
// first operand's, where it is the larger.
struct FloatOracle {
  Real (*result)(Real a, Real b, Real c);
  double ulps = 0.51;
  bool of_operand = false;
};

Real nan_or(Real a, Real b, Real value) { return std::isnan(a) || std::isnan(b) ? NAN : value; }

// clang-format off
#define ORACLE(expression) []([[maybe_unused]] Real a, [[maybe_unused]] Real b, [[maybe_unused]] Real c) -> Real { return expression; }
const std::map<std::string, FloatOracle> kFloatOracles = {
    {"add", {ORACLE(a + b)}},           {"sub", {ORACLE(a - b)}},
    {"mul", {ORACLE(a * b)}},           {"div", {ORACLE(a / b)}},
    {"mad", {ORACLE(std::fma(a, b, c))}}, {"fma", {ORACLE(std::fma(a, b, c))}},
    {"min", {ORACLE(nan_or(a, b, std::min(a, b)))}},
    {"max", {ORACLE(nan_or(a, b, std::max(a, b)))}},
    {"clamp", {ORACLE(nan_or(a, a, a < kLow ? kLow : a > kHigh ? kHigh : a))}},
    {"pow", {ORACLE(std::pow(a, b)), 4}}, {"atan2", {ORACLE(std::atan2(a, b)), 4}},
    {"neg", {ORACLE(-a)}},              {"abs", {ORACLE(std::abs(a))}},
    {"sign", {ORACLE(nan_or(a, a, a > 0 ? 1 : a < 0 ? -1 : 0))}},
    {"sqrt", {ORACLE(std::sqrt(a))}},   {"rsqrt", {ORACLE(1 / std::sqrt(a)), 2}},
    {"reciprocal", {ORACLE(1 / a)}},
    {"exp", {ORACLE(std::exp(a)), 4}},  {"exp2", {ORACLE(std::exp2(a)), 4}},
    {"expm1", {ORACLE(std::expm1(a)), 4}}, {"log", {ORACLE(std::log(a)), 4}},
    {"log2", {ORACLE(std::log2(a)), 4}}, {"log10", {ORACLE(std::log10(a)), 4}},
    {"log1p", {ORACLE(std::log1p(a)), 4}}, {"sin", {ORACLE(std::sin(a)), 4}},
    {"cos", {ORACLE(std::cos(a)), 4}},  {"tan", {ORACLE(std::tan(a)), 4}},
    {"asin", {ORACLE(std::asin(a)), 4}}, {"acos", {ORACLE(std::acos(a)), 4}},
    {"atan", {ORACLE(std::atan(a)), 4}}, {"sinh", {ORACLE(std::sinh(a)), 4}},
    {"cosh", {ORACLE(std::cosh(a)), 4}}, {"tanh", {ORACLE(std::tanh(a)), 4}},
    {"sigmoid", {ORACLE(1 / (1 + std::exp(-a))), 4}}, {"erf", {ORACLE(std::erf(a)), 4}},
    {"relu", {ORACLE(nan_or(a, a, a > 0 ? a : 0))}},
    {"silu", {ORACLE(a / (1 + std::exp(-a))), 6}},
    {"gelu", {ORACLE(a / 2 * (1 + std::erf(a * std::sqrt(0.5L)))), 6, true}},
    {"floor", {ORACLE(std::floor(a))},}, {"ceil", {ORACLE(std::ceil(a))}},
    {"trunc", {ORACLE(std::trunc(a))}}, {"round", {ORACLE(std::nearbyint(a))}},
    {"eq", {ORACLE(a == b)}}, {"ne", {ORACLE(a != b)}}, {"lt", {ORACLE(a < b)}},
    {"le", {ORACLE(a <= b)}}, {"gt", {ORACLE(a > b)}}, {"ge", {ORACLE(a >= b)}},
    {"memcpy", {ORACLE(a)}},  {"fill", {ORACLE(kValue)}},
};
#undef ORACLE
#define ORACLE(expression) []([[maybe_unused]] Whole a, [[maybe_unused]] Whole b, [[maybe_unused]] Whole c) -> Whole { return expression; }
const std::map<std::string, Whole (*)(Whole a, Whole b, Whole c)> kWholeOracles = {
    {"add", ORACLE(a + b)}, {"sub", ORACLE(a - b)}, {"mul", ORACLE(multiplied(a, b, 0))},
    {"div", ORACLE(b == 0 ? 0 : a / b)}, {"rem", ORACLE(b == 0 ? 0 : a % b)},
    {"mad", ORACLE(multiplied(a, b, c))}, {"fma", ORACLE(multiplied(a, b, c))},
    {"min", ORACLE(a < b ? a : b)}, {"max", ORACLE(a > b ? a : b)},
    {"clamp", ORACLE(a < kLow ? kLow : a > kHigh ? kHigh : a)},
    {"neg", ORACLE(-a)}, {"abs", ORACLE(a < 0 ? -a : a)},
    {"sign", ORACLE(a > 0 ? 1 : a < 0 ? -1 : 0)}, {"relu", ORACLE(a > 0 ? a : 0)},
    {"and", ORACLE(a & b)}, {"or", ORACLE(a | b)}, {"xor", ORACLE(a ^ b)}, {"not", ORACLE(~a)},
    {"eq", ORACLE(a == b)}, {"ne", ORACLE(a != b)}, {"lt", ORACLE(a < b)},
    {"le", ORACLE(a <= b)}, {"gt", ORACLE(a > b)}, {"ge", ORACLE(a >= b)},
    {"memcpy", ORACLE(a)}, {"fill", ORACLE(kValue)},
};
#undef ORACLE
// clang-format on

template <class T>
T at(const Array& array, size_t i) {
  T value;
  std::memcpy(&value, array.data() + i * sizeof(T), sizeof(T));
  return value;
}

Real real_at(const Array& array, size_t i) {
  switch (array.dtype()) {
    case DType::F16: return core::f16_to_f32(at<uint16_t>(array, i));
    case DType::BF16: return core::bf16_to_f32(at<uint16_t>(array, i));
    case DType::F32: return at<float>(array, i);
    case DType::Bool: return at<uint8_t>(array, i);
    default: return at<double>(array, i);
  }
}

// The integer with these low bits.
Whole wrapped(Whole value, DType type) {
  if (type == DType::Bool) return value & 1;
  const auto width = static_cast<int>(8 * size_of(type));
  const Whole low = value & ((Whole{1} << width) - 1);
  return is_signed_integer(type) && low >> (width - 1) ? low - (Whole{1} << width) : low;
}

Whole whole_at(const Array& array, size_t i) {
  uint64_t bits = 0;
  const size_t size = size_of(array.dtype());
  std::memcpy(&bits, array.data() + i * size, size);
  return wrapped(static_cast<Whole>(bits), array.dtype());
}

// Numbers of ordinary size, and now and then what is special.
Array operand(DType type, uint64_t seed) {
  std::mt19937_64 random(seed);
  Array array(type, {kCount});
  std::byte* to = array.mutable_data();
  const size_t size = size_of(type);
  for (size_t i = 0; i < kCount; i++, to += size) {
    if (is_float(type)) {
      using Limits = std::numeric_limits<double>;
      constexpr double kSpecial[] = {
          0,    -0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), 1, -1, 300,
          -300, 0.5};
      const double value = i % 4 == 0 ? kSpecial[random() % std::size(kSpecial)]
                                      : std::uniform_real_distribution<double>(-4, 4)(random);
      const auto narrow = static_cast<float>(value);
      const uint16_t half =
          type == DType::F16 ? core::f32_to_f16(narrow) : core::f32_to_bf16(narrow);
      if (type == DType::F64) std::memcpy(to, &value, size);
      else if (type == DType::F32) std::memcpy(to, &narrow, size);
      else std::memcpy(to, &half, size);
    } else {
      uint64_t value = random();
      if (type == DType::Bool) value &= 1;
      else if (i % 2 == 0) value = static_cast<uint64_t>(static_cast<int64_t>(value % 9) - 4);
      std::memcpy(to, &value, size);
    }
  }
  return array;
}

// A unit of the last place of a number of this size.
Real ulp(Real value, DType type) {
  struct Form {
    int digits, least;
  };
  const Form form = type == DType::F64    ? Form{53, -1022}
                    : type == DType::F32  ? Form{24, -126}
                    : type == DType::BF16 ? Form{8, -126}
                                          : Form{11, -14};
  const int exponent = value == 0 ? form.least : std::max(form.least, std::ilogb(value));
  return std::ldexp(Real{1}, exponent - form.digits + 1);
}

Real largest(DType type) {
  return type == DType::F64    ? std::numeric_limits<double>::max()
         : type == DType::F16  ? 65504
         : type == DType::BF16 ? std::ldexp(255.0L, 120)
                               : std::numeric_limits<float>::max();
}

void check_float(const FloatOracle& oracle, DType type, const Array& y, size_t i,
                 const std::array<Real, 3>& x) {
  const Real want = oracle.result(x[0], x[1], x[2]), got = real_at(y, i);
  if (y.dtype() == DType::Bool || std::isnan(want) || std::isinf(want)) {
    ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
        << i << ": " << got << ", not " << want << ", of " << x[0] << ", " << x[1];
    return;
  }
  const bool narrow = type == DType::F16 || type == DType::BF16;
  const Real allowed = narrow ? 1.01 : oracle.ulps;
  const Real size = oracle.of_operand ? std::max(std::abs(want), std::abs(x[0])) : std::abs(want);
  if (std::isinf(got) && size > largest(type)) return;  // rounds to infinity
  ASSERT_LE(std::abs(got - want), allowed * ulp(size, type))
      << i << ": " << got << ", not " << want << ", of " << x[0] << ", " << x[1];
}

void check(const Executor& executor, std::string_view name) {
  SCOPED_TRACE(name);
  const size_t cut = name.rfind('_');
  const std::string operation(name.substr(6, cut - 6));
  const DType type = parse_dtype(name.substr(cut + 1)).value();
  const Program program = library(name);
  EXPECT_EQ(program.name(), name);

  std::vector<Argument> arguments;
  std::vector<Array> inputs;
  for (const BufferParam& buffer : program.buffers()) {
    if (buffer.access != Access::In) continue;
    inputs.push_back(operand(type, 7 * inputs.size() + 1));
    arguments.push_back({buffer.name, inputs.back()});
  }
  for (const ScalarParam& scalar : program.scalars()) {
    if (scalar.dimension) continue;
    const int value = scalar.name == "low" ? kLow : scalar.name == "high" ? kHigh : kValue;
    arguments.push_back({scalar.name, Number(value)});
  }
  if (inputs.empty()) arguments.push_back({"y", Array(type, {kCount})});
  const Array y = executor.run(program, arguments).at("y");
  ASSERT_EQ(y.shape(), Shape{kCount});

  const auto reals = kFloatOracles.find(operation);
  const auto wholes = kWholeOracles.find(operation);
  ASSERT_TRUE(is_float(type) ? reals != kFloatOracles.end() : wholes != kWholeOracles.end())
      << "the test has no plain loop for this operation";
  for (size_t i = 0; i < kCount && !testing::Test::HasFatalFailure(); i++) {
    if (is_float(type)) {
      std::array<Real, 3> x = {};
      for (size_t k = 0; k < inputs.size(); k++) x[k] = real_at(inputs[k], i);
      check_float(reals->second, type, y, i, x);
    } else {
      std::array<Whole, 3> x = {};
      for (size_t k = 0; k < inputs.size(); k++) x[k] = whole_at(inputs[k], i);
      const Whole want = wrapped(wholes->second(x[0], x[1], x[2]), y.dtype());
      ASSERT_TRUE(whole_at(y, i) == want)
          << i << ": " << static_cast<int64_t>(whole_at(y, i)) << ", not "
          << static_cast<int64_t>(want) << ", of " << static_cast<int64_t>(x[0]) << ", "
          << static_cast<int64_t>(x[1]);
    }
  }
}

TEST(ProgramLibrary, EveryProgramComputesWhatAPlainLoopDoes) {
  const Executor executor(BackendType::Cpu);
  for (const std::string_view name : library_names()) {
    check(executor, name);
    if (HasFatalFailure()) return;
  }
}

TEST(ProgramLibrary, HasTheNamesOfTheFirstHologram) {
  const std::set<std::string_view> names(library_names().begin(), library_names().end());
  EXPECT_EQ(names.size(), library_names().size());
  for (const char* operation :
       {"add", "sub",     "mul",  "div",   "min",  "max",   "pow",    "neg",
        "abs", "sqrt",    "exp",  "log",   "sin",  "cos",   "tan",    "tanh",
        "mad", "sigmoid", "relu", "floor", "ceil", "round", "memcpy", "fill"})
    for (const char* type : {"f32", "f64"})
      EXPECT_TRUE(names.contains(std::string("atlas_") + operation + "_" + type)) << operation;
  for (const char* name : {"atlas_add_i32", "atlas_div_i64", "atlas_memcpy_bool", "atlas_neg_i8"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("atlas_exp_i32"));
}

TEST(ProgramLibrary, ParsesAProgramOnce) {
  EXPECT_EQ(&library("atlas_add_f32").source(), &library("atlas_add_f32").source());
}

TEST(ProgramLibrary, SuggestsANameForOneThatIsNotThere) {
  try {
    (void)library("atlas_ad_f32");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument);
    EXPECT_STREQ(error.what(), "there is no program 'atlas_ad_f32' in the library");
    EXPECT_NE(error.remedy().find("Did you mean atlas_add_f32?"), std::string::npos);
  }
  EXPECT_THROW((void)library(""), Error);
}

}  // namespace
}  // namespace hologram::program
