// hologram::bisect: of mistakes that are put into what is printed for CUDA, and into a driver, each
// is found and named. The emulated driver executes what it is given, one mistake a test.
#include <cmath>
#include <fstream>

#include "bisection/mirror.hpp"
#include "driver_fixture.hpp"
#include "erring_device.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

// Nearly every kind of instruction, each of which shows in the result.
constexpr const char* kProgram = R"(
program probe(in a: f32[n], in b: f32[n], out d: f32[n], out e: i32[n], scale: f32 = 1.5)
    workgroup(64) lanes(n) {
  i = global_id.x
  x = a[i]
  y = b[i]
  var s = fma(x, y, scale)
  s = s + x * y
  s = s - x / y
  s = s + sqrt(abs(x))
  s = max(s, min(x, y))
  s = s + floor(x)
  var k = i32(x)
  k = k / 3 + k % 7
  k = (k << 2) ^ (k >> 1)
  k = k + mulhi(k, 123456789)
  for j in 0..3 { s = s + f32(j) * x }
  s = select(x < y, s, -s)
  g = group_reduce_add(s)
  u = clz(k) + popcount(k)
  if i < n {
    d[i] = s + g
    e[i] = k + u
  }
}
)";
constexpr int64_t kCount = 128;

std::vector<Argument> arguments() {
  std::vector<float> a(kCount), b(kCount);
  for (int64_t i = 0; i < kCount; i++) {
    a[static_cast<size_t>(i)] = static_cast<float>(i - 60) * 1.7f;
    b[static_cast<size_t>(i)] = static_cast<float>(i % 11 - 5) * 2.3f + 0.1f;
  }
  return {{"a", Array::from(a, {kCount})}, {"b", Array::from(b, {kCount})}};
}

void run_probe(const Executor& on) { on.run(Program::parse(kProgram, "probe.atlas"), arguments()); }

// What is printed, and what stands there instead.
struct Misprint {
  const char *operation, *find, *replace;
};
constexpr Misprint kMisprints[] = {
    {"fma", "fmaf(", "-fmaf("},
    {"mul", " * v", " * 1.5f * v"},
    {"add", " + v", " + 1.0f + v"},
    {"sub", " - v", " + v"},
    {"div", " / v", " * v"},
    {"sqrt", "= sqrtf(", "= 0.5f + sqrtf("},
    {"abs", "= fabsf(", "= -fabsf("},
    {"min", "min_f32(f32 a, f32 b) {\n  return a < b ? a",
     "min_f32(f32 a, f32 b) {\n  return a < b ? b"},
    {"max", "max_f32(f32 a, f32 b) {\n  return a < b ? b",
     "max_f32(f32 a, f32 b) {\n  return a < b ? a"},
    {"floor", "return floorf(x)", "return floorf(x + 0.5f)"},
    {"cast", "? (i32)x :", "? (i32)(x + 0.5f) :"},
    {"div", ": a / b;", ": a / b - (a < 0);"},
    {"rem", "0 : a % b", "0 : (a % b + b) % b"},
    {"shl", " << (", " << (1 + "},
    {"shr", " >> (", " >> (1 + "},
    {"xor", " ^ v", " | v"},
    {"mulhi", "a * b >> 32", "a * b >> 31"},
    {"popcount", "__popc(x)", "__popc(x >> 1)"},
    {"clz", "__clz((i32)x)", "__clz((i32)x) + 1"},
    {"cast", "= (f32)v", "= 0.5f + (f32)v"},
    {"neg", " = -v", " = v"},
    {"group_reduce", "column[k] = a + b", "column[k] = a - b"},
    {"scalar", ", scale_s1,", ", scale_s1 + 1.0f,"},
    {"global_id", "(u32)group_x * 64u", "(u32)group_x * 63u"},
    {"load", " < (u32)a_n0 ?", " < (u32)a_n0 - 1 ?"},
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const Misprint& m, std::ostream* out) { *out << m.operation; }

class Bisect : public DriverTest {
 public:
  Bisect() : DriverTest(kCuda) {
    setenv("HOLOGRAM_CUBLASLT_LIBRARY", "none", 1);
    setenv("HOLOGRAM_CUDNN_LIBRARY", "none", 1);
    driver_.execute(&how_);
  }
  ~Bisect() override { unsetenv("FAKE_CUDA_MISPRINT"); }

 protected:
  static BackendConfig cuda() {
    BackendConfig config;
    config.backend_type = BackendType::Cuda;
    return config;
  }
  std::string prefix() const { return (folder_ / "found").string(); }

  fake::Execution how_;
};

class Misprints : public Bisect, public testing::WithParamInterface<Misprint> {};

TEST_P(Misprints, AreFoundAndNamed) {
  const Misprint& misprint = GetParam();
  setenv("FAKE_CUDA_MISPRINT", (std::string(misprint.find) + "=>" + misprint.replace).c_str(), 1);
  fs::create_directories(folder_);
  const auto found = bisect(cuda(), run_probe, {.prefix = prefix()});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, misprint.operation) << found->text();
  EXPECT_NE(found->expected, found->got) << found->text();
  EXPECT_GT(found->line, 0);
  EXPECT_FALSE(found->source.empty());
  // What was written shows the same by itself.
  ASSERT_FALSE(found->file.empty());
  std::ifstream file(found->file);
  const Program again = Program::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  std::vector<Argument> inputs;
  RunOptions options;
  for (const program::BufferParam& p : again.buffers()) {
    if (p.access == program::Access::Out)
      options.shapes[p.name] = {again.name() == "probe" ? kCount : 1};
    else inputs.push_back({p.name, files::read(found->inputs, {.member = p.name})});
  }
  options.grid = again.name() == "probe" ? Grid{2, 1, 1} : Grid{1, 1, 1};
  const auto twice =
      bisect(cuda(), [&](const Executor& on) { on.run(again, inputs, options); }, {.prefix = ""});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->operation, misprint.operation) << twice->text();
}
INSTANTIATE_TEST_SUITE_P(Cuda, Misprints, testing::ValuesIn(kMisprints), [](const auto& info) {
  return std::to_string(info.index) + "_" + info.param.operation;
});

TEST_F(Bisect, WhatIsRightIsLeftAlone) {
  EXPECT_FALSE(bisect(cuda(), run_probe, {.prefix = ""}));
  EXPECT_FALSE(bisect(cuda(),
                      [](const Executor& on) {
                        const Tensor x = Tensor::from(counting(3000), on) * 0.01f;
                        const Graph graph(
                            [](const std::vector<Tensor>& in) {
                              const Tensor matrix = in[0].reshape({60, 50});
                              return std::vector<Tensor>{ops::softmax(in[0], 0),
                                                         ops::matmul(matrix, matrix.transpose())};
                            },
                            {x});
                        for (const Tensor& y : graph.launch({x})) y.array();
                      },
                      {.prefix = ""}));
}

TEST_F(Bisect, ANanIsFoundWhereItIsMade) {
  const auto found = bisect(cuda(),
                            [](const Executor& on) {
                              const Tensor x = Tensor::from(counting(100), on);
                              ops::sqrt(x * 2 - 3).array();
                            },
                            {.prefix = ""});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_nan);
  EXPECT_EQ(found->operation, "sqrt") << found->text();
  EXPECT_FALSE(
      bisect(cuda(),
             [](const Executor& on) { ops::sqrt(Tensor::from(counting(100), on) * 2 - 3).array(); },
             {.prefix = "", .nan = false}));
}

// Mistakes of a driver.
struct DriverMistake {
  const char* operation;
  ErringDevice::Mistake mistake;
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const DriverMistake& m, std::ostream* out) { *out << m.operation; }

class DriverMistakes : public testing::TestWithParam<DriverMistake> {};

TEST_P(DriverMistakes, AreFoundAndNamed) {
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  const auto device =
      std::make_shared<ErringDevice>(runtime::select(config).device, GetParam().mistake);
  const auto found =
      bisection::bisect_on(device, config,
                           [](const Executor& on) {
                             run_probe(on);
                             ops::nonzero(Tensor::from(counting(300), on) == 7).array();
                           },
                           {.prefix = ""});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, GetParam().operation) << found->text();
}
INSTANTIATE_TEST_SUITE_P(
    Cpu, DriverMistakes,
    testing::Values(DriverMistake{"copy", ErringDevice::Mistake::ShortCopy},
                    DriverMistake{"copy", ErringDevice::Mistake::ShiftedCopy},
                    DriverMistake{"launch", ErringDevice::Mistake::NoLaunch},
                    DriverMistake{"launch", ErringDevice::Mistake::ShortGrid},
                    DriverMistake{"scalar", ErringDevice::Mistake::WrongScalar},
                    DriverMistake{"load", ErringDevice::Mistake::SwappedBuffers}),
    [](const auto& info) { return std::to_string(info.index) + "_" + info.param.operation; });

}  // namespace
}  // namespace hologram
