// Products of tensors by rocBLAS, with a library and a driver that are emulated: alone, and where
// hipBLASLt does not do them.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "blaslt_fixture.hpp"
#include "fake_rocblas.hpp"
#include "libraries/rocblas/rocblas.hpp"

namespace hologram {
namespace {

namespace fs = std::filesystem;
constexpr int kMemoryError = 5, kInternalError = 6;  // rocblas_status

class RocBlas : public OnBlasLt {
 public:
  RocBlas() : OnBlasLt(kOfRocm) {
    setenv(of_.vendor.variable, "none", 1);
    setenv(libraries::rocblas::kVariable, FAKE_ROCBLAS, 1);
    kernels_ = fs::temp_directory_path() / ("hologram-rocblas-" + std::to_string(getpid()));
    setenv("ROCBLAS_TENSILE_LIBPATH", kernels_.c_str(), 1);
    setenv("FAKE_HIP_ARCHITECTURE", "gfx1030", 1);
    add_kernels("TensileLibrary_lazy_gfx1030.dat");
    void* library = dlopen(FAKE_ROCBLAS, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    reinterpret_cast<void (*)(FakeRocBlas*)>(dlsym(library, "fake_rocblas"))(&rocblas_);
  }
  ~RocBlas() override {
    EXPECT_STREQ(rocblas_.wrong(), "");
    fs::remove_all(kernels_);
  }

 protected:
  Executor executor() const { return Executor::from_config(config()); }
  void add_kernels(const std::string& name) const {
    fs::create_directories(kernels_ / "library");
    std::ofstream(kernels_ / "library" / name) << "kernels";
  }
  std::string reason(const hal::GemmDesc& desc) const {
    auto answer = device()->library()->plan(desc);
    const auto* refused = std::get_if<hal::Refusal>(&answer);
    if (refused == nullptr) return std::get<std::shared_ptr<hal::LibraryPlan>>(answer)->name();
    return refused->reason;
  }

  fs::path kernels_;
  FakeRocBlas rocblas_;
};

hal::GemmDesc some_product(DType operands, DType result) {
  struct Types {
    DType a, b, d;
  };
  hal::GemmDesc desc = products::describe(Types{operands, operands, result}, 20, 20, 20);
  desc.alignment_a = desc.alignment_b = desc.alignment_d = 16;
  return desc;
}

Tensor given(const Executor& gpu, int64_t side) {
  const auto count = static_cast<size_t>(side * side);
  return Tensor::from(Array::from(std::vector<float>(count, 1), {side, side}), gpu);
}

bool is_right(const Tensor& product, int64_t side) {
  const std::vector<float> found = product.to_vector<float>();
  return std::all_of(found.begin(), found.end(),
                     [&](float value) { return value == static_cast<float>(side); });
}

TEST_F(RocBlas, TensorsAreMultipliedByItWhereHipblasltIsNot) {
  const Executor gpu = executor();
  const Tensor a = given(gpu, 20);
  EXPECT_TRUE(is_right(ops::matmul(a, a), 20));
  EXPECT_EQ(gpu.counters().library_calls, 1u);
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
  EXPECT_EQ(rocblas_.calls("rocblas_gemm_strided_batched_ex"), 1);
}

// Layouts, transposes and batches, of every type, against plain loops of the processor.
TEST_F(RocBlas, ProductsAreThoseOfTheProcessor) {
  const Executor gpu = executor();
  const Executor cpu = Executor::builder().backend(BackendType::Cpu).reproducible(true).build();
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const int64_t batch : {1, 3}) {
          // Kernels do nothing there: operands are what went to the device.
          const auto numbers = [&](int64_t rows, int64_t columns) {
            const int64_t count = batch * rows * columns;
            const Tensor all = ops::arange(0, count, 1, DType::I64, cpu) % 7 - 3;
            return all.to(dtype).reshape({batch, rows, columns}).array();
          };
          const auto product = [&](const Executor& on) {
            Tensor a = Tensor::from(ta ? numbers(5, 9) : numbers(9, 5), on);
            Tensor b = Tensor::from(tb ? numbers(6, 5) : numbers(5, 6), on);
            if (ta) a = a.permute({0, 2, 1});
            if (tb) b = b.permute({0, 2, 1});
            return Tensor::from(ops::matmul(a, b).array(), cpu).to(DType::F64).to_vector<double>();
          };
          EXPECT_EQ(product(gpu), product(cpu)) << name_of(dtype) << ta << tb << batch;
        }
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

TEST_F(RocBlas, HipblasltComesFirst) {
  setenv(of_.vendor.variable, of_.library, 1);
  EXPECT_EQ(reason(some_product(DType::F32, DType::F32)), "hipBLASLt f32");
  library_.refuse(true);
  EXPECT_EQ(reason(some_product(DType::F64, DType::F64)), "rocBLAS f64");
  library_.refuse(false);
}

// It is told to add up in one order.
TEST_F(RocBlas, IsDeterministicAndNotReproducible) {
  setenv(of_.vendor.variable, of_.library, 1);
  BackendConfig how = config();
  how.deterministic = true;
  const auto answer = device(how)->library()->plan(some_product(DType::BF16, DType::F32));
  EXPECT_EQ(std::get<std::shared_ptr<hal::LibraryPlan>>(answer)->name(), "rocBLAS bf16 to f32");
  how.reproducible = true;
  EXPECT_EQ(device(how)->library(), nullptr);
}

// The real one would end the process. gfx1030 is no gfx103.
TEST_F(RocBlas, GpusWithoutKernelsAreNotAsked) {
  setenv("FAKE_HIP_ARCHITECTURE", "gfx103", 1);
  const std::string none = reason(some_product(DType::F32, DType::F32));
  EXPECT_NE(none.find("rocBLAS: it has no kernels for gfx103 in " + kernels_.string()),
            std::string::npos)
      << none;
  EXPECT_EQ(rocblas_.calls("rocblas_create_handle"), 0);
  const Executor gpu = executor();
  const Tensor a = given(gpu, 20);
  ops::matmul(a, a).eval();
  EXPECT_EQ(gpu.counters().fallbacks, 1u);
  EXPECT_EQ(gpu.counters().library_calls, 0u);
}

TEST_F(RocBlas, KernelsAreThoseOfTheArchitectureWithoutItsFeatures) {
  setenv("FAKE_HIP_ARCHITECTURE", "gfx942:sramecc+:xnack-", 1);
  add_kernels("Kernels.so-000-gfx942-xnack-.hsaco");
  EXPECT_EQ(reason(some_product(DType::F16, DType::F16)), "rocBLAS f16");
}

TEST_F(RocBlas, IsListedWithItsVersion) {
  const std::vector<LibraryInfo> all = of_.backend().libraries();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const LibraryInfo& info) { return info.name == "rocBLAS"; });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->version, "4.2.0.emulated");
  EXPECT_EQ(found->reason, "");
}

TEST_F(RocBlas, CandidatesAreBoth) {
  const auto gpu = device();
  const auto all = gpu->library()->candidates(some_product(DType::F32, DType::F32));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].refusal.find("hipBLASLt: not found ("), 0u) << all[0].refusal;
  EXPECT_EQ(all[1].name, "rocBLAS f32");
  EXPECT_TRUE(all[1].refusal.empty());
}

TEST_F(RocBlas, WithoutEitherBothAreNamed) {
  setenv(libraries::rocblas::kVariable, "libnone.so", 1);
  BackendConfig how = config();
  how.strict = true;
  const Executor strict = Executor::from_config(how);
  const Tensor a = given(strict, 20);
  const std::string what = error_of([&] { ops::matmul(a, a).eval(); }).what();
  EXPECT_NE(what.find("hipBLASLt: not found ("), std::string::npos) << what;
  EXPECT_NE(what.find("rocBLAS: not found (libnone.so"), std::string::npos) << what;
}

TEST_F(RocBlas, StreamsHaveHandlesOfTheirOwn) {
  for (int round = 0; round < 3; round++) {
    const std::vector<Executor> all = {executor(), executor()};
    for (const Executor& gpu : all) {
      const Tensor a = given(gpu, 24);
      EXPECT_TRUE(is_right(ops::matmul(a, a), 24));
    }
  }
  EXPECT_EQ(rocblas_.handles(), 1 + 2) << "those of streams that are gone are used again";
}

TEST_F(RocBlas, CapturedProductsAreNodesOfAGraph) {
  const Executor gpu = executor();
  const Tensor a = given(gpu, 32);
  const Graph graph = capture([](const Tensor& x) { return ops::matmul(ops::matmul(x, x), x); }, a);
  EXPECT_EQ(graph.note().find("a HIP graph of "), 0u) << graph.note();
  for (int i = 0; i < 3; i++) EXPECT_TRUE(is_right(graph.launch(a).front(), 32 * 32));
}

TEST_F(RocBlas, EveryCallMayFail) {
  int64_t side = 20;
  for (const char* call : {"rocblas_create_handle", "rocblas_set_atomics_mode",
                           "rocblas_set_stream", "rocblas_gemm_strided_batched_ex"})
    for (const int status : {kMemoryError, kInternalError})
      for (int skip = 0;; skip++) {
        SCOPED_TRACE(std::string(call) + ' ' + std::to_string(skip));
        const Executor gpu = executor();
        const int64_t n = ++side;  // planned for the first time
        const Tensor b = given(gpu, n);
        const int before = rocblas_.calls(call);
        rocblas_.fail(call, skip, 1, status);
        const Error error = error_of([&] { ops::matmul(b, b).eval(); });
        rocblas_.fail(nullptr, 0, 0, 0);
        if (std::string(error.what()) != "no error") {
          EXPECT_FALSE(error.remedy().empty());
          EXPECT_EQ(error.kind() == ErrorKind::OutOfMemory, status == kMemoryError) << error.what();
        } else {
          EXPECT_EQ(gpu.counters().library_calls + gpu.counters().fallbacks, 1u);
        }
        EXPECT_TRUE(is_right(ops::matmul(b, b), n));
        EXPECT_GT(gpu.counters().library_calls, 0u);
        if (rocblas_.calls(call) - before <= skip) break;
      }
}

}  // namespace
}  // namespace hologram
