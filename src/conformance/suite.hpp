// The parts of the suite. A part names its cases and tries those that are asked for.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "conformance/arithmetic.hpp"
#include "core/function_ref.hpp"
#include "hologram/conformance.hpp"
#include "hologram/tensor.hpp"

namespace hologram::conformance {

// What a case found.
struct Finding {
  uint64_t elements = 0, observed = 0;  // looked at; of these, such as nothing is promised of
  double error = 0, bound = 0;
  std::string wrong;    // empty: nothing
  std::string skipped;  // the reason; empty: it was tried

  // Takes one element's error in.
  void measure(double units, size_t i, Wide result, Wide exact);
};

// The devices' ways of running, that must not show in the bits.
struct Ways {
  Executor plain;     // the settings of the caller
  Executor unfused;   // without fusion
  Executor one, two;  // threads
  // Where the device is another one and exact: the one that has to give the same bits.
  std::optional<Executor> cpu;
};

class Suite {
 public:
  Suite(const Executor& executor, const ConformanceOptions& options);
  ConformanceReport run();

  const Ways& ways() const { return ways_; }
  const Arithmetic& arithmetic() const { return arithmetic_; }
  // Tries a case, unless the filter leaves it out or the device cannot.
  void attempt(std::string_view operation, DType dtype, std::string_view property,
               core::FunctionRef<Finding()> body);

  // Calls each body where it is set; false: that case is not decided yet, and is left out. A page
  // tries such a case again when the values that it needs have come from the device.
  std::function<bool(core::FunctionRef<void()>)> around;

 private:
  struct Filter;
  const ConformanceOptions& options_;
  std::shared_ptr<const Filter> filter_;
  Ways ways_;
  Arithmetic arithmetic_;
  ConformanceReport report_;
};

void elementwise_cases(Suite& suite);
void reduction_cases(Suite& suite);
void product_cases(Suite& suite);
void convolution_cases(Suite& suite);
void movement_cases(Suite& suite);
void cumulative_cases(Suite& suite);
void ordering_cases(Suite& suite);
void arrangement_cases(Suite& suite);
void function_cases(Suite& suite);
void random_cases(Suite& suite);
void creation_cases(Suite& suite);
void nn_cases(Suite& suite);
void bit_cases(Suite& suite);

// Tries what must not show in the bits: with fusion and without it, on one thread and on two, on
// the CPU. Products of matrices and convolutions are left out of the last: libraries do not promise
// bits.
using Make = std::function<std::vector<Array>(const Executor&)>;
void attempt_both(Suite& suite, std::string_view operation, DType dtype, const Make& make);

// A seed that follows from the name of a case, so that it does not depend on what ran before.
uint64_t seed_of(std::string_view a, DType dtype, std::string_view b);

// The dtypes, in the order of the reports.
std::span<const DType> all_dtypes();

// Whether a device must do this: the minimum that its class promises.
bool must_support(const DeviceInfo& device, DType dtype);

// Empty, or where two results differ in a bit; all NaN are one.
std::string difference(const Array& a, const Array& b);

}  // namespace hologram::conformance
