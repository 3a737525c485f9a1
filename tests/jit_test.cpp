// Compiled programs compute what interpreted ones do, bit for bit, and touch nothing else:
// examples, the library, every operation on special values, every conversion, reductions of
// workgroups, and small programs made for the ways of the compiler.
#include "jit_programs.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hologram/ops.hpp"
#include "hologram/program_library.hpp"
#include "jit_launch.hpp"
#include "jit_operations.hpp"
#include "share.hpp"

namespace hologram::jit {
namespace {

constexpr int64_t kLengths[] = {1, 7, 16, 17, 255, 256, 1000};

Sizes sizes_of(int64_t n, int64_t h = 3, int64_t d = 2) {
  return {.dims = {{"n", n}, {"h", h}, {"d", d}, {"m", 2 * n + 5}, {"z", 0}},
          .scalars = {{"n", n}, {"h", h}, {"far", 2147483640}},
          .flat = n};
}

// Scalars of dimensions come from shapes.
Sizes for_program(const Program& program, Sizes sizes) {
  for (const program::ScalarParam& s : program.scalars())
    if (s.dimension) sizes.scalars.erase(s.name);
  return sizes;
}

void expect_same(const Program& program, const Sizes& sizes, const std::string& what) {
  for (const Both& both : instruction_sets())
    EXPECT_EQ(difference(program, for_program(program, sizes), both), "")
        << what << "\n"
        << program.optimized_text();
}

void expect_taken(const Program& program, const std::string& what) {
  for (const Both& both : instruction_sets())
    EXPECT_EQ(refusal(program, both.target), "") << what << " " << both.target.name;
}

class Jit : public testing::Test {
  void SetUp() override {
    if (instruction_sets().empty()) GTEST_SKIP() << "no instruction set here has a compiler";
  }
};

TEST_F(Jit, SmallPrograms) {
  for (const Text& t : kTexts) {
    const Program program = Program::parse(t.text, t.name);
    const std::string name(t.name);
    expect_taken(program, name);
    for (const int64_t n : kLengths) expect_same(program, sizes_of(n), name);
    expect_same(program, sizes_of(40, 1, 1), name);
    expect_same(program, sizes_of(33, 9, 5), name);
    if (HasFailure()) break;
  }
}

void expect_way(const Text& t, bool scalarized) {
  const Program program = Program::parse(t.text, t.name);
  const std::string name(t.name);
  for (const Both& both : instruction_sets()) {
    const auto result =
        compile(program.optimized(), interp::kernel_table(both.target), isa_of(both.target.name));
    ASSERT_EQ(result.index(), 0u) << name << ": " << std::get<std::string>(result);
    EXPECT_EQ(std::get<0>(result)->lanes() == Lanes::Scalarized, scalarized) << name;
  }
  for (const int64_t n : kLengths) expect_same(program, sizes_of(n), name);
  expect_same(program, sizes_of(300, 9), name);
}

TEST_F(Jit, LanesOneByOne) {
  for (const Text& t : kScalarLanes) expect_way(t, true);
}

TEST_F(Jit, LanesThatPartSideBySide) {
  for (const Text& t : kParting) expect_way(t, false);
}

TEST_F(Jit, Library) {
  size_t taken = 0;
  for (const std::string_view name : program::library_names()) {
    const Program program = program::library(name);
    taken += refusal(program, instruction_sets().front().target).empty();
    for (const int64_t n : {1, 17, 256, 1000}) {
      Sizes sizes = sizes_of(n);
      sizes.scalars = {{"low", 1}, {"high", 3}, {"value", 1}};
      for (const program::ScalarParam& s : program.scalars())
        if (s.type == DType::Bool) sizes.scalars.at(s.name) = true;
      expect_same(program, sizes, std::string(name));
    }
    if (HasFailure()) break;
  }
  EXPECT_EQ(taken, program::library_names().size());
}

TEST_F(Jit, Examples) {
  for (const auto& file : std::filesystem::directory_iterator(HOLOGRAM_EXAMPLES "/atlas")) {
    std::ifstream stream(file.path());
    std::ostringstream text;
    text << stream.rdbuf();
    const Program program = Program::parse(text.str(), file.path().filename().string());
    Sizes sizes = sizes_of(300);
    sizes.dims = {{"w", 37}, {"h", 23}, {"c", 3},     {"n", 300},
                  {"m", 33}, {"k", 35}, {"bins", 64}, {"groups", 4}};
    sizes.scalars = {{"rounds", 40}, {"samples", 1}, {"radius", 2}};
    expect_same(program, sizes, file.path().filename().string());
  }
}

// ---- Every operation on special values ----------------------------------------------------------

constexpr DType kComputes[] = {DType::Bool, DType::I32, DType::U32, DType::I64,
                               DType::U64,  DType::F32, DType::F64};

// Where the operands come from: from each lane, from all lanes together, from the lane's number.
struct Source {
  std::string_view a, b, c;
  bool integers_only = false;
};
constexpr Source kSources[] = {{"x[i]", "y[i]", "w[i]"}, {"x[i]", "y[1]", "w[2]"},
                               {"x[3]", "y[i]", "w[i]"}, {"x[4]", "y[5]", "w[6]"},
                               {"x[i]", "x[i]", "x[i]"}, {"TYPE(i)", "TYPE(i * 3)", "x[i]", true}};

// Of lanes side by side, and one by one.
constexpr std::string_view kGuarded[] = {"if i < n { z[i] = VALUE } }",
                                         "if i >= n { return }\n  z[i] = VALUE }"};

// The type of an expression: what the store of it takes.
std::optional<Program> operation(std::string_view expression, const Source& source, DType type,
                                 std::string_view guarded) {
  const std::string name(name_of(type));
  const auto filled = [&](std::string_view text) {
    std::string out(text);
    for (size_t at; (at = out.find("TYPE")) != std::string::npos;) out.replace(at, 4, name);
    return out;
  };
  for (const DType result : kComputes) {
    std::string text = fmt::format(
        "program p(in x: {0}[n], in y: {0}[n], in w: {0}[n], out z: {1}[n]) lanes(n) {{\n"
        "  i = global_id.x\n  a = {2}; b = {3}; c = {4}\n  {5}",
        name, name_of(result), filled(source.a), filled(source.b), filled(source.c), guarded);
    text.replace(text.find("VALUE"), 5, expression);
    try {
      return Program::parse(text);
    } catch (const Error&) {
    }
  }
  return {};
}

TEST_F(Jit, OperationsOnSpecialValues) {
  size_t count = 0;
  tests::Share share;
  for (const std::string_view expression : kOperations)
    for (const DType type : kComputes)
      for (const Source& source : kSources)
        for (const std::string_view guarded : kGuarded) {
          if ((source.integers_only && !is_integer(type)) || !share.next()) continue;
          const auto program = operation(expression, source, type, guarded);
          if (!program) continue;
          count++;
          const std::string what = fmt::format("{} on {}", expression, name_of(type));
          expect_taken(*program, what);
          for (uint64_t seed = 1; seed <= 3; seed++) {
            Sizes sizes = sizes_of(531);
            sizes.seed = seed;
            expect_same(*program, sizes, what);
          }
          ASSERT_FALSE(HasFailure());
        }
  if (share.all()) {
    EXPECT_GT(count, 2000u);
  }
}

// Of one NaN and a number: whatever the limit is, and however it is known.
TEST_F(Jit, ExtremesByOneNumberKeepTheSignOfNan) {
  for (const Both& both : instruction_sets())
    for (const Executor& executor : {both.interpreted, both.compiled})
      for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64})
        for (const double limit : {-0.0, 0.0, 1.0, -HUGE_VAL}) {
          const Tensor nan = ops::full({700}, NAN, dtype, executor);
          const Tensor odd = ops::arange(0, 700, 1, DType::I64, executor) % 2 == 1;
          const Tensor x = ops::where(odd, -nan, nan).eval(),
                       all = ops::full({}, limit, dtype, executor).eval();
          for (const Tensor& y : {ops::minimum(x, limit), ops::maximum(x, limit),
                                  ops::minimum(all, x), ops::maximum(x, all)})
            EXPECT_TRUE(ops::all(ops::signbit(y) == ops::signbit(x)).item<bool>())
                << both.target.name << ' ' << name_of(dtype) << " by " << limit;
        }
}

// ---- Quotients by a number that is the same in all lanes ----------------------------------------

constexpr int64_t kLeast = int64_t{1} << 23,
                  kMost = int64_t{1} << 24;  // of significands, as wholes

// n / 2^power modulo an odd number.
int64_t halved(int64_t n, int power, int64_t modulus) {
  for (; power > 0; power--) n = (n % 2 == 0 ? n : n + modulus) / 2;
  return n % modulus;
}

// Significands whose quotients by this one lie as near as can be to the middle between two floats,
// some of its neighbours, and some others.
std::vector<int64_t> hard_dividends(int64_t by, oracle::Choices& choices) {
  std::vector<int64_t> found;
  const auto add = [&](int64_t a) {
    if (a >= kLeast && a < kMost) found.push_back(a);
  };
  for (int64_t off = 1; off <= 9; off++)
    for (const int power : {24, 25}) {
      const int64_t a = halved(off, power, by);
      for (const int64_t near : {a, by - a}) add(near), add(near + by);
    }
  for (int64_t k = -3; k <= 3; k++) add(by + k), add(kMost - 4 + k), add(kLeast + 3 + k);
  for (int k = 0; k < 9; k++) add(kLeast + int64_t{choices.below(kLeast)});
  return found;
}

Array of(const std::vector<float>& list) {
  return Array::borrow(DType::F32, {static_cast<int64_t>(list.size())}, list.data());
}

TEST_F(Jit, Quotients) {
  const Program by_one = Program::parse(
      "program p(in x: f32[n], in by: f32[m], out y: f32[n]) lanes(n) {\n"
      "  i = global_id.x; b = by[0]\n  if i < n { y[i] = x[i] / b } }");
  const Program by_each = Program::parse(
      "program p(in x: f32[n], in by: f32[n], out y: f32[n]) lanes(n) {\n"
      "  i = global_id.x\n  if i < n { y[i] = x[i] / by[i] } }");
  oracle::Choices choices(1);
  const auto expect = [&](const Program& program, const std::vector<float>& x,
                          const std::vector<float>& by) {
    for (const Both& both : instruction_sets()) {
      const auto results = both.compiled.run(program, {{"x", of(x)}, {"by", of(by)}});
      const auto y = results.at("y").as<float>();
      for (size_t i = 0; i < x.size(); i++) {
        const float divisor = by.size() == 1 ? by[0] : by[i];
        ASSERT_TRUE(oracle::same(DType::F32, std::bit_cast<uint32_t>(x[i] / divisor),
                                 std::bit_cast<uint32_t>(y[i])))
            << fmt::format("{}: {:a} / {:a} gives {:a}", both.target.name, x[i], divisor, y[i]);
      }
    }
  };
  // Vectors of many others, too, of which one at a time is divided by another number.
  const auto expect_quotients = [&](const std::vector<float>& x, float by) {
    ASSERT_NO_FATAL_FAILURE(expect(by_one, x, {by}));
    ASSERT_NO_FATAL_FAILURE(expect(by_each, x, std::vector<float>(x.size(), by)));
    std::vector<float> many(512, 3.0f), divisors(512, 0.7f);
    for (size_t i = 0; i < x.size(); i++) {
      const size_t at = (i * 67 + i / 8) % many.size();
      many[at] = x[i];
      if (i % 3 != 0) divisors[at] = by;
    }
    ASSERT_NO_FATAL_FAILURE(expect(by_each, many, divisors));
  };
  // Exponents that the shorter way takes, and some at and beyond its ends.
  constexpr int kExponents[] = {-149, -126, -119, -110, -101, -100, -99,
                                -1,   0,    1,    99,   100,  101,  127};
  for (int round = 0; round < 400; round++) {
    const int64_t by =
        round < 50 ? kMost - 1 - 2 * round : kLeast + 1 + 2 * int64_t{choices.below(kLeast / 2)};
    std::vector<float> x;
    for (const int64_t a : hard_dividends(by, choices))
      x.push_back(static_cast<float>(a) * (a % 3 == 0 ? -0x1p-23f : 0x1p-23f));
    x.push_back(0);
    const int power = round % 50 - 25;
    ASSERT_NO_FATAL_FAILURE(
        expect_quotients(x, std::ldexp(static_cast<float>(round % 7 == 0 ? -by : by), power - 23)));
    for (float& v : x)
      v = std::ldexp(v, kExponents[static_cast<size_t>(round) % std::size(kExponents)]);
    ASSERT_NO_FATAL_FAILURE(expect_quotients(x, std::ldexp(static_cast<float>(by), power - 23)));
    x.push_back(-0.0f);
    ASSERT_NO_FATAL_FAILURE(expect_quotients(x, static_cast<float>(by)));
  }
  std::vector<float> specials(300);
  for (float& v : specials)
    v = std::bit_cast<float>(static_cast<uint32_t>(oracle::random_value(DType::F32, choices)));
  const std::vector<float> zeros(100, 0.0f), ordinary(100, 1.5f);
  for (const float by : specials)
    for (const std::vector<float>& x : {specials, zeros, ordinary})
      ASSERT_NO_FATAL_FAILURE(expect_quotients(x, by));
}

// Of all 2^32 floats one in some thousand, from each exponent.
std::vector<float> many_floats() {
  constexpr uint32_t kStep = 4093;
  std::vector<float> x(UINT32_MAX / kStep);
  for (uint32_t i = 0; i < x.size(); i++) x[i] = std::bit_cast<float>(i * kStep);
  return x;
}

// A vector may have one with another exponent, or 0, among its own.
TEST_F(Jit, RootsOfManyFloats) {
  const Program program = Program::parse(
      "program p(in x: f32[n], out y: f32[n], out z: f32[n]) lanes(n) {\n"
      "  i = global_id.x\n  if i < n { y[i] = sqrt(x[i]); z[i] = rsqrt(x[i]) } }");
  std::vector<float> x = many_floats();
  const auto expect_roots = [&] {
    for (const Both& both : instruction_sets()) {
      const auto made = both.compiled.run(program, {{"x", of(x)}});
      const auto y = made.at("y").as<float>(), z = made.at("z").as<float>();
      for (size_t i = 0; i < x.size(); i++) {
        const float root = std::sqrt(x[i]);
        for (const auto& [expected, has] : {std::pair(root, y[i]), std::pair(1 / root, z[i])})
          ASSERT_TRUE(oracle::same(DType::F32, std::bit_cast<uint32_t>(expected),
                                   std::bit_cast<uint32_t>(has)))
              << fmt::format("{}: of {:a}: {:a}", both.target.name, x[i], has);
      }
    }
  };
  ASSERT_NO_FATAL_FAILURE(expect_roots());
  constexpr float kOthers[] = {0.0f, -0.0f, 0x1p-101f, 0x1p-149f, INFINITY, NAN, -2.0f, 0x1p-100f};
  for (size_t i = 0, k = 0; i < x.size(); i += i % 5 == 0 ? 131 : 29, k++)
    x[i] = kOthers[k % std::size(kOthers)];
  ASSERT_NO_FATAL_FAILURE(expect_roots());
}

TEST_F(Jit, ExpOfManyFloats) {
  const Program program = Program::parse(
      "program p(in x: f32[n], out y: f32[n]) lanes(n) {\n"
      "  i = global_id.x\n  if i < n { y[i] = exp(x[i]) } }");
  const std::vector<float> x = many_floats();
  for (const Both& both : instruction_sets()) {
    const Array expected = both.interpreted.run(program, {{"x", of(x)}}).at("y");
    const Array made = both.compiled.run(program, {{"x", of(x)}}).at("y");
    for (size_t i = 0; i < x.size(); i++)
      ASSERT_TRUE(oracle::same(DType::F32, std::bit_cast<uint32_t>(expected.as<float>()[i]),
                               std::bit_cast<uint32_t>(made.as<float>()[i])))
          << fmt::format("{}: exp({:a}) gives {:a}", both.target.name, x[i], made.as<float>()[i]);
  }
}

TEST_F(Jit, ConversionsFromEveryElementToEveryOther) {
  tests::Share share;
  for (size_t from = 1; from < kDTypeCount; from++)
    for (size_t to = 1; to < kDTypeCount; to++) {
      if (!share.next()) continue;
      const auto x = static_cast<DType>(from), y = static_cast<DType>(to);
      const std::string head =
          fmt::format("program p(in x: {}[n], out y: {}[n]) lanes(n) {{\n", name_of(x), name_of(y));
      const std::string_view cast = name_of(compute_type(y));
      const std::string value =
          compute_type(x) == compute_type(y) ? std::string("x[K]") : fmt::format("{}(x[K])", cast);
      for (const std::string_view index : {"i", "n - 1 - i", "i ^ 3", "2"}) {
        std::string loaded = value;
        loaded.replace(loaded.find('K'), 1, index);
        for (const std::string_view store :
             {"if i < n { y[i] = VALUE } }", "y[i] = VALUE }", "y[i ^ 1] = VALUE }",
              "if i % 3 == 1 { y[i] = VALUE } }", "if i % 3 == 1 { return }\n  y[i] = VALUE }"}) {
          std::string text = head + "  i = global_id.x\n  " + std::string(store);
          text.replace(text.find("VALUE"), 5, loaded);
          const Program program = Program::parse(text);
          expect_taken(program, text);
          expect_same(program, sizes_of(71), text);
        }
      }
      ASSERT_FALSE(HasFailure());
    }
}

// Larger than caches: whole vectors go to memory by themselves, where they are aligned.
TEST_F(Jit, ResultsOfMoreThanCachesHold) {
  constexpr size_t kBytes = 40 << 20;
  for (const DType type : {DType::F32, DType::I64, DType::F16})
    for (const size_t offset : {size_t{0}, size_t{8}}) {
      const auto n = static_cast<int64_t>(kBytes / size_of(type)) - 5;
      const Program program =
          Program::parse(fmt::format("program p(in x: {0}[n], out y: {0}[n]) lanes(n) {{ "
                                     "y[global_id.x] = x[global_id.x] * x[0] }}",
                                     name_of(type)));
      std::vector<uint64_t> x(kBytes / 8), expected(kBytes / 8 + 2, 7), made(expected);
      for (size_t i = 0; i < x.size(); i++) x[i] = i * 0x9e3779b97f4a7c15u >> 3;
      const auto run = [&](const Executor& executor, std::vector<uint64_t>& y) {
        auto* const to = reinterpret_cast<std::byte*>(y.data()) + offset;
        executor.run(program, {{"x", Array::borrow(type, {n}, x.data())},
                               {"y", Array::borrow(type, {n}, static_cast<void*>(to))}});
      };
      for (const Both& both : instruction_sets()) {
        run(both.interpreted, expected);
        run(both.compiled, made);
        EXPECT_EQ(expected, made) << both.target.name << " " << name_of(type) << " " << offset;
      }
    }
}

// Rows that begin anywhere in a line: their elements before the first whole vector come first.
TEST_F(Jit, RowsOfMoreThanCachesHold) {
  tests::Share share;
  constexpr int64_t kElements = 10 << 20;
  for (const int64_t lanes : {64, 128, 256})
    for (const int64_t n : {9, 250, 1001, 1024}) {
      if (!share.next()) continue;
      const Program program = Program::parse(
          fmt::format("program p(in x: f32[all], in w: f32[n], out y: f32[all]) workgroup({0}) "
                      "lanes(all / n * {0}) {{\n"
                      "  row = group_id.x * n\n  var sum = 0.0\n"
                      "  for k in 0..n step {0} {{\n    at = k + lane_id.x\n"
                      "    if at < n {{ sum += x[row + at] }} }}\n"
                      "  mean = group_reduce_add(sum) / f32(n)\n"
                      "  for k in 0..n step {0} {{\n    at = k + lane_id.x\n"
                      "    if at < n {{ y[row + at] = (x[row + at] - mean) * w[at] }} }} }}",
                      lanes));
      const int64_t all = kElements / n * n;
      const auto size = static_cast<size_t>(all);
      std::vector<float> x(size), w(static_cast<size_t>(n)), expected(size + 4, 7), made(expected);
      for (size_t i = 0; i < size; i++) x[i] = static_cast<float>(i * 0x9e3779b9u >> 8);
      for (size_t i = 0; i < w.size(); i++) w[i] = static_cast<float>(i) + 0.5f;
      const auto run = [&](const Executor& executor, std::vector<float>& y) {
        executor.run(program, {{"x", Array::borrow(DType::F32, {all}, x.data())},
                               {"w", Array::borrow(DType::F32, {n}, w.data())},
                               {"y", Array::borrow(DType::F32, {all}, y.data() + 1)}});
      };
      for (const Both& both : instruction_sets()) {
        run(both.interpreted, expected);
        run(both.compiled, made);
        EXPECT_TRUE(expected == made) << both.target.name << " " << lanes << " " << n;
      }
    }
}

TEST_F(Jit, ReductionsOfWorkgroups) {
  tests::Share share;
  for (const std::string_view combine : {"add", "mul", "min", "max", "and", "or", "xor"})
    for (const DType type : kComputes) {
      if (type == DType::Bool) continue;
      if (is_float(type) && (combine == "and" || combine == "or" || combine == "xor")) continue;
      for (int64_t lanes = 16; lanes <= 1024; lanes *= 2) {
        if (!share.next()) continue;
        const std::string text = fmt::format(
            "program p(in x: {0}[n], out y: {0}[n]) workgroup({1}) lanes(n) {{\n"
            "  i = global_id.x\n  r = group_reduce_{2}(x[i])\n  y[i] = x[i] - r }}",
            name_of(type), lanes, combine);
        const Program program = Program::parse(text);
        // Of 64-bit integers AVX2 has sums only.
        const bool sums = combine != "mul" && combine != "min" && combine != "max";
        if (sums || is_float(type) || size_of(type) == 4) expect_taken(program, text);
        for (const int64_t n : {3, 1000, 2048}) expect_same(program, sizes_of(n), text);
        ASSERT_FALSE(HasFailure());
      }
    }
}

}  // namespace
}  // namespace hologram::jit
