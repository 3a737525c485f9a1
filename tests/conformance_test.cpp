// Every device that is there computes what it promises; docs/conformance.md says how well.
#include "hologram/conformance.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "conformance/document.hpp"
#include "conformance/oracle.hpp"
#include "graph/elementwise.hpp"
#include "hologram/error.hpp"
#include "hologram/ops.hpp"
#include "share.hpp"

namespace hologram {
namespace {

TEST(Conformance, EveryOperationHasAnOracle) {
  for (const graph::ElementwiseOp& row : graph::elementwise_table()) {
    const conformance::Oracle* oracle = conformance::find_oracle(row.name);
    ASSERT_NE(oracle, nullptr) << row.name;
    EXPECT_TRUE(oracle->real != nullptr || oracle->whole != nullptr) << row.name;
  }
  for (const conformance::Oracle& oracle : conformance::oracles())
    EXPECT_NE(graph::find_elementwise(oracle.name), nullptr) << oracle.name;
}

TEST(Conformance, EveryDevicePasses) {
  size_t devices = 0;
  for (const BackendReport& backend : discover_backends()) {
    for (const DeviceInfo& device : backend.devices) {
      if (backend.type == BackendType::Null) continue;  // computes nothing
      if (device.software)
        continue;  // takes minutes to compile all programs; has a test of its own
      BackendConfig config;
      config.backend_type = backend.type;
      config.device_id = device.index;
      tests::Share share;
      ConformanceOptions options;
      if (!share.all()) options.choose = [&](const std::string&) { return share.next(); };
      const ConformanceReport report = check_conformance(Executor::from_config(config), options);
      devices++;
      EXPECT_GT(report.results.size(), share.all() ? 20000u : 100u);
      size_t shown = 0;
      for (const ConformanceResult& r : report.results)
        if (r.verdict == Verdict::Failed && shown++ < 20)
          ADD_FAILURE() << device.name << ": " << r.name << ": " << r.reason;
      EXPECT_TRUE(report.passed());
      if (backend.type != BackendType::Cpu) continue;
      // The CPU has no gaps, and is what the document is about.
      EXPECT_EQ(report.count(Verdict::Unsupported), 0u);
      EXPECT_EQ(report.count(Verdict::Skipped), 0u);
      if (!share.all()) continue;
      std::stringstream text;
      text << std::ifstream(HOLOGRAM_SOURCE_DIR "/docs/conformance.md").rdbuf();
      EXPECT_EQ(conformance::document(report), text.str()) << "run `scripts/generate`";
    }
  }
  EXPECT_GE(devices, 1u);
}

TEST(Conformance, FiltersByName) {
  const Executor executor(BackendType::Cpu);
  size_t seen = 0;
  const ConformanceReport report = check_conformance(
      executor, {"^sin/f32/(dense|0-d)$", [&](const ConformanceResult&) { seen++; }});
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(seen, 2u);
  EXPECT_EQ(report.results[0].name, "sin/f32/dense");
  EXPECT_GT(report.results[0].error, 0);
  EXPECT_LE(report.results[0].error, report.results[0].bound);
  EXPECT_THROW(check_conformance(executor, {"(", {}}), Error);
}

// The words that the paper's authors give for a key and a counter of zeros begin with 6627e8d5; and
// no number of few bits is rounded to the 1 that is not in the range.
TEST(Conformance, RandomNumbersAreThePublishedOnes) {
  const Executor executor(BackendType::Cpu);
  ops::seed(0, executor);
  EXPECT_EQ(ops::rand({1}, DType::F32, executor).item<float>(), 0x6627e8 * 0x1p-24f);
  for (const DType dtype : {DType::F16, DType::BF16})
    EXPECT_LT(ops::max(ops::rand({30000}, dtype, executor)).item<float>(), 1) << name_of(dtype);
}

// The suite can tell right from wrong: the null device writes nothing.
TEST(Conformance, FindsADeviceThatComputesNothing) {
  const ConformanceReport report =
      check_conformance(Executor(BackendType::Null), {"^(exp|add|sum)/f32/dense", {}});
  EXPECT_EQ(report.count(Verdict::Failed), report.results.size());
  EXPECT_EQ(report.results.size(), 3u);
}

}  // namespace
}  // namespace hologram
