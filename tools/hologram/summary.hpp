// What an output holds, in a few numbers.
#pragma once

#include <string>

#include "hologram/array.hpp"

namespace hologram::tool {

// Gathered rows by rows. NaN is counted apart.
class Summary {
 public:
  void add(const Array& rows);
  uint64_t count() const { return count_; }
  uint64_t nans() const { return nans_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const;
  std::string text() const;  // "min 0, max 1, mean 0.5"

 private:
  template <class T, class F>
  void add_all(const Array& rows, F number);
  uint64_t count_ = 0, nans_ = 0;
  double min_ = 0, max_ = 0, sum_ = 0;
};

}  // namespace hologram::tool
