// Who computes a product, a convolution and the like: the lists that `explain` shows, in the order
// in which they are asked, beside who does it.
#include <gtest/gtest.h>

#include "graph/candidates.hpp"
#include "hologram/convolution.hpp"
#include "hologram/executor.hpp"
#include "hologram/linear.hpp"
#include "hologram/ops.hpp"
#include "libraries/host_ops.hpp"
#include "libraries/packed/packed.hpp"

namespace hologram {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Executor cpu(bool reproducible = false) {
  return Executor::builder().backend(BackendType::Cpu).reproducible(reproducible).build();
}

hal::GemmDesc product(DType type, DType result) {
  hal::GemmDesc desc;
  desc.a = desc.b = type;
  desc.d = result;
  desc.accumulate = is_float(type) && type != DType::F64 ? DType::F32
                    : is_float(type)                     ? DType::F64
                                                         : DType::I32;
  desc.m = desc.n = desc.k = 64;
  desc.lda = desc.ldb = desc.ldd = 64;
  return desc;
}

// What a plan does, and the first of the list that does not refuse, are the same.
TEST(Candidates, ThePlanIsThatOfTheFirstWhoDoesNotRefuse) {
  for (const bool reproducible : {false, true}) {
    libraries::HostOps ops(2, reproducible);
    for (const auto& [type, result] :
         std::initializer_list<std::pair<DType, DType>>{{DType::F32, DType::F32},
                                                        {DType::F64, DType::F64},
                                                        {DType::F16, DType::F16},
                                                        {DType::BF16, DType::F32},
                                                        {DType::I8, DType::I32},
                                                        {DType::I16, DType::I32},
                                                        {DType::I32, DType::I32}})
      for (const int64_t rows : {1, 64}) {
        hal::GemmDesc desc = product(type, result);
        desc.m = rows;
        SCOPED_TRACE(testing::Message() << name_of(type) << ", " << rows << " rows");
        const auto planned = ops.plan(desc);
        const auto all = ops.candidates(desc);
        const auto first = std::find_if(all.begin(), all.end(),
                                        [](const hal::Candidate& c) { return c.refusal.empty(); });
        const auto* const plan = std::get_if<std::shared_ptr<hal::LibraryPlan>>(&planned);
        ASSERT_EQ(plan != nullptr, first != all.end());
        if (plan != nullptr) {
          EXPECT_EQ((*plan)->name(), first->name);
        }
        for (const hal::Candidate& c : all) EXPECT_FALSE(c.name.empty());
        EXPECT_GE(all.size(), 6u);
      }
  }
}

// One place says what a library has none of.
TEST(Candidates, WorkOfAKindThatALibraryHasNotIsRefusedByItsName) {
  const auto reason = [](const hal::OpDesc& desc) {
    const hal::Planned planned =
        hal::answer(desc, [](const hal::ConvDesc&) -> hal::Planned { return hal::Refusal{"no"}; });
    return std::get<hal::Refusal>(planned).reason;
  };
  EXPECT_EQ(reason(hal::ConvDesc{}), "no");
  EXPECT_EQ(reason(hal::AttentionDesc{}), "the library has no attention");
  EXPECT_EQ(reason(hal::RowReduceDesc{}), "the library has no sums of rows");
  EXPECT_EQ(reason(hal::BlocksDesc{}), "the library has no matrices in blocks");
}

TEST(Candidates, ExplainTellsThemIfAsked) {
  const Executor executor = cpu();
  const Tensor x = ops::ones({64, 64}, DType::F32, executor).eval();
  const Tensor y = ops::matmul(x, x);
  EXPECT_FALSE(has(explain(y), "1. " + std::string("sums of rows")));
  const std::string said = explain(y, {.candidates = true});
  // What the product is made of, then who computes it.
  EXPECT_TRUE(has(said, "1. sums of rows of a: b has more than one column\n")) << said;
  EXPECT_TRUE(has(said, "   * 6. one product\n")) << said;
  EXPECT_TRUE(has(said, "the CBLAS of HOLOGRAM_CBLAS: not asked for\n")) << said;
  if (!libraries::packed::refuses(product(DType::F32, DType::F32))) {
    EXPECT_TRUE(has(said, "by hologram f32 product\n")) << said;
    EXPECT_TRUE(has(said, "   * 5. hologram f32 product\n")) << said;
  }
  // A vector: sums of rows.
  const Tensor v = ops::ones({64, 1}, DType::F32, executor).eval();
  EXPECT_TRUE(has(explain(ops::matmul(x, v), {.candidates = true}), "   * 1. sums of rows of a\n"));
  // Everything else that is no kernel has its list.
  const std::string sorted = explain(ops::sort(x), {.candidates = true});
  EXPECT_TRUE(has(sorted, "programs: is not asked\n")) << sorted;
}

TEST(Candidates, ReproducibleForbidsLibrariesAndSaysSo) {
  const Executor executor = cpu(true);
  const Tensor x = ops::ones({64, 64}, DType::F32, executor).eval();
  const std::string said = explain(ops::matmul(x, x), {.candidates = true});
  EXPECT_TRUE(has(said, "the libraries of the host: reproducible forbids libraries")) << said;
}

TEST(Candidates, OfADeviceWithoutALibraryProgramsAreTheList) {
  const Executor executor(BackendType::Null);
  const Tensor x = ops::ones({64, 64}, DType::F32, executor);
  const std::string said = explain(ops::matmul(x, x), {.candidates = true});
  EXPECT_TRUE(has(said, "by programs: the device has no library\n")) << said;
  EXPECT_TRUE(has(said, "1. a library: the device has no library\n")) << said;
  EXPECT_TRUE(has(said, "* 2. programs\n")) << said;
}

TEST(Candidates, InWords) {
  const graph::Candidates all = {
      {"one", "too small", {}}, {"two", {}, "5 ways"}, {"programs", {}, {}}};
  EXPECT_EQ(graph::doer(all), "by two");
  EXPECT_EQ(graph::in_lines(all),
            "     1. one: too small\n   * 2. two: 5 ways\n     3. programs: is not asked\n");
  EXPECT_EQ(graph::doer({{{}, "no library", {}}, {"programs", {}, {}}}), "by programs: no library");
  EXPECT_EQ(graph::doer(graph::only("a copy")), "by a copy");
}

}  // namespace
}  // namespace hologram
