// Products of matrices by cuBLASLt and by hipBLASLt, with libraries (fake_blaslt.cpp) and drivers
// (fake_cuda.cpp) that are emulated: what is asked of them, and what comes of it.
#include <functional>

#include "blaslt_fixture.hpp"

namespace hologram {
namespace {

using hal::GemmDesc;
using products::Case;

struct Types {
  DType a, b, d;
};
constexpr Types kFloats[] = {
    {DType::F32, DType::F32, DType::F32},    {DType::F64, DType::F64, DType::F64},
    {DType::F16, DType::F16, DType::F16},    {DType::F16, DType::F16, DType::F32},
    {DType::BF16, DType::BF16, DType::BF16}, {DType::BF16, DType::BF16, DType::F32}};
constexpr Types kF32 = kFloats[0];

class BlasLt : public OnBlasLt, public testing::WithParamInterface<const BlasLtEmulation*> {
 public:
  BlasLt() : OnBlasLt(*GetParam()) {}

 protected:
  // What may be asked of either.
  GemmDesc describe(const Types& types, int64_t m, int64_t n, int64_t k) const {
    GemmDesc desc = products::describe(types, m, n, k);
    desc.alignment_a = desc.alignment_b = desc.alignment_d = std::max(of_.vendor.alignment, 1u);
    return desc;
  }
};

Case filled(const GemmDesc& desc, uint32_t seed) {
  Case c(libraries::product_of(desc));
  std::mt19937 random(seed);
  c.fill(random);
  return c;
}

// Bytes before each operand in its buffer.
using Offsets = std::array<uint64_t, 3>;

// d, by way of the device's memory.
void run(hal::Device& device, const hal::LibraryPlan& plan, Case& c, const Offsets& offsets = {}) {
  const auto stream = device.stream();
  std::vector<std::unique_ptr<hal::Buffer>> buffers;
  std::vector<hal::Binding> bindings;
  for (size_t i = 0; i < 3; i++) {
    hal::HostBuffer host(c.memory[i].data(), c.memory[i].size());
    buffers.push_back(device.allocate(c.memory[i].size() + offsets[i]));
    bindings.push_back({buffers[i].get(), offsets[i], c.memory[i].size()});
    stream->copy(bindings[i], {&host, 0, host.size()});
  }
  const auto workspace = device.allocate(std::max<uint64_t>(plan.workspace(), 1));
  stream->call(plan, bindings, {workspace.get(), 0, plan.workspace()});
  hal::HostBuffer host(c.memory[2].data(), c.memory[2].size());
  stream->copy({&host, 0, host.size()}, bindings[2]);
  stream->wait(stream->submit(), {});
}

std::shared_ptr<hal::LibraryPlan> planned(hal::Device& device, const GemmDesc& desc) {
  auto answer = device.library()->plan(desc);
  if (auto* refused = std::get_if<hal::Refusal>(&answer)) {
    ADD_FAILURE() << refused->reason << ": " << products::text(desc);
    return nullptr;
  }
  return std::get<std::shared_ptr<hal::LibraryPlan>>(answer);
}

uint32_t alignment(uint64_t offset) {
  return static_cast<uint32_t>((offset | 256) & (~(offset | 256) + 1));
}

TEST_P(BlasLt, MatchesPlainLoopsForEveryLayout) {
  const auto gpu = device();
  std::mt19937 random(1);
  int computed = 0;
  for (const Types& types : kFloats)
    for (uint32_t round = 0; round < 40; round++) {
      GemmDesc desc = products::random_desc(types, random);
      if (desc.m * desc.n * desc.k * desc.batch > 2000000) desc.k = 5;
      if (desc.m * desc.n * desc.k * desc.batch == 0) {
        EXPECT_TRUE(std::holds_alternative<hal::Refusal>(gpu->library()->plan(desc)));
        continue;
      }
      SCOPED_TRACE(products::text(desc));
      Offsets offsets{};
      for (size_t i = 0; i < 3; i++)
        offsets[i] = random() % 4 * (random() % 2 * 7 + 1) *
                     std::max<uint64_t>(of_.vendor.alignment, size_of(i == 2 ? desc.d : desc.a));
      desc.alignment_a = alignment(offsets[0]);
      desc.alignment_b = alignment(offsets[1]);
      desc.alignment_d = alignment(offsets[2]);
      const auto plan = planned(*gpu, desc);
      ASSERT_NE(plan, nullptr);
      Case c = filled(desc, round);
      run(*gpu, *plan, c, offsets);
      ASSERT_NO_FATAL_FAILURE(c.check());
      computed++;
    }
  EXPECT_GT(computed, 100);
}

TEST_P(BlasLt, MultipliesBytesWhereTheLibraryDoes) {
  constexpr Types kBytes = {DType::I8, DType::I8, DType::I32};
  GemmDesc desc = describe(kBytes, 12, 8, 20);
  desc.transpose_b = true;
  desc.ldb = 20;
  const auto gpu = device();
  Case c = filled(desc, 1);
  const auto plan = planned(*gpu, desc);
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->name(), named(" i8 to i32"));
  run(*gpu, *plan, c);
  ASSERT_NO_FATAL_FAILURE(c.check());
  desc.transpose_b = false;
  EXPECT_EQ(refusal(desc).reason, named(": it has no algorithm for the product"));
  desc.k = desc.lda = 1 << 17;  // might not fit an i32
  EXPECT_EQ(refusal(desc).reason, named(": sums of more than 131071 products of i8"));
}

TEST_P(BlasLt, RefusesWithAReasonWhatItCannotDo) {
  const GemmDesc fine = describe(kF32, 3, 4, 5);
  const auto refused = [&](const std::function<void(GemmDesc&)>& change) {
    GemmDesc desc = fine;
    change(desc);
    const hal::Refusal answer = refusal(desc);
    return (answer.is_fallback ? "fallback: " : "") + answer.reason;
  };
  EXPECT_EQ(refused([](GemmDesc&) {}), "nothing");
  EXPECT_EQ(refused([](GemmDesc& g) { g.a = g.b = g.d = DType::I32; }),
            "no product of i32 and i32 to i32");
  EXPECT_EQ(refused([](GemmDesc& g) { g.a = DType::F16; }), "no product of f16 and f32 to f32");
  EXPECT_EQ(refused([](GemmDesc& g) { g.accumulate = DType::F16; }),
            "no product of f32 and f32 to f32");
  EXPECT_EQ(refused([](GemmDesc& g) { g.k = 0; }), "the sums are empty");
  EXPECT_EQ(refused([](GemmDesc& g) { g.m = 0; }), "there is nothing to compute");
  EXPECT_EQ(refused([](GemmDesc& g) { g.lda = 4; }), "rows of a overlap");
  EXPECT_EQ(refused([](GemmDesc& g) { g.m = int64_t{1} << 32; }),
            "fallback: " + named(": a side is more than 2147483647"));
  EXPECT_EQ(refused([](GemmDesc& g) {
              g.batch = 70000;
              g.stride_a = 15;
              g.stride_d = 12;
              g.stride_b = 20;
            }),
            "fallback: " + named(": a batch of more than 65535"));
}

TEST_P(BlasLt, PlansAProductOnce) {
  const auto gpu = device(), again = device();
  const GemmDesc desc = describe(kF32, 30, 40, 50);
  const auto plan = planned(*gpu, desc);
  EXPECT_EQ(plan, planned(*gpu, desc));
  EXPECT_EQ(plan, planned(*again, desc)) << "another executor's device is the same device";
  EXPECT_EQ(library_.calls(name("MatmulAlgoGetHeuristic").c_str()), 1);
  EXPECT_EQ(library_.calls(name("Create").c_str()), 1);
  for (const auto& change : std::initializer_list<void (*)(GemmDesc&)>{
           [](GemmDesc& g) { g.m++; }, [](GemmDesc& g) { g.n--; }, [](GemmDesc& g) { g.k--; },
           [](GemmDesc& g) { g.lda++; }, [](GemmDesc& g) { g.ldb++; }, [](GemmDesc& g) { g.ldd++; },
           [](GemmDesc& g) { g.alignment_a = 64; }, [](GemmDesc& g) { g.alignment_b = 64; },
           [](GemmDesc& g) { g.alignment_d = 64; }}) {
    GemmDesc other = desc;
    change(other);
    EXPECT_NE(plan, planned(*gpu, other));
  }
  const int alive = library_.alive();
  for (int i = 0; i < 10; i++) EXPECT_EQ(plan, planned(*gpu, desc));
  EXPECT_EQ(library_.alive(), alive);
  // That there is no algorithm is remembered, too.
  library_.refuse(true);
  GemmDesc other = desc;
  other.m = 99;
  refusal(other);
  const int asked = library_.calls(name("MatmulAlgoGetHeuristic").c_str());
  refusal(other);
  EXPECT_EQ(library_.calls(name("MatmulAlgoGetHeuristic").c_str()), asked);
}

TEST_P(BlasLt, IsTrueF32UnlessTf32IsAskedFor) {
  // Numbers that TF32 does not hold.
  GemmDesc desc = describe(kF32, 9, 9, 9);
  BackendConfig how = config();
  const auto difference = [&](const BackendConfig& by) {
    const auto gpu = device(by);
    Case c = filled(desc, 5), exact = filled(desc, 5);
    run(*gpu, *planned(*gpu, desc), c);
    double most = 0;
    for (int64_t i = 0; i < 9; i++)
      for (int64_t j = 0; j < 9; j++) {
        double sum = 0;
        for (int64_t k = 0; k < 9; k++)
          sum += static_cast<double>(products::element(DType::F32, c.at(0, 0, i, k)) *
                                     products::element(DType::F32, c.at(1, 0, k, j)));
        most = std::max(
            most,
            std::fabs(sum - static_cast<double>(products::element(DType::F32, c.at(2, 0, i, j)))));
      }
    return most;
  };
  EXPECT_LT(difference(how), 1e-6);
  EXPECT_EQ(library_.compute(), of_.vendor.compute_f32);
  how.allow_tf32 = true;
  EXPECT_GT(difference(how), 1e-5);
  EXPECT_EQ(library_.compute(), of_.vendor.compute_tf32);
  how.enable_tensor_cores = false;
  if (of_.vendor.chooses) {
    EXPECT_LT(difference(how), 1e-6);
    EXPECT_EQ(library_.compute(), of_.vendor.compute_f32);
    EXPECT_EQ(library_.tensor_cores(), 0);
  } else {
    const auto answer = device(how)->library()->plan(desc);
    EXPECT_EQ(std::get<hal::Refusal>(answer).reason,
              "hipBLASLt, rocBLAS: enable_tensor_cores is off, of which they cannot be told");
  }
  EXPECT_LT(difference(config()), 1e-6);
  EXPECT_EQ(library_.tensor_cores(), 1);
}

TEST_P(BlasLt, IsListedWithItsFileOrAReason) {
  LibraryInfo found;
  for (const LibraryInfo& library : discover_libraries())
    if (library.name == of_.vendor.name) found = library;
  EXPECT_EQ(found.version, of_.vendor.chooses ? "12.9.3" : "unknown");
  EXPECT_EQ(found.path, of_.library);
  EXPECT_EQ(found.reason, "");
}

TEST_P(BlasLt, AnotherLibraryOfThatNameIsAReason) {
  setenv(of_.vendor.variable, "libm.so.6", 1);
  EXPECT_EQ(
      refusal(describe(kF32, 2, 2, 2)).reason,
      named(": not usable (it lacks ") + name(of_.vendor.chooses ? "GetProperty)" : "GetVersion)"));
  EXPECT_EQ(discover_libraries().back().name, "OpenBLAS");
}

TEST_P(BlasLt, WithoutADriverItIsNotLookedFor) {
  setenv(of_.driver.driver_setting, "libnone.so", 1);
  LibraryInfo found;
  for (const LibraryInfo& library : discover_libraries())
    if (library.name == of_.vendor.name) found = library;
  EXPECT_EQ(found.reason.find("not looked for: "), 0u) << found.reason;
}

INSTANTIATE_TEST_SUITE_P(, BlasLt, testing::Values(&kOfCuda, &kOfRocm),
                         [](const auto& info) { return std::string(info.param->vendor.name); });

}  // namespace
}  // namespace hologram
