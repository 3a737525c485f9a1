// Whether a device computes what it promises: every operation, for every dtype and layout, against
// plain loops in wider arithmetic.
//
//   const ConformanceReport report = check_conformance(Executor());
//   if (!report.passed()) …
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hologram/executor.hpp"

namespace hologram {

enum class Verdict : uint8_t {
  Passed,
  Failed,       // a wrong answer, or an error where there should be none
  Unsupported,  // the device cannot, and need not
  Skipped       // not tried; the reason says why
};
HOLOGRAM_API std::string_view name_of(Verdict verdict);  // "passed", …

struct ConformanceResult {
  std::string name;  // "add/f32/transposed": operation, dtype, and the layout or the property
  std::string operation;
  DType dtype = DType::None;
  Verdict verdict = Verdict::Passed;
  std::string reason;     // of everything but Passed
  uint64_t elements = 0;  // of results, that were looked at
  uint64_t observed = 0;  // of these, such as a relaxed device promises nothing of
  double error = 0;       // the largest, in units of the last place, or of the bound for sums
  double bound = 0;       // that it must not exceed
};

struct HOLOGRAM_API ConformanceReport {
  DeviceInfo device;
  // What a relaxed device was seen to do otherwise than IEEE 754 says, and is allowed for:
  // "denormals may become 0". Empty if nothing.
  std::string arithmetic;
  std::vector<ConformanceResult> results;
  uint64_t count(Verdict verdict) const;
  bool passed() const { return count(Verdict::Failed) == 0; }
};

struct ConformanceOptions {
  std::string filter;  // a regular expression that a part of the name must match; empty: all
  std::function<void(const ConformanceResult&)> on_result;  // after each case
  std::function<bool(const std::string&)> choose = {};      // by name; empty: all
};

// Takes some seconds on a CPU. Everything is computed on the executor's device, with its settings;
// what must not depend on threads and fusion is computed again with others. InvalidArgument for a
// filter that is no regular expression.
HOLOGRAM_API ConformanceReport check_conformance(const Executor& executor,
                                                 const ConformanceOptions& options = {});

}  // namespace hologram
