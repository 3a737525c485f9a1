// What an output holds, in a few numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hologram/array.hpp"

namespace hologram::tool {

// Gathered rows by rows. NaN is counted apart. Integers are exact.
class Summary {
 public:
  void add(const Array& rows);
  std::string text() const;                           // "min 0, max 1, mean 0.5"
  void describe(nlohmann::ordered_json& json) const;  // adds min, max, mean and nan

 private:
  template <class T, class F>
  void add_all(const Array& rows, F number);
  template <class T>
  void add_whole(const Array& rows);
  double mean() const;

  bool whole_ = false;
  uint64_t count_ = 0, nans_ = 0;
  double min_ = 0, max_ = 0, sum_ = 0;
  double small_sum_ = 0;  // of the numbers by a power of two smaller: `sum_` may overflow
  __int128 least_ = 0, most_ = 0, total_ = 0;  // of integers
};

}  // namespace hologram::tool
