// Products of tensors by hipBLASLt, with a library and a driver that are emulated: what is not the
// same as with cuBLASLt.
#include <algorithm>
#include <atomic>
#include <thread>

#include "blaslt_fixture.hpp"

namespace hologram {
namespace {

constexpr int kAllocFailed = 2, kExecutionFailed = 5, kInternalError = 6;  // hipblasStatus_t

class HipblasLt : public OnBlasLt {
 public:
  HipblasLt() : OnBlasLt(kOfRocm) {}

 protected:
  Executor executor() const { return Executor::from_config(config()); }
};

// Kernels do nothing there: operands are what went to the device.
Tensor given(const Executor& gpu, int64_t side) {
  const auto count = static_cast<size_t>(side * side);
  return Tensor::from(Array::from(std::vector<float>(count, 1), {side, side}), gpu);
}

hal::GemmDesc some_product(DType dtype = DType::F32) {
  struct Types {
    DType a, b, d;
  };
  hal::GemmDesc desc = products::describe(Types{dtype, dtype, dtype}, 20, 20, 20);
  desc.alignment_a = desc.alignment_b = desc.alignment_d = 16;
  return desc;
}

bool is_right(const Tensor& product, int64_t side) {
  const std::vector<float> found = product.to_vector<float>();
  return std::all_of(found.begin(), found.end(),
                     [&](float value) { return value == static_cast<float>(side); });
}

TEST_F(HipblasLt, TensorsAreMultipliedByIt) {
  const Executor gpu = executor();
  const Tensor a = given(gpu, 20);
  EXPECT_TRUE(is_right(ops::matmul(a, a), 20));
  EXPECT_EQ(gpu.counters().library_calls, 1u);
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

TEST_F(HipblasLt, NothingWhoseOrderOfSumsIsNotKnownIsDeterministic) {
  BackendConfig how = config();
  EXPECT_NE(device(how)->library(), nullptr);
  how.deterministic = true;
  const auto answer = device(how)->library()->plan(some_product());
  const auto& refused = std::get<hal::Refusal>(answer);
  EXPECT_EQ(refused.reason.find("hipBLASLt: deterministic, of which it cannot be told"), 0u)
      << refused.reason;
  EXPECT_FALSE(refused.is_fallback);
  how = config();
  how.reproducible = true;
  EXPECT_EQ(device(how)->library(), nullptr);
}

TEST_F(HipblasLt, HasNoEpiloguesThatCouldBeTrusted) {
  const auto gpu = device();
  EXPECT_FALSE(gpu->library()->has_epilogues());
  const auto plan =
      std::get<std::shared_ptr<hal::LibraryPlan>>(gpu->library()->plan(some_product()));
  const auto answer = gpu->library()->with(*plan, {.relu = true});
  EXPECT_EQ(std::get<hal::Refusal>(answer).reason,
            "hipBLASLt: it cannot be asked what else an algorithm is for");
}

TEST_F(HipblasLt, AddressesThatItMayNotTakeAreNotGivenToIt) {
  hal::GemmDesc desc = some_product();
  for (uint32_t* which : {&desc.alignment_a, &desc.alignment_b, &desc.alignment_d}) {
    *which = 8;
    const hal::Refusal refused = refusal(desc);
    EXPECT_EQ(refused.reason, "hipBLASLt: an operand's address may be no multiple of 16");
    EXPECT_TRUE(refused.is_fallback);
    *which = 16;
  }
  EXPECT_EQ(refusal(desc).reason, "nothing");
}

TEST_F(HipblasLt, HalvesAreNotForGpusThatLoseTheirDenormals) {
  setenv("FAKE_HIP_ARCHITECTURE", "gfx90a:sramecc+:xnack-", 1);
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32}) {
    EXPECT_EQ(refusal(some_product(dtype)).reason,
              dtype == DType::F32
                  ? "nothing"
                  : "hipBLASLt, rocBLAS: matrix units of gfx90a take denormals of " +
                        std::string(name_of(dtype)) + " for 0");
  }
}

TEST_F(HipblasLt, WithoutItThereIsAReasonWithTheRemedy) {
  setenv(of_.vendor.variable, "libnone.so", 1);
  const Executor gpu = executor();
  const Tensor a = given(gpu, 20);
  ops::matmul(a, a).eval();
  EXPECT_EQ(gpu.counters().fallbacks, 1u);
  EXPECT_EQ(gpu.counters().library_calls, 0u);
  BackendConfig how = config();
  how.strict = true;
  const Executor strict = Executor::from_config(how);
  const Tensor b = given(strict, 20);
  const std::string what = error_of([&] { ops::matmul(b, b).eval(); }).what();
  EXPECT_NE(what.find("hipBLASLt: not found (libnone.so"), std::string::npos) << what;
  EXPECT_NE(what.find("it is ROCm's package hipblaslt, and HOLOGRAM_HIPBLASLT_LIBRARY may say "
                      "where it is"),
            std::string::npos)
      << what;
}

TEST_F(HipblasLt, OldVersionsHaveOtherNumbers) {
  library_.version(500);
  EXPECT_EQ(refusal(some_product()).reason,
            "hipBLASLt: it is version 0.5.0, and 0.6.0 is the oldest that is known");
  library_.version(1000);
  EXPECT_EQ(refusal(some_product()).reason, "nothing");
  const auto answer = device()->library()->plan(some_product());
  const auto& plan = std::get<std::shared_ptr<hal::LibraryPlan>>(answer);
  EXPECT_EQ(plan->way().find("hipBLASLt 0.10.0 "), 0u) << plan->way();
}

TEST_F(HipblasLt, OneThatDoesNotTellItsVersionIsNotUsed) {
  library_.fail("hipblasLtGetVersion", 0, 1, kInternalError);
  EXPECT_EQ(refusal(some_product()).reason,
            "hipBLASLt: it does not tell its version: status 6 (HIPBLAS_STATUS_INTERNAL_ERROR)");
  EXPECT_EQ(refusal(some_product()).reason, "nothing") << "it is asked again";
}

// Memory and streams of one HIP are nothing to another.
TEST_F(HipblasLt, OneOfAnotherHipIsNotUsed) {
  setenv(of_.vendor.variable, FAKE_HIPBLASLT_OF_ANOTHER, 1);
  EXPECT_EQ(refusal(some_product()).reason,
            std::string("hipBLASLt: not usable (") + FAKE_HIPBLASLT_OF_ANOTHER +
                " works by another HIP than the one that is in use); HOLOGRAM_HIPBLASLT_LIBRARY "
                "may say where one is");
}

TEST_F(HipblasLt, WhatItCannotDoInTf32ItDoesInF32) {
  BackendConfig how = config();
  how.allow_tf32 = true;
  const auto gpu = device(how);
  library_.fail("hipblasLtMatmulAlgoGetHeuristic", 0, 1, of_.vendor.not_supported);
  const auto answer = gpu->library()->plan(some_product());
  ASSERT_FALSE(std::holds_alternative<hal::Refusal>(answer));
  EXPECT_EQ(std::get<std::shared_ptr<hal::LibraryPlan>>(answer)->name(), "hipBLASLt f32");
}

TEST_F(HipblasLt, StreamsHaveHandlesOfTheirOwn) {
  {
    const std::vector<Executor> all = {executor(), executor(), executor()};
    for (int round = 0; round < 2; round++)
      for (const Executor& gpu : all) {
        const Tensor a = given(gpu, 24);
        EXPECT_TRUE(is_right(ops::matmul(a, a), 24));
      }
    EXPECT_EQ(library_.handles(), 1 + 3) << "one for plans";
  }
  for (int i = 0; i < 5; i++) {
    const Executor gpu = executor();
    const Tensor a = given(gpu, 24);
    EXPECT_TRUE(is_right(ops::matmul(a, a), 24));
  }
  EXPECT_EQ(library_.handles(), 1 + 3) << "those of streams that are gone are used again";
}

// The emulated library refuses an operation that two threads use at a time, and a handle whose
// memory nobody waited for.
TEST_F(HipblasLt, ThreadsShareAPlan) {
  std::vector<std::thread> threads;
  threads.reserve(3);
  std::atomic<int> right = 0;
  for (int t = 0; t < 3; t++)
    threads.emplace_back([&] {
      const Executor gpu = executor();
      const Tensor a = given(gpu, 24);
      for (int i = 0; i < 20; i++) right += is_right(ops::matmul(a, a), 24) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 60);
  EXPECT_EQ(library_.calls("hipblasLtMatmulAlgoGetHeuristic"), 1);
}

TEST_F(HipblasLt, CapturedProductsAreNodesOfAGraph) {
  const Executor gpu = executor();
  const Tensor a = given(gpu, 32);
  const Graph graph = capture([](const Tensor& x) { return ops::matmul(ops::matmul(x, x), x); }, a);
  EXPECT_EQ(graph.note().find("a HIP graph of "), 0u) << graph.note();
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(is_right(graph.launch(a).front(), 32 * 32));
    EXPECT_TRUE(is_right(ops::matmul(a, a), 32)) << "beside it";
  }
}

// One call after the other fails, as with cuBLASLt: the product goes by our own program, which is
// counted, or is an error that says what and what to do; and afterwards it succeeds.
TEST_F(HipblasLt, EveryCallMayFail) {
  int own = 0, errors = 0;
  int64_t side = 20;
  for (const char* call : {"Create", "GetVersion", "MatmulDescCreate", "MatmulDescSetAttribute",
                           "MatrixLayoutCreate", "MatmulPreferenceCreate",
                           "MatmulPreferenceSetAttribute", "MatmulAlgoGetHeuristic", "Matmul"})
    for (const int status : {kAllocFailed, kInternalError})
      for (int skip = 0;; skip++) {
        const std::string function = name(call);
        SCOPED_TRACE(function + ' ' + std::to_string(skip));
        const Executor gpu = executor();
        const int64_t n = ++side;  // planned for the first time
        const Tensor b = given(gpu, n);
        const int before = library_.calls(function.c_str()), alive = library_.alive();
        library_.fail(function.c_str(), skip, 1, status);
        const Error error = error_of([&] { ops::matmul(b, b).eval(); });
        library_.fail(nullptr, 0, 0, 0);
        if (std::string(error.what()) != "no error") {
          errors++;
          EXPECT_FALSE(error.remedy().empty());
          EXPECT_EQ(error.kind() == ErrorKind::OutOfMemory, status == kAllocFailed) << error.what();
        } else {
          const Counters counted = gpu.counters();
          EXPECT_EQ(counted.library_calls + counted.fallbacks, 1u);
          own += static_cast<int>(counted.fallbacks);
          if (counted.fallbacks > 0) {
            EXPECT_EQ(library_.alive(), alive) << "what was made for the plan is gone";
          }
        }
        EXPECT_TRUE(is_right(ops::matmul(b, b), n));
        EXPECT_GT(gpu.counters().library_calls, 0u);
        if (library_.calls(function.c_str()) - before <= skip) break;
      }
  EXPECT_GT(own, 15);
  EXPECT_GE(errors, 2);
}

// What a handle has is not ready before the driver says so.
TEST_F(HipblasLt, AHandleThatIsNeverReadyIsGivenBack) {
  driver_.fail("hipEventSynchronize", 0, 1, 1);
  EXPECT_EQ(refusal(some_product()).reason,
            "hipBLASLt: it does not start: status 1 (HIPBLAS_STATUS_NOT_INITIALIZED)");
  EXPECT_EQ(library_.handles(), 0);
  EXPECT_EQ(refusal(some_product()).reason, "nothing");
  EXPECT_EQ(library_.handles(), 1);
}

TEST_F(HipblasLt, AProductThatFailsIsNamed) {
  const Executor gpu = executor();
  const Tensor a = given(gpu, 20);
  library_.fail("hipblasLtMatmul", 0, 1, kExecutionFailed);
  const Error error = error_of([&] { ops::matmul(a, a).eval(); });
  EXPECT_STREQ(error.what(), "hipBLASLt f32 failed: status 5 (HIPBLAS_STATUS_EXECUTION_FAILED)");
  EXPECT_NE(error.remedy().find("HOLOGRAM_HIPBLASLT_LIBRARY=none"), std::string::npos);
  EXPECT_TRUE(is_right(ops::matmul(a, a), 20));
}

}  // namespace
}  // namespace hologram
