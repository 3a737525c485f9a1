// Where properties are looked at: on the CPU, interpreted, compiled and without fusion, and on the
// other devices that are there.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "conformance/wide.hpp"
#include "graphs/coverage.hpp"
#include "graphs/description.hpp"
#include "graphs/ways.hpp"
#include "hologram/error.hpp"
#include "hologram/executor_builder.hpp"
#include "hologram/ops.hpp"

namespace hologram::promises {

using conformance::Wide;
using graphs::all_dtypes;
using graphs::Profile;

struct Place {
  std::string name;
  BackendType backend = BackendType::Cpu;
  Jit jit = Jit::Off;
  bool fusion = true;
};

inline std::vector<Place> places() {
  return {{"interpreted"},
          {"compiled", BackendType::Cpu, Jit::Always},
          {"unfused", BackendType::Cpu, Jit::Off, false},
          {"cuda", BackendType::Cuda},
          {"rocm", BackendType::Rocm},
          {"opencl", BackendType::OpenCl},
          {"webgpu", BackendType::WebGpu}};
}

// Skips where there is no such device. On devices only a few cases are tried, as they compile each
// kernel anew: one in `every` with HOLOGRAM_TEST_ALL=1, else one in ten of these.
class Promises : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    try {
      executor_.emplace(ExecutorBuilder()
                            .backend(GetParam().backend)
                            .jit(GetParam().jit)
                            .fusion(GetParam().fusion)
                            .check(false)
                            .build());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  const Executor& executor() const { return *executor_; }
  bool on_cpu() const { return GetParam().backend == BackendType::Cpu; }
  bool exact() const { return executor_->device().numerics == Numerics::Exact; }
  bool takes_part(size_t case_number, size_t every) const {
    const size_t apart = graphs::setting("HOLOGRAM_TEST_ALL") != 0 ? every : 10 * every;
    return on_cpu() || case_number % apart == every - 1;
  }
  Tensor input(DType dtype, const Shape& shape, Profile profile, uint32_t seed = 1) const {
    return Tensor::from(values(dtype, shape, profile, seed), *executor_);
  }
  static Array values(DType dtype, const Shape& shape, Profile profile, uint32_t seed = 1) {
    graphs::Step step;
    step.dtype = dtype;
    step.shape = shape;
    step.profile = profile;
    step.seed = seed;
    return graphs::values_of(step);
  }

 private:
  std::optional<Executor> executor_;
};

inline std::vector<Wide> reals(const Array& array) {
  std::vector<Wide> list;
  for (size_t i = 0; i < array.size(); i++)
    list.push_back(conformance::real_at(array.dtype(), array.data(), i));
  return list;
}
inline std::vector<Wide> reals(const Tensor& tensor) { return reals(tensor.array()); }

// Element by element, all NaN being one; what is different is said of the first.
inline testing::AssertionResult same(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return testing::AssertionFailure() << name_of(a.dtype()) << to_string(a.shape()) << " and "
                                       << name_of(b.dtype()) << to_string(b.shape());
  const std::vector<Wide> x = reals(a), y = reals(b);
  for (size_t i = 0; i < x.size(); i++)
    if (x[i] != y[i] && !(conformance::is_nan(x[i]) && conformance::is_nan(y[i])))
      return testing::AssertionFailure()
             << name_of(a.dtype()) << to_string(a.shape()) << ": element " << i << " is "
             << static_cast<double>(x[i]) << " or " << static_cast<double>(y[i]);
  return testing::AssertionSuccess();
}
inline testing::AssertionResult same(const Tensor& a, const Tensor& b) {
  return same(a.array(), b.array());
}

}  // namespace hologram::promises
