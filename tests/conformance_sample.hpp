// Every operation for a dtype of its own, in a layout of its own: all that a machine without a GPU
// has time to compile. `hologram conformance --device NAME` tries everything.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "hologram/conformance.hpp"
#include "hologram/executor.hpp"

namespace hologram::tests {

inline constexpr size_t kSampleShares = 8;

// Tries one share of the sample, if it is one of the first HOLOGRAM_TEST_SHARES.
inline void try_sample(const Executor& on, size_t share_number) {
  if (const char* shares = std::getenv("HOLOGRAM_TEST_SHARES");
      shares != nullptr && share_number >= std::strtoul(shares, nullptr, 10))
    GTEST_SKIP() << "HOLOGRAM_TEST_SHARES leaves this share of the suite out";
  const auto mixed = [](const std::string& name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
    return hash ^ hash >> 31;
  };
  std::map<std::string, std::string> picked;  // of each operation, the name that mixes to least
  const auto pick = [&](const std::string& name) {
    if (name.find("zero-size") != std::string::npos) return false;
    if (!on.device().compute.has(DType::F64) && name.find("/f64/") != std::string::npos)
      return false;
    std::string& best = picked[name.substr(0, name.find('/'))];
    if (best.empty() || mixed(name) < mixed(best)) best = name;
    return false;
  };
  check_conformance(Executor(BackendType::Cpu), {{}, {}, pick});
  EXPECT_GT(picked.size(), 130u);
  std::vector<std::string> share;
  size_t number = 0;
  for (const auto& [operation, name] : picked)
    if (number++ % kSampleShares == share_number) share.push_back(name);
  const ConformanceReport report =
      check_conformance(on, {{}, {}, [&](const std::string& name) {
                               return std::find(share.begin(), share.end(), name) != share.end();
                             }});
  EXPECT_EQ(report.results.size(), share.size());
  for (const ConformanceResult& r : report.results)
    EXPECT_NE(r.verdict, Verdict::Failed) << r.name << ": " << r.reason;
  testing::Test::RecordProperty("passed", static_cast<int>(report.count(Verdict::Passed)));
}

}  // namespace hologram::tests
