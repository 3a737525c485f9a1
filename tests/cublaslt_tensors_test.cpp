// Products of tensors by cuBLASLt, with a library and a driver that are emulated. Kernels do
// nothing there unless a test says so: operands are what went to the device.
#include <functional>

#include "cublaslt_fixture.hpp"

namespace hologram {
namespace {

using CublasLtTensors = CublasLt;

// Kernels run, on the processor.
class CublasLtBesideKernels : public CublasLt {
 protected:
  CublasLtBesideKernels() { setenv("FAKE_CUDA_EXECUTE", "1", 1); }
};

std::vector<double> numbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> some(-1, 1);
  std::vector<double> values(count);
  for (double& v : values) v = static_cast<double>(static_cast<float>(some(random)));
  return values;
}

Tensor tensor(const std::vector<double>& values, Shape shape, DType dtype, const Executor& on) {
  Array array(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); i++)
    products::put(dtype, array.mutable_data() + i * size_of(dtype), values[i]);
  return Tensor::from(array, on);
}

double at(const Array& array, int i) {
  const size_t byte = static_cast<size_t>(i) * size_of(array.dtype());
  return static_cast<double>(products::element(array.dtype(), array.data() + byte));
}

TEST_F(CublasLtTensors, TensorsAreMultipliedAsTheyLie) {
  const Executor gpu = Executor::from_config(config());
  const std::vector<double> x = numbers(4 * 6 * 8, 1), y = numbers(4 * 8 * 6, 2);
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    const Tensor a = tensor(x, {4, 6, 8}, dtype, gpu), b = tensor(y, {4, 8, 6}, dtype, gpu);
    const Array ax = a.array(), by = b.array();
    const auto left = [&](int z, int i, int p) { return at(ax, (z * 6 + i) * 8 + p); };
    const auto right = [&](int z, int p, int j) { return at(by, (z * 8 + p) * 6 + j); };
    struct Form {
      const char* name;
      Tensor product;
      std::function<double(int z, int i, int p)> a;
      std::function<double(int z, int p, int j)> b;
      int batch, m, n, k;
    };
    const std::vector<Form> forms = {
        {"batch", ops::matmul(a, b), left, right, 4, 6, 6, 8},
        {"transposed", ops::matmul(a.transpose(), b.transpose()),
         [&](int z, int i, int p) { return left(z, p, i); },
         [&](int z, int p, int j) { return right(z, j, p); }, 4, 8, 8, 6},
        {"shared", ops::matmul(a, b.select(0, 1)), left,
         [&](int, int p, int j) { return right(1, p, j); }, 4, 6, 6, 8},
        {"parts", ops::matmul(a.select(0, 2).slice(0, {1, 4}), b.select(0, 3).slice(1, {2, 5})),
         [&](int, int i, int p) { return left(2, i + 1, p); },
         [&](int, int p, int j) { return right(3, p, j + 2); }, 1, 3, 3, 8},
    };
    for (const Form& form : forms) {
      const Array d = form.product.array();
      for (int z = 0; z < form.batch; z++)
        for (int i = 0; i < form.m; i++)
          for (int j = 0; j < form.n; j++) {
            double sum = 0;
            for (int p = 0; p < form.k; p++) sum += form.a(z, i, p) * form.b(z, p, j);
            const int e = (z * form.m + i) * form.n + j;
            ASSERT_NEAR(at(d, e), sum, 4 * products::epsilon(dtype))
                << form.name << ' ' << name_of(dtype) << ' ' << z << ' ' << i << ' ' << j;
          }
    }
  }
  EXPECT_EQ(gpu.counters().library_calls, 16u);
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

Tensor square(const Executor& gpu, DType dtype = DType::F32) {
  return tensor(numbers(400, 7), {20, 20}, dtype, gpu);
}

bool is_right(const Array& product) {
  const std::vector<double> x = numbers(400, 7);
  for (size_t i = 0; i < 400; i++) {
    double sum = 0;
    for (size_t p = 0; p < 20; p++) sum += x[i / 20 * 20 + p] * x[p * 20 + i % 20];
    if (std::fabs(at(product, static_cast<int>(i)) - sum) > 1e-6) return false;
  }
  return true;
}

TEST_F(CublasLtTensors, ARepeatedProductIsPlannedOnce) {
  const Executor gpu = Executor::from_config(config());
  const Tensor a = square(gpu);
  for (int i = 0; i < 10; i++) EXPECT_TRUE(is_right(ops::matmul(a, a).array()));
  EXPECT_EQ(gpu.counters().library_calls, 10u);
  EXPECT_EQ(library_.calls("cublasLtMatmulAlgoGetHeuristic"), 1);
  EXPECT_EQ(library_.calls("cublasLtMatmulDescCreate"), 1);
}

TEST_F(CublasLtTensors, WhatLiesAskewIsCopiedFirst) {
  const Executor gpu = Executor::from_config(config());
  const Tensor a = square(gpu);
  ops::matmul(a.slice(1, {std::nullopt, std::nullopt, -1}), a).eval();
  ops::matmul(a, a.slice({{0, 20, 1}, {0, 20, 2}})).eval();
  EXPECT_EQ(gpu.counters().library_calls, 2u);
  EXPECT_EQ(gpu.counters().launches, 2u) << "copies";
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

// A matrix times a vector: a kernel of our own, whatever library is there.
TEST_F(CublasLtTensors, AVectorMakesSumsOfRows) {
  for (const bool there : {true, false}) {
    BackendConfig how = config();
    how.strict = true;
    if (!there) setenv("HOLOGRAM_CUBLASLT_LIBRARY", "libnone.so", 1);
    const Executor gpu = Executor::from_config(how);
    const Tensor a = ops::zeros({300, 512}, DType::BF16, gpu).eval(),
                 x = ops::zeros({512}, DType::BF16, gpu).eval();
    const uint64_t before = gpu.counters().launches;
    const Tensor y = ops::matmul(a, x) + 1, z = ops::matmul(x, a.transpose());
    EXPECT_NE(explain(y).find("a group of lanes a row"), std::string::npos) << explain(y);
    EXPECT_EQ(y.shape(), Shape({300}));
    EXPECT_EQ(z.shape(), Shape({300}));
    EXPECT_EQ(z.dtype(), DType::BF16);
    y.eval();
    z.eval();
    EXPECT_EQ(gpu.counters().launches, before + 2);
    EXPECT_EQ(gpu.counters().library_calls, 0u);
  }
  setenv("HOLOGRAM_CUBLASLT_LIBRARY", FAKE_CUBLASLT, 1);
  const Executor gpu = Executor::from_config(config());
  const Tensor a = ops::zeros({300, 512}, DType::BF16, gpu).eval();
  ops::matmul(a.select(1, 0), a).eval();  // sums along the other axis
  EXPECT_EQ(gpu.counters().library_calls, 1u);
}

// Rows of narrow elements that do not begin at multiples of 16 bytes get a gap behind them, once
// for all products that read them.
TEST_F(CublasLtBesideKernels, LargeProductsHaveAlignedRows) {
  const Executor gpu = Executor::from_config(config());
  constexpr int kRows = 1025, kTerms = 1032, kColumns = 2049;
  const auto drawn = [&](int rows, int columns, uint32_t seed) {
    const auto count = static_cast<size_t>(rows) * static_cast<size_t>(columns);
    return tensor(numbers(count, seed), {rows, columns}, DType::BF16, gpu);
  };
  const Tensor x = drawn(kRows, kTerms, 1), y = drawn(kTerms, kColumns, 2);
  const Tensor product = ops::matmul(x, y);
  EXPECT_NE(explain(product, {.candidates = true})
                .find("* 5. one product, with zeros to multiples of eight"),
            std::string::npos)
      << explain(product, {.candidates = true});
  const Array d = product.array(), a = x.array(), b = y.array();
  EXPECT_EQ(gpu.counters().library_calls, 1u);
  EXPECT_EQ(gpu.counters().launches, 3u) << "y, the zeros behind its rows, a part of the result";
  for (int i = 0; i < kRows; i += 256)
    for (int j = 0; j < kColumns; j += 64) {
      double sum = 0;
      for (int p = 0; p < kTerms; p++) sum += at(a, i * kTerms + p) * at(b, p * kColumns + j);
      ASSERT_NEAR(at(d, i * kColumns + j), sum, 0.01 * std::fabs(sum) + 0.02) << i << ' ' << j;
    }
  // Both sides of a gradient: one copy, made by the kernel that makes the factor, and a batch that
  // shares the other factor is one matrix.
  const Tensor up = ops::tanh(product);
  const Tensor of_batch = ops::matmul(up.reshape({5, 205, kColumns}), y.transpose());
  EXPECT_NE(explain(of_batch, {.candidates = true})
                .find("* 5. one product, with zeros to multiples of eight"),
            std::string::npos);
  const uint64_t before = gpu.counters().launches;
  const Tensor of_y = ops::matmul(x.transpose(), up);
  eval({of_batch, of_y});
  EXPECT_EQ(of_batch.shape(), Shape({5, 205, kTerms}));
  EXPECT_EQ(gpu.counters().library_calls, 3u);
  EXPECT_EQ(gpu.counters().launches, before + 6)
      << "tanh with zeros behind rows and the last, y with some behind rows, a part of a result";
}

// The messages of warnings, and those of everything.
struct Log {
  Log() {
    set_log_callback(
        [this](LogLevel level, std::string_view message) {
          if (uses) ops::sum(*uses).eval();
          (level == LogLevel::Warning ? warnings : others).emplace_back(message);
        },
        LogLevel::Debug);
  }
  ~Log() { set_log_callback({}); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  std::vector<std::string> warnings, others;
  std::optional<Tensor> uses;
};

TEST_F(CublasLtTensors, WithoutItOurOwnProgramRunsAndThatIsTold) {
  setenv("HOLOGRAM_CUBLASLT_LIBRARY", "libnone.so", 1);
  Log log;
  const Executor gpu = Executor::from_config(config());
  const Tensor a = square(gpu);
  log.uses = a;  // a callback may use tensors, of the same executor, too
  for (int i = 0; i < 3; i++) ops::matmul(a, a).eval();
  EXPECT_EQ(gpu.counters().fallbacks, 3u);
  EXPECT_GE(gpu.counters().launches, 3u);
  EXPECT_EQ(gpu.counters().library_calls, 0u);
  ASSERT_EQ(log.warnings.size(), 1u) << "once";
  EXPECT_EQ(log.warnings[0].find("matmul on Emulated GPU by a general program: cuBLASLt: not found "
                                 "(libnone.so"),
            0u)
      << log.warnings[0];

  BackendConfig how = config();
  how.strict = true;
  const Executor strict = Executor::from_config(how);
  const Tensor b = square(strict);
  const Error error = error_of([&] { ops::matmul(b, b).eval(); });
  EXPECT_EQ(error.kind(), ErrorKind::UnsupportedOperation);
  EXPECT_EQ(std::string(error.what())
                .find("matmul on Emulated GPU would be done by a general "
                      "program, and strict: cuBLASLt: not found"),
            0u)
      << error.what();
  // What no library does is nothing to fall back from.
  const Tensor whole = ops::zeros({8, 8}, DType::I32, strict).eval();
  ops::matmul(whole, whole).eval();
  EXPECT_EQ(strict.counters().fallbacks, 0u);
}

TEST_F(CublasLtTensors, ProfilesNameTheProduct) {
  BackendConfig how = config();
  how.enable_backend_profiling = true;
  const Executor gpu = Executor::from_config(how);
  const Tensor a = square(gpu, DType::BF16);
  ops::matmul(a, a).eval();
  const Profile profile = gpu.profile();
  ASSERT_FALSE(profile.kernels.empty());
  EXPECT_EQ(profile.kernels.back().kernel, "cuBLASLt bf16");
  EXPECT_EQ(profile.kernels.back().flops, 2.0 * 20 * 20 * 20);
}

// One call after the other fails: the product goes by our own program, which is counted, or is an
// error that says what and what to do; and afterwards it succeeds.
TEST_F(CublasLtTensors, EveryCallMayFail) {
  int own = 0, errors = 0;
  uint32_t side = 20;
  for (const char* call :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"})
    for (const int status : {kAllocFailed, kInternalError})
      for (int skip = 0;; skip++) {
        SCOPED_TRACE(std::string(call) + ' ' + std::to_string(skip));
        const Executor gpu = Executor::from_config(config());
        const int64_t n = ++side;  // planned for the first time
        const Tensor b = tensor(std::vector<double>(static_cast<size_t>(2 * n * n), 1.0), {2, n, n},
                                DType::F32, gpu);
        const int before = library_.calls(call), alive = library_.alive();
        library_.fail(call, skip, 1, status);
        const Error error = error_of([&] { ops::matmul(b, b).eval(); });
        library_.fail(nullptr, 0, 0, 0);
        const bool failed = std::string(error.what()) != "no error";
        const Counters counted = gpu.counters();
        if (failed) {
          errors++;
          EXPECT_FALSE(error.remedy().empty());
          EXPECT_EQ(error.kind() == ErrorKind::OutOfMemory, status == kAllocFailed) << error.what();
        } else {
          EXPECT_EQ(counted.library_calls + counted.fallbacks, 1u);
          own += static_cast<int>(counted.fallbacks);
          if (counted.fallbacks > 0) {
            EXPECT_EQ(library_.alive(), alive) << "what was made for the plan is gone";
          }
        }
        const std::vector<float> again = ops::matmul(b, b).to_vector<float>();
        EXPECT_EQ(again.front(), static_cast<float>(n));
        EXPECT_EQ(again.back(), static_cast<float>(n));
        EXPECT_GT(gpu.counters().library_calls, 0u);
        if (library_.calls(call) - before <= skip) break;
      }
  EXPECT_GT(own, 25);
  EXPECT_GE(errors, 2);
}

TEST_F(CublasLtTensors, AProductThatFailsIsNamed) {
  const Executor gpu = Executor::from_config(config());
  const Tensor a = square(gpu);
  library_.fail("cublasLtMatmul", 0, 1, kExecutionFailed);
  const Error error = error_of([&] { ops::matmul(a, a).eval(); });
  EXPECT_STREQ(error.what(), "cuBLASLt f32 failed: status 13 (CUBLAS_STATUS_EXECUTION_FAILED)");
  EXPECT_NE(error.remedy().find("HOLOGRAM_CUBLASLT_LIBRARY=none"), std::string::npos);
  EXPECT_TRUE(is_right(ops::matmul(a, a).array()));

  library_.fail("cublasLtMatmul", 0, 1, kExecutionFailed);
  driver_.fail("cuMemGetInfo_v2", 0, 1, kIllegalAddress);
  EXPECT_EQ(error_of([&] { ops::matmul(a, a).eval(); }).kind(), ErrorKind::DeviceLost);
}

}  // namespace
}  // namespace hologram
