// Products of matrices by the libraries that are installed: right, the same bits on any number of
// threads, and good guests. Where one is missing, what it does not do is said and skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "hologram/device.hpp"
#include "hologram/error.hpp"
#include "hologram/linear.hpp"
#include "hologram/ops.hpp"
#include "libraries/cblas/cblas.hpp"
#include "libraries/host_ops.hpp"
#include "libraries/narrow/product.hpp"
#include "libraries/onednn/onednn.hpp"
#include "libraries/packed/packed.hpp"
#include "product_cases.hpp"

namespace hologram::products {
namespace {

using hal::GemmDesc;
using libraries::HostLibrary;

struct Types {
  const HostLibrary& (*library)();
  DType a, b, d;
};

const HostLibrary& one_dnn() { return libraries::onednn::OneDnn::instance(); }
const HostLibrary& open_blas() { return libraries::cblas::Cblas::openblas(); }

std::shared_ptr<hal::LibraryPlan> plan(const HostLibrary& library, const GemmDesc& desc) {
  libraries::HostOps ops({&library});
  auto found = ops.plan(desc);
  if (auto* refusal = std::get_if<hal::Refusal>(&found)) {
    ADD_FAILURE() << refusal->reason << ": " << text(desc);
    return nullptr;
  }
  return std::get<std::shared_ptr<hal::LibraryPlan>>(found);
}

Case filled(const GemmDesc& desc, uint32_t seed) {
  Case c(libraries::product_of(desc));
  std::mt19937 random(seed);
  c.fill(random);
  return c;
}

class LibraryProduct : public testing::TestWithParam<Types> {
 protected:
  void SetUp() override {
    libraries::HostOps ops({&library()});
    auto found = ops.plan(describe(GetParam(), 1, 1, 1));
    if (auto* refusal = std::get_if<hal::Refusal>(&found)) GTEST_SKIP() << refusal->reason;
  }
  static const HostLibrary& library() { return GetParam().library(); }
};

TEST_P(LibraryProduct, MatchesPlainLoopsWithTheSameBitsOnAnyNumberOfThreads) {
  const auto one = cpu(1), two = cpu(2), five = cpu(5);
  std::mt19937 random(1);
  for (uint32_t round = 0; round < 40; round++) {
    const GemmDesc desc = random_desc(GetParam(), random);
    SCOPED_TRACE(text(desc));
    const auto agreed = plan(library(), desc);
    ASSERT_NE(agreed, nullptr);
    Case c = filled(desc, round), again = filled(desc, round), more = filled(desc, round);
    c.run(*one, *agreed);
    again.run(*two, *agreed);
    more.run(*five, *agreed);
    ASSERT_EQ(c.memory[2], again.memory[2]);
    ASSERT_EQ(c.memory[2], more.memory[2]);
    if (round < 25) {
      ASSERT_NO_FATAL_FAILURE(c.check());
    }
  }
}

class LibraryFloatProduct : public LibraryProduct {};

TEST_P(LibraryFloatProduct, NanAndInfinityReachTheRowsAndColumnsTheyMust) {
  const auto device = cpu(2);
  for (const int64_t side : {1, 5, 40, 270}) {
    const GemmDesc desc = describe(GetParam(), side, side + 3, 37);
    Case c = filled(desc, 3);
    const auto set = [&](size_t matrix, int64_t row, int64_t column, double value) {
      put(matrix == 0 ? desc.a : desc.b, c.at(matrix, 0, row, column), value);
    };
    const double infinity = std::numeric_limits<double>::infinity();
    set(0, side / 2, 5, infinity);
    set(1, 5, 1, 0);  // times infinity: NaN
    set(1, 7, 2, -infinity);
    set(0, side - 1, 36, std::numeric_limits<double>::quiet_NaN());
    c.run(*device, *plan(library(), desc));
    ASSERT_NO_FATAL_FAILURE(c.check());
  }
}

TEST_P(LibraryProduct, AnEmptySumIsZero) {
  GemmDesc desc = describe(GetParam(), 3, 4, 0);
  desc.ldd = 6;  // what lies between the rows stays
  Case c = filled(desc, 1);
  c.run(*cpu(1), *plan(library(), desc));
  ASSERT_NO_FATAL_FAILURE(c.check());
  EXPECT_EQ(c.memory[2][0], std::byte{0});
}

// Matrices that follow each other are one only if their rows do.
TEST_P(LibraryProduct, ABatchMayShareOneOperand) {
  for (const bool transposed : {false, true}) {
    GemmDesc desc = describe(GetParam(), 7, 5, 7);
    desc.transpose_a = transposed;
    desc.batch = 3;
    desc.stride_a = 49;
    desc.stride_d = 35;
    Case c = filled(desc, 4);
    c.run(*cpu(2), *plan(library(), desc));
    ASSERT_NO_FATAL_FAILURE(c.check());
  }
}

TEST_P(LibraryProduct, EightThreadsMayCallAtOnce) {
  const GemmDesc desc = describe(GetParam(), 150, 130, 110);
  const auto device = cpu(2);
  const auto agreed = plan(library(), desc);
  Case first = filled(desc, 9);
  first.run(*device, *agreed);
  std::vector<int> wrong(8, 0);
  std::vector<std::thread> threads;
  threads.reserve(wrong.size());
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; round++) {
        Case c = filled(desc, 9);
        c.run(*device, *agreed);
        count += c.memory[2] != first.memory[2];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST_P(LibraryProduct, RefusesWhatItCannotReadOrWrite) {
  const GemmDesc fine = describe(GetParam(), 3, 4, 5);
  const auto reason = [&](const std::function<void(GemmDesc&)>& change) {
    GemmDesc desc = fine;
    change(desc);
    libraries::HostOps ops({&library()});
    auto found = ops.plan(desc);
    const auto* refusal = std::get_if<hal::Refusal>(&found);
    return refusal == nullptr ? std::string() : refusal->reason;
  };
  EXPECT_EQ(reason([](GemmDesc&) {}), "");
  EXPECT_EQ(reason([](GemmDesc& g) { g.k = -1; }), "a length is negative");
  EXPECT_EQ(reason([](GemmDesc& g) { g.lda = 4; }), "rows of a overlap");
  EXPECT_EQ(reason([](GemmDesc& g) { g.ldb = 3; }), "rows of b overlap");
  EXPECT_EQ(reason([](GemmDesc& g) { g.stride_b = -1; }), "the batch of b goes backwards");
  EXPECT_EQ(reason([](GemmDesc& g) {
              g.batch = 2;
              g.stride_d = 11;
            }),
            "the results of a batch overlap");
  EXPECT_EQ(reason([](GemmDesc& g) { g.lda = INT64_MAX / 2; }), "a is larger than memory can be");
  EXPECT_NE(reason([](GemmDesc& g) { g.d = DType::I16; }).find(" to i16"), std::string::npos);

  Case c = filled(fine, 1);
  const auto device = cpu(1);
  auto bindings = c.bind(*device);
  bindings[1].size = 4 * 5 * size_of(fine.b) - 1;
  const auto stream = device->stream();
  stream->call(*plan(library(), fine), bindings, {});
  EXPECT_THROW(stream->wait(stream->submit(), {}), Error);
}

constexpr Types kFloats[] = {{one_dnn, DType::F32, DType::F32, DType::F32},
                             {one_dnn, DType::F16, DType::F16, DType::F16},
                             {one_dnn, DType::BF16, DType::BF16, DType::BF16},
                             {one_dnn, DType::F32, DType::BF16, DType::F32},
                             {one_dnn, DType::F16, DType::F32, DType::F16},
                             {open_blas, DType::F32, DType::F32, DType::F32},
                             {open_blas, DType::F64, DType::F64, DType::F64}};
constexpr Types kIntegers[] = {{one_dnn, DType::I8, DType::I8, DType::I32},
                               {one_dnn, DType::U8, DType::I8, DType::I32}};

std::string name_of_case(const testing::TestParamInfo<Types>& info) {
  return info.param.library().info().name + "_" + std::string(name_of(info.param.a)) + "_" +
         std::string(name_of(info.param.b));
}

INSTANTIATE_TEST_SUITE_P(Floats, LibraryProduct, testing::ValuesIn(kFloats), name_of_case);
INSTANTIATE_TEST_SUITE_P(Integers, LibraryProduct, testing::ValuesIn(kIntegers), name_of_case);
INSTANTIATE_TEST_SUITE_P(Floats, LibraryFloatProduct, testing::ValuesIn(kFloats), name_of_case);

TEST(Libraries, OneThatIsNotThereIsAReason) {
  const core::DynamicLibrary none({"libhologram-none.so.1", "libhologram-none.so.2"});
  const libraries::onednn::OneDnn one(none);
  const libraries::cblas::Cblas other(none, "OpenBLAS");
  libraries::HostOps ops({&one, &other});
  auto found = ops.plan(describe(Types{one_dnn, DType::F32, DType::F32, DType::F32}, 2, 2, 2));
  ASSERT_TRUE(std::holds_alternative<hal::Refusal>(found));
  const std::string& reason = std::get<hal::Refusal>(found).reason;
  for (const char* part : {"oneDNN: not found (libhologram-none.so.1", "libhologram-none.so.2",
                           "OpenBLAS: not found (libhologram-none.so.1"})
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
}

TEST(Libraries, OneOfThatNameThatIsSomethingElseIsAReason) {
  const core::DynamicLibrary other({"libm.so.6"});
  ASSERT_TRUE(other.loaded());
  EXPECT_NE(libraries::onednn::OneDnn(other).info().reason.find("not usable"), std::string::npos);
  EXPECT_NE(libraries::cblas::Cblas(other, "OpenBLAS").info().reason.find("not usable"),
            std::string::npos);
}

// HOLOGRAM_CBLAS: asked before hologram's own kernels, for f32 and f64 alone.
TEST(Libraries, ACblasIsUsedOnlyIfItIsAskedFor) {
  const HostLibrary& cblas = libraries::cblas::Cblas::named("auto");
  if (!cblas.info().reason.empty()) GTEST_SKIP() << cblas.info().reason;
  const auto who = [](const Executor& executor, DType dtype) {
    const Tensor x = ops::ones({100, 100}, dtype, executor).eval();
    return explain(ops::matmul(x, x));
  };
  const auto builder = [] { return Executor::builder().backend(BackendType::Cpu); };
  const std::string by = "by " + cblas.info().name + " ";
  EXPECT_EQ(who(builder().cblas("none").build(), DType::F32).find(by), std::string::npos);
  for (const std::string& name : {std::string("auto"), cblas.info().path}) {
    const Executor executor = builder().cblas(name).build();
    EXPECT_NE(who(executor, DType::F32).find(by + "sgemm"), std::string::npos) << name;
    EXPECT_NE(who(executor, DType::F64).find(by + "dgemm"), std::string::npos) << name;
    EXPECT_EQ(who(executor, DType::I32).find(by), std::string::npos) << name;
    const Tensor x = ops::ones({100, 90}, DType::F64, executor);
    const std::vector<double> made = ops::matmul(x, x.transpose()).to_vector<double>();
    EXPECT_EQ(made, std::vector<double>(size_t{100} * 100, 90));
    EXPECT_EQ(executor.counters().library_calls, 1u);
    const Executor same = builder().cblas(name).reproducible().build();
    EXPECT_EQ(who(same, DType::F32).find(by), std::string::npos);
  }
}

TEST(Libraries, ACblasThatIsAskedForAndMissingIsAnError) {
  try {
    Executor::builder().backend(BackendType::Cpu).cblas("libhologram-none.so.1").build();
    FAIL() << "nothing was missed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BackendUnavailable);
    EXPECT_NE(std::string(error.what()).find("HOLOGRAM_CBLAS=libhologram-none.so.1 is not found"),
              std::string::npos)
        << error.what();
  }
}

TEST(Libraries, EachHasAFileOrAReason) {
  const auto found = discover_libraries();
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const LibraryInfo& library : found) names.push_back(library.name);
  EXPECT_EQ(names, std::vector<std::string>(
                       {"cuBLASLt", "cuDNN", "hipBLASLt", "rocBLAS", "oneDNN", "OpenBLAS"}));
  for (const LibraryInfo& library : found) {
    EXPECT_NE(library.reason.empty(), library.version.empty()) << library.name;
    EXPECT_EQ(library.reason.empty(), library.path.find(".so") != std::string::npos);
  }
}

// The host program's own settings are there again after a product.
TEST(Libraries, LeaveTheNumberOfThreadsToTheHostProgram) {
  const core::DynamicLibrary omp({"libgomp.so.1"});
  const core::DynamicLibrary blas({"libopenblas.so.0"});
  auto* omp_get = omp.get<int()>("omp_get_max_threads");
  auto* omp_set = omp.get<void(int)>("omp_set_num_threads");
  auto* blas_get = blas.get<int()>("openblas_get_num_threads");
  auto* blas_set = blas.get<void(int)>("openblas_set_num_threads");
  if (omp_set != nullptr) omp_set(3);
  const int blas_before = blas_get != nullptr ? blas_get() : 0;
  if (blas_set != nullptr) blas_set(2);
  const auto device = cpu(2);
  for (const HostLibrary* library : libraries::host_libraries()) {
    const GemmDesc desc = describe(Types{one_dnn, DType::F32, DType::F32, DType::F32}, 80, 80, 80);
    if (library->refuses(desc)) continue;
    Case c = filled(desc, 1);
    c.run(*device, *plan(*library, desc));
  }
  if (omp_get != nullptr) {
    EXPECT_EQ(omp_get(), 3);
  }
  if (blas_get != nullptr) {
    EXPECT_EQ(blas_get(), 2);
  }
  if (blas_set != nullptr) blas_set(blas_before);
  if (omp_get == nullptr && blas_get == nullptr) GTEST_SKIP() << "neither library is here";
}

TEST(Libraries, TheCpuTakesItsOwnKernelsAndOneDnnForBytesWithoutThem) {
  const auto device = cpu(1);
  ASSERT_NE(device->library(), nullptr);
  const auto name = [&](DType type, DType result) {
    auto found = device->library()->plan(describe(Types{one_dnn, type, type, result}, 2, 2, 2));
    auto* agreed = std::get_if<std::shared_ptr<hal::LibraryPlan>>(&found);
    return agreed == nullptr ? std::string() : (*agreed)->name();
  };
  if (!one_dnn().info().reason.empty()) GTEST_SKIP() << one_dnn().info().reason;
  const GemmDesc f32 = describe(Types{one_dnn, DType::F32, DType::F32, DType::F32}, 2, 2, 2);
  if (const auto refusal = libraries::packed::refuses(f32)) GTEST_SKIP() << refusal->reason;
  EXPECT_EQ(name(DType::F32, DType::F32), "hologram f32 product");
  EXPECT_EQ(name(DType::F64, DType::F64), "hologram f64 product");
  const auto floats = [&](DType type) -> std::string {
    const GemmDesc sums = describe(Types{one_dnn, type, type, DType::F32}, 2, 2, 2);
    return libraries::packed::takes_narrow(sums) ? fmt::format("hologram {} product", name_of(type))
                                                 : "hologram f32 product of f32 copies";
  };
  EXPECT_EQ(name(DType::F16, DType::F16), floats(DType::F16));
  EXPECT_EQ(name(DType::I32, DType::I32), "");
  // What the best instructions of this processor are called, if they are faster than what else
  // there is.
  const auto narrow = [&](DType type, DType result, const std::string& otherwise) {
    using libraries::narrow::Pays;
    const GemmDesc desc = describe(Types{one_dnn, type, type, result}, 2, 2, 2);
    if (libraries::narrow::refuses(desc, otherwise.empty() ? Pays::WithoutLibrary : Pays::Always))
      return otherwise;
    return fmt::format("hologram {} product by {}", name_of(type),
                       libraries::narrow::kernels_for(desc).front()->name);
  };
  EXPECT_EQ(name(DType::BF16, DType::BF16), narrow(DType::BF16, DType::BF16, floats(DType::BF16)));
  EXPECT_EQ(name(DType::I16, DType::I32), narrow(DType::I16, DType::I32, ""));
  const bool takes_bytes =
      !one_dnn().refuses(describe(Types{one_dnn, DType::I8, DType::I8, DType::I32}, 2, 2, 2));
  EXPECT_EQ(name(DType::I8, DType::I32),
            narrow(DType::I8, DType::I32, takes_bytes ? "oneDNN gemm_s8s8s32" : ""));
}

}  // namespace
}  // namespace hologram::products
