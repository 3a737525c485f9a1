// What products and convolutions are compared with: a sum of products, in numbers that are wider
// than what is tested.
#pragma once

#include "conformance/suite.hpp"
#include "conformance/wide.hpp"

namespace hologram::conformance {

// One element's. Floats are summed as such, integers wrap around, bools are joined by `or`.
class SumOfProducts {
 public:
  explicit SumOfProducts(DType dtype) : dtype_(dtype) {}

  void take(const Array& x, size_t in_x, const Array& y, size_t in_y);
  void add(const Array& x, size_t in_x);
  // Element i of the result. It may be off by what so many roundings make of the sum of the terms'
  // magnitudes, in any order of additions, and by its own rounding to 16 bits.
  void judge(const Array& result, size_t i, double roundings, Finding& found) const;

 private:
  const DType dtype_;
  Wide sum_ = 0, size_ = 0;
  uint64_t whole_ = 0;
};

}  // namespace hologram::conformance
